"""Numbers one by one: NumPy's universal functions, casts and fills.

CuPy's own kernels start a block for every 128 elements, which with many elements takes longer than to read
and write small ones. Here is what awkward and its users do most, one `transform` each; the rest
is CuPy's, and so is what would have to be cast first. Types are those of `numpy.ufunc.resolve_dtypes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from awkward._nplikes.virtual import VirtualNDArray

from primitives import DeviceFunction, Op, device_function, op, segmented_transform, transform

from . import device


@device_function
def add(x, y):
    return x + y


@device_function
def subtract(x, y):
    return x - y


@device_function
def multiply(x, y):
    return x * y


@device_function
def true_divide(x, y):
    return x / y


@device_function
def greater(x, y):
    return x > y


@device_function
def greater_equal(x, y):
    return x >= y


@device_function
def equal(x, y):
    return x == y


@device_function
def not_equal(x, y):
    return x != y


@device_function
def both(x, y):
    return x != 0 and y != 0


@device_function
def either(x, y):
    return x != 0 or y != 0


@device_function
def one_of_two(x, y):
    return (x != 0) != (y != 0)


@device_function
def negative(x):
    return -x


@device_function
def absolute(x):
    return abs(x)


@device_function
def square_root(x):
    return math.sqrt(x)


@device_function
def is_nan(x):
    return x != x


@device_function
def is_zero(x):
    return x == 0


@device_function
def order(x, y):
    """Of an int64 and a uint64: -1, 0 or 1."""
    if x < 0 or np.uint64(x) < y:
        return -1
    return 1 if np.uint64(x) > y else 0


@device_function
def is_more(x, y):
    return order(x, y) > 0


@device_function
def is_no_less(x, y):
    return order(x, y) >= 0


@device_function
def is_less(x, y):
    return order(x, y) < 0


@device_function
def is_no_more(x, y):
    return order(x, y) <= 0


@device_function
def is_same(x, y):
    return order(x, y) == 0


@device_function
def is_other(x, y):
    return order(x, y) != 0


def _of_arrays(function: DeviceFunction) -> Op:
    @op
    def of_arrays(i, out, x, y):
        out[i] = function(x[i], y[i])

    return of_arrays


def _of_array_and_number(function: DeviceFunction) -> Op:
    @op
    def of_array_and_number(i, out, x, y):
        out[i] = function(x[i], y)

    return of_array_and_number


def _of_number_and_array(function: DeviceFunction) -> Op:
    @op
    def of_number_and_array(i, out, x, y):
        out[i] = function(x, y[i])

    return of_number_and_array


def _of_elements_and_lists(function: DeviceFunction) -> Op:
    @op
    def of_elements_and_lists(segment, position, local, out, x, y):
        out[position] = function(x[position], y[segment])

    return of_elements_and_lists


def _of_lists_and_elements(function: DeviceFunction) -> Op:
    @op
    def of_lists_and_elements(segment, position, local, out, x, y):
        out[position] = function(x[segment], y[position])

    return of_lists_and_elements


def _of_one(function: DeviceFunction) -> Op:
    @op
    def of_one(i, out, x):
        out[i] = function(x[i])

    return of_one


class Function:
    """A universal function: its ops by which arguments are arrays, and for which dtypes they are.

    Args:
        function: of one or two numbers.
        chars: the dtypes of its arguments.
        swapped: whether it is `function` of the arguments in the other order: less is greater, mirrored.

    `ops_of_lists` are those of an array and of another that has a number for each list of the first.
    """

    def __init__(self, function: DeviceFunction, chars: str, *, swapped: bool = False) -> None:
        self.chars = frozenset(chars)
        self.swapped = swapped
        self.ops: dict[tuple[bool, ...], Op]
        self.ops_of_lists: dict[tuple[bool, ...], Op] = {}
        if len(function.parameters) == 1:
            self.ops = {(True,): _of_one(function)}
        else:
            self.ops = {
                (True, True): _of_arrays(function),
                (True, False): _of_array_and_number(function),
                (False, True): _of_number_and_array(function),
            }
            self.ops_of_lists = {
                (True, False): _of_elements_and_lists(function),
                (False, True): _of_lists_and_elements(function),
            }


_ALL, _USUAL, _SIGNED = "?bBhHiIlLqQfd", "ilqfd", "lq"

MIXED = {
    "greater": Function(is_more, _SIGNED),
    "greater_equal": Function(is_no_less, _SIGNED),
    "less": Function(is_less, _SIGNED),
    "less_equal": Function(is_no_more, _SIGNED),
    "equal": Function(is_same, _SIGNED),
    "not_equal": Function(is_other, _SIGNED),
}
"""Comparisons of int64 with uint64, which NumPy makes without going through float64."""
MIRRORED = {"greater": "less", "greater_equal": "less_equal", "less": "greater", "less_equal": "greater_equal"}

FUNCTIONS = {
    "add": Function(add, _USUAL),
    "subtract": Function(subtract, _USUAL),
    "multiply": Function(multiply, _USUAL),
    "divide": Function(true_divide, "fd"),
    "greater": Function(greater, _ALL),
    "greater_equal": Function(greater_equal, _ALL),
    "less": Function(greater, _ALL, swapped=True),
    "less_equal": Function(greater_equal, _ALL, swapped=True),
    "equal": Function(equal, _ALL),
    "not_equal": Function(not_equal, _ALL),
    "logical_and": Function(both, _ALL),
    "logical_or": Function(either, _ALL),
    "logical_not": Function(is_zero, _ALL),
    "bitwise_and": Function(both, "?"),
    "bitwise_or": Function(either, "?"),
    "bitwise_xor": Function(one_of_two, "?"),
    "invert": Function(is_zero, "?"),
    "negative": Function(negative, _USUAL),
    "absolute": Function(absolute, _USUAL),
    "sqrt": Function(square_root, "fd"),
    "isnan": Function(is_nan, "fd"),
}
"""By the names of NumPy's functions."""


