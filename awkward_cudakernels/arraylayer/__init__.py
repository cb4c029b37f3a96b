"""What is under awkward's CUDA arrays while the backend is registered.

`arrays` is awkward's `nplike` for CuPy. The other modules are what awkward's classes do with such arrays,
where that is slow, waits for the device, or goes wrong: `installed` puts their functions in the places of
awkward's. Each does what awkward's does, for arrays of `CudaArrays`; for all others it calls awkward's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any

import awkward as ak
import awkward._backends.dispatch
import awkward._broadcasting
import awkward._connect.numpy
import awkward._errors
import awkward._slicing
import awkward.operations
from awkward._errors import ErrorContext
from awkward._nplikes.cupy import Cupy
from awkward._nplikes.virtual import VirtualNDArray
from awkward.contents import (
    ByteMaskedArray,
    Content,
    IndexedArray,
    IndexedOptionArray,
    ListArray,
    ListOffsetArray,
    NumpyArray,
    RecordArray,
    RegularArray,
    UnionArray,
)
from awkward.index import Index

from . import (
    applying,
    broadcasting,
    carries,
    choosing,
    combining,
    device,
    elementwise,
    grouping,
    indexes,
    merging,
    missing,
    moments,
    options,
    packing,
    reducing,
    shortcuts,
    slices,
    surfacing,
    ufuncs,
    zipping,
)
from .arrays import CudaArrays

__all__ = ["installed", "unlike_installed"]


def _replacements() -> Iterator[tuple[Any, str, Callable[[Any], Any]]]:
    """Owner, name, and a function of what is there that returns what takes its place."""
    yield ak.Array, "__setattr__", shortcuts.array_setattr
    yield Index, "__init__", indexes.index_init
    yield Index, "__getitem__", indexes.index_getitem
    yield Index, "__setitem__", indexes.index_setitem
    yield Index, "to64", indexes.index_to64
    yield Index, "materialize", indexes.index_materialize
    yield Content, "_getitem", slices.content_getitem
    yield ListOffsetArray, "__init__", carries.listoffsetarray_init
    yield ListOffsetArray, "_carry", carries.listoffsetarray_carry
    yield NumpyArray, "_carry", carries.numpyarray_carry
    yield NumpyArray, "_reduce_next", reducing.numpyarray_reduce_next
    yield NumpyArray, "_getitem_at", slices.numpyarray_getitem_at
    yield NumpyArray, "_getitem_next", slices.numpyarray_getitem_next
    yield ListOffsetArray, "_recursively_apply", applying.listoffsetarray_recursively_apply
    yield IndexedOptionArray, "_recursively_apply", applying.indexedoptionarray_recursively_apply
    yield IndexedArray, "project", carries.indexedarray_project
    prepare_next = carries.indexedoptionarray_rearrange_prepare_next
    yield IndexedOptionArray, "_rearrange_prepare_next", prepare_next
    yield RecordArray, "_carry", carries.recordarray_carry
    yield RegularArray, "_carry", carries.regulararray_carry
    yield RegularArray, "_getitem_next", slices.regulararray_getitem_next
    yield RegularArray, "_broadcast_tooffsets64", broadcasting.regulararray_broadcast_tooffsets64
    yield ListArray, "_broadcast_tooffsets64", carries.listarray_broadcast_tooffsets64
    yield ListArray, "to_ListOffsetArray64", packing.listarray_to_listoffsetarray64
    yield ListOffsetArray, "to_ListOffsetArray64", packing.listoffsetarray_to_listoffsetarray64
    yield ListOffsetArray, "_compact_offsets64", packing.listoffsetarray_compact_offsets64
    yield RegularArray, "to_ListOffsetArray64", packing.regulararray_to_listoffsetarray64
    yield RegularArray, "_compact_offsets64", packing.regulararray_compact_offsets64
    yield ByteMaskedArray, "mask_as_bool", elementwise.mask_as_bool_of_bytes
    yield IndexedOptionArray, "mask_as_bool", elementwise.mask_as_bool_of_index
    yield ByteMaskedArray, "_fill_none", options.bytemaskedarray_fill_none
    yield IndexedOptionArray, "_fill_none", options.indexedoptionarray_fill_none
    yield ByteMaskedArray, "_reduce_next", options.reduce_next
    yield IndexedOptionArray, "_reduce_next", options.reduce_next
    yield ListOffsetArray, "_drop_none", options.listoffsetarray_drop_none
    yield ListOffsetArray, "_combinations", combining.listoffsetarray_combinations
    yield UnionArray, "simplified", carries.unionarray_simplified
    yield ak._slicing, "_normalise_item_bool_to_int", slices.normalise_item_bool_to_int
    for module in (ak._slicing, ak._connect.numpy, ak.index, ak.contents.content, ak.contents.numpyarray):
        yield module, "to_nplike", surfacing.to_nplike
    for name in ("highlevel_array_show_rows", "prettyprint_valuestr"):
        yield ak.highlevel, name, surfacing.checked
    for owner in (Content, ak.record.Record):
        yield owner, "to_list", surfacing.checked
    yield Content, "to_json", surfacing.checked
    yield NumpyArray, "__iter__", surfacing.checked
    for name in ("to_cupy", "to_torch", "to_jax", "to_tensorflow"):
        yield _operation(name), "_impl", surfacing.checked
    yield ErrorContext, "decorate_exception", surfacing.cause_of
    yield ak._errors, "index_error", surfacing.index_error
    yield ListOffsetArray, "_mergemany", merging.listoffsetarray_mergemany
    yield ak._broadcasting, "broadcast_and_apply", broadcasting.broadcast_and_apply
    yield ak._connect.numpy, "array_ufunc", ufuncs.array_ufunc
    avoiding_carry = packing.broadcast_to_offsets_avoiding_carry
    yield ak._broadcasting, avoiding_carry.__name__, avoiding_carry
    for do in (reducing.reduce, reducing.sort, reducing.argsort):
        yield ak._do, do.__name__, do
    yield _operation("where"), "_impl3", choosing.where
    for name, replace in (
        ("cartesian", combining.cartesian),
        ("concatenate", merging.concatenate),
        ("drop_none", options.drop_none),
        ("firsts", missing.firsts),
        ("mask", zipping.mask),
        ("mean", moments.mean),
        ("num", grouping.num),
        ("run_lengths", grouping.run_lengths),
        ("singletons", missing.singletons),
        ("std", moments.standard_deviation),
        ("to_layout", shortcuts.to_layout),
        ("unflatten", grouping.unflatten),
        ("var", moments.variance),
        ("zip", zipping.zip),
        *reducing.OPERATIONS,
    ):
        yield _operation(name), "_impl", replace
    yield ak._backends.dispatch, "backend_of_obj", shortcuts.backend_of_obj
    for asked in shortcuts.ASKED_OFTEN:
        if type(asked) is type(VirtualNDArray):
            yield asked, "__class__", lambda _: shortcuts.NominalMeta


def _operation(name: str) -> Any:
    """awkward's module of an operation."""
    return getattr(awkward.operations, f"ak_{name}")


