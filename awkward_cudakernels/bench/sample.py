"""Jagged arrays for the measurements, made with NumPy and moved once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import awkward as ak
import numpy as np
from numpy.typing import NDArray

__all__ = ["Sample"]

BLOCK = 2_000_000
"""Lists that are drawn at random; more are repetitions of these, for drawing takes longest."""

MEAN = 3
SCALE = 20.0


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _repeated(values: NDArray[Any], times: int, rest: int) -> NDArray[Any]:
    return np.concatenate([values] * times + [values[:rest]]) if times != 1 or rest else values


class Sample:
    """Arrays of `lists` lists; each is made when it is first asked for, on awkward's CPU backend.

    Args:
        lists: their number.
        backend: where `get` puts them, ``"cpu"`` or ``"cuda"``.

    ``a``, ``b``: lists of float64 of the same lengths, Poisson with mean 3 (0 occurs); ``c``: of other
    lengths; ``d``: none empty, mean 3. Values are exponential with mean 20.
    """

    def __init__(self, lists: int, backend: str = "cpu") -> None:
        self.lists = lists
        self.backend = backend
        self._moved: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        """The array of that name, on the backend. The caller sees to it that no kernels of this project
        are registered for the CPU."""
        if name not in self._moved:
            found = getattr(self, name)
            if self.backend == "cuda":
                if isinstance(found, ak.Array):
                    found = ak.to_backend(found, "cuda")
                elif isinstance(found, np.ndarray):
                    import cupy

                    found = cupy.asarray(found)
                self.__dict__.pop(name, None)
            self._moved[name] = found
        return self._moved[name]

    def counts(self, seed: int, least: int = 0) -> NDArray[np.int64]:
        """Lengths of lists: Poisson with mean 3, at least `least`."""
        times, rest = divmod(self.lists, BLOCK)
        block = np.random.default_rng(seed).poisson(MEAN - least, min(self.lists, BLOCK)) + least
        return _repeated(block, times, rest if times else 0) if times else block

    def values(self, size: int, seed: int) -> NDArray[np.float64]:
        """Exponential with mean 20."""
        block = min(size, MEAN * BLOCK)
        drawn = np.random.default_rng(seed).exponential(SCALE, block)
        return _repeated(drawn, size // block, size % block) if block else drawn

    def lists_of(self, offsets: NDArray[np.int64], content: NDArray[Any]) -> ak.Array:
        """An array of lists."""
        return ak.Array(
            ak.contents.ListOffsetArray(ak.index.Index64(offsets), ak.contents.NumpyArray(content))
        )

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        return _offsets(self.counts(1))

    @cached_property
    def content(self) -> NDArray[np.float64]:
        return self.values(int(self.offsets[-1]), 2)

    @cached_property
    def a(self) -> ak.Array:
        return self.lists_of(self.offsets, self.content)

    @cached_property
    def b(self) -> ak.Array:
        return self.lists_of(self.offsets, self.values(len(self.content), 3))

    @cached_property
    def c(self) -> ak.Array:
        offsets = _offsets(self.counts(4))
        return self.lists_of(offsets, self.values(int(offsets[-1]), 5))

    @cached_property
    def d(self) -> ak.Array:
        offsets = _offsets(self.counts(6, least=1))
        return self.lists_of(offsets, self.values(int(offsets[-1]), 7))

    @cached_property
    def integers(self) -> ak.Array:
        return self.lists_of(self.offsets, (self.content / 10).astype(np.int64))

    @cached_property
    def records(self) -> ak.Array:
        """Lists of records with fields x and y."""
        fields = [
            ak.contents.NumpyArray(self.content),
            ak.contents.NumpyArray(self.b.layout.content.data),
        ]
        content = ak.contents.RecordArray(fields, ["x", "y"])
        return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(self.offsets), content))

    @cached_property
    def masked(self) -> ak.Array:
        """``a`` with None where it is 20 or less."""
        mask = ak.index.Index8((self.content > SCALE).view(np.int8))
        content = ak.contents.ByteMaskedArray(
            mask, ak.contents.NumpyArray(self.content), valid_when=True
        )
        return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(self.offsets), content))

    @cached_property
    def selection(self) -> ak.Array:
        """A boolean for each list."""
        return ak.Array(self.counts(1) % 2 == 0)

    @cached_property
    def weights(self) -> ak.Array:
        """A number for each list."""
        return ak.Array(self.values(self.lists, 8))

    @cached_property
    def flat(self) -> ak.Array:
        return ak.Array(self.content)

    @cached_property
    def lengths(self) -> ak.Array:
        return ak.Array(self.counts(1))

    @cached_property
    def regular(self) -> ak.Array:
        """Lists of three."""
        content = ak.contents.NumpyArray(self.values(3 * self.lists, 9))
        return ak.Array(ak.contents.RegularArray(content, 3, self.lists))

    @cached_property
    def threes(self) -> ak.Array:
        """Lists of three whose length is not in their type."""
        return self.lists_of(np.arange(self.lists + 1) * 3, self.values(3 * self.lists, 9))

    @cached_property
    def best(self) -> ak.Array:
        """The position of the largest of every list of ``a``, as lists of one option."""
        return ak.argmax(self.a, axis=1, keepdims=True)

    @cached_property
    def order(self) -> ak.Array:
        """The positions that sort ``a``."""
        return ak.argsort(self.a, axis=1)

    @cached_property
    def firsts(self) -> ak.Array:
        """The first of every list of ``a``, None for an empty one."""
        return ak.firsts(self.a, axis=1)

    @cached_property
    def sorted_integers(self) -> ak.Array:
        return ak.Array(np.sort(self.counts(1)))
