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


ASKED_OFTEN = (Backend, Jax, MaterializableArray, PlaceholderArray, TypeTracerArray, VirtualNDArray)
"""Classes that awkward's `isinstance` calls are about, a hundred times in an operation. They derive from
`typing.Protocol`, whose metaclass answers in Python; they are none, nor has any registered subclasses."""


class NominalMeta(type(VirtualNDArray)):  # type: ignore[misc]
    """Their metaclass but for `isinstance`, which is that of other classes."""

    __instancecheck__ = type.__instancecheck__
