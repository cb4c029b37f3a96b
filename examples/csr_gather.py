"""Gathers rows of a sparse matrix, with every row number checked where it is used: on the GPU.

A CSR matrix is three arrays: `indptr` says where each row starts, `columns` and `values` hold the
rows' entries one after the other. Gathering rows (a mini-batch, say) makes a new CSR matrix of them.

A row number out of range would read other memory. The usual remedy, looking at the smallest and the
largest number first, makes the host wait for the GPU in every call. Here the check is in the kernel,
and the error is raised when the host next waits anyway, with the position of the bad number.

    python examples/csr_gather.py [--device] [--size ROWS]
"""

from common import milliseconds, options, show_times

from errorflag import DeviceValueError
from primitives import offsets_from, op, segmented_transform, synchronize

LONGEST = 8  # entries of a row, at most: known from how the matrix was made


@op(errors=("row number out of range",))
def row_length(i, count, rows, indptr, n_rows):
    row = rows[i]
    if not 0 <= row < n_rows:
        return 1  # the first of the errors; row `i` of the result has no entries
    count[0] = indptr[row + 1] - indptr[row]


@op
def copy_entry(segment, position, local, out_columns, out_values, rows, indptr, columns, values):
    source = indptr[rows[segment]] + local
    out_columns[position] = columns[source]
    out_values[position] = values[source]


def gather(xp, matrix, rows):
    """Rows of a CSR matrix. Two launches, and no wait for the GPU."""
    indptr, columns, values = matrix
    room = LONGEST * len(rows)  # at least as long as needed, so that no length is read back
    out_indptr = xp.empty(len(rows) + 1, indptr.dtype)
    out_columns, out_values = xp.empty(room, columns.dtype), xp.empty(room, values.dtype)
    offsets_from((row_length, rows, indptr, len(indptr) - 1), len(rows), out_indptr)
    segmented_transform(out_indptr, room, copy_entry, out_columns, out_values, rows, indptr, columns, values)
    return out_indptr, out_columns, out_values


def plain_gather(xp, matrix, rows):
    """The same in array operations."""
    indptr, columns, values = matrix
    if rows.min() < 0 or rows.max() >= len(indptr) - 1:  # the GPU has to finish before the host knows
        raise IndexError("row number out of range")
    lengths = indptr[rows + 1] - indptr[rows]
    out_indptr = xp.zeros(len(rows) + 1, indptr.dtype)
    xp.cumsum(lengths, out=out_indptr[1:])
    shift = indptr[rows] - out_indptr[:-1]
    source = xp.repeat(shift, lengths)  # and again, for the length of the result
    source += xp.arange(len(source))
    return out_indptr, columns[source], values[source]


def main():
    xp, n = options(__doc__, size=200_000)
    xp.random.seed(7)
    indptr = xp.zeros(n + 1, "int64")
    xp.cumsum(xp.random.randint(0, LONGEST + 1, n), out=indptr[1:])
    entries = int(indptr[-1])
    matrix = indptr, xp.random.randint(0, n, entries), xp.random.random(entries)
    rows = xp.random.randint(0, n, n)

    result, expected = gather(xp, matrix, rows), plain_gather(xp, matrix, rows)
    synchronize()
    length = int(result[0][-1])
    for ours, plain in zip(result, expected):
        assert (ours[: len(plain)] == plain).all()
    print(f"{n:,} rows gathered, {length:,} entries, equal to those of the plain way")

    rows[n // 3] = n  # one too many
    gather(xp, matrix, rows)  # returns as if nothing had happened, and the next call does nothing
    gather(xp, matrix, rows)
    try:
        synchronize()
    except DeviceValueError as error:
        print(f"raised by synchronize(): {error}")
        for note in error.__notes__:
            print(f"    {note}")
        print(f"    error.index = {error.index}, rows[error.index] = {int(rows[error.index])}")
    rows[n // 3] = 0

    ours = milliseconds(xp, lambda: gather(xp, matrix, rows))
    plain = milliseconds(xp, lambda: plain_gather(xp, matrix, rows))
    show_times(xp, ours, plain)


if __name__ == "__main__":
    main()
