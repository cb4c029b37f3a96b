"""Count, mean, lowest, highest and where it is, for every group of a point cloud, in one launch.

The points are sorted by group (a voxel of a scan, a particle's hits, an event's tracks), and
`offsets` says where each group starts. Groups may have any length, 0 too: the work is spread
accordingly.

    python examples/segment_statistics.py [--device] [--size POINTS]
"""

from common import milliseconds, options, show_times

from primitives import op, segmented_reduce, synchronize

INFINITY = float("inf")

# What is kept while going through a group: sum, lowest, highest, position of the highest.


@op
def start(kept, group):
    kept[0] = 0.0
    kept[1] = INFINITY
    kept[2] = -INFINITY
    kept[3] = -1.0


@op
def add_point(kept, group, position, height):
    h = height[position]
    kept[0] += h
    kept[1] = min(kept[1], h)
    if h > kept[2] or kept[3] < 0:
        kept[2] = h
        kept[3] = position


@op
def merge(kept, other, group):
    """For parts of a long group, in whatever order they come: of equal highest points, the first."""
    kept[0] += other[0]
    kept[1] = min(kept[1], other[1])
    if other[3] >= 0 and (kept[3] < 0 or other[2] > kept[2] or (other[2] == kept[2] and other[3] < kept[3])):
        kept[2] = other[2]
        kept[3] = other[3]


@op
def store(kept, group, count, mean, lowest, highest, where, offsets):
    n = offsets[group + 1] - offsets[group]
    count[group] = n
    mean[group] = kept[0] / n if n > 0 else 0.0
    lowest[group] = kept[1]
    highest[group] = kept[2]
    where[group] = int(kept[3])


def statistics(xp, offsets, height):
    """Count, mean, lowest, highest and its position (-1 in an empty group)."""
    groups = len(offsets) - 1
    integers = [xp.empty(groups, "int64") for _ in range(2)]
    floats = [xp.empty(groups) for _ in range(3)]
    results = integers[0], *floats, integers[1]
    segmented_reduce(
        offsets,
        len(height),
        dtype="float64",
        width=4,
        start=(start,),
        step=(add_point, height),
        merge=(merge,),
        finish=(store, *results, offsets),
    )
    return results


def plain_statistics(xp, offsets, height):
    """The same in array operations: by sorting the points of every group."""
    groups, points = len(offsets) - 1, len(height)
    count = offsets[1:] - offsets[:-1]
    group = xp.searchsorted(offsets, xp.arange(points), side="right") - 1
    mean = xp.bincount(group, weights=height, minlength=groups) / xp.maximum(count, 1)
    order = xp.lexsort(xp.stack([height, group.astype("float64")]))
    first, last = xp.minimum(offsets[:-1], points - 1), xp.maximum(offsets[1:] - 1, 0)
    lowest = xp.where(count > 0, height[order[first]], xp.inf)
    highest = xp.where(count > 0, height[order[last]], -xp.inf)
    return count, mean, lowest, highest, xp.where(count > 0, order[last], -1)


def main():
    xp, n = options(__doc__, size=1_000_000)
    xp.random.seed(7)
    cuts = xp.sort(xp.random.randint(0, n // 2, n // 10))  # the last group has half of all points
    offsets = xp.concatenate([xp.zeros(1, "int64"), cuts.astype("int64"), xp.full(1, n, "int64")])
    height = xp.random.random(n)

    results, expected = statistics(xp, offsets, height), plain_statistics(xp, offsets, height)
    synchronize()
    for name, ours, plain in zip(("count", "mean", "lowest", "highest", "where"), results, expected):
        equal = xp.allclose(ours, plain, rtol=1e-10) if name == "mean" else (ours == plain).all()
        assert equal, f"{name} differs"
    count, mean, lowest, highest, where = (array[-1].item() for array in results)
    print(f"{n:,} points in {len(offsets) - 1:,} groups, equal to the results of the plain way")
    print(
        f"the largest has {count:,}: mean {mean:.4f}, lowest {lowest:.4g}, "
        f"highest {highest:.6f} at point {where:,}"
    )

    ours = milliseconds(xp, lambda: statistics(xp, offsets, height))
    plain = milliseconds(xp, lambda: plain_statistics(xp, offsets, height))
    show_times(xp, ours, plain)


if __name__ == "__main__":
    main()
