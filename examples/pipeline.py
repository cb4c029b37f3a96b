"""Ten primitive calls on one stream with a single check at the end; on the GPU, also as a CUDA graph.

Hits of a detector come in events. Calibrate them, drop the faint ones, sort the others, and rank the
events by energy. No call waits for the one before; sizes that depend on the data stay on the GPU.
An error in any of the ten is raised by the one `synchronize()` at the end.

    python examples/pipeline.py [--device] [--size HITS]
"""

import numpy as np
from common import milliseconds, options, show_times

import errorflag
from primitives import (
    inclusive_scan,
    offsets_from,
    op,
    scalar_of,
    searchsorted,
    segment_ids,
    segmented_reduce,
    segmented_sort,
    select,
    synchronize,
    transform,
)

SHARE = 0.1  # hits with less than this share of their event's energy are dropped


@op(errors=("negative pulse height",))
def calibrate(i, energy, pulse, gain):
    if pulse[i] < 0:
        energy[i] = 0
        return 1
    energy[i] = gain * pulse[i]


@op
def zero(sums, event):
    sums[0] = 0.0


@op
def add_hit(sums, event, position, energy):
    sums[0] += energy[position]


@op
def add_sums(sums, other, event):
    sums[0] += other[0]


@op
def store_sum(sums, event, total):
    total[event] = sums[0]


@op
def share_of_event(i, share, energy, event, total):
    of_event = total[event[i]]
    share[i] = energy[i] / of_event if of_event > 0 else 0.0


@op
def count_bright(i, count, share, offsets, lowest):
    for position in range(offsets[i], offsets[i + 1]):
        if share[position] >= lowest:
            count[0] += 1


@op
def is_bright(i, keep, share, lowest):
    keep[0] = share[i] >= lowest


@op
def take(i, out, energy, indexes, n):
    if i < n:
        out[i] = energy[indexes[i]]


class Pipeline:
    """The arrays that the ten calls use: made once, so that a graph can use them again."""

    def __init__(self, xp, pulse, offsets):
        hits, events = len(pulse), len(offsets) - 1
        self.pulse, self.offsets = pulse, offsets
        self.energy, self.share = xp.empty(hits), xp.empty(hits)
        self.event, self.bright = xp.empty(hits, "int64"), xp.empty(hits, "int64")
        self.total, self.running = xp.empty(events), xp.empty(events)
        self.n_bright = xp.empty(1, "int64")
        self.bright_offsets = xp.empty(events + 1, "int64")
        self.bright_energy, self.sorted_energy = xp.empty(hits), xp.empty(hits)
        self.levels = xp.linspace(0, 1, 101) * float(pulse.sum())  # in units of a gain of 1
        self.level_event = xp.empty(101, "int64")

    def run(self):
        hits, events = len(self.pulse), len(self.total)
        transform(calibrate, hits, self.energy, self.pulse, 1.0)
        segment_ids(self.offsets, self.event)
        segmented_reduce(
            self.offsets,
            hits,
            dtype="float64",
            start=(zero,),
            step=(add_hit, self.energy),
            merge=(add_sums,),
            finish=(store_sum, self.total),
        )
        transform(share_of_event, hits, self.share, self.energy, self.event, self.total)
        offsets_from((count_bright, self.share, self.offsets, SHARE), events, self.bright_offsets)
        select((is_bright, self.share, SHARE), hits, self.bright, total=self.n_bright)
        n_bright = scalar_of(self.n_bright)  # read by the kernels, not by the host
        transform(take, hits, self.bright_energy, self.energy, self.bright, n_bright)
        segmented_sort(self.bright_offsets, self.bright_energy, self.sorted_energy, ascending=False)
        inclusive_scan(self.total, self.running)
        searchsorted(self.running, self.levels, self.level_event)

    def results(self):
        """Offsets and energies of the bright hits, and the event at which each level is reached."""
        (n,) = errorflag.read_items(self.n_bright, [0])
        return self.bright_offsets, self.sorted_energy[:n], self.level_event


