"""As much of CuPy as awkward's array layer uses, in host memory: for tests of that layer without a GPU.

Arrays are NumPy's in disguise, so kernels run on the host executor; their errors wait in its word, as they
do on a device. What differs between NumPy and CuPy and matters here is kept: elements and reductions are
arrays without dimensions, arrays of NumPy are refused, and an array of indexes is not checked. Every read that CuPy
would make the host wait for is noted in `waits`.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

waits: list[str] = []
"""What has read values of arrays, not through errorflag."""

WAITING = {"nonzero", "flatnonzero", "argwhere", "unique", "histogram"}
"""Functions of CuPy that read a length."""

TAKES_NUMPY = {"asarray", "array", "ascontiguousarray"}
"""Functions of CuPy that copy NumPy's arrays."""


class Memory:
    device_id = 0

    def __init__(self, array):
        self.ptr = array.__array_interface__["data"][0]
        self._array = array


class MemoryHook:
    inside: list[MemoryHook] = []  # noqa: RUF012

    def __enter__(self):
        self.inside.append(self)
        return self

    def __exit__(self, *exception):
        self.inside.remove(self)


def _noted(name):
    def method(self, *args, **kwargs):
        if not sys._getframe(1).f_globals["__name__"].startswith("errorflag"):
            waits.append(name)
        return getattr(np.ndarray, name)(self, *args, **kwargs)

    return method


class ndarray(np.ndarray):
    __module__ = "cupy"

    def __new__(cls, shape, dtype=float, memptr=None, strides=None, order="C"):
        for hook in MemoryHook.inside:
            hook.malloc_preprocess(device_id=0)
        out = np.ndarray.__new__(cls, shape, dtype or float, order=order)
        for hook in MemoryHook.inside:
            hook.malloc_postprocess(device_id=0)
        ctypes.memset(out.ctypes.data, 0x5A, out.nbytes)
        return out

    @property
    def data(self):
        return Memory(self)

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__

    @property
    def _c_contiguous(self):
        return self.flags.c_contiguous

    def get(self):
        waits.append("get")
        return np.array(self.view(np.ndarray))

    def __getitem__(self, where):
        if isinstance(where, tuple):
            where = tuple(_index(part) for part in where)
        elif isinstance(where, ndarray) and where.ndim and where.dtype.kind in "iu":
            return wrapped(self.view(np.ndarray).take(plain(where), axis=0, mode="wrap"))
        else:
            where = _index(where)
        return wrapped(self.view(np.ndarray)[where])

    def __setitem__(self, where, value):
        refuse((value,))
        where = tuple(map(_index, where)) if isinstance(where, tuple) else _index(where)
        self.view(np.ndarray)[where] = plain(value)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        refuse((*inputs, *(out or ())))
        if out is not None:
            kwargs["out"] = tuple(plain(x) for x in out)
        return wrapped(getattr(ufunc, method)(*map(plain, inputs), **kwargs))

    def __array_function__(self, function, types, args, kwargs):
        raise TypeError(f"numpy.{function.__name__} of an array of CuPy")

    for name in ("sum", "min", "max", "any", "all", "cumsum", "reshape", "copy", "astype", "ravel"):

        def method(self, *args, _name=name, **kwargs):
            refuse(args)
            return wrapped(getattr(self.view(np.ndarray), _name)(*map(plain, args), **kwargs))

        locals()[name] = method
    for name in ("item", "tolist", "__bool__", "__int__", "__float__", "__index__", "__complex__"):
        locals()[name] = _noted(name)
    del name, method


def _index(part):
    refuse((part,))
    if isinstance(part, ndarray) and part.dtype == np.bool_:
        waits.append("[mask]")
    return plain(part)


def plain(value):
    if isinstance(value, ndarray):
        return value.view(np.ndarray)
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value


def wrapped(value):
    if isinstance(value, (np.ndarray, np.generic)) or type(value) is int:  # as an older NumPy counts
        return np.asarray(value).view(ndarray)
    if isinstance(value, tuple):
        return tuple(map(wrapped, value))
    return value


def refuse(values):
    for value in values:
        if type(value) is np.ndarray:
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        if isinstance(value, (list, tuple)):
            refuse(value)