@op
def repeat_element(segment, position, local, out, x):
    out[position] = x[segment]


@dataclass(frozen=True)
class Repeated:
    """A number for each list, repeated for the elements of the list: written when it is called.

    Args:
        numbers: an array of CuPy.
        offsets: of the lists, from 0 on: one more than there are numbers.
        total: the last offset.
    """

    numbers: Any
    offsets: Any
    total: int

    def __call__(self) -> Any:
        out = device.ndarray(self.total, self.numbers.dtype)
        segmented_transform(self.offsets, self.total, repeat_element, out, self.numbers)
        return out

    def unwritten(self, nplike: Any) -> VirtualNDArray:
        """An array for awkward that is written when it is used, unless `call` takes the numbers instead."""
        return VirtualNDArray(nplike, (self.total,), self.numbers.dtype, self)


def repeated_by(array: Any) -> Repeated | None:
    """What an array repeats that is not written yet; None of all others."""
    generator = array._generator if type(array) is VirtualNDArray else None
    return generator if type(generator) is Repeated else None


def call(name: str, args: list[Any], resolved: tuple[np.dtype[Any], ...]) -> Any:
    """A universal function of CuPy arrays and numbers, or None if it is none of these.

    Args:
        name: of NumPy's function.
        args: arrays of any shape, and Python's or NumPy's numbers, or numbers for lists (`Repeated`).
        resolved: the dtypes of the arguments and of the result.
    """
    found = FUNCTIONS.get(name)
    if found is not None and len(resolved) == 3 and resolved[0] != resolved[1]:
        found = None
        if name in MIXED and {resolved[0].char, resolved[1].char} <= {"l", "L", "q", "Q"}:
            if resolved[0].kind == "u":
                name, args = MIRRORED.get(name, name), args[::-1]
                resolved = (resolved[1], resolved[0], resolved[2])
            found = MIXED[name]
    if found is None or len(resolved) != len(args) + 1 or resolved[0].char not in found.chars:
        return None
    shape = lists = None
    for arg, dtype in zip(args, resolved, strict=False):
        if type(arg) is device.ndarray:
            if arg.dtype != dtype or not arg._c_contiguous or (shape is not None and arg.shape != shape):
                return None
            shape = arg.shape
        elif (repeated := repeated_by(arg)) is not None:
            if repeated.numbers.dtype != dtype and (repeated.numbers.dtype.char, dtype.char) not in CASTS:
                return None
            lists = repeated
        elif not isinstance(arg, (int, float, np.generic)):
            return None
    if shape is None or (lists is not None and shape != (lists.total,)):
        return None
    form = tuple(type(arg) is device.ndarray for arg in args)
    values = [
        arg if is_array else number_of(dtype, arg) if lists is None else _as(dtype, lists.numbers)
        for arg, is_array, dtype in zip(args, form, resolved, strict=False)
    ]
    if found.swapped:
        form, values = form[::-1], values[::-1]
    out = device.ndarray(shape, resolved[-1])
    if lists is None:
        transform(found.ops[form], math.prod(shape), out, *values)
    else:
        segmented_transform(lists.offsets, lists.total, found.ops_of_lists[form], out, *values)
    return out


