"""What some figures draw: rows of a forest, dots of a beeswarm, bars of a waterfall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..explaining.summary import Term
from ..method.table import F64
from ..outcomes import Words
from ..wording import together
from .style import ADJUSTED, INK, Names, colour_of, low_to_high, minus, whisker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..explaining.explanation import Explanation


# The rows of a forest plot: an effect without a prior, its interval, and what the model makes of it.

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


# The dots of a beeswarm: one a patient, none upon another, coloured by what was measured.

# In files of shapes (.svg, .pdf), more dots a line than these are a picture: files stay small, and open.
VECTOR_DOTS = 500


def draw_swarm(ax: Axes, explanation: Explanation, column: int, place: int) -> None:
    """Draw the patients' dots of one variable, or set of them, along a line of the figure."""
    listed = explanation.listed
    values, height = listed.values[:, column], place + _spread(listed.values[:, column])
    ordered = not unordered_of(explanation, [column])
    share = np.argsort(np.argsort(listed.data[:, column])) / max(len(values) - 1, 1)
    for missing, marker in ((False, "o"), (True, "x")):
        some = listed.imputed[:, column] == missing
        if not some.any():
            continue
        if ordered:
            how: dict[str, Any] = {"c": share[some], "cmap": low_to_high(), "vmin": 0, "vmax": 1}
        else:
            how = {"color": ADJUSTED}
        ax.scatter(
            values[some],
            height[some],
            s=9,
            marker=marker,
            linewidths=0.8 if missing else 0,
            rasterized=len(values) > VECTOR_DOTS,
            **how,
        )


def unordered_of(explanation: Explanation, columns: Sequence[int]) -> list[int]:
    """Those of the columns whose levels have no order, and sets: nothing in them is high or low."""
    kinds = [*(variable.kind for variable in explanation.variables), *("nominal" for _ in explanation.sets)]
    return [column for column in columns if kinds[column] == "nominal"]


def _spread(values: F64) -> F64:
    """Offsets that keep dots from lying on each other, within their line."""
    if np.ptp(values) == 0:
        return np.linspace(-0.35, 0.35, len(values)).astype(np.float64)
    columns = np.round((values - values.min()) / np.ptp(values) * 80).astype(int)
    offsets = np.zeros(len(values))
    for column in np.unique(columns):
        inside = np.flatnonzero(columns == column)
        step = min(0.08, 0.7 / inside.size)
        level = np.arange(inside.size)
        offsets[inside] = np.where(level % 2, 1, -1) * np.ceil(level / 2) * step
    return offsets


# The bars of a waterfall: what covariates and each shock add for one patient, with intervals.

# A longer label is broken before the value, which leaves bars the room that they need.
LABEL_LIMIT = 34
COVARIATES_LIMIT = 30


@dataclass(frozen=True)
class Bar:
    """A step of the waterfall; ``ends`` are those of the interval of its value, if there is one."""

    label: str
    value: float
    colour: str
    hatched: bool = False
    ends: tuple[float, float] | None = None


def bars_of(explanation: Explanation, row: int, names: Names, top: int) -> list[Bar]:
    """Covariates, the strongest shocks from what raises most to what lowers most, and the others together."""
    values = explanation.listed.values[row]
    ranked = np.argsort(-np.abs(values), kind="stable")
    ranked = ranked[values[ranked] != 0]
    shown = sorted(ranked[:top], key=lambda column: -values[column])
    bars = [_shock(explanation, row, c, names) for c in shown]
    if explanation.covariates:
        bars.insert(0, _adjustment(explanation, row, names))
    if len(ranked) > top:
        rest = float(values[ranked[top:]].sum())
        bars.append(Bar(f"{len(ranked) - top} others", rest, colour_of(rest)))
    return bars


def draw_bar(ax: Axes, bar: Bar, place: int, start: float, words: Words) -> None:
    value, (low, high) = bar.value, bar.ends or (bar.value, bar.value)
    hatch = "///" if bar.hatched else None
    ax.barh(place, value, left=start, color=bar.colour, edgecolor=INK, linewidth=0.6, hatch=hatch)
    if bar.ends is not None:
        whisker(ax, [start + low, start + high], [place, place])
    side = 1 if value > 0 else -1
    text = ax.annotate(
        minus(words.beside(value)),
        (start + (max(value, high) if value > 0 else min(value, low)), place),
        xytext=(6 * side, 0),
        textcoords="offset points",
        ha="left" if value > 0 else "right",
        va="center",
    )
    # Lines that mark where patients stand go behind it.
    text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})


def _shock(explanation: Explanation, row: int, column: int, names: Names) -> Bar:
    listed = explanation.listed
    value, lower, upper = float(listed.values[row, column]), listed.lower, listed.upper
    ends = None
    if lower is not None and upper is not None:
        ends = float(lower[row, column]), float(upper[row, column])
    name, measured = names.variables[column], f"= {names.value(explanation, row, column)}"
    label = f"{name} {measured}" if len(name) + len(measured) < LABEL_LIMIT else f"{name}\n{measured}"
    return Bar(label, value, colour_of(value), bool(listed.imputed[row, column]), ends)


def _adjustment(explanation: Explanation, row: int, names: Names) -> Bar:
    """What covariates add together; hatched where one of them was not measured."""
    ends, value = explanation.covariate_interval, float(explanation.covariate_effect[row])
    places = explanation._model.covariates
    return Bar(
        together([names.variables[place] for place in places], COVARIATES_LIMIT),
        value,
        ADJUSTED,
        bool(explanation.imputed[row, places].any()),
        None if ends is None else (float(ends[0, row]), float(ends[1, row])),
    )
