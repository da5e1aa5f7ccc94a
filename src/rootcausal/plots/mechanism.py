"""One arrow of a graph as a curve: what a cause does to an effect, and how much patients differ around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..inputs.from_frame import names_of
from ..inputs.kinds import Variable
from ..inputs.levels import codes_of, level_texts
from ..method.model import CausalModel
from ..method.model_parts import HETEROSCEDASTIC, NONLINEAR, POST_NONLINEAR
from ..method.table import F64
from .style import ADJUSTED, INK, Names, names_shown, new_axes, with_labels, with_units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.base import Estimator

POINTS = 121
# Where the model does not know how its cohort is spread, a curve is drawn this many SDs to either side.
REACH = 2.5
SAID = {
    NONLINEAR: "nonlinear",
    HETEROSCEDASTIC: "nonlinear, heteroscedastic (the spread differs)",
    POST_NONLINEAR: "post-nonlinear (it adds up on another scale)",
}
LINE = "linear"


def mechanism(
    model: Estimator,
    cause: str | int,
    effect: str | int | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    target: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What a variable does to another directly, or to the outcome: a curve, and how much patients differ.

    Other causes are held at their average. Between the first and the last percent of the cohort; straight
    where the mechanism is linear.

    Parameters
    ----------
    model : a fitted estimator.
    cause : the variable that acts, by its name or place.
    effect : the variable that it acts on; None for the outcome.
    """
    causal, variables = model._model, model._encoding.variables
    names = names_shown(names_of(model), with_labels(variables, labels))
    words = Names.of(
        names_of(model), causal.attribution, model.provenance_, None, with_units(variables, units), target
    )
    one, place = _in_order(model, cause)
    other, at = (None, None) if effect is None else _in_order(model, effect)
    if causal.layout is not None and any(
        v is not None and causal.layout.columns_of(v).size > 1 for v in (one, other)
    ):
        raise InputError("levels without an order have no curve: choose numbers, or levels in order")
    bends = not causal.attribution.proportional
    if at is not None and (at <= place or (bends and not causal.direct_effects()[at, place])):
        raise InputError(
            f"the model has no arrow from {cause!r} to {effect!r}: plots.graph shows those it has"
        )
    quantiles = None if model._quantiles is None else model._quantiles.values[:, place]
    z = values_to_draw(variables[one], quantiles, *causal.location(place))
    drawn = curve_of(causal, place, at, z, (variables[one], None if other is None else variables[other]))
    assert drawn is not None
    ax = new_axes(ax, height=3.6, width=5.0)
    draw_curve(ax, drawn, variables[one], None if other is None else variables[other])
    ax.set_xlabel(" ".join(filter(None, (names[one], words.units[one]))))
    if other is None:
        ax.set_ylabel(f"{words.words.scale} that it adds")
    else:
        ax.set_ylabel(" ".join(filter(None, (names[other], words.units[other]))))
        ax.set_title(drawn.form, loc="left", fontsize="medium")
        ax.legend(frameon=False, loc="best")
    return ax


def _in_order(model: Estimator, variable: str | int) -> tuple[int, int]:
    """A variable and its place in the causal order."""
    names = names_of(model)
    found = names.index(variable) if variable in names else variable
    if not isinstance(found, int | np.integer) or found not in model.causal_order_:
        raise InputError(f"{variable!r} is not in the causal order of this model: see causal_order_")
    return int(found), int(np.flatnonzero(model.causal_order_ == found)[0])


@dataclass(frozen=True, eq=False)
class Drawn:
    """A curve in the units of its variables.

    Attributes
    ----------
    x : (m,) values of the cause.
    y : (m,) what is expected of the effect, or what is added to the outcome.
    low, high : (m,) one standard deviation to either side; None for the outcome.
    form : how the effect depends on its causes, in words.
    """

    x: F64
    y: F64
    low: F64 | None
    high: F64 | None
    form: str


def values_to_draw(variable: Variable, quantiles: F64 | None, mean: float, sd: float) -> F64:
    """(m,) standardized values of a cause, over what nearly all of the cohort has, or its levels."""
    if variable.levels:
        return (codes_of(variable) - mean) / sd
    low, high = -REACH, REACH
    if quantiles is not None:
        low, high = ((quantiles[[1, -2]] - mean) / sd).tolist()
    return np.linspace(low, high, POINTS)


def curve_of(
    model: CausalModel, cause: int, effect: int | None, z: F64, variables: tuple[Variable, Variable | None]
) -> Drawn | None:
    """The arrow between two places of the order, or from one into the outcome; None where it has no curve."""
    x = _own_unit(model, cause, z, variables[0])
    if effect is None or variables[1] is None:
        added = model.outcome_curve(cause, z)
        return None if added is None else Drawn(x, added, None, None, "")
    curve = model.arrow_curve(cause, effect, z)
    if curve is None:
        return None
    y, low, high = (
        _own_unit(model, effect, part, variables[1])
        for part in (curve.expected, curve.expected - curve.spread, curve.expected + curve.spread)
    )
    return Drawn(x, y, low, high, SAID.get(model.forms()[effect], LINE))


def draw_curve(ax: Axes, drawn: Drawn, cause: Variable, effect: Variable | None) -> None:
    """The curve with its band; levels by name, logarithms on a log scale."""
    discrete = bool(cause.levels)
    if drawn.low is not None and drawn.high is not None:
        if discrete:
            ax.vlines(drawn.x, drawn.low, drawn.high, color=ADJUSTED, linewidth=2.0, label="± 1 SD")
        else:
            ax.fill_between(
                drawn.x, drawn.low, drawn.high, color=ADJUSTED, alpha=0.25, linewidth=0, label="± 1 SD"
            )
    line = {"marker": "o", "linestyle": "none"} if discrete else {"linewidth": 2.0}
    ax.plot(drawn.x, drawn.y, color=INK, **line)
    for axis, variable in ((ax.xaxis, cause), (ax.yaxis, effect)):
        if variable is not None and variable.levels:
            axis.set_ticks(codes_of(variable), labels=level_texts(variable))
    if cause.log:
        ax.set_xscale("log")
    if effect is not None and effect.log:
        ax.set_yscale("log")
    ax.spines[["top", "right"]].set_visible(False)


def _own_unit(model: CausalModel, place: int, z: F64, variable: Variable) -> F64:
    mean, sd = model.location(place)
    values = mean + sd * z
    return np.exp(values) if variable.log else values
