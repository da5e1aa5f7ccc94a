"""Figures for papers, by matplotlib: one function each, every one returns its Axes.

Colours are those of the page: orange raises the outcome, blue lowers it, grey is what was adjusted for. Bars
carry their sign and lines their dashes, so that all but the heat map can be read in grey. Save with
``ax.figure.savefig("figure.svg")`` or ``.png``.

All take the same words: ``labels``, a dict from columns to what they are called; ``units``, from columns to
what stands behind their values (as ``report`` takes it: ``time`` is that of the times of follow-up);
``target``, what the outcome is called. Names that the model does not know are passed over, so that one dict
does for a whole table. Long names are shortened in the middle, never two to the same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..explaining.graph import graph_of, graph_without_outcome
from ..explaining.shown import similarity_order
from ..inputs.from_frame import names_of
from ..outcomes.survival import HazardAttribution
from ..wording import shortened, together
from .graph import draw_graph
from .marks import bars_of, draw_bar, draw_forest, draw_swarm, unordered_of
from .mechanism import mechanism as mechanism
from .style import (
    HARMFUL,
    HARMFUL_LIGHT,
    INK,
    NAME_LIMIT,
    Names,
    as_shown,
    average_of,
    axis_words,
    diverging,
    name_rows,
    name_steps,
    names_shown,
    new_axes,
    patient_called,
    reached,
    strongest,
    value_bar,
    whisker,
    with_labels,
    with_units,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.base import Estimator
    from ..estimators.lingam import DirectLiNGAM
    from ..explaining.explanation import Explanation

# The heat map orders patients by similarity, which needs the distance of every pair.
HEAT_PATIENTS = 2000
CURVE_POINTS = 200


def waterfall(
    explanation: Explanation,
    patient: Any,
    *,
    top: int = 8,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    target: str | None = None,
    ax: Axes | None = None,
) -> Axes:
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
    row, names = _row(explanation, patient), _names(explanation, labels, units, target)
    bars = bars_of(explanation, row, names, top)
    ax = new_axes(ax, height=0.4 * len(bars) + 1.9)
    at = explanation.base_value
    for place, bar in enumerate(bars):
        if place:
            ax.plot([at, at], [place - 1, place], color=INK, linewidth=0.6, zorder=0)
        draw_bar(ax, bar, place, at, names.words)
        at += bar.value
    ax.axvline(explanation.base_value, color=INK, linestyle=":", linewidth=1, zorder=0)
    ax.axvline(at, color=INK, linestyle="--", linewidth=1, zorder=0)
    ax.set_yticks(range(len(bars)), [bar.label for bar in bars])
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.use_sticky_edges = False
    ax.margins(x=0.25)
    base, words = explanation.base_value, names.words
    base_predicted = float(explanation._model.attribution.predicted(np.array([base]))[0])
    ax.set_xlabel(
        f"{axis_words(words.axis)}\n"
        f"dotted: average {average_of(explanation)}, {reached(words, base, base_predicted)}\n"
        f"dashed: {patient_called(patient)}, {reached(words, at, float(explanation.predicted[row]))}"
    )
    name_steps(ax.xaxis, words)
    return ax


def survival(
    explanation: Explanation,
    patient: Any,
    *,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    target: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """How likely one patient is to be without the event, up to the longest follow-up of the cohort.

    Beside them: the same patient without the shock that raises their hazard most, and a patient whose shocks
    are all average. A line marks the horizon, with the 95 % interval of this patient's risk by then, if the
    model has a bootstrap.

    Parameters
    ----------
    explanation : of at least this patient, by a :class:`rootcausal.RCISurvival`.
    patient : the id.
    """
    row, hazard = _row(explanation, patient), explanation._model.attribution.of_outcome
    if not isinstance(hazard, HazardAttribution):
        raise InputError("only the time to an event has survival curves: see RCISurvival")
    names, values = _names(explanation, labels, units, target), explanation.listed.values[row]
    ax = new_axes(ax, height=4.4)
    now, first = explanation.predictor[row], int(values.argmax())
    curves = [(patient_called(patient), now, "-", INK)]
    if values[first] >= explanation.notable_from and not explanation.listed.open[row, first]:
        without = f"without the shock on {names.variables[first]}"
        curves.append((without, now - values[first], "--", HARMFUL))
    curves.append((f"all {average_of(explanation)} average", explanation.base_value, ":", INK))
    # Steep stretches need more points than the edges of the baseline hazard.
    shown = np.union1d(hazard.edges, np.linspace(0.0, hazard.edges[-1], CURVE_POINTS))
    for label, predictor, line, colour in curves:
        curve = hazard.survival(np.array([predictor]), shown)[0]
        ax.plot(shown, curve, linestyle=line, color=colour, label=label)
    ax.axvline(hazard.horizon, color=INK, linewidth=0.6)
    if explanation.predicted_interval is not None:
        whisker(ax, [hazard.horizon] * 2, 1.0 - explanation.predicted_interval[:, row], flat=False)
    ax.set_ylim(0.0, 1.02)
    ax.set_xlim(0.0, hazard.edges[-1])
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    words = names.words
    unit = f" ({words.unit})" if words.unit else ""
    ax.set_ylabel(f"without {axis_words(words.of_what)}")
    ax.set_xlabel(
        f"time{unit}\nline: {axis_words(words.prediction)}, {words.predicted(explanation.predicted[row])}"
        + ("" if explanation.predicted_interval is None else ", with its 95 % interval")
    )
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=1)
    return ax


def beeswarm(
    explanation: Explanation,
    *,
    top: int = 10,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    target: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What each shock adds, one dot for each patient; light dots: the measured value is low, dark: high.

    Grey dots are of levels without an order and of variables that are read as one, crosses of values that
    were not measured. Of more than 500 patients, dots are a picture in ``.svg`` and ``.pdf`` files, as sharp
    as the ``dpi`` they are saved with.
    """
    explanation = explanation.of_scored()
    shown, names = _most_important(explanation, top), _names(explanation, labels, units, target)
    ax = new_axes(ax, height=0.5 * len(shown) + 1.4)
    for place, column in enumerate(shown):
        draw_swarm(ax, explanation, column, place)
    ax.axvline(0, color=INK, linewidth=0.8, zorder=0)
    name_rows(ax, names, shown)
    unordered = unordered_of(explanation, shown)
    grey = "levels without an order" + (", or several variables" if explanation.sets else "")
    said = [
        *([f"grey: {grey}"] if unordered else []),
        *(["crosses: not measured"] if explanation.listed.imputed[:, shown].any() else []),
    ]
    ax.set_xlabel("\n".join([axis_words(names.words.added), "; ".join(said)]).strip())
    name_steps(ax.xaxis, names.words)
    if len(shown) > len(unordered):
        value_bar(ax)
    return ax


