"""Figures for papers, by matplotlib: one function each, every one returns its Axes.

Colours differ in lightness and bars carry their sign, so that the figures can be read in grey. Save with
``ax.figure.savefig("figure.svg")`` or ``.png``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrows import graph_of, graph_without_outcome
from .core.survival import HazardAttribution
from .core.table import F64
from .drawing import similarity_order
from .errors import InputError, MissingExtraError
from .graph_figure import draw_graph
from .inputs.cohort import names_of
from .outcome_words import OutcomeWords, words_of
from .wording import one_line, together

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .estimator import Estimator
    from .explanation import Explanation
    from .lingam import DirectLiNGAM

HARMFUL, PROTECTIVE, ADJUSTED = "#c2500a", "#9cc4e6", "#c8c8c8"
NAME_LIMIT = 30
# The heat map orders patients by similarity, which needs the distance of every pair.
HEAT_PATIENTS = 2000
CURVE_POINTS = 200
AXIS_LIMIT = 60
# Axes of ratios have a tick for each doubling: for some of them where these are many, and halves where few.
MOST_TICKS, FEWEST_DOUBLINGS = 9, 2


@dataclass(frozen=True)
class _Bar:
    """A step of the waterfall; ``ends`` are those of the interval of its value, if there is one."""

    label: str
    value: float
    colour: str
    hatched: bool = False
    ends: tuple[float, float] | None = None


def waterfall(explanation: Explanation, patient: Any, *, top: int = 8, ax: Axes | None = None) -> Axes:
    """From the base value to that of one patient, a bar for each shock, with its interval if there is one.

    The axis is that of the outcome: log-odds, the hazard as so many times that of a patient whose shocks are
    all average, or the expected value. Hatched bars are of values that were not measured: what is expected
    stands in for them. What covariates add together is the first bar, a grey one.

    Parameters
    ----------
    explanation : of at least this patient.
    patient : the id.
    top : shocks with a bar of their own, the strongest; the others are put together.
    """
    row, words = _row(explanation, patient), _words(explanation)
    values = explanation.listed.values[row]
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
            words.beside(value),
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
    average = f"average {_average(explanation)}"
    base, predicted = explanation.base_value, float(explanation.predicted[row])
    base_predicted = float(explanation._model.attribution.predicted(np.array([base]))[0])
    ax.set_xlabel(
        f"{_short(words.axis, AXIS_LIMIT)}: {words.reached(base, base_predicted)} with {average} (dotted), "
        f"{words.reached(at, predicted)} for {_short(str(patient))} (dashed)"
    )
    _name_steps(ax.xaxis, words)
    return ax


def survival(explanation: Explanation, patient: Any, *, ax: Axes | None = None) -> Axes:
    """How likely one patient is to be without the event, up to the longest follow-up of the cohort.

    Beside them: the same patient without the shock that raises their hazard most, and a patient whose shocks
    are all average. A line marks the horizon, with the 95 % interval of this patient's risk by then, if the
    model has a bootstrap.

    Parameters
    ----------
    explanation : of at least this patient, by a :class:`rootcausal.RCISurvival`.
    patient : the id.
    """
    row, hazard = _row(explanation, patient), explanation._model.attribution
    if not isinstance(hazard, HazardAttribution):
        raise InputError("only the time to an event has survival curves: see RCISurvival")
    ax = _axes(ax, height=4.2)
    now, strongest = explanation.predictor[row], int(explanation.listed.values[row].argmax())
    curves = [(_short(str(patient)), now, "-", "black")]
    if explanation.listed.values[row, strongest] > 0:
        without = f"without the shock on {_name(explanation, strongest)}"
        curves.append((without, now - explanation.listed.values[row, strongest], "--", HARMFUL))
    curves.append((f"all {_average(explanation)} average", explanation.base_value, ":", "black"))
    # Steep stretches need more points than the edges of the baseline hazard.
    shown = np.union1d(hazard.edges, np.linspace(0.0, hazard.edges[-1], CURVE_POINTS))
    for label, predictor, line, colour in curves:
        curve = hazard.survival(np.array([predictor]), shown)[0]
        ax.plot(shown, curve, linestyle=line, color=colour, label=label)
    ax.axvline(hazard.horizon, color="black", linewidth=0.6)
    if explanation.predicted_interval is not None:
        ax.plot(
            [hazard.horizon] * 2, 1.0 - explanation.predicted_interval[:, row], color="black", linewidth=4
        )
    ax.set_ylim(0.0, 1.02)
    ax.set_xlim(0.0, hazard.edges[-1])
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    words = _words(explanation)
    ax.set_ylabel(f"without {words.of_what}")
    ax.set_xlabel(f"time; {words.prediction} (line): {words.predicted(explanation.predicted[row])}")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(curves))
    return ax


def beeswarm(explanation: Explanation, *, top: int = 10, ax: Axes | None = None) -> Axes:
    """What each shock adds, one dot for each patient; light dots: the measured value is low, dark: high.

    Grey dots are of levels without an order and of variables that are read as one, crosses of values that
    were not measured.
    """
    shown = _most_important(explanation, top)
    ax = _axes(ax, height=0.5 * len(shown) + 1.2)
    for place, column in enumerate(shown):
        values = explanation.listed.values[:, column]
        height = place + _spread(values)
        ordered = _ordered(explanation, column)
        share = np.argsort(np.argsort(explanation.listed.data[:, column])) / max(len(values) - 1, 1)
        for missing, marker in ((False, "o"), (True, "x")):
            some = explanation.listed.imputed[:, column] == missing
            colours = share[some] if ordered else np.full(int(some.sum()), 0.5)
            cmap = "cividis_r" if ordered else "Greys"
            if some.any():
                ax.scatter(
                    values[some], height[some], c=colours, cmap=cmap, vmin=0, vmax=1, s=9, marker=marker
                )
    ax.axvline(0, color="black", linewidth=0.8)
    _name_rows(ax, explanation, shown)
    said = "dark: measured value high, light: low"
    if not all(_ordered(explanation, column) for column in shown):
        said += "; grey: levels without an order, or several variables"
    if explanation.listed.imputed[:, shown].any():
        said += "; crosses: not measured"
    words = _words(explanation)
    ax.set_xlabel(f"{_short(words.added, AXIS_LIMIT)} ({said})")
    _name_steps(ax.xaxis, words)
    return ax


def prevalence(explanation: Explanation, *, top: int = 15, ax: Axes | None = None) -> Axes:
    """For how many patients each variable is a root cause, and for how many the strongest one.

    Of a number, those are the variables whose shock raises it.
    """
    values = explanation.listed.values
    raised = values > 0
    any_cause = raised.sum(axis=0)
    strongest = np.bincount(values.argmax(axis=1)[raised.any(axis=1)], minlength=values.shape[1])
    shown = sorted(_most_important(explanation, top), key=lambda column: -strongest[column])
    ax = _axes(ax, height=0.35 * len(shown) + 1.2)
    places, (raises, raises_most) = range(len(shown)), _words(explanation).raises
    ax.barh(places, any_cause[shown], color="#e9e9e9", edgecolor="black", label=raises)
    ax.barh(places, strongest[shown], color=HARMFUL, edgecolor="black", label=raises_most)
    _name_rows(ax, explanation, shown)
    ax.set_xlabel(f"patients, of {len(values)}")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def heatmap(explanation: Explanation, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """Variables × patients, those with like shocks side by side; dark: the shock raises the outcome."""
    n = len(explanation.listed.values)
    if n > HEAT_PATIENTS:
        raise InputError(
            f"a heat map orders at most {HEAT_PATIENTS} patients by similarity, and there are {n}: "
            "explain a sample of them"
        )
    shown = _most_important(explanation, top)
    values = explanation.listed.values[:, shown]
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
        words = _words(explanation)
        bar = ax.figure.colorbar(drawn, ax=ax, label=_short(words.added, AXIS_LIMIT))
        _name_steps(bar.ax.yaxis, words)
    _name_rows(ax, explanation, shown, turned=False)
    ax.set_xlabel(f"{n} patients, similar ones side by side")
    return ax


def graph(model: Estimator | DirectLiNGAM, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """Variables in causal order and the outcome, an arc for each direct effect of at least 0.1.

    For one standard deviation of the cause, all else held fixed: standard deviations of the effect; of the
    outcome, the square node at the end, log-odds, log-hazard or, of a number, its standard deviations; of a
    variable on a log scale they are those of the logarithm. Solid: more of the cause means more of the
    effect; dashed: less; dotted: a variable whose levels have no order. A small square on an arc says that
    its direction was given (tiers are bands, with their names), a question mark that it is unsure: learned,
    and in fewer than 80 % of the resamples of :meth:`rootcausal.RCI.bootstrap` there, pointing this way.
    Where arrows are few, the share of resamples stands beside each. A legend says so in words.

    Of more than ``top`` variables, those are drawn whose shocks change the outcome most; of a
    :class:`~rootcausal.DirectLiNGAM` the first ones.
    """
    from .estimator import Estimator

    unordered: set[int] = set()
    if isinstance(model, Estimator):
        causal = model._model
        shown = np.sort(np.argsort(-causal.importance(), kind="stable")[:top])
        found = graph_of(causal, shown, model.bootstrap_)
        unordered = set(np.flatnonzero(np.isnan(causal.scale[shown])).tolist())
    else:
        shown = np.arange(min(top, model.causal_order_.size))
        edges = model._standard_edges[np.ix_(shown, shown)]
        found = graph_without_outcome(model.causal_order_[shown], edges, model._precedence)
    called = [_short(name) for name in names_of(model)]
    names = [called[variable] for variable in found.variables]
    if isinstance(model, Estimator):
        names.append(words_of(model._model.attribution).of_what)
    ax = _axes(ax, height=0.45 * len(names) + 1.6)
    covariates = [called[variable] for variable in found.covariates]
    draw_graph(ax, found, names, unordered, together(covariates) if covariates else "")
    return ax


def _words(explanation: Explanation) -> OutcomeWords:
    return words_of(explanation._model.attribution)


def _row(explanation: Explanation, patient: Any) -> int:
    if patient not in explanation.ids:
        raise InputError(f"no patient {patient!r} in the explanation")
    return explanation.ids.index(patient)


def _average(explanation: Explanation) -> str:
    """What is average in a patient of the base value."""
    return "shocks and covariates" if explanation.covariates else "shocks"


def _name_steps(axis: Any, words: OutcomeWords) -> None:
    """Say an axis of the outcome's scale in ratios, ×0.5, ×1, ×2, where steps on it multiply."""
    if not words.is_ratio:
        return
    low, high = sorted(axis.get_view_interval())
    doublings = (high - low) / np.log(2.0)
    step = np.log(2.0) * max(np.ceil(doublings / MOST_TICKS), 1.0 if doublings > FEWEST_DOUBLINGS else 0.5)
    axis.set_ticks(np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step)
    axis.set_major_formatter(lambda value, _: f"×{np.exp(value):{',.0f' if value > np.log(10.0) else '.2g'}}")


