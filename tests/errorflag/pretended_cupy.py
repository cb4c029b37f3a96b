"""As much of CuPy as errorflag's channels and pytest plugin use, in host memory; for tests of the plugin."""

import ctypes

limits = {}  # device: bytes or fraction that its memory pool was limited to
lost = False  # whether the CUDA context is unusable
current = 0


class CUDARuntimeError(RuntimeError):
    pass


def check():
    if lost:
        raise CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")


class runtime:
    CUDARuntimeError = CUDARuntimeError
    getDevice = staticmethod(lambda: current)
    memcpyAsync = staticmethod(lambda to, source, size, kind, stream: ctypes.memmove(to, source, size))
    memcpy = staticmethod(lambda to, source, size, kind: ctypes.memmove(to, source, size))
    memsetAsync = staticmethod(lambda to, value, size, stream: ctypes.memset(to, value, size))
    streamSynchronize = staticmethod(lambda stream: check())
    streamIsCapturing = staticmethod(lambda stream: False)

    @staticmethod
    def getDeviceCount():
        import os

        return int(os.environ["ERRORFLAG_PYTEST_GPUS"])


class Memory:
    def __init__(self, size):
        self.buffer = (ctypes.c_ubyte * size)()
        self.ptr = ctypes.addressof(self.buffer)


class Device:
    def __init__(self, number=None):
        self.id = current if number is None else number

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def use(self):
        global current
        current = self.id

    def synchronize(self):
        check()


class Event:
    def __init__(self, **options):
        self.ptr = 0


class Stream:
    ptr = 0
    device_id = 0


class cuda:
    pass


cuda.runtime, cuda.Device, cuda.Event, cuda.Stream = runtime, Device, Event, Stream
cuda.Memory = Memory
cuda.alloc_pinned_memory = lambda size: (ctypes.c_ubyte * size)()
cuda.get_current_stream = Stream


class Pool:
    def set_limit(self, size=None, fraction=None):
        limits[current] = size or fraction


get_default_memory_pool = Pool
