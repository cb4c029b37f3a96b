"""UnionArray: a tag says which content an element comes from, an index says where in it."""

import ctypes

import numpy as np

from primitives import (
    device_function,
    load_int64,
    offsets_from,
    op,
    reduce,
    scan,
    scratch,
    segmented_transform,
    select,
    transform,
)

from .._registry import kernel
from .indexedarray import count_from


@op
def copy_at(i, toindex, toindexoffset, fromindex):
    toindex[toindexoffset + i] = fromindex[i]


@kernel("awkward_UnionArray_fillindex")
def fillindex(toindex, toindexoffset, fromindex, length):
    """Appends an index: one launch."""
    transform(copy_at, length, toindex, toindexoffset, fromindex)


@kernel("awkward_UnionArray_fillindex_count")
def fillindex_count(toindex, toindexoffset, length):
    """Appends the positions from 0 on: one launch."""
    transform(count_from, length, toindex, toindexoffset, 0)


@op
def none_as_zero(i, toindex, fromindex):
    toindex[i] = max(fromindex[i], 0)


@kernel("awkward_UnionArray_fillna")
def fillna(toindex, fromindex, length):
    """The index with 0 for None: one launch."""
    transform(none_as_zero, length, toindex, fromindex)


@op
def add_base(i, totags, totagsoffset, fromtags, base):
    totags[totagsoffset + i] = fromtags[i] + base


@kernel("awkward_UnionArray_filltags")
def filltags(totags, totagsoffset, fromtags, length, base):
    """Appends tags, counted from `base`: one launch."""
    transform(add_base, length, totags, totagsoffset, fromtags, base)


@op
def constant_at(i, totags, totagsoffset, base):
    totags[totagsoffset + i] = base


@kernel("awkward_UnionArray_filltags_const")
def filltags_const(totags, totagsoffset, length, base):
    """Appends the same tag: one launch."""
    transform(constant_at, length, totags, totagsoffset, base)


@op
def has_tag(i, keep, fromtags, which):
    keep[0] = fromtags[i] == which


@kernel("awkward_UnionArray_project")
def project(lenout, tocarry, fromtags, fromindex, length, which):
    """The index of the elements of one content, and their number: one launch."""
    select((has_tag, fromtags, which), length, tocarry, values=fromindex, total=lenout)


@op
def merge_inner(
    i,
    totags,
    toindex,
    outertags,
    outerindex,
    innertags,
    innerindex,
    towhich,
    innerwhich,
    outerwhich,
    base,
):
    if outertags[i] == outerwhich:
        j = outerindex[i]
        if innertags[j] == innerwhich:
            totags[i] = towhich
            toindex[i] = innerindex[j] + base


@kernel("awkward_UnionArray_simplify")
def simplify(
    totags,
    toindex,
    outertags,
    outerindex,
    innertags,
    innerindex,
    towhich,
    innerwhich,
    outerwhich,
    length,
    base,
):
    """Tags and index of one content of a union that is a content of a union: one launch."""
    inner = (outertags, outerindex, innertags, innerindex)
    transform(merge_inner, length, totags, toindex, *inner, towhich, innerwhich, outerwhich, base)


@op
def merge_one(i, totags, toindex, fromtags, fromindex, towhich, fromwhich, base):
    if fromtags[i] == fromwhich:
        totags[i] = towhich
        toindex[i] = fromindex[i] + base


@kernel("awkward_UnionArray_simplify_one")
def simplify_one(totags, toindex, fromtags, fromindex, towhich, fromwhich, length, base):
    """Tags and index of one content, as part of another: one launch."""
    transform(merge_one, length, totags, toindex, fromtags, fromindex, towhich, fromwhich, base)


@op(
    errors=(
        "tags[i] < 0",
        "index[i] < 0",
        "tags[i] >= len(contents)",
        "index[i] >= len(content[tags[i]])",
    )
)
def check_union(i, tags, index, numcontents, lencontents):
    if tags[i] < 0:
        return 1
    if index[i] < 0:
        return 2
    if tags[i] >= numcontents:
        return 3
    if index[i] >= lencontents[tags[i]]:
        return 4


@kernel("awkward_UnionArray_validity")
def validity(tags, index, length, numcontents, lencontents):
    """Whether all tags name a content, and all indexes lie inside theirs: one launch."""
    transform(check_union, length, tags, index, numcontents, lencontents)


def address_table(addresses):
    """Addresses as an array: awkward's NumPy backend passes them as a ctypes pointer."""
    if hasattr(addresses, "dtype"):
        return addresses
    pointer = ctypes.cast(addresses, ctypes.POINTER(ctypes.c_int64))
    return np.ctypeslib.as_array(pointer, (128,))  # as many contents as int8 tags can name


@device_function
def list_offset(offsetsraws, tag, index):
    return load_int64(offsetsraws[tag], index)


@op
def union_list_length(i, value, fromtags, fromindex, offsetsraws):
    tag = fromtags[i]
    index = fromindex[i]
    value[0] = list_offset(offsetsraws, tag, index + 1) - list_offset(offsetsraws, tag, index)


@kernel("awkward_UnionArray_flatten_length")
def flatten_length(total_length, fromtags, fromindex, length, offsetsraws):
    """The number of elements of all lists: one launch."""
    lists = (union_list_length, fromtags, fromindex, address_table(offsetsraws))
    reduce(length, lists, total_length)