class runtime:
    class CUDARuntimeError(RuntimeError):
        pass

    getDevice = staticmethod(lambda: 0)
    getDeviceCount = staticmethod(lambda: 1)
    memcpyAsync = staticmethod(lambda to, source, size, kind, stream: ctypes.memmove(to, source, size))
    memsetAsync = staticmethod(lambda to, value, size, stream: ctypes.memset(to, value, size))
    eventRecord = staticmethod(lambda event, stream: None)
    streamSynchronize = staticmethod(lambda stream: None)
    streamIsCapturing = staticmethod(lambda stream: False)


class Device:
    compute_capability = "90"

    def __init__(self, number=0):
        self.id = number

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def synchronize(self):
        pass


class Event:
    ptr = 0
    done = True

    def __init__(self, **options):
        pass

    def synchronize(self):
        pass


class Stream:
    ptr = 0
    device_id = 0

    def synchronize(self):
        pass


class Allocation:
    def __init__(self, size):
        self.buffer = (ctypes.c_ubyte * size)()
        self.ptr = ctypes.addressof(self.buffer)


def _function(name):
    function = getattr(np, name)

    @functools.wraps(function)
    def call(*args, **kwargs):
        if name not in TAKES_NUMPY:
            refuse((*args, *kwargs.values()))
        if name in WAITING:
            waits.append(name)
        if name.startswith("logical_") and any(np.iscomplexobj(plain(arg)) for arg in args):
            raise TypeError(f"Wrong type ({args}) of arguments for cupy_{name}")
        kwargs = {key: plain(value) for key, value in kwargs.items()}
        return wrapped(function(*map(plain, args), **kwargs))

    return call


def _asarray(value, dtype=None, **options):
    if isinstance(value, ndarray) and (dtype is None or value.dtype == dtype):
        return value
    return wrapped(np.array(plain(value), dtype))


class Module(types.ModuleType):
    __version__ = "14.2.0"

    def __init__(self):
        super().__init__("cupy")
        self.ndarray = ndarray
        self.cuda = types.SimpleNamespace(
            runtime=runtime,
            driver=types.SimpleNamespace(launchKernel=None, launchCooperativeKernel=None),
            Device=Device,
            Event=Event,
            Stream=Stream,
            MemoryHook=MemoryHook,
            Memory=Allocation,
            alloc_pinned_memory=lambda size: (ctypes.c_ubyte * size)(),
            get_current_stream=Stream,
        )
        self.asarray = _asarray
        self.asnumpy = lambda array: np.array(plain(array))
        self._default_memory_pool = types.SimpleNamespace(free_all_blocks=lambda: None)
        self.get_default_memory_pool = lambda: self._default_memory_pool

    def empty(self, shape, dtype=float, order="C"):
        return ndarray(shape, dtype)

    def __getattr__(self, name):
        found = getattr(np, name)
        if callable(found) and not isinstance(found, type):
            found = _function(name)
        setattr(self, name, found)
        return found


@contextmanager
def instead() -> Iterator[Module]:
    """Inside, ``import cupy`` finds this, and awkward's CUDA backend is on it."""
    import awkward._connect.cuda as awkward_cuda
    from awkward._backends import dispatch as backends
    from awkward._backends.cupy import CupyBackend
    from awkward._nplikes import dispatch as nplikes
    from awkward._nplikes.cupy import Cupy
    from awkward._nplikes.numpy import Numpy

    module = Module()
    there = sys.modules.get("cupy")
    importer = awkward_cuda.import_cupy
    tables = backends._type_to_backend_lookup, nplikes._type_to_nplike
    kept = [dict(table) for table in tables]
    singletons = {cls: cls.__dict__["_instance"] for cls in (Cupy, CupyBackend) if "_instance" in cls.__dict__}
    for cls in singletons:
        del cls._instance
    sys.modules["cupy"] = module
    awkward_cuda.import_cupy = lambda name: module
    owns = Numpy.__dict__["is_own_array_type"]
    Numpy.is_own_array_type = classmethod(lambda cls, type_: type_ is not ndarray and issubclass(type_, np.ndarray))
    try:
        yield module
    finally:
        Numpy.is_own_array_type = owns
        sys.modules.pop("cupy", None)
        if there is not None:
            sys.modules["cupy"] = there
        awkward_cuda.import_cupy = importer
        for cls in (Cupy, CupyBackend):
            if "_instance" in cls.__dict__:
                del cls._instance
        for cls, instance in singletons.items():
            cls._instance = instance
        for table, entries in zip(tables, kept):
            table.clear()
            table.update(entries)
