"""The rows of a forest plot: an effect without a prior, its interval, and what the model makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..explaining.summary import Term
from .style import ADJUSTED, INK, colour_of, whisker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows lie one apart.
APART = 0.16


def draw_forest(ax: Axes, terms: Sequence[Term]) -> None:
    """Draw a row for each term, with a legend of what there is."""
    ax.axvline(0.0, color=INK, linewidth=0.8, zorder=0)
    said: set[str] = set()

    def point(x: float, y: float, marker: str, fill: str, label: str) -> None:
        ax.plot(
            [x],
            [y],
            linestyle="",
            marker=marker,
            markersize=6,
            markerfacecolor=fill,
            markeredgecolor=INK,
            markeredgewidth=1.0,
            label=None if label in said else label,
            zorder=3,
        )
        said.add(label)

    for place, term in enumerate(terms):
        if term.estimable:
            whisker(ax, [term.lower_per_sd, term.upper_per_sd], [place - APART] * 2)
            fill = ADJUSTED if term.covariate else colour_of(term.effect_per_sd)
            point(term.effect_per_sd, place - APART, "s", fill, "without a prior, 95 % interval")
        else:
            point(0.0, place - APART, "x", INK, "not estimable without a prior")
        point(term.shrunk_per_sd, place + APART, "D", "none", "by the model")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(said))
