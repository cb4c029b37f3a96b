"""The pytest plugin, in runs of pytest of its own: with a pretended CuPy, so that no GPU is needed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CUPY = Path(__file__).with_name("pretended_cupy.py")

KERNEL = """
    import ctypes
    import errorflag

    def fail_on_the_device(device=0, stream=0, element=7):
        channel = errorflag.channel(device, stream)
        base = channel.open(errorflag.Call("some_kernel"), ("out of range",), 10)
        words = (ctypes.c_uint64 * 2).from_address(channel.word_pointer)
        words[0] = (base % 2**64) | (element << 8)
        ctypes.c_uint64.from_address(words[1]).value = 1
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Runs pytest with the plugin on test files; returns the result."""

    def run(*options: str, gpus: int | None, cupy: bool | str = True, **files: str) -> pytest.RunResult:
        path = [str(pytester.path), str(ROOT), *(p for p in sys.path if p and Path(p) != CUPY.parent)]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
        for name in (
            "CUDA_VISIBLE_DEVICES",
            "CUPY_GPU_MEMORY_LIMIT",
            "PYTEST_ADDOPTS",
            "PYTEST_XDIST_WORKER",
        ):
            monkeypatch.delenv(name, raising=False)
        if cupy != "real":
            monkeypatch.setenv("ERRORFLAG_PYTEST_GPUS", str(gpus or 0))
            pytester.makepyfile(cupy=CUPY.read_text() if cupy else "raise ImportError")
        pytester.makepyfile(kernel=KERNEL, **files)
        return pytester.runpytest_subprocess("-p", "errorflag.pytest_plugin", "--strict-markers", *options)

    return run


def test_the_test_that_left_an_error_is_the_one_that_fails(run) -> None:
    result = run(
        gpus=1,
        test_it="""
        import cupy, errorflag, pytest
        from kernel import fail_on_the_device

        def test_before():
            pass

        def test_leaves_one():
            fail_on_the_device(stream=5)    # a stream that synchronize() does not look at

        def test_after():
            errorflag.synchronize()

        def test_raises_its_own():
            fail_on_the_device()
            with pytest.raises(errorflag.DeviceValueError):
                errorflag.synchronize()

        def test_fails_and_leaves_one():
            fail_on_the_device(element=3)
            raise AssertionError("for another reason")

        def test_skips_and_leaves_one():
            fail_on_the_device()
            pytest.skip("in the middle")

        @pytest.fixture
        def careless():
            yield
            fail_on_the_device()

        def test_with_a_careless_fixture(careless):
            pass

        def test_last():
            errorflag.synchronize()
        """,
    )
    result.assert_outcomes(passed=5, failed=3, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*_ ERROR at teardown of test_with_a_careless_fixture _*",
            "the test left a device error behind: out of range in compiled CUDA code (some_kernel)",
            "    at element 7 of 10",
            "*_ test_leaves_one _*",
            "the test left a device error behind: out of range in compiled CUDA code (some_kernel)",
            "*_ test_fails_and_leaves_one _*",
            "E*AssertionError: for another reason",
            "E*the test left a device error behind: *",
            "E*at element 3 of 10",
        ]
    )


def test_an_error_from_between_the_tests_is_nobodys(run) -> None:
    result = run(
        gpus=1,
        test_it="""
        import errorflag
        from kernel import fail_on_the_device

        fail_on_the_device()

        def test_it():
            errorflag.synchronize()
        """,
    )
    result.assert_outcomes(passed=1)


LEAVES_ONE = """
    import errorflag

    def test_it():
        channel = errorflag.host_channel()
        channel.word[0] = channel.open(errorflag.Call("bad"), ("out of range",), 10)
"""


def test_inert_without_a_gpu_unless_asked_for(run) -> None:
    result = run(gpus=None, test_it=LEAVES_ONE)
    result.assert_outcomes(passed=1)
    assert "errorflag:" not in result.stdout.str()
    result = run("--errorflag=on", gpus=None, test_it=LEAVES_ONE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*left a device error behind: out of range in compiled CUDA code (bad)"])
    result = run("--errorflag=off", gpus=2, test_it=LEAVES_ONE)
    result.assert_outcomes(passed=1)
    assert "errorflag:" not in result.stdout.str()


MARKED = """
    import pytest

    @pytest.mark.gpu
    def test_one():
        pass

    @pytest.mark.gpus(2)
    def test_two():
        pass

    @pytest.mark.gpus(3)
    def test_three():
        pass

    def test_none():
        pass