def prevalence(
    explanation: Explanation,
    *,
    top: int = 15,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    target: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """For how many patients each variable is a root cause, and for how many the strongest one.

    Only notable shocks count, as in :meth:`rootcausal.Explanation.root_causes`. Of a number, root causes are
    the variables whose shock raises it.
    """
    explanation = explanation.of_scored()
    values = np.where(explanation.listed.open, 0.0, explanation.listed.values)
    raised = values >= explanation.notable_from
    any_cause = raised.sum(axis=0)
    most = np.bincount(values.argmax(axis=1)[raised.any(axis=1)], minlength=values.shape[1])
    causes = [column for column in _most_important(explanation, top) if any_cause[column]]
    shown = sorted(causes, key=lambda column: -most[column])
    names = _names(explanation, labels, units, target)
    ax = new_axes(ax, height=0.35 * len(shown) + 1.2)
    places, (raises, raises_most) = range(len(shown)), names.words.raises
    ax.barh(places, any_cause[shown], color=HARMFUL_LIGHT, edgecolor=INK, linewidth=0.6, label=raises)
    ax.barh(places, most[shown], color=HARMFUL, edgecolor=INK, linewidth=0.6, label=raises_most)
    name_rows(ax, names, shown)
    ax.set_xlabel(f"patients, of {len(values)}")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def heatmap(
    explanation: Explanation,
    *,
    top: int = 20,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    target: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Variables × patients, those with like shocks side by side; orange raises the outcome, blue lowers it.

    Colours end where 98 % of the values lie; the pointed ends of their bar say that some go on.
    """
    n = len(explanation.values)
    if n > HEAT_PATIENTS:
        raise InputError(
            f"a heat map orders at most {HEAT_PATIENTS} patients by similarity, and there are {n}: "
            "explain a sample of them"
        )
    explanation = explanation.of_scored()
    shown, names = _most_important(explanation, top), _names(explanation, labels, units, target)
    values = explanation.listed.values[:, shown]
    ax = new_axes(ax, height=0.3 * len(shown) + 1.2)
    if len(shown):
        end = strongest(values)
        drawn = ax.imshow(
            values[similarity_order(values)].T,
            aspect="auto",
            interpolation="nearest",
            cmap=diverging(),
            vmin=-end,
            vmax=end,
        )
        beyond = "both" if np.abs(values).max() > end else "neither"
        bar = ax.figure.colorbar(
            drawn, ax=ax, label=axis_words(names.words.added), extend=beyond, aspect=30, pad=0.02
        )
        name_steps(bar.ax.yaxis, names.words)
    name_rows(ax, names, shown, turned=False)
    ax.set_xticks([])
    ax.set_xlabel(f"{n} patients, similar ones side by side")
    return ax


def graph(
    model: Estimator | DirectLiNGAM,
    *,
    top: int = 20,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    target: str | None = None,
    ax: Axes | None = None,
) -> Axes:
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
    from ..estimators.base import Estimator

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
    variables = model._encoding.variables if isinstance(model, Estimator) else ()
    called = names_shown(names_of(model), with_labels(variables, labels))
    names = [called[variable] for variable in found.variables]
    if isinstance(model, Estimator):
        words = Names.of(called, model._model.attribution, model.provenance_, None, units, target).words
        names.append(as_shown(shortened([words.of_what], NAME_LIMIT)[0]))
    ax = new_axes(ax, height=0.45 * len(names) + 1.6)
    covariates = [called[variable] for variable in found.covariates]
    draw_graph(ax, found, names, unordered, together(covariates) if covariates else "")
    return ax


def forest(
    model: Estimator,
    *,
    top: int = 20,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    target: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Effects without a prior and their 95 % intervals, and beside each what the model makes of it.

    For one standard deviation of the variable, all other columns held fixed (see
    :meth:`rootcausal.RCI.summary`): a square with its interval is the effect without a prior, a hollow
    diamond that of the model. Of more than ``top`` columns, the surest are drawn; those that are not
    estimable have a cross at zero.
    """
    found = model.summary()
    if found.none:
        raise InputError(f"there are no effects without a prior to draw: {found.none}")
    kept = {term.term for term in found.strongest()[:top]}
    shown = [term for term in found.terms if term.term in kept]
    variables = model._encoding.variables
    known = with_labels(variables, labels) or {}
    called = [
        f"{known.get(term.variable, term.variable)} = {term.level}"
        if term.term != term.variable
        else known.get(term.variable, term.variable)
        for term in shown
    ]
    names = Names.of(called, model._model.attribution, model.provenance_, None, units, target)
    ax = new_axes(ax, height=0.35 * len(shown) + 1.6)
    draw_forest(ax, shown)
    name_rows(ax, names, range(len(shown)))
    ax.set_xlabel(f"{axis_words(names.words.added)}, for one standard deviation")
    name_steps(ax.xaxis, names.words)
    return ax


def _names(
    explanation: Explanation,
    labels: Mapping[str, str] | None,
    units: Mapping[str, str] | None,
    target: str | None,
) -> Names:
    variables = explanation.variables
    return Names.of(
        explanation.listed.names,
        explanation._model.attribution,
        explanation.provenance,
        with_labels(variables, labels, explanation.sets),
        with_units(variables, units),
        target,
    )


def _row(explanation: Explanation, patient: Any) -> int:
    if patient not in explanation.ids:
        raise InputError(f"no patient {patient!r} in the explanation")
    row = explanation.ids.index(patient)
    if not explanation.scored[row]:
        raise InputError(f"nothing that the model goes by was measured of patient {patient!r}")
    return row


def _most_important(explanation: Explanation, top: int) -> list[int]:
    size = np.abs(explanation.listed.values).mean(axis=0)
    ranked = np.argsort(-size, kind="stable")[:top]
    return [int(column) for column in ranked if size[column] > 0]
