"""What each operation of the benchmark launches, and how often it makes the host wait for the device, and who asks.

``python tests/awkward_cudakernels/waits.py`` writes the table of docs/waits.md; a test compares it. It needs no
GPU: see `pretended_cupy`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import pretended_cupy
from operations import launches

import awkward_cudakernels
import errorflag
from awkward_cudakernels.bench.operations import OPERATIONS
from awkward_cudakernels.bench.sample import Sample
from errorflag._channel import host_channel

DOCUMENT = Path(__file__).parents[2] / "docs" / "waits.md"
START, END = "<!-- waits -->\n", "<!-- /waits -->\n"

PLUMBING = {"maybe_materialize", "index_as_shape_item", "derive_slice_for_length", "__getitem__", "_getitem"}


def asker() -> str:
    """The function of awkward that asks, by the call stack."""
    frame = sys._getframe(1)
    while frame is not None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module.startswith("awkward.") and name not in PLUMBING and not name.startswith("<"):
            owner = frame.f_locals.get("self")
            return name if owner is None else f"{type(owner).__name__}.{name}"
        of_ours = module.startswith("awkward_cudakernels.arraylayer.") and not module.endswith(".arrays")
        if of_ours and name not in ("__getitem__", "_index_element", "_span"):
            owner = frame.f_locals.get("self")
            return name if owner is None else f"{type(owner).__name__}.{name}"
        frame = frame.f_back
    return "the program"


class Waits(list):
    """Takes the place of `pretended_cupy.waits`."""

    def append(self, what: str) -> None:
        super().append(f"{asker()}, by CuPy's `{what}`")


@contextmanager
def watched() -> Iterator[Waits]:
    """Inside, every wait is noted with who asks for it."""
    found = Waits()

    def noting(function):
        def call(*args, **kwargs):
            list.append(found, asker())
            return function(*args, **kwargs)

        return call

    def check():
        if host_channel().is_uncertain():
            list.append(found, asker())
        return checked()

    checked = errorflag.check
    names = "read", "read_items", "synchronize"
    replaced = {"check": check} | {name: noting(getattr(errorflag, name)) for name in names}
    with patch.multiple(errorflag, **replaced), patch.object(pretended_cupy, "waits", found):
        yield found


@contextmanager
def operators(cupy: pretended_cupy.Module, found: list[str]) -> Iterator[list[str]]:
    """Inside, what the pretended CuPy computes and copies is noted: on a device, each is a launch or more."""

    def noting(name, function):
        def call(*args, **kwargs):
            found.append(name)
            return function(*args, **kwargs)

        return call

    owners = {
        cupy.ndarray: ("__array_ufunc__", "__setitem__", "copy", "astype"),
        cupy: ("concatenate", "searchsorted", "nonzero", "empty_like", "repeat"),
    }
    runtime = cupy.cuda.runtime
    with ExitStack() as stack:
        for owner, names in owners.items():
            for name in names:
                stack.enter_context(patch.object(owner, name, noting(f"cupy {name}", getattr(owner, name))))
        stack.enter_context(patch.object(runtime, "memcpyAsync", noting("copy", runtime.memcpyAsync)))
        yield found


def measured() -> dict[str, Counter]:
    """For each operation who waits, and how often; the ends of the arguments' offsets are known."""
    return {name: found for name, (_, _, found, _) in counted().items()}


def without() -> list[str]:
    """The operations that do not wait, by the document."""
    table = DOCUMENT.read_text(encoding="utf-8").split(START)[1].split(END)[0]
    rows = (line.replace("\\*", "*").strip("| ").split(" | ") for line in table.splitlines()[2:])
    return [row[0] for row in rows if row[3] == "0"]


def counted() -> dict[str, tuple[int, int, Counter, int]]:
    """For each operation its launches of this project, its operators of CuPy, as `measured`, and how often the host
    waits in a first call, of arrays of which it knows nothing."""
    table = {}
    with pretended_cupy.instead() as cupy:
        awkward_cudakernels.register("cuda")
        try:
            for operation in OPERATIONS:
                sample = Sample(1000, "cuda")
                arguments = [sample.get(name) for name in operation.inputs]
                with watched() as first:
                    operation.function(*arguments)
                with launches() as launched, operators(cupy, []) as by_cupy, watched() as found:
                    operation.function(*arguments)
                table[operation.name] = len(launched), len(by_cupy), Counter(found), len(first)
        finally:
            awkward_cudakernels.unregister("cuda")
    return table


def document() -> str:
    """The table in Markdown."""
    lines = [
        "| operation | launches | by CuPy | waits | who asks | waits of a first call |",
        "|---|---:|---:|---:|---|---:|",
    ]
    for name, (launched, by_cupy, found, first) in counted().items():
        who = "; ".join(text if n == 1 else f"{n} × {text}" for text, n in found.items())
        row = f"| {name} | {launched} | {by_cupy} | {found.total()} | {who} | {first} |"
        lines.append(row.replace("*", "\\*"))
    return "\n".join(lines) + "\n"


def written(text: str) -> str:
    """The document with another table."""
    before, rest = text.split(START)
    return before + START + document() + END + rest.split(END)[1]


if __name__ == "__main__":
    DOCUMENT.write_text(written(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