def _arguments(function: Any) -> tuple[tuple[str, ...], bool] | None:
    """The names of a function's arguments, and whether it takes others; None of what is not written in Python."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None:
        return None
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names, bool(code.co_flags & (CO_VARARGS | CO_VARKEYWORDS))


def _fits(theirs: Any, ours: Any) -> bool:
    """Whether a function can take the place of another, by the names of their arguments."""
    before, after = _arguments(theirs), _arguments(ours)
    if before is None or after is None:
        return True
    names, takes_others = after
    return before[0][: len(names)] == names if takes_others else before[0] == names


@cache
def _checked() -> tuple[tuple[tuple[Any, str], ...], tuple[str, ...]]:
    """What of the installed awkward is replaced, as owner and name, and in words what is not, for it is another
    function than the one that this layer knows."""
    fitting, unlike = [], []
    for owner, name, replace in _replacements():
        theirs = getattr(owner, name, None)
        where = f"{getattr(owner, '__name__', owner)}.{name}"
        if theirs is None:
            unlike.append(f"{where}: not in the installed awkward")
        elif not _fits(theirs, replace(theirs)):
            unlike.append(f"{where}: other arguments in the installed awkward")
        else:
            fitting.append((owner, name))
    return tuple(fitting), tuple(unlike)


def unlike_installed() -> tuple[str, ...]:
    """Functions of the installed awkward that stay its own, for they are not what this layer takes the place of."""
    return _checked()[1]


@contextmanager
def installed() -> Iterator[None]:
    """Inside, awkward's CUDA arrays use this layer."""
    nplike = Cupy.instance()
    device.ndarray = nplike._module.ndarray
    fitting = set(_checked()[0])
    replacements = []
    for owner, name, replace in _replacements():
        if (owner, name) in fitting:
            defined = vars(owner).get(name)
            theirs = defined if isinstance(defined, classmethod) else getattr(owner, name)
            replacements.append((owner, name, theirs, replace))
    nplike.__class__ = CudaArrays
    for owner, name, theirs, replace in replacements:
        setattr(owner, name, replace(theirs))
    try:
        yield
    finally:
        nplike.__class__ = Cupy
        device.ndarray = None
        for owner, name, theirs, _ in replacements:
            setattr(owner, name, theirs)
