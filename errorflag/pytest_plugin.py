"""A pytest plugin for tests of code that runs on GPUs.

It does nothing unless there is a GPU, or ``--errorflag=on`` is given; then

- every test starts with no error pending, and fails if it leaves one behind, on any stream;
- a test after which the CUDA context is unusable fails with that as its reason; under pytest-xdist
  its worker is replaced and the others go on, otherwise the run ends there;
- with ``--errorflag-no-waits``, a test in which the host waits for the current stream fails, unless it
  is marked ``waits``;
- workers of pytest-xdist are spread over the visible GPUs, and share the memory of each;
- a line at the end says how many GPUs, workers and seconds there were.

Tests marked ``gpu`` or ``gpus(n)`` are skipped, with the reason, where there is no GPU or fewer
than n. A worker's own GPU is its device 0; the others are visible after it, so that tests of several
GPUs work in every worker.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from ._channel import drain
from ._errors import add_note
from ._hold import Hold

PRETEND = "ERRORFLAG_PYTEST_GPUS"
"""Environment variable: a number of GPUs to believe in. For tests of the plugin."""

USABLE = 0.9
"""The part of a GPU's memory that its workers share; the rest is for their contexts."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("errorflag", "errors left on the GPU")
    group.addoption(
        "--errorflag",
        choices=("auto", "on", "off"),
        default="auto",
        help="fail tests that leave a device error behind, and spread workers over GPUs: if there "
        "is a GPU (auto, the default), always, for kernels on the host too (on), or never (off)",
    )
    group.addoption(
        "--errorflag-no-waits",
        action="store_true",
        help="fail tests in which the host waits for the current CUDA stream, unless marked waits",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs CuPy and a GPU (skipped where there is none)")
    config.addinivalue_line(
        "markers", "gpus(n): needs CuPy and n GPUs (skipped where there are fewer)"
    )
    config.addinivalue_line("markers", "waits: may wait for the GPU under --errorflag-no-waits")
    mode = config.getoption("--errorflag")
    if mode == "off":
        return
    driver = Driver()
    share: dict[str, Any] | None = None
    if hasattr(config, "workerinput"):
        share = config.workerinput.get("errorflag")
        if share is None:
            return  # the plugin does nothing in the process that started this worker
        take_share(share, driver)
    else:
        gpus = driver.count()
        if not gpus and mode != "on":
            return
        config.pluginmanager.register(Controller(gpus), "errorflag-controller")
    checks = Checks(driver, share, config.getoption("--errorflag-no-waits"))
    config.pluginmanager.register(checks, "errorflag-checks")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    wanted = [(item, needed) for item in items if (needed := gpus_needed(item))]
    if not wanted:
        return  # CuPy takes a second to import
    there, why_not = gpus_of_cupy()
    for item, needed in wanted:
        if there == 0:
            reason = f"needs {'a GPU' if needed == 1 else f'{needed} GPUs'}, and {why_not}"
        elif there < needed:
            reason = f"needs {needed} GPUs, and there {'is' if there == 1 else 'are'} {there}"
        else:
            continue
        item.add_marker(pytest.mark.skip(reason=reason))


def gpus_needed(item: pytest.Item) -> int:
    """How many GPUs the markers of a test ask for."""
    needed = 1 if item.get_closest_marker("gpu") else 0
    marker = item.get_closest_marker("gpus")
    if marker is not None:
        if len(marker.args) != 1 or not isinstance(marker.args[0], int):
            raise pytest.UsageError(
                f"{item.nodeid}: the marker gpus takes one number, as in gpus(2)"
            )
        needed = max(needed, marker.args[0])
    return needed


def gpus_of_cupy() -> tuple[int, str]:
    """The number of GPUs that CuPy can use and, if it is 0, the reason."""
    try:
        import cupy
    except ImportError:
        return 0, "CuPy is not installed"
    try:
        return cupy.cuda.runtime.getDeviceCount(), "CuPy sees none"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return 0, f"CuPy sees none ({error})"


class Driver:
    """What can be asked of the CUDA driver before, and without, CuPy."""

    NOT_INITIALIZED = 3

    def __init__(self) -> None:
        self.pretended = int(os.environ[PRETEND]) if PRETEND in os.environ else None
        self._library: Any = None
        if self.pretended is None:
            try:
                self._library = ctypes.CDLL(
                    "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
                )
            except OSError:
                pass

    def count(self) -> int:
        """The number of visible GPUs."""
        if self.pretended is not None:
            return self.pretended
        number = ctypes.c_int(0)
        if self._library is None or self._library.cuInit(0):
            return 0
        return 0 if self._library.cuDeviceGetCount(ctypes.byref(number)) else number.value

    def is_initialized(self) -> bool:
        """Whether this process has looked at its GPUs: it will not look again."""
        if self._library is None:
            return False
        number = ctypes.c_int(0)
        return bool(self._library.cuDeviceGetCount(ctypes.byref(number)) != self.NOT_INITIALIZED)

    def used(self) -> list[int]:
        """The devices that this process has used: waiting for another would start it."""
        if self.pretended is not None:
            return list(range(self.pretended))
        if not self.is_initialized():
            return []
        used = []
        flags, active = ctypes.c_uint(0), ctypes.c_int(0)
        for device in range(self.count()):
            failed = self._library.cuDevicePrimaryCtxGetState(
                device, ctypes.byref(flags), ctypes.byref(active)
            )
            if failed or active.value:
                used.append(device)
        return used


def take_share(share: dict[str, Any], driver: Driver) -> None:
    """Makes a worker's GPU its device 0, and its share of the memory the limit of CuPy's pool."""
    gpu, gpus = share["gpu"], share["gpus"]
    if not gpus:
        return
    fraction = USABLE / share["workers_per_gpu"]
    late = driver.is_initialized()  # by a conftest.py
    if not late:
        visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
        visible = visible[:gpus] if visible else [str(number) for number in range(gpus)]
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(visible[gpu:] + visible[:gpu])
    if "cupy" in sys.modules or late:
        import cupy

        if late:
            cupy.cuda.Device(gpu).use()
        if share["workers_per_gpu"] > 1 and "CUPY_GPU_MEMORY_LIMIT" not in os.environ:
            cupy.get_default_memory_pool().set_limit(fraction=fraction)
    elif share["workers_per_gpu"] > 1:
        os.environ.setdefault("CUPY_GPU_MEMORY_LIMIT", f"{100 * fraction:.2f}%")


class HeldStream:
    """Holds the current CUDA stream while a block runs; fails the test if it waits for that."""

    def __init__(self) -> None:
        self._hold = Hold()

    @contextmanager
    def __call__(self, seconds: float = 10.0) -> Iterator[None]:
        """Make the calls of the block once before: what compiles or loads a kernel may wait.

        Args:
            seconds: how long to hold the stream at most; the block has to take less.
        """
        import cupy

        stream = cupy.cuda.get_current_stream()
        with self._hold(seconds):
            yield
            held = not stream.done
        if not held:
            pytest.fail(
                f"the host waited for the GPU, or did something else for {seconds} s: the block "
                f"ended only after the stream was free"
            )


@pytest.fixture
def held_stream() -> HeldStream:
    """``with held_stream(): ...`` fails the test if the host waits for the current stream in it."""
    there, why_not = gpus_of_cupy()
    if not there:
        pytest.skip(f"needs a GPU, and {why_not}")
    return HeldStream()


NOTHING: AbstractContextManager[None] = nullcontext()


class ContextLostError(Exception):
    """Every CUDA call of this process fails from now on."""


class Checks:
    """Where tests run: what is looked at before and after each.

    Args:
        driver: of this process.
        share: what the controller has sent this worker; None without pytest-xdist.
        no_waits: whether tests that are not marked ``waits`` fail if the host waits in them.
    """

    def __init__(self, driver: Driver, share: dict[str, Any] | None, no_waits: bool) -> None:
        self.driver = driver
        self.share = share
        self.no_waits = no_waits
        self.ended = False

    def left_behind(self) -> list[str]:
        """What kernels have reported since the last look, on all streams of all devices."""
        if self.ended:
            return []
        if "cupy" in sys.modules:
            import cupy

            failure = cupy.cuda.runtime.CUDARuntimeError
            for number in self.driver.used():
                device = cupy.cuda.Device(number)
                try:
                    device.synchronize()
                except failure as error:
                    try:
                        device.synchronize()
                    except failure:  # it stays so
                        raise ContextLostError(f"{error} (device {number})") from None
        errors = drain()
        return ["\n    ".join([str(error), *getattr(error, "__notes__", [])]) for error in errors]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        lost = None
        try:
            self.left_behind()  # and forgotten: it is not this test's
        except ContextLostError as error:
            lost = error
        if lost is not None:
            self.end(item, f"before {item.nodeid} began, the CUDA context was lost: {lost}", None)
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        if self.no_waits and item.get_closest_marker("waits") is None and gpus_of_cupy()[0]:
            return (yield from self.checked(item, HeldStream()()))
        return (yield from self.checked(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from self.checked(item))

    def checked(
        self, item: pytest.Item, block: AbstractContextManager[Any] = NOTHING
    ) -> Generator[None, Any, Any]:
        try:
            with block:
                result = yield
        except BaseException as raised:
            self.check(item, raised)
            raise
        self.check(item, None)
        return result

    def check(self, item: pytest.Item, raised: BaseException | None) -> None:
        """After a test or its teardown: fails it for what it has left behind."""
        errors, lost = [], None
        try:
            errors = self.left_behind()
        except ContextLostError as error:
            lost = error
        if lost is not None:
            self.end(item, f"{item.nodeid} left the CUDA context unusable: {lost}", raised)
        for text in errors:
            message = f"the test left a device error behind: {text}"
            if raised is None or isinstance(raised, pytest.skip.Exception):
                pytest.fail(message, pytrace=False)
            else:
                add_note(raised, message)

    def end(self, item: pytest.Item, reason: str, raised: BaseException | None) -> None:
        """Nothing more can be tested in this process."""
        self.ended = True
        if self.share is None:
            item.session.shouldfail = f"no CUDA call can succeed any more: {reason}"
            if raised is None:
                pytest.fail(reason, pytrace=False)
            else:
                add_note(raised, reason)
            return
        if raised is not None:
            shown = item.repr_failure(pytest.ExceptionInfo.from_exception(raised))
            reason = f"{shown}\n\n{reason}"
        try:
            Path(self.share["crashes"], os.environ["PYTEST_XDIST_WORKER"]).write_text(reason)
        except OSError:
            pass  # the worker is on another machine: its reason is lost, its test is still named
        # Not an ordinary end: only a worker that dies while it runs a test is replaced.
        os._exit(1)


class Controller:
    """The process that pytest was started in: gives workers their GPUs, and sums up.

    Args:
        gpus: the number of visible GPUs.
    """

    def __init__(self, gpus: int) -> None:
        self.gpus = gpus
        self.workers: dict[str, int] = {}
        self.most_workers = 0
        self.tests = 0
        self.seconds = 0.0
        self.crashes: str | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        load = Counter(self.workers.values())
        gpu = min(range(self.gpus), key=lambda gpu: load[gpu], default=0)
        self.workers[node.gateway.id] = gpu
        self.most_workers = max(self.most_workers, len(self.workers))
        if self.crashes is None:
            self.crashes = tempfile.mkdtemp(prefix="pytest-errorflag-")
        workers = node.workerinput["workercount"]
        node.workerinput["errorflag"] = {
            "gpu": gpu,
            "gpus": self.gpus,
            "workers_per_gpu": -(-workers // self.gpus) if self.gpus else 0,
            "crashes": self.crashes,
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.workers.pop(node.gateway.id, None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, report: Any) -> None:
        path = Path(self.crashes or "", report.node.gateway.id)
        if path.is_file():
            report.longrepr = f"{report.longrepr}\n\n{path.read_text()}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "gpu" in report.keywords or "gpus" in report.keywords:
            self.tests += report.when == "call"  # a test that is skipped has none
            self.seconds += getattr(report, "duration", 0.0)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        many = self.most_workers
        facts = (
            _number(self.gpus, "GPU"),
            _number(many, "worker") if many else "1 process",
            f"{self.seconds:.1f} s in {_number(self.tests, 'test')} marked gpu",
        )
        terminalreporter.write_line(f"errorflag: {', '.join(facts)}")

    def pytest_unconfigure(self) -> None:
        if self.crashes is not None:
            shutil.rmtree(self.crashes, ignore_errors=True)


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
