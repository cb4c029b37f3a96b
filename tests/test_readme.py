"""What the README shows is what happens."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str, section: str) -> list[str]:
    """The fenced blocks of a section."""
    (text,) = re.findall(rf"^## {section}$(.*?)(?=^## |\Z)", README, flags=re.M | re.S)
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.M | re.S)
    return [block for its_language, block in fenced if its_language == language]


def test_two_commands():
    run, test = blocks("bash", "Two commands")
    assert "pip install" in run
    assert "awkward-cudakernels demo" in run
    assert "pip install" in test
    assert "pytest" in test
    assert f"<!-- test command -->\n```bash\n{test}```" in README  # where .ci/run looks for it


def test_the_example_of_primitives(tmp_path: Path):
    (example,) = blocks("python", "primitives")
    (output,) = blocks("", "primitives")
    path = tmp_path / "example.py"  # an op's source is read from its file
    path.write_text(example)
    with pytest.raises(ValueError, match="negative radicand") as caught:
        exec(compile(example, str(path), "exec"), {"__name__": "example"})
    shown = "".join(traceback.format_exception_only(caught.type, caught.value))
    if sys.version_info < (3, 11):  # notes are not shown there
        output = output.splitlines(keepends=True)[0]
    assert shown.strip() == output.strip()
