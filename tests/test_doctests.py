"""The examples in the docstrings of the public names of `errorflag` and `primitives`, on the host executor."""

from __future__ import annotations

import doctest
import inspect
import sys
from types import ModuleType

import pytest

import errorflag
import primitives

PUBLIC = [(module, name) for module in (errorflag, primitives) for name in module.__all__]
NO_EXAMPLE = {"NO_ERROR", "PER_THREAD_STREAM", "cache_info"}  # numbers, and what differs everywhere
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
    if sys.version_info < (3, 11):  # where notes are not shown
        for example in found.examples:
            if example.exc_msg is not None:
                example.exc_msg = example.exc_msg.splitlines(keepends=True)[0]
    report: list[str] = []
    doctest.DocTestRunner().run(found, out=report.append)
    assert not report, "".join(report)
