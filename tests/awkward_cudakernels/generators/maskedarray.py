"""BitMaskedArray, ByteMaskedArray, MaskedArray."""

from __future__ import annotations

import numpy as np
from harness import Out

from . import LENGTHS, SEGMENTS, generator


def _bytes(c):
    for n in LENGTHS:
        yield f"{n}", c.rng.integers(0, 256, n).astype(np.uint8)
    yield "all set", np.full(300, 255, np.uint8)
    yield "all clear", np.zeros(300, np.uint8)
    yield "each bit", (1 << np.arange(8)).astype(np.uint8)


@generator("awkward_BitMaskedArray_to_ByteMaskedArray", "awkward_BitMaskedArray_to_IndexedOptionArray")
def from_bits(c):
    output = c.specialization.arguments[0].name
    for name, bits, validwhen in c.flags(_bytes(c)):
        for lsb_order in (False, True):
            yield (
                f"{name}, {lsb_order}",
                {
                    output: Out(8 * len(bits)),
                    "frombitmask": bits,
                    "bitmasklength": len(bits),
                    "validwhen": validwhen,
                    "lsb_order": lsb_order,
                },
            )


def _valid(mask, validwhen) -> int:
    return int(((mask != 0) == validwhen).sum())


@generator("awkward_ByteMaskedArray_getitem_nextcarry")
def nextcarry(c):
    for name, mask, validwhen in c.flags(c.mask_shapes()):
        yield (
            name,
            {
                "tocarry": Out(_valid(mask, validwhen)),
                "mask": mask,
                "length": len(mask),
                "validwhen": validwhen,
            },
        )


@generator("awkward_ByteMaskedArray_getitem_nextcarry_outindex")
def nextcarry_outindex(c):
    for name, values in nextcarry(c):
        yield name, {**values, "outindex": Out(values["length"])}


@generator("awkward_ByteMaskedArray_numnull")
def numnull(c):
    for name, mask, validwhen in c.flags(c.mask_shapes()):
        yield name, {"numnull": Out(1), "mask": mask, "length": len(mask), "validwhen": validwhen}


@generator("awkward_ByteMaskedArray_overlay_mask")
def overlay_mask(c):
    for name, mask, validwhen in c.flags(c.mask_shapes()):
        for label, theirs in (
            ("0 and 1", c.rng.integers(0, 2, len(mask))),
            ("any", c.rng.integers(-128, 128, len(mask))),
        ):
            yield (
                f"{name}, their mask {label}",
                {
                    "tomask": Out(len(mask)),
                    "theirmask": theirs.astype(np.int8),
                    "mymask": mask,
                    "length": len(mask),
                    "validwhen": validwhen,
                },
            )


@generator("awkward_ByteMaskedArray_reduce_next_64")
def reduce_next(c):
    for name, n, kind, start in SEGMENTS:
        for validwhen in (False, True):
            for share in (0.5, 0, 1):
                offsets = c.offsets(n, kind, start)
                mask = (c.rng.random(offsets[-1]) < share).astype(np.int8)
                if share == 0.5:
                    mask *= c.rng.choice(np.array([1, 2, -1], np.int8), len(mask))
                yield (
                    f"{name}, {share} set, {validwhen}",
                    {
                        "nextcarry": Out(_valid(mask[offsets[0] :], validwhen)),
                        "nextoffsets": Out(n + 1),
                        "outindex": Out(len(mask)),
                        "mask": mask,
                        "offsets": offsets,
                        "outlength": n,
                        "validwhen": validwhen,
                    },
                )


@generator("awkward_ByteMaskedArray_reduce_next_nonlocal_nextshifts_64")
def nextshifts(c):
    for name, mask, validwhen in c.flags(c.mask_shapes()):
        yield (
            name,
            {
                "nextshifts": Out(_valid(mask, validwhen)),
                "mask": mask,
                "length": len(mask),
                "valid_when": validwhen,
            },
        )


@generator("awkward_ByteMaskedArray_reduce_next_nonlocal_nextshifts_fromshifts_64")
def nextshifts_fromshifts(c):
    for name, values in nextshifts(c):
        yield name, {**values, "shifts": c.rng.integers(0, 50, values["length"])}


@generator("awkward_ByteMaskedArray_toIndexedOptionArray")
def to_indexed(c):
    for name, mask, validwhen in c.flags(c.mask_shapes()):
        yield name, {"toindex": Out(len(mask)), "mask": mask, "length": len(mask), "validwhen": validwhen}


@generator("awkward_IndexedOptionArray_rpad_and_clip_mask_axis1")
def rpad_and_clip_mask(c):
    for name, mask in c.mask_shapes():
        yield name, {"toindex": Out(len(mask)), "frommask": mask, "length": len(mask)}


@generator("awkward_MaskedArray_getitem_next_jagged_project")
def jagged_project(c):
    for name, index, _ in c.index_shapes(c.dtype("index")):
        n = len(index)
        x = c.lists(n, "shuffled", np.int64)
        kept = int((index >= 0).sum())
        yield (
            name,
            {
                "index": index,
                "starts_in": x.starts,
                "stops_in": x.stops,
                "starts_out": Out(kept),
                "stops_out": Out(kept),
                "length": n,
            },
        )


@generator("awkward_Content_getitem_next_missing_jagged_getmaskstartstop")
def missing_jagged(c):
    for name, index, _ in c.index_shapes(np.dtype(np.int64)):
        n = len(index)
        for first in (0, 7):
            yield (
                f"{name}, from {first}",
                {
                    "index_in": index,
                    "offsets_in": c.offsets(int((index >= 0).sum()), start=first),
                    "mask_out": Out(n),
                    "starts_out": Out(n),
                    "stops_out": Out(n),
                    "length": n,
                },
            )