def plain_pipeline(xp, pulse, offsets, levels):
    """The same in array operations."""
    if (pulse < 0).any():
        raise ValueError("negative pulse height")
    energy = 1.0 * pulse
    events = len(offsets) - 1
    event = xp.repeat(xp.arange(events), offsets[1:] - offsets[:-1])
    total = xp.bincount(event, weights=energy, minlength=events)
    of_event = total[event]
    bright = xp.where(of_event > 0, energy / xp.where(of_event > 0, of_event, 1), 0) >= SHARE
    bright_event, bright_energy = event[bright], energy[bright]
    bright_offsets = xp.zeros(events + 1, "int64")
    xp.cumsum(xp.bincount(bright_event, minlength=events), out=bright_offsets[1:])
    order = xp.lexsort(xp.stack([-bright_energy, bright_event.astype("float64")]))
    return bright_offsets, bright_energy[order], xp.searchsorted(xp.cumsum(total), levels)


def compare(ours, plain):
    assert (ours[0] == plain[0]).all() and (ours[1] == plain[1]).all()
    assert abs(ours[2] - plain[2]).max() <= 1  # sums are rounded in another order


def main():
    xp, n = options(__doc__, size=500_000)
    xp.random.seed(7)
    lengths = xp.random.randint(1, 20, n // 10)
    offsets = xp.zeros(len(lengths) + 1, "int64")
    xp.cumsum(lengths, out=offsets[1:])
    pulse = xp.random.exponential(1.0, size=int(offsets[-1]))
    pipeline = Pipeline(xp, pulse, offsets)

    pipeline.run()
    synchronize()  # the single check
    expected = plain_pipeline(xp, pulse, offsets, pipeline.levels)
    results = pipeline.results()
    compare(results, expected)
    print(
        f"{len(pulse):,} hits in {len(lengths):,} events: {len(results[1]):,} bright ones, "
        "equal to those of the plain way"
    )
    half = int(results[2][50])
    print(f"half of all energy is reached at event {half:,}")

    more = replay(xp, pipeline, expected) if xp is not np else {}
    provoke(pipeline, pipeline.run)
    ours = milliseconds(xp, pipeline.run)
    plain = milliseconds(xp, lambda: plain_pipeline(xp, pulse, offsets, pipeline.levels))
    show_times(xp, ours, plain, **more)


def provoke(pipeline, run):
    """What a bad pulse height leads to, in the first of the ten calls."""
    number = len(pipeline.pulse) // 2
    kept = float(pipeline.pulse[number])
    pipeline.pulse[number] = -1
    run()
    try:
        synchronize()
    except errorflag.DeviceValueError as error:
        print(f"raised by synchronize(): {error}")
        print(f"    {error.__notes__[0]}")
    pipeline.pulse[number] = kept


def replay(cupy, pipeline, expected):
    """Captures the ten calls in a CUDA graph and replays it. Returns the time of a replay."""
    # What a primitive needs for itself comes from CuPy's memory pool, and a graph uses the same
    # memory in every replay: a pool of its own keeps others from getting it.
    pool = cupy.cuda.MemoryPool()
    cupy.cuda.get_current_stream().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        with cupy.cuda.using_allocator(pool.malloc):
            pipeline.run()  # compiles, and fills the pool
            synchronize()
            stream.begin_capture()
            with errorflag.graph():
                pipeline.run()
            graph = stream.end_capture()
        pipeline.sorted_energy.fill(0)
        graph.launch(stream)
        synchronize()
        compare(pipeline.results(), expected)
        print("replayed as a CUDA graph: the same results")
        provoke(pipeline, lambda: graph.launch(stream))
        return {"replayed as a CUDA graph": milliseconds(cupy, lambda: graph.launch(stream))}


if __name__ == "__main__":
    main()
