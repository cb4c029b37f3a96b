"""First calls in a fresh process: ``python -m awkward_cudakernels.bench.cold WHAT SIDE``.

WHAT is ``kernels`` (a map, a reducer and a scan) or ``operations`` (the first call of each of the core
operations). Prints one JSON object. The caller chooses the cache folders by environment variables.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["CASES", "ROWS", "rows"]

KERNELS = {
    "map": "ListArray_getitem_next_at",
    "reducer": "reduce_sum",
    "scan": "ListArray_compact_offsets",
}
LISTS = 1_000

ROWS = ("empty cache", "warm cache")
AWKWARD_ROW = "awkward's own"
CASES = ("kernels", "operations")
TIMEOUT = 400.0


def rows(
    with_awkward: bool, before_warm: Callable[[], None], say: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """Measures in new processes, with empty caches first, whose files the warm ones then find.

    Args:
        with_awkward: also awkward's own first calls, which take minutes.
        before_warm: called before the short measurements, for what must not be disturbed.
        say: called with what is being done.
    """
    with tempfile.TemporaryDirectory(prefix="bench-cold-") as folder:
        for row in ROWS:
            if row == "warm cache":
                before_warm()
            for what in CASES:
                say(f"cold, {row}: {what}")
                environment = {
                    **os.environ,
                    "AWKWARD_CUDAKERNELS_CACHE": os.path.join(folder, what, "kernels"),
                    "CUPY_CACHE_DIR": os.path.join(folder, what, "cupy"),
                }
                found = _process(what, "ours", environment)
                yield {"row": f"{what}, {row}", "side": "ours", **found}
    if with_awkward:
        say(f"cold, {AWKWARD_ROW}: operations")
        found = _process("operations", "awkward", dict(os.environ))
        yield {"row": f"operations, {AWKWARD_ROW}", "side": "awkward", **found}


def _process(what: str, side: str, environment: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "awkward_cudakernels.bench.cold", what, side]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer in {TIMEOUT:.0f} s"}
    elapsed = time.perf_counter() - start
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"error": lines[-1][:300]}
    return {"process_s": elapsed, **json.loads(done.stdout.splitlines()[-1])}


def _timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - start)


def _measure(what: str, name: str) -> dict[str, Any]:
    start = time.perf_counter()
    import awkward  # noqa: F401
    import cupy

    import awkward_cudakernels

    if name == "ours":
        awkward_cudakernels.register()
    imports = 1e3 * (time.perf_counter() - start)
    context = _timed(lambda: cupy.arange(10).get())  # the context, and a kernel of CuPy's own
    from awkward_cudakernels.bench import kernels, operations
    from awkward_cudakernels.bench.sides import Side

    side = Side(name, device=True)
    result: dict[str, Any] = {"import_ms": imports, "context_ms": context}
    if what == "kernels":
        inputs = kernels.prepare(side, LISTS)
        calls: list[tuple[str, Any, Any]] = []
        for label, family in KERNELS.items():
            case = kernels.BY_FAMILY[family]
            calls.append((label, case.key, case.arguments(inputs)))
        side.wait()
        for label, key, arguments in calls:

            def call(key: Any = key, arguments: Any = arguments) -> None:
                side.kernel_table()[key](*arguments)
                side.finish()

            result[f"{label}_ms"] = _timed(call)
            result[f"{label}_again_ms"] = _timed(call)
    else:
        core = [operation for operation in operations.OPERATIONS if operation.core]
        sample = operations.prepare(side, LISTS)
        first: dict[str, float] = {}
        failed: dict[str, str] = {}
        for operation in core:
            inputs_of = [sample.get(name) for name in operation.inputs]
            side.wait()

            def operate(operation: Any = operation, arguments: Any = inputs_of) -> None:
                operation.function(*arguments)
                side.finish()

            try:
                first[operation.name] = _timed(operate)
            except Exception as error:
                from awkward_cudakernels.bench.worker import describe

                failed[operation.name] = describe(error)
        result |= {"total_ms": sum(first.values()), "operations": len(first), "first_ms": first}
        if failed:
            result["failed"] = failed
    result["numba_imported"] = "numba" in sys.modules
    return result


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], sys.argv[2])), flush=True)
