"""Time against lists, both logarithmic: one panel for each operation, and their geometric mean first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from awkward_cudakernels.bench.sides import SIDES
from awkward_cudakernels.bench.tables import Rows, geometric_mean, size

__all__ = ["draw"]

_STYLES = {
    "cpu": ("#888888", "s"),
    "awkward": ("#e07b00", "^"),
    "ours": ("#0b5394", "o"),
}
_GREY = "#666666"
_COLUMNS = 9
Curve = list[tuple[int, float]]


def draw(rows: Sequence[dict[str, Any]], title: str, output: Path) -> None:
    """Writes the figure.

    Args:
        rows: of a run with the section ``operations``.
        title: above the figure.
        output: its suffix says the format.

    Raises:
        ValueError: there are no operations among the rows.
        OSError: the file cannot be written.
    """
    found = Rows(rows)
    sides = [side for side in _STYLES if found.has("operations", side)]
    names = [name for name in found.names("operations") if curve(found, name, "ours")]
    if not names:
        raise ValueError("there are no operations to plot")
    panels = [None, *names]
    lines = (len(panels) + _COLUMNS - 1) // _COLUMNS
    columns = min(_COLUMNS, len(panels))
    figure = Figure(figsize=(2.0 * columns + 0.6, 1.8 * lines + 0.9), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for axes, name in zip(grid.flat, panels, strict=False):
        floor: float | None
        if name is None:
            axes.set_title(f"geometric mean of {len(names)}", fontsize=8, fontweight="bold", pad=3)
            axes.set_facecolor("#f4f6f9")
            curves = {side: mean_curve(found, names, side) for side in sides}
            floor = geometric_mean(
                r["ms"] for n in names if "ms" in (r := found.floor("operations", n))
            )
        else:
            axes.set_title(name, fontsize=8, pad=3)
            curves = {side: curve(found, name, side) for side in sides}
            floor = found.floor("operations", name).get("ms")
        for side, points in curves.items():
            color, marker = _STYLES[side]
            if points:
                axes.plot(
                    *zip(*points),
                    marker + "-",
                    color=color,
                    markersize=3.5,
                    linewidth=1.3,
                    label=SIDES[side],
                )
        if floor is not None:
            axes.axhline(
                floor, color=_GREY, linewidth=1, linestyle=":", label="floor: awkward's Python"
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(alpha=0.15)
        axes.tick_params(labelsize=7)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size(int(value))))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper right", ncols=len(labels), frameon=False, fontsize=9
    )
    figure.suptitle(title, fontsize=10, color=_GREY, x=0.01, ha="left")
    figure.supxlabel("lists", fontsize=9)
    figure.supylabel("time, ms", fontsize=9)
    figure.savefig(output, dpi=100)


def curve(rows: Rows, name: str, side: str) -> Curve:
    """Lists and ms of one operation."""
    points = ((n, rows.get("operations", name, side, n)) for n in rows.sizes("operations", side))
    return [(n, row["ms"]) for n, row in points if "ms" in row]


def mean_curve(rows: Rows, names: Sequence[str], side: str) -> Curve:
    """Geometric means, at the sizes at which most of the operations were measured.

    A mean over fewer operations would be of other ones; so it is over those that the side has at
    every such size.
    """
    curves = {name: dict(curve(rows, name, side)) for name in names}
    sizes = [
        n
        for n in rows.sizes("operations", side)
        if 5 * sum(n in points for points in curves.values()) >= 4 * len(names)
    ]
    complete = [points for points in curves.values() if all(n in points for n in sizes)]
    means = ((n, geometric_mean(points[n] for points in complete)) for n in sizes)
    return [(n, mean) for n, mean in means if mean is not None]
