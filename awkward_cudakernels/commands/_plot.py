"""The mass spectrum of the demo as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

#: GeV
_RESONANCES = {r"J/$\psi$": 3.097, r"$\Upsilon$": 9.46, "Z": 91.19}
_ALL, _BEST, _GREY = "#0b5394", "#e07b00", "#666666"


def spectrum(
    edges: NDArray[np.float64], counts: NDArray[Any], best_counts: NDArray[Any], title: str, output: Path
) -> None:
    """Draw pairs per bin over mass, both axes logarithmic, and write the figure to ``output``."""
    if counts.sum() < 2000:  # wider bins, lest a few events make a comb
        edges = edges[::5]
        counts, best_counts = (c.reshape(-1, 5).sum(axis=1) for c in (counts, best_counts))
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if counts.any():
        axes.stairs(counts, edges, fill=True, color=_ALL, alpha=0.15)
        axes.stairs(counts, edges, color=_ALL, linewidth=1.3, label="all opposite-charge pairs")
        axes.stairs(best_counts, edges, color=_BEST, linewidth=1.3, label="hardest pair of each event")
        axes.legend(frameon=False, loc="upper left")
    axes.set_xscale("log")
    axes.set_yscale("log", nonpositive="clip")

    highest = max(int(counts.max(initial=0)), 1)
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0.5, highest * 12))
    for name, mass in _RESONANCES.items():
        near = (edges[:-1] > mass * 0.93) & (edges[1:] < mass * 1.07)
        top = max(int(counts[near].max(initial=0)), 1)
        axes.annotate(name, (mass, top * 1.5), ha="center", va="bottom", fontsize=13, color=_GREY)

    axes.set_xlabel(r"invariant mass $m_{\mu\mu}$ [GeV]", loc="right", fontsize=12)
    axes.set_ylabel("pairs / bin", loc="top", fontsize=12)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(which="both", direction="in", top=True, right=True)
    axes.grid(alpha=0.15)
    axes.set_title(title, fontsize=10, loc="left", color=_GREY)
    figure.savefig(output, dpi=150)