def _shock(explanation: Explanation, row: int, column: int) -> _Bar:
    listed = explanation.listed
    value, lower, upper = float(listed.values[row, column]), listed.lower, listed.upper
    ends = None
    if lower is not None and upper is not None:
        ends = float(lower[row, column]), float(upper[row, column])
    label = f"{_name(explanation, column)} = {_value(explanation, row, column)}"
    return _Bar(label, value, _colour(value), bool(listed.imputed[row, column]), ends)


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
    return f"{text} (expected, not measured)" if explanation.listed.imputed[row, column] else text


def _axes(ax: Axes | None, height: float) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib: pip install 'rootcausal[plots]'") from error
    # Not by pyplot: a figure that pyplot knows would never be freed by a script that draws thousands.
    return Figure(figsize=(7, height), layout="constrained").subplots()


def _ordered(explanation: Explanation, column: int) -> bool:
    """Whether values are high or low: not those of levels without an order, and of sets."""
    return column < len(explanation.variables) and explanation.variables[column].kind != "nominal"


def _most_important(explanation: Explanation, top: int) -> list[int]:
    size = np.abs(explanation.listed.values).mean(axis=0)
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
    return _short(str(explanation.listed.names[column]))


def _short(name: str, limit: int = NAME_LIMIT) -> str:
    text = name if len(name) <= limit else f"{name[: limit - 1]}…"
    # A dollar sign would start a formula.
    return text.replace("$", r"\$")


def _colour(value: float) -> str:
    return HARMFUL if value > 0 else PROTECTIVE
