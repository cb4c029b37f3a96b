"""BitMaskedArray: one bit per element; an element is valid where its bit is `validwhen`."""

from primitives import device_function, op, transform

from .._registry import kernel


@device_function
def bit(bits, i, lsb_order):
    """Bit `i`, counted from the least or the most significant one of each byte."""
    place = i & 7 if lsb_order != 0 else 7 - (i & 7)
    return (bits[i >> 3] >> place) & 1


@op
def null_byte(i, tobytemask, frombitmask, validwhen, lsb_order):
    tobytemask[i] = bit(frombitmask, i, lsb_order) != validwhen


@kernel("awkward_BitMaskedArray_to_ByteMaskedArray")
def to_byte_masked_array(tobytemask, frombitmask, bitmasklength, validwhen, lsb_order):
    """A byte for each bit, set where it says None: one launch."""
    transform(null_byte, 8 * bitmasklength, tobytemask, frombitmask, validwhen, lsb_order)


@op
def index_or_none(i, toindex, frombitmask, validwhen, lsb_order):
    toindex[i] = i if bit(frombitmask, i, lsb_order) == validwhen else -1


@kernel("awkward_BitMaskedArray_to_IndexedOptionArray")
def to_indexed_option_array(toindex, frombitmask, bitmasklength, validwhen, lsb_order):
    """The mask as an option index: one launch."""
    transform(index_or_none, 8 * bitmasklength, toindex, frombitmask, validwhen, lsb_order)
