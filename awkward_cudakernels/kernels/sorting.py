"""Ranges of equal parents, for sorting."""

from primitives import op, reduce, scan

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
def offsets_of_run(i, count, parents):
    """An offset for the end of all runs, counted with the first one's start, and one for every other's start."""
    count[0] = 2 if i == 0 else parents[i] != parents[i - 1]


@kernel("awkward_sorting_ranges_length")
def sorting_ranges_length(tolength, parents, parentslength):
    """How many offsets `awkward_sorting_ranges` gives: one launch."""
    reduce(max(parentslength, 1), (offsets_of_run, parents), tolength)
