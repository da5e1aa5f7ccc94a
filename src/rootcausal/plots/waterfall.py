"""The bars of a waterfall: what covariates and each shock add for one patient, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..outcomes import Words
from ..wording import together
from .names import Names
from .style import ADJUSTED, INK, colour_of, minus, whisker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..explaining.explanation import Explanation

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