"""


@pytest.mark.parametrize(
    "gpus, cupy, passed, reasons",
    [
        (0, False, 1, ["needs a GPU, and CuPy is not installed", "needs 2 GPUs, and CuPy is not installed"]),
        (0, True, 1, ["needs a GPU, and CuPy sees none", "needs 3 GPUs, and CuPy sees none"]),
        (1, True, 2, ["needs 2 GPUs, and there is 1", "needs 3 GPUs, and there is 1"]),
        (2, True, 3, ["needs 3 GPUs, and there are 2"]),
        (3, True, 4, []),
    ],
)
def test_markers(run, gpus: int, cupy: bool, passed: int, reasons: list[str]) -> None:
    result = run("-rs", gpus=gpus, cupy=cupy, test_it=MARKED)
    result.assert_outcomes(passed=passed, skipped=4 - passed)
    for reason in reasons:
        assert reason in result.stdout.str()


def test_a_marker_without_a_number_is_a_usage_error(run) -> None:
    result = run(gpus=1, test_it="import pytest\n\n@pytest.mark.gpus\ndef test_it():\n    pass\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_it.py::test_it: the marker gpus takes one number, as in gpus(2)"])


def test_summary(run) -> None:
    result = run(gpus=2, test_it=MARKED)
    result.stdout.fnmatch_lines(["errorflag: 2 GPUs, 1 process, *.* s in 2 tests marked gpu"])


SPREAD = """
    import os, pathlib, time, pytest

    @pytest.mark.parametrize("number", range(16))
    def test_it(number):
        {import_cupy}
        time.sleep(0.1)
        folder = pathlib.Path(__file__).parent / "seen"
        folder.mkdir(exist_ok=True)
        seen = (os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("CUPY_GPU_MEMORY_LIMIT"))
        (folder / os.environ["PYTEST_XDIST_WORKER"]).write_text(repr(seen))
"""


def seen(pytester: pytest.Pytester) -> list[tuple[str | None, str | None]]:
    return sorted(eval(path.read_text()) for path in (pytester.path / "seen").iterdir())


def test_workers_are_spread_over_the_gpus_and_share_their_memory(run, pytester: pytest.Pytester) -> None:
    result = run("-n4", gpus=2, test_it=SPREAD.format(import_cupy="pass"))
    result.assert_outcomes(passed=16)
    assert seen(pytester) == [("0,1", "45.00%")] * 2 + [("1,0", "45.00%")] * 2
    result.stdout.fnmatch_lines(["errorflag: 2 GPUs, 4 workers, *"])


def test_workers_keep_to_the_gpus_they_are_given(
    run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    conftest = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = 'GPU-5,GPU-7'\n"
    result = run("-n2", gpus=2, test_it=SPREAD.format(import_cupy="pass"), conftest=conftest)
    result.assert_outcomes(passed=16)
    assert seen(pytester) == [("GPU-5,GPU-7", None), ("GPU-7,GPU-5", None)]


def test_a_cupy_that_is_imported_before_is_limited_too(run, pytester: pytest.Pytester) -> None:
    check = "import cupy; assert cupy.limits == {0: 0.9 / 2}"
    result = run("-n4", gpus=2, test_it=SPREAD.format(import_cupy=check), conftest="import cupy\n")
    result.assert_outcomes(passed=16)


STICKY = """
    import cupy, pytest

    @pytest.mark.parametrize("number", range(8))
    def test_good(number):
        pass

    def test_killer():
        cupy.lost = True
        {then}

    @pytest.mark.parametrize("number", range(8))
    def test_others(number):
        pass
