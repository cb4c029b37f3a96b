"""Ranges of equal parents, for sorting."""

from primitives import op, scan

from .._registry import kernel


@op
def run_begins(i, value, parents):
    if i > 0:
        value[0] = parents[i] != parents[i - 1]


@op
def store_range(i, before, after, toindex, tolength, parentslength):
    if i == 0:
        toindex[0] = 0
        toindex[tolength - 1] = parentslength
    elif after != before:
        toindex[after] = i


@kernel("awkward_sorting_ranges")
def sorting_ranges(toindex, tolength, parents, parentslength):
    """Where runs of equal parents start, and where the last one ends: one launch."""
    n = max(parentslength, 1)
    scan(n, (run_begins, parents), (store_range, toindex, tolength, parentslength), dtype="flag")


@op
def store_number_of_offsets(i, before, after, tolength, last):
    if i == last:
        tolength[0] = after + 2


@kernel("awkward_sorting_ranges_length")
def sorting_ranges_length(tolength, parents, parentslength):
    """How many offsets `awkward_sorting_ranges` gives: one launch."""
    n = max(parentslength, 1)
    scan(n, (run_begins, parents), (store_number_of_offsets, tolength, n - 1), dtype="flag")
