"""awkward's own Python, where it is most of an operation's time."""

from __future__ import annotations

from typing import Any

import numpy as np
from awkward._backends.backend import Backend
from awkward._nplikes.array_like import MaterializableArray
from awkward._nplikes.jax import Jax
from awkward._nplikes.placeholder import PlaceholderArray
from awkward._nplikes.typetracer import TypeTracerArray
from awkward._nplikes.virtual import VirtualNDArray
from awkward._util import UNSET
from awkward.contents import NumpyArray

from .device import Method


def to_layout(original: Method) -> Method:
    """`ak.to_layout` of a number, for which awkward builds an array even if it then passes the number on."""

    def _impl(
        obj: Any,
        allow_record: bool,
        allow_unknown: bool,
        none_policy: str,
        regulararray: bool,
        use_from_iter: bool,
        primitive_policy: str,
        string_policy: str,
    ) -> Any:
        if primitive_policy in ("pass-through", "promote"):
            kind = type(obj)
            if kind is float or kind is bool or (kind is int and -(2**63) <= obj < 2**63):
                return obj if primitive_policy == "pass-through" else NumpyArray(np.array([obj]))
        return original(
            obj,
            allow_record,
            allow_unknown,
            none_policy,
            regulararray,
            use_from_iter,
            primitive_policy,
            string_policy,
        )

    return _impl


WITHOUT_BACKEND = frozenset((bool, float, int, list, slice, str, tuple, type(None), type(...)))
"""Types of arguments that have no backend, which awkward asks its six backends about in every call."""


def backend_of_obj(original: Method) -> Method:
    """`awkward._backends.dispatch.backend_of_obj`, which knows by itself what has none."""

    def backend_of_obj(obj: Any, default: Any = UNSET) -> Any:
        if type(obj) in WITHOUT_BACKEND and default is not UNSET:
            return default
        return original(obj, default)

    return backend_of_obj


def array_setattr(original: Method) -> Method:
    """`ak.Array.__setattr__`, which sets nine private attributes for every result."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if name[:1] == "_":
            object.__setattr__(self, name, value)
        else:
            original(self, name, value)

    return __setattr__


ASKED_OFTEN = (Backend, Jax, MaterializableArray, PlaceholderArray, TypeTracerArray, VirtualNDArray)
"""Classes that awkward's `isinstance` calls are about, a hundred times in an operation. They derive from
`typing.Protocol`, whose metaclass answers in Python; they are none, nor has any registered subclasses."""


class NominalMeta(type(VirtualNDArray)):  # type: ignore[misc]
    """Their metaclass but for `isinstance`, which is that of other classes."""

    __instancecheck__ = type.__instancecheck__
