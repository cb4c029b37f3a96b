"""Run-length encoding and decoding: labels that come in runs, as values and lengths, and back.

The number of runs is only known on the GPU. It stays there until the host asks for it, once, to
give the arrays their final length.

    python examples/run_length.py [--device] [--size LABELS]
"""

from common import milliseconds, options, show_times

from errorflag import read_items
from primitives import op, run_boundaries, scalar_of, segment_ids, transform


@op
def store_run(i, values, offsets, labels, runs, n):
    if i < runs:
        values[i] = labels[offsets[i]]
    elif i == runs:
        offsets[i] = n  # where the last run ends


def encode(xp, labels):
    """The value of each run, and the offsets of the runs. Two launches, one wait."""
    n = len(labels)
    offsets, values = xp.empty(n + 1, "int64"), xp.empty(n, labels.dtype)
    total = xp.empty(1, "int64")
    run_boundaries(labels, offsets, total=total)
    transform(store_run, n + 1, values, offsets, labels, scalar_of(total), n)
    (runs,) = read_items(total, [0])
    return values[:runs], offsets[: runs + 1]


def decode(xp, values, offsets, n):
    """The labels again."""
    run = xp.empty(n, "int64")
    segment_ids(offsets, run)
    return values[run]


def plain_encode(xp, labels):
    """The same in array operations."""
    (changes,) = xp.nonzero(labels[1:] != labels[:-1])
    ends = xp.full(1, len(labels), "int64")
    offsets = xp.concatenate([xp.zeros(1, "int64"), changes + 1, ends])
    return labels[offsets[:-1]], offsets


def plain_decode(xp, values, offsets):
    """The same in array operations."""
    return xp.repeat(values, offsets[1:] - offsets[:-1])


def main():
    xp, n = options(__doc__, size=1_000_000)
    xp.random.seed(7)
    labels = xp.cumsum(xp.random.random(n) < 0.1) % 5

    values, offsets = encode(xp, labels)
    assert (decode(xp, values, offsets, n) == labels).all()
    for ours, plain in zip((values, offsets), plain_encode(xp, labels)):
        assert (ours == plain).all()
    assert (plain_decode(xp, values, offsets) == labels).all()
    lengths = offsets[1:] - offsets[:-1]
    print(f"{n:,} labels are {len(values):,} runs; decoded, they are the labels again")
    print(f"first runs: values {values[:6].tolist()}, lengths {lengths[:6].tolist()}")

    ours = milliseconds(xp, lambda: decode(xp, *encode(xp, labels), n))
    plain = milliseconds(xp, lambda: plain_decode(xp, *plain_encode(xp, labels)))
    show_times(xp, ours, plain)


if __name__ == "__main__":
    main()