"""


def test_a_sticky_error_is_this_tests_and_the_worker_is_replaced(run) -> None:
    result = run("-n2", gpus=1, test_it=STICKY.format(then="pass"))
    result.assert_outcomes(passed=16, failed=1)
    result.stdout.fnmatch_lines(
        [
            "worker 'gw*' crashed while running 'test_it.py::test_killer'",
            "test_it.py::test_killer left the CUDA context unusable: cudaErrorIllegalAddress: *",
        ]
    )


def test_a_sticky_error_keeps_the_traceback_of_its_test(run) -> None:
    result = run("-n2", gpus=1, test_it=STICKY.format(then="assert False, 'seen first'"))
    result.assert_outcomes(passed=16, failed=1)
    result.stdout.fnmatch_lines(
        ["*AssertionError: seen first*", "*::test_killer left the CUDA context unusable: *"]
    )


def test_a_sticky_error_without_workers_ends_the_run(run) -> None:
    result = run(gpus=1, test_it=STICKY.format(then="pass"))
    result.assert_outcomes(passed=8, failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_killer left the CUDA context unusable: cudaErrorIllegalAddress: *",
            "*no CUDA call can succeed any more: test_it.py::test_killer left *",
        ]
    )


@pytest.mark.gpu
def test_on_a_real_gpu(run) -> None:
    result = run(
        "-n2",
        gpus=None,
        cupy="real",
        test_it="""
        import cupy, errorflag, numpy, pytest
        from primitives import op, transform

        @op(errors=("out of range",))
        def bad(i, x):
            return 1

        @pytest.mark.parametrize("number", range(20))
        def test_good(number):
            free, total = cupy.cuda.runtime.memGetInfo()
            visible = cupy.cuda.runtime.getDeviceCount()
            share = 0.45 if visible == 1 else 0
            assert abs(cupy.get_default_memory_pool().get_limit() - share * total) <= 0.01 * total
            assert int(cupy.arange(10).sum()) == 45

        def test_leaves_one():
            with cupy.cuda.Stream(non_blocking=True):
                transform(bad, 3, cupy.zeros(3))

        def test_killer():
            source = 'extern "C" __global__ void f(int* x) { x[1ll << 40] = 1; }'
            cupy.RawKernel(source, "f")((1,), (1,), (numpy.uint64(0),))

        @pytest.mark.parametrize("number", range(20))
        def test_others(number):
            assert int(cupy.arange(10).sum()) == 45
        """,
    )
    result.assert_outcomes(passed=40, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "the test left a device error behind: out of range in compiled CUDA code (bad)",
            "worker 'gw*' crashed while running 'test_it.py::test_killer'",
            "test_it.py::test_killer left the CUDA context unusable: cudaErrorIllegalAddress: *",
        ]
    )


def test_a_held_stream_needs_a_gpu(run) -> None:
    result = run("-rs", gpus=None, test_it="def test_it(held_stream):\n    assert False\n")
    result.assert_outcomes(skipped=1)
    assert "needs a GPU, and CuPy sees none" in result.stdout.str()


@pytest.mark.compile
def test_the_kernel_that_holds_a_stream_compiles() -> None:
    from cuda.core import Program, ProgramOptions

    from errorflag import _hold

    assert Program(_hold.SPIN, "c++", ProgramOptions(arch="sm_90")).compile("cubin").code


@pytest.mark.gpu
def test_a_held_stream_shows_what_waits(run) -> None:
    result = run(
        gpus=None,
        cupy="real",
        test_it="""
        import cupy, pytest
        from primitives import inclusive_scan, synchronize

        def test_does_not_wait(held_stream):
            x, out = cupy.arange(1000), cupy.zeros(1000, "int64")
            for _ in range(2):
                inclusive_scan(x, out)
                synchronize()
            with held_stream():
                inclusive_scan(x, out)
            assert int(out[-1]) == 499500

        def test_waits(held_stream):
            x = cupy.arange(1000)
            int(x.sum())
            with held_stream(seconds=0.5):
                int(x.sum())

        def test_fails_in_between(held_stream):
            with pytest.raises(ZeroDivisionError), held_stream():
                1 / 0
        """,
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*Failed: the host waited for the GPU, or did something else for 0.5 s*"])


def test_no_waits_does_nothing_without_a_gpu(run) -> None:
    result = run("--errorflag-no-waits", gpus=None, test_it="def test_it():\n    pass\n")
    result.assert_outcomes(passed=1)


@pytest.mark.gpu
@pytest.mark.slow
def test_no_waits_fails_the_tests_that_wait(run) -> None:
    files = {
        "test_it": """
        import cupy, pytest
        from primitives import inclusive_scan, synchronize

        @pytest.fixture
        def arrays():
            x, out = cupy.arange(1000), cupy.zeros(1000, "int64")
            inclusive_scan(x, out)
            synchronize()
            out[:] = 0
            int(x.sum())
            yield x, out
            assert int(out[-1]) == 499500

        def test_does_not_wait(arrays):
            inclusive_scan(*arrays)

        def test_waits(arrays):
            inclusive_scan(*arrays)
            int(arrays[1].sum())

        @pytest.mark.waits
        def test_may_wait(arrays):
            inclusive_scan(*arrays)
            int(arrays[1].sum())

        def test_has_its_own_reason(arrays):
            inclusive_scan(*arrays)
            assert False
        """
    }
    result = run("--errorflag-no-waits", gpus=None, cupy="real", **files)
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*test_waits*", "*Failed: the host waited for the GPU*"])
    run(gpus=None, cupy="real", **files).assert_outcomes(passed=3, failed=1)
