"""Figures for papers, by matplotlib: one function each, every one returns its Axes.

Colours differ in lightness and bars carry their sign, so that the figures can be read in grey. Save with
``ax.figure.savefig("figure.svg")`` or ``.png``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrows import graph_of, graph_without_disease
from .core.table import F64
from .drawing import similarity_order
from .errors import InputError, MissingExtraError
from .graph_figure import draw_graph
from .inputs.cohort import names_of
from .wording import one_line, together

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .explanation import Explanation
    from .lingam import DirectLiNGAM
    from .rci import RCI

HARMFUL, PROTECTIVE, ADJUSTED = "#c2500a", "#9cc4e6", "#c8c8c8"
NAME_LIMIT = 30
# The heat map orders patients by similarity, which needs the distance of every pair.
HEAT_PATIENTS = 2000


@dataclass(frozen=True)
class _Bar:
    """A step of the waterfall; ``ends`` are those of the interval of its value, if there is one."""

    label: str
    value: float
    colour: str
    hatched: bool = False
    ends: tuple[float, float] | None = None


def waterfall(explanation: Explanation, patient: Any, *, top: int = 8, ax: Axes | None = None) -> Axes:
    """From the base value to one patient's log-odds, a bar for each shock, with its interval if there is one.

    Hatched bars are of values that were not measured: what is expected stands in for them. What covariates
    add together is the first bar, a grey one.

    Parameters
    ----------
    explanation : of at least this patient.
    patient : the id.
    top : shocks with a bar of their own, the strongest; the others are put together.
    """
    if patient not in explanation.ids:
        raise InputError(f"no patient {patient!r} in the explanation")
    row = explanation.ids.index(patient)
    values = explanation.values[row]
    ranked = np.argsort(-np.abs(values), kind="stable")
    ranked = ranked[values[ranked] != 0]
    shown = sorted(ranked[:top], key=lambda column: -values[column])
    bars = [_shock(explanation, row, c) for c in shown]
    if explanation.covariates:
        bars.insert(0, _adjustment(explanation, row))
    if len(ranked) > top:
        rest = float(values[ranked[top:]].sum())
        bars.append(_Bar(f"{len(ranked) - top} others", rest, _colour(rest)))
    ax = _axes(ax, height=0.4 * len(bars) + 1.6)
    at = explanation.base_value
    for place, bar in enumerate(bars):
        value, (low, high) = bar.value, bar.ends or (bar.value, bar.value)
        hatch = "///" if bar.hatched else None
        ax.barh(place, value, left=at, color=bar.colour, edgecolor="black", linewidth=0.6, hatch=hatch)
        ax.plot([at + low, at + high], [place, place], color="black", linewidth=1)
        side = 1 if value > 0 else -1
        ax.annotate(
            f"{value:+.2f}",
            (at + (max(value, high) if value > 0 else min(value, low)), place),
            xytext=(4 * side, 0),
            textcoords="offset points",
            ha="left" if value > 0 else "right",
            va="center",
        )
        at += value
    ax.axvline(explanation.base_value, color="black", linestyle=":", linewidth=1)
    ax.axvline(at, color="black", linestyle="--", linewidth=1)
    ax.set_yticks(range(len(bars)), [bar.label for bar in bars])
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.use_sticky_edges = False
    ax.margins(x=0.18)
    average = "average shocks and covariates" if explanation.covariates else "average shocks"
    base = f"{explanation.base_value:+.2f} with {average} (dotted)"
    ax.set_xlabel(f"log-odds: {base}, {at:+.2f} for {_short(str(patient))} (dashed)")
    return ax


def beeswarm(explanation: Explanation, *, top: int = 10, ax: Axes | None = None) -> Axes:
    """What each shock adds, one dot for each patient; light dots: the measured value is low, dark: high.

    Grey dots are of levels without an order, crosses of values that were not measured.
    """
    shown = _most_important(explanation, top)
    ax = _axes(ax, height=0.5 * len(shown) + 1.2)
    for place, column in enumerate(shown):
        values, height = explanation.values[:, column], place + _spread(explanation.values[:, column])
        ordered = explanation.variables[column].kind != "nominal"
        share = np.argsort(np.argsort(explanation.data[:, column])) / max(len(values) - 1, 1)
        for missing, marker in ((False, "o"), (True, "x")):
            some = explanation.imputed[:, column] == missing
            colours = share[some] if ordered else np.full(int(some.sum()), 0.5)
            cmap = "cividis_r" if ordered else "Greys"
            if some.any():
                ax.scatter(
                    values[some], height[some], c=colours, cmap=cmap, vmin=0, vmax=1, s=9, marker=marker
                )
    ax.axvline(0, color="black", linewidth=0.8)
    _name_rows(ax, explanation, shown)
    said = "dark: measured value high, light: low"
    if any(explanation.variables[column].kind == "nominal" for column in shown):
        said += "; grey: levels without an order"
    if explanation.imputed[:, shown].any():
        said += "; crosses: not measured"
    ax.set_xlabel(f"added log-odds ({said})")
    return ax


def prevalence(explanation: Explanation, *, top: int = 15, ax: Axes | None = None) -> Axes:
    """For how many patients each variable is a root cause, and for how many the strongest one."""
    values = explanation.values
    raised = values > 0
    any_cause = raised.sum(axis=0)
    strongest = np.bincount(values.argmax(axis=1)[raised.any(axis=1)], minlength=values.shape[1])
    shown = sorted(_most_important(explanation, top), key=lambda column: -strongest[column])
    ax = _axes(ax, height=0.35 * len(shown) + 1.2)
    places = range(len(shown))
    ax.barh(places, any_cause[shown], color="#e9e9e9", edgecolor="black", label="a root cause")
    ax.barh(places, strongest[shown], color=HARMFUL, edgecolor="black", label="the strongest")
    _name_rows(ax, explanation, shown)
    ax.set_xlabel(f"patients, of {len(values)}")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def heatmap(explanation: Explanation, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """Variables × patients, those with like shocks side by side; dark: the shock raises the risk."""
    n = len(explanation.values)
    if n > HEAT_PATIENTS:
        raise InputError(
            f"a heat map orders at most {HEAT_PATIENTS} patients by similarity, and there are {n}: "
            "explain a sample of them"
        )
    shown = _most_important(explanation, top)
    values = explanation.values[:, shown]
    ax = _axes(ax, height=0.3 * len(shown) + 1.2)
    if len(shown):
        strongest = np.quantile(np.abs(values), 0.98) or 1.0
        drawn = ax.imshow(
            values[similarity_order(values)].T,
            aspect="auto",
            interpolation="nearest",
            cmap="cividis_r",  # its lightness only falls, so that grey keeps the sign
            vmin=-strongest,
            vmax=strongest,
        )
        ax.figure.colorbar(drawn, ax=ax, label="added log-odds")
    _name_rows(ax, explanation, shown, turned=False)
    ax.set_xlabel(f"{n} patients, similar ones side by side")
    return ax


def graph(model: RCI | DirectLiNGAM, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """Variables in causal order and the disease, an arc for each direct effect of at least 0.1.

    For one standard deviation of the cause, all else held fixed: standard deviations of the effect, or
    log-odds of the disease, the square node at the end; of a variable on a log scale they are those of the
    logarithm. Solid: more of the cause means more of the effect;
    dashed: less; dotted: a variable whose levels have no order. A small square on an arc says that its
    direction was given (tiers are bands, with their names), a question mark that it is unsure: learned, and
    in fewer than 80 % of the resamples of :meth:`rootcausal.RCI.bootstrap` there, pointing this way. Where
    arrows are few, the share of resamples stands beside each. A legend says so in words.

    Of more than ``top`` variables, those are drawn whose shocks change the risk most; of a
    :class:`~rootcausal.DirectLiNGAM` the first ones.
    """
    from .rci import RCI

    unordered: set[int] = set()
    if isinstance(model, RCI):
        causal = model._model
        shown = np.sort(np.argsort(-causal.importance(), kind="stable")[:top])
        found = graph_of(causal, shown, model.bootstrap_)
        unordered = set(np.flatnonzero(np.isnan(causal.scale[shown])).tolist())
    else:
        shown = np.arange(min(top, model.causal_order_.size))
        edges = model._standard_edges[np.ix_(shown, shown)]
        found = graph_without_disease(model.causal_order_[shown], edges, model._precedence)
    called = [_short(name) for name in names_of(model)]
    names = [called[variable] for variable in found.variables]
    if found.into_disease is not None:
        names.append("the disease")
    ax = _axes(ax, height=0.45 * len(names) + 1.6)
    covariates = [called[variable] for variable in found.covariates]
    draw_graph(ax, found, names, unordered, together(covariates) if covariates else "")
    return ax


def _shock(explanation: Explanation, row: int, column: int) -> _Bar:
    value, lower, upper = float(explanation.values[row, column]), explanation.lower, explanation.upper
    ends = None
    if lower is not None and upper is not None:
        ends = float(lower[row, column]), float(upper[row, column])
    label = f"{_name(explanation, column)} = {_value(explanation, row, column)}"
    return _Bar(label, value, _colour(value), bool(explanation.imputed[row, column]), ends)


def _adjustment(explanation: Explanation, row: int) -> _Bar:
    """What covariates add together; hatched where one of them was not measured."""
    ends, value = explanation.covariate_interval, float(explanation.covariate_effect[row])
    return _Bar(
        _short(together(explanation.covariates, NAME_LIMIT)),
        value,
        ADJUSTED,
        bool(explanation.imputed[row, explanation._model.covariates].any()),
        None if ends is None else (float(ends[0, row]), float(ends[1, row])),
    )


def _value(explanation: Explanation, row: int, column: int) -> str:
    text = _short(one_line(explanation.text(row, column)))
    return f"{text} (expected, not measured)" if explanation.imputed[row, column] else text


def _axes(ax: Axes | None, height: float) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib: pip install 'rootcausal[plots]'") from error
    # Not by pyplot: a figure that pyplot knows would never be freed by a script that draws thousands.
    return Figure(figsize=(7, height), layout="constrained").subplots()


def _most_important(explanation: Explanation, top: int) -> list[int]:
    size = np.abs(explanation.values).mean(axis=0)
    ranked = np.argsort(-size, kind="stable")[:top]
    return [int(column) for column in ranked if size[column] > 0]


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


def _name_rows(ax: Axes, explanation: Explanation, shown: Sequence[int], turned: bool = True) -> None:
    ax.set_yticks(range(len(shown)), [_name(explanation, column) for column in shown])
    if turned:
        ax.set_ylim(max(len(shown), 1) - 0.5, -0.5)


def _name(explanation: Explanation, column: int) -> str:
    return _short(str(explanation.feature_names[column]))


def _short(name: str) -> str:
    text = name if len(name) <= NAME_LIMIT else f"{name[: NAME_LIMIT - 1]}…"
    # A dollar sign would start a formula.
    return text.replace("$", r"\$")


def _colour(value: float) -> str:
    return HARMFUL if value > 0 else PROTECTIVE
