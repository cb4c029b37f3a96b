"""`ak.where` of numbers: condition, both sides and result are each gone through once."""

from __future__ import annotations

from contextvars import ContextVar
from functools import cache
from typing import Any

import awkward as ak
import numpy as np
from awkward._parameters import parameters_intersect
from awkward.contents import Content, ListOffsetArray, NumpyArray

from primitives import op, transform

from ..kernels.bytemaskedarray import valid
from .arrays import CudaArrays
from .carries import can_be_one
from .device import Method, context_of, is_own, is_plain
from .elementwise import number_of
from .zipping import are_unnamed, contents_of_same_lists, fit

_mergebool: ContextVar[bool] = ContextVar("_mergebool")
"""Whether the `ak.where` that runs makes numbers of booleans, where the other side has numbers."""

_NUMBERS = (int, float, np.generic)
_OF_OPS = "?bBhHiIlLqQfd"
"""Dtypes of numbers that are arguments of ops. Arrays may also be complex."""


# Both are loaded before one is stored, so that a GPU waits for its memory once: compilers move no load over a
# store that may be to the same place, and of numbers of one type make one of two stores. With an `else`, they
# load what is chosen, when the condition is there. Nor is it one expression: with a number of another type in
# it, uint64 would become float64.


@op
def one_of_arrays(i, out, condition, x_when, x, y):
    chosen = valid(condition, i, x_when)
    of_x = x[i]
    out[i] = y[i]
    if chosen:
        out[i] = of_x


@op
def one_of_array_and_number(i, out, condition, x_when, x, y):
    chosen = valid(condition, i, x_when)
    of_x = x[i]
    out[i] = y
    if chosen:
        out[i] = of_x


@op
def one_of_numbers(i, out, condition, x_when, x, y):
    if valid(condition, i, x_when):
        out[i] = x
    else:
        out[i] = y


def where(original: Method) -> Method:
    """`ak.where` of three arguments: of numbers, and of the same lists of them, at once; of others, it notes for the
    leaves what it was told about booleans."""

    def _impl3(
        condition: Any, x: Any, y: Any, mergebool: bool, highlevel: bool, behavior: Any, attrs: Any
    ) -> Any:
        arrays = [given for given in (x, y, condition) if not isinstance(given, _NUMBERS)]
        if isinstance(condition, ak.Array) and are_unnamed(arrays, attrs):
            found = _of_same_lists(condition._layout, [getattr(side, "_layout", side) for side in (x, y)], mergebool)
            if found is not None:
                return context_of(arrays, behavior, attrs).wrap(found, highlevel=highlevel)
        before = _mergebool.set(mergebool)
        try:
            return original(condition, x, y, mergebool, highlevel, behavior, attrs)
        finally:
            _mergebool.reset(before)

    return _impl3


def _of_same_lists(condition: Any, sides: list[Any], mergebool: bool) -> Any:
    """The layout of numbers that are chosen, in lists if these are all the same; None of anything else.

    Straight to the leaves, round awkward's broadcasting.
    """
    layouts = [condition, *(side for side in sides if isinstance(side, Content))]
    if not fit(layouts) or any(type(side) is int and not -(2**63) <= side < 2**63 for side in sides):
        return None  # awkward says what is wrong
    offsets = None
    if type(condition) is ListOffsetArray:
        if not all(type(layout) is ListOffsetArray and is_plain(layout._content) for layout in layouts):
            return None
        contents = contents_of_same_lists(layouts)
        if contents is None:
            return None
        offsets, left = condition._offsets, iter(contents)
        condition = next(left)
        sides = [next(left) if isinstance(side, Content) else side for side in sides]
    x_side, y_side = map(_side, sides)
    if not (is_plain(condition) and x_side and y_side and can_be_one(x_side[0], y_side[0], mergebool)):
        return None
    chosen = _chosen(condition._data, x_side, y_side, condition._backend)
    return chosen if offsets is None else ListOffsetArray(offsets, chosen)


def at_leaves(original: Method) -> Method:
    """The action of the `ak.where` that runs: numbers are chosen in one launch.

    awkward goes by a union: tags, and an index that counts. A number of the user's, of which it makes an
    array, is an argument here.
    """
    mergebool = _mergebool.get(None)
    if mergebool is None:
        return original

    def action(inputs: Any, backend: Any, **context: Any) -> Any:
        x, y, condition = inputs
        if type(backend.nplike) is CudaArrays and is_plain(condition):
            x_side, y_side = _side(x), _side(y)
            if x_side is not None and y_side is not None and can_be_one(x_side[0], y_side[0], mergebool):
                return (_chosen(condition._data, x_side, y_side, backend),)
        return original(inputs, backend=backend, **context)

    return action


def _side(given: Any) -> tuple[Any, Any] | None:
    """An array of the type that awkward makes of a side, and what ops take; None if there is no such thing."""
    if is_plain(given):
        return (given, given._data) if given._data.dtype.char in _OF_OPS + "FD" else None
    if isinstance(given, _NUMBERS):
        dtype = np.asarray(given).dtype
        if dtype.char in _OF_OPS:
            return _like(dtype), number_of(dtype, given)
    return None


@cache
def _like(dtype: np.dtype[Any]) -> Any:
    return NumpyArray(np.zeros(1, dtype))


def _chosen(condition: Any, x_side: tuple[Any, Any], y_side: tuple[Any, Any], backend: Any) -> Any:
    n = condition.shape[0]
    (first, x), (second, y) = sides = sorted((x_side, y_side), key=_place)
    out = backend.nplike.empty(n, dtype=np.result_type(first._data.dtype, second._data.dtype))
    chosen = one_of_arrays if is_own(y) else one_of_array_and_number if is_own(x) else one_of_numbers
    transform(chosen, n, out, condition, int(sides[0] is x_side), x, y)
    parameters = parameters_intersect(first._parameters, second._parameters)
    return NumpyArray(out, parameters=parameters, backend=backend)


def _place(side: tuple[Any, Any]) -> tuple[bool, int]:
    """Sides go to ops in one order: arrays first, then by type. Of two orders, only one is compiled."""
    like, given = side
    return not is_own(given), like._data.dtype.num