def _as(dtype: np.dtype[Any], numbers: Any) -> Any:
    return numbers if numbers.dtype == dtype else cast(numbers, dtype)


def number_of(dtype: np.dtype[Any], value: Any) -> Any:
    """A number that has a dtype's value, of a type that ops take."""
    typed = dtype.type(value)
    if dtype.kind == "f":
        return float(typed)
    return np.uint64(typed) if dtype.char in "LQ" else int(typed)


@op
def copy_value(i, out, x):
    out[i] = x[i]


CASTS = {("f", "d"), ("d", "f")} | {(a, b) for a in "?bBhHiIlLqQ" for b in "bilqfd"}
"""Dtypes from and to: what a cast means everywhere. NumPy's of floats to integers is the processor's."""


def cast(array: Any, dtype: np.dtype[Any]) -> Any:
    """A copy of a CuPy array with another dtype, or None if it is none of `CASTS`."""
    if (array.dtype.char, dtype.char) not in CASTS or not array._c_contiguous:
        return None
    out = device.ndarray(array.shape, dtype)
    transform(copy_value, array.size, out, array)
    return out


@op
def fill_value(i, out, value):
    out[i] = value


def full(shape: Any, value: Any, dtype: np.dtype[Any]) -> Any:
    """An array that has a number everywhere, or None if it is none that ops take."""
    if dtype.char not in _ALL or not isinstance(value, (int, float, np.generic)):
        return None
    if dtype.kind in "iu":
        if not isinstance(value, (int, np.integer, np.bool_)):
            return None  # a cast that may have no meaning
        value = np.asarray(value).astype(dtype)[()]
    if isinstance(shape, tuple) and not all(isinstance(size, int) for size in shape):
        return None
    number = number_of(dtype, value)
    out = device.ndarray(shape, dtype)
    transform(fill_value, out.size, out, number)
    return out


def mask_as_bool_of_bytes(original: device.Method) -> device.Method:
    """`ByteMaskedArray.mask_as_bool`: in one launch of ours."""

    def mask_as_bool(self: Any, valid_when: bool | None = None) -> Any:
        mask = self._mask.data
        if not device.is_on_device(mask):
            return original(self, valid_when)
        as_it_is = valid_when is None or valid_when == self._valid_when
        return call("not_equal", [mask, 0 if as_it_is else 1], (mask.dtype, mask.dtype, np.dtype(bool)))

    return mask_as_bool


def mask_as_bool_of_index(original: device.Method) -> device.Method:
    """`IndexedOptionArray.mask_as_bool`: in one launch of ours."""

    def mask_as_bool(self: Any, valid_when: bool = True) -> Any:
        index = self._index.data
        if not device.is_on_device(index):
            return original(self, valid_when)
        name = "greater_equal" if valid_when else "less"
        return call(name, [index, 0], (index.dtype, index.dtype, np.dtype(bool)))

    return mask_as_bool
