"""The examples in docstrings of `errorflag` and `primitives`, and in the pages of docs/, on the host executor."""

from __future__ import annotations

import doctest
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import awkward_cudakernels
import errorflag
import primitives

PUBLIC = [(module, name) for module in (errorflag, primitives) for name in module.__all__]
NUMBERS = {"NO_ERROR", "PER_THREAD_STREAM"}
NO_EXAMPLE = {*NUMBERS, "cache_info", "CompilerError"}  # and what depends on the machine
DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("tutorial-awkward", "tutorial-cupy", "errors")
RUNS_ELSEWHERE = {"channel", "graph"}  # only on a device: shown, and skipped


def examples(module: ModuleType, name: str) -> doctest.DocTest:
    text = inspect.cleandoc(getattr(module, name).__doc__ or "")
    parser = doctest.DocTestParser()
    return parser.get_doctest(text, {}, f"{module.__name__}.{name}", "<docstring>", 0)


@pytest.mark.parametrize("module, name", [pytest.param(*x, id=f"{x[0].__name__}.{x[1]}") for x in PUBLIC])
def test_examples(module: ModuleType, name: str) -> None:
    if name in NO_EXAMPLE:
        return
    found = examples(module, name)
    assert found.examples, f"the docstring of {found.name} has no example"
    skipped = [example for example in found.examples if doctest.SKIP in example.options]
    assert name in RUNS_ELSEWHERE or len(skipped) < len(found.examples), "all of it is skipped"
    run(found)


def test_the_reference_has_every_public_name() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md")]
    shown = set(re.findall(r"^::: (\S+)$", "\n".join(pages), flags=re.M))
    again = {"primitives.DeviceValueError", "primitives.synchronize"}  # they are errorflag's
    public = {f"{module.__name__}.{name}" for module, name in PUBLIC if name not in NUMBERS}
    assert public - again == shown


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```pycon\n(.*?)^```$", text, flags=re.M | re.S)
    assert blocks
    try:
        run(doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0))
    finally:
        awkward_cudakernels.unregister()


def run(found: doctest.DocTest) -> None:
    if sys.version_info < (3, 11):  # where notes are not shown
        for example in found.examples:
            if example.exc_msg is not None:
                example.exc_msg = example.exc_msg.splitlines(keepends=True)[0]
    errorflag.drain()  # errors count the calls since the last wait, which may be another example's
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found, out=report.append)
    assert not report, "".join(report)