@op
def union_element(segment, position, local, totags, toindex, fromtags, fromindex, offsetsraws):
    tag = fromtags[segment]
    totags[position] = tag
    toindex[position] = list_offset(offsetsraws, tag, fromindex[segment]) + local


@kernel("awkward_UnionArray_flatten_combine")
def flatten_combine(totags, toindex, tooffsets, fromtags, fromindex, length, offsetsraws):
    """Tags and index of the elements of all lists, and the offsets of the lists.

    Two launches: offsets, then an op balanced over elements.
    """
    lists = (fromtags, fromindex, address_table(offsetsraws))
    offsets_from((union_list_length, *lists), length, tooffsets)
    segmented_transform(tooffsets, totags.shape[0], union_element, totags, toindex, *lists, segments=length)


@op
def load_count(i, value, counts):
    value[0] = counts[i]


@op
def store_offset_and_stop(i, before, after, offsets, tmpstarts, fromcounts):
    if i == 0:
        offsets[0] = 0
    offsets[i + 1] = after
    tmpstarts[i] += fromcounts[i]


@op
def tagged_element(segment, position, local, totags, toindex, offsets, stops, tag):
    to = stops[segment] - (offsets[segment + 1] - position)
    totags[to] = tag
    toindex[to] = position


@kernel("awkward_UnionArray_nestedfill_tags_index")
def nestedfill_tags_index(totags, toindex, tmpstarts, tag, fromcounts, length):
    """Puts the lists of one content into room kept for them in merged lists, and moves the starts on.

    Two launches: a scan of the counts, which also moves the starts, then an op balanced over
    elements, which counts back from the moved starts.
    """
    offsets = scratch(tmpstarts, length + 1, "int64")
    scan(length, (load_count, fromcounts), (store_offset_and_stop, offsets, tmpstarts, fromcounts))
    segmented_transform(
        offsets,
        totags.shape[0],
        tagged_element,
        totags,
        toindex,
        offsets,
        tmpstarts,
        tag,
        segments=length,
    )


@op
def tag_plus_one(i, value, fromtags, length):
    value[0] = max(fromtags[i] + 1, 1) if i < length else 1


@kernel("awkward_UnionArray_regular_index_getsize")
def regular_index_getsize(size, fromtags, length):
    """One more than the largest tag, at least 1: one launch; an index past the tags stands for 0."""
    reduce(length + 1, (tag_plus_one, fromtags, length), size, combine="maximum")


@op
def zero(i, out):
    out[i] = 0


@device_function
def field(packed, which, bits):
    return (packed >> (which * bits)) & ((1 << bits) - 1)


@op
def one_in_field(i, value, fromtags, fields, bits):
    if fromtags[i] < fields:
        value[0] = 1 << (fromtags[i] * bits)


@op
def rank_from_fields(i, before, after, toindex, current, fromtags, fields, bits, length):
    if fromtags[i] < fields:
        toindex[i] = field(before, fromtags[i], bits)
    else:
        rank = i
        for which in range(fields):
            rank -= field(before, which, bits)
        toindex[i] = rank
    if i == length - 1:
        rest = length
        for which in range(fields):
            current[which] = field(after, which, bits)
            rest -= field(after, which, bits)
        current[fields] = rest


@op
def count_chunk(chunk, counts, fromtags, size, width, chunks, length):
    for tag in range(size):
        counts[tag * chunks + chunk] = 0
    for i in range(chunk * width, min((chunk + 1) * width, length)):
        counts[fromtags[i] * chunks + chunk] += 1


@op
def store_first(i, before, after, counts, firsts, chunks):
    counts[i] = before
    if i % chunks == 0:
        firsts[i // chunks] = before


@op
def rank_chunk(chunk, toindex, current, counts, firsts, fromtags, size, width, chunks, length):
    for i in range(chunk * width, min((chunk + 1) * width, length)):
        tag = fromtags[i]
        toindex[i] = counts[tag * chunks + chunk] - firsts[tag]
        counts[tag * chunks + chunk] += 1
    if chunk == chunks - 1:
        for tag in range(size):
            current[tag] = counts[tag * chunks + chunk] - firsts[tag]


@kernel("awkward_UnionArray_regular_index")
def regular_index(toindex, current, size, fromtags, length):
    """For every element, how many before it have its tag; for every tag, how many have it.

    One launch where the counts of all tags but the last fit into the bits of one scanned integer:
    up to 3 contents always (below 2**31 elements), 4 up to 2**21, and so on. The last tag has the
    rest of the elements. Else three launches, as in a radix sort: the counts of short chunks, one
    scan of all of them with the tag as the major index, and the ranks from there.
    """
    fields = max(size - 1, 1)
    bits = 63 // fields
    if length == 0:
        transform(zero, size, current)
    elif length < 1 << bits:
        scan(
            length,
            (one_in_field, fromtags, size - 1, bits),
            (rank_from_fields, toindex, current, fromtags, size - 1, bits, length),
        )
    else:
        width = max(32, size)  # counts take at most as much memory as 64-bit ranks
        chunks = (length + width - 1) // width
        counts = scratch(toindex, size * chunks, "int64")
        firsts = scratch(toindex, size, "int64")
        transform(count_chunk, chunks, counts, fromtags, size, width, chunks, length)
        scan(size * chunks, (load_count, counts), (store_first, counts, firsts, chunks))
        where = (counts, firsts, fromtags, size, width, chunks, length)
        transform(rank_chunk, chunks, toindex, current, *where)
