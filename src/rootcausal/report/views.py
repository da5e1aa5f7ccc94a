"""What the page knows of variables, levels, sets, outcome, cohort, graph and checks, as plain JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.blas import one_blas_thread
from ..explaining.graph import SURE_FROM, Arrow, effect_intervals, graph_of
from ..explaining.shown import similarity_order
from ..method.arrows import WEAKEST_EDGE
from ..method.confounded_sets import Merged
from ..method.model import CausalModel
from ..method.model_parts import LINEAR
from ..method.reference_ranges import CohortQuantiles, quantiles_of
from ..method.table import F64, Index
from ..outcomes import OUTCOMES, Words
from ..outcomes.follow_up import Spans
from ..resampling.intervals import interval
from ..wording import quoted

if TYPE_CHECKING:
    from ..diagnostics import Diagnosis
    from ..estimators.base import Estimator
    from ..explaining.explanation import Explanation
    from ..resampling.bootstrap import Bootstrap


# What the page knows of variables: names, units, digits, and what is expected of a patient's own values.

# Rows looked at for how many digits were written down, and the most digits of a measurement.
ROWS_FOR_DIGITS = 2000
MOST_DIGITS = 6
# A share of the usual spread that is worth a digit.
SHARE_WORTH_A_DIGIT = 0.1


def variable_facts(
    model: Estimator, explanation: Explanation, units: Mapping[str, str], words: Words
) -> list[dict[str, Any]]:
    """The variables in causal order; one of several columns has no unit to count in.

    ``sd`` is of the logarithm where a variable is on a log scale, and so is ``own``: by how much one standard
    deviation of its own shock moves it. ``digits`` are behind the point: those ``given``, those ``recorded``
    in the table, and those that the ``spread`` of the cohort is worth. ``dropped`` is the share of resamples
    in which it is no cause at all. Of a variable that is ``first`` nothing is expected from others: no
    measurement acts on it, and no covariate was regressed out.
    """
    causal, ancestor = model._model, model.ancestor_probability_
    unit_effects, scale, ends = causal.unit_effects, causal.scale, effect_ends(words, model)
    own, dropped = scale * np.diagonal(causal.total_effects()), dropped_shares(model.bootstrap_, causal)
    spreads = _spreads(model, explanation)
    unmoved = (causal.direct_effects() == 0.0).all(axis=1) & (causal.covariates.size == 0)
    return [
        {
            "name": (variable := explanation.variables[column]).shown,
            "column": variable.name,
            "unit": units.get(variable.name, variable.unit),
            "digits": {
                "given": variable.digits,
                "recorded": _recorded_digits(explanation, int(column)),
                "spread": _digits_worth(spreads[place]),
            },
            "coef": float(unit_effects[place]),
            "coef_interval": None if ends is None else ends[place],
            "sd": _or_none(scale[place]),
            "own": _or_none(own[place]),
            "ancestor": None if ancestor is None else float(ancestor[column]),
            "dropped": None if dropped is None else float(dropped[place]),
            "members": [],
            "first": bool(unmoved[place]),
            **level_facts(explanation, int(column)),
        }
        for place, column in enumerate(causal.order)
    ]


def _or_none(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def dropped_shares(resamples: Bootstrap | None, causal: CausalModel) -> F64 | None:
    """(v,) share of resamples in which a shock on each variable of the order adds nothing, to anybody."""
    if resamples is None:
        return None
    return 1.0 - np.mean([acting(model) for model in resamples.models], axis=0)[causal.order]


def acting(model: CausalModel) -> np.ndarray:
    """(p,) the variables on which a shock adds something, to anybody."""
    acts = np.zeros(model.n_variables, dtype=bool)
    acts[model.order] = model.importance() > 0
    return acts


def expected_values(explanation: Explanation, causal: CausalModel) -> F64 | None:
    """(n, v + s) what is expected of each variable of the order from a patient's others, in its own unit.

    That is its value without its own shock. None where a shock of so many standard deviations moves every
    patient by the same amount: the page then counts it out itself. NaN for variables of several columns,
    and for sets of variables that are read as one.
    """
    if causal.mechanism.kind == "linear":
        return None
    X, cells = explanation._columns, explanation._cells
    expected = np.full((len(X), causal.order.size + len(explanation.sets)), np.nan)
    for place, variable in enumerate(causal.order):
        if np.isfinite(causal.scale[place]):
            column = cells.layout.columns_of(variable)[0] if cells.layout is not None else variable
            values = causal.with_shock(X, int(variable), 0.0)[1][:, column]
            expected[:, place] = cells.in_unit(int(variable), values)
    return expected


def _spreads(model: Estimator, explanation: Explanation) -> F64:
    """(v,) half the stretch that holds the middle two thirds of the cohort: like a standard deviation."""
    if model._quantiles is None:
        data = explanation.data[:, model._model.order]
        low, high = np.nanquantile(data, (0.16, 0.84), axis=0)
    else:
        low, high = shown_quantiles(model._quantiles.values, explanation, model._model)[[16, 84]]
    spread: F64 = (high - low) / 2.0
    return spread


def _digits_worth(spread: float) -> int:
    if not spread > 0 or not math.isfinite(spread):
        return 0
    return min(max(0, math.ceil(-math.log10(spread * SHARE_WORTH_A_DIGIT) - 1e-9)), MOST_DIGITS)


def _recorded_digits(explanation: Explanation, column: int) -> int:
    """How many digits behind the point the measurements of these patients have."""
    values = explanation.data[:ROWS_FOR_DIGITS, column]
    values = values[~explanation.imputed[:ROWS_FOR_DIGITS, column] & np.isfinite(values)]
    for digits in range(MOST_DIGITS):
        if np.allclose(np.round(values, digits), values, rtol=1e-9, atol=1e-9):
            return digits
    return MOST_DIGITS


# What the page knows of levels and of values that were not measured.


def level_facts(explanation: Explanation, variable: int) -> dict[str, Any]:
    """What kind of variable this is, its levels in words and as numbers, and whether it is on a log scale."""
    said = explanation.variables[variable]
    levels = explanation._cells.level_texts(variable)
    codes = said.values.tolist() if said.kind in ("binary", "ordinal") else []
    limits = [said.limits.said[0], said.limits.said[-1]] if said.limits.said else []
    return {"kind": said.kind, "levels": levels, "codes": codes, "log": said.log, "limits": limits}


def shown_data(explanation: Explanation, order: Index) -> F64:
    """(n, k) what was measured of the variables in causal order; of levels, their places among the levels."""
    data = explanation.listed.data[:, order]
    for place, variable in _with_levels(explanation, order):
        data[:, place] = explanation._cells.said(variable).places
    return data


def shown_quantiles(quantiles: F64, explanation: Explanation, causal: CausalModel) -> F64:
    """(101, k) quantiles of what :func:`shown_data` shows."""
    found = quantiles.copy()
    for place, variable in enumerate(causal.order):
        if explanation.variables[int(variable)].log:
            found[:, place] = explanation._cells.in_unit(int(variable), quantiles[:, place])
    for place, variable in _with_levels(explanation, causal.order):
        if np.isfinite(causal.scale[place]):  # those of several columns are places already
            found[:, place] = explanation._cells.places(variable, quantiles[:, place])
    return found


def not_measured(explanation: Explanation, order: Index) -> np.ndarray:
    """(n, k) 0 where a value was measured; else 1, plus the percent by which its level is the likeliest, or 1
    where a number lies below a limit of detection, and 2 where it lies above one.

    And 128 more where what it adds may be nothing.
    """
    marks = explanation.listed.imputed[:, order].astype(np.uint8)
    for place, variable in _with_levels(explanation, order):
        percent = np.nan_to_num(np.round(100 * explanation._cells.said(variable).shares))
        marks[:, place] *= (1 + percent).astype(np.uint8)
    of_variables = np.flatnonzero(order < len(explanation.variables))  # after them come sets
    sides = explanation.censored[:, order[of_variables]]
    marks[:, of_variables] += np.where(sides < 0, 1, 2 * sides).astype(np.uint8)
    marks[explanation.listed.open[:, order]] += 128
    return marks


def predictors_by_level(explanation: Explanation, causal: CausalModel, room: int) -> F64 | None:
    """(n, m) predictor with each level set: of all levels of the first variable that has any, then of the
    next. None where no variable has levels, or the page has no room for so many bytes.
    """
    having = [variable for _, variable in _with_levels(explanation, causal.order)]
    n_levels = sum(len(explanation.variables[variable].levels) for variable in having)
    if not having or len(explanation.values) * n_levels * 2 * 4 / 3 > room:
        return None
    cells = replace(explanation._cells, columns=explanation._columns)
    return np.concatenate([cells.with_each_level(causal, variable) for variable in having], axis=1)


def _with_levels(explanation: Explanation, order: Index) -> list[tuple[int, int]]:
    """Place in the causal order and number of each variable with levels."""
    variables = explanation.variables  # after them come sets, which have no levels
    return [(at, int(v)) for at, v in enumerate(order) if v < len(variables) and variables[int(v)].levels]


# What the page knows of variables that are read as one: each set is one more entry after the variables.
#
# Members stay entries, since the graph is about them; what they add is the set's, so that no list has them.


def places_shown(explanation: Explanation, causal: CausalModel) -> Index:
    """(k + s,) places in what an explanation lists: variables in causal order, then sets."""
    p = len(explanation.variables)
    return np.concatenate([causal.order, p + np.arange(len(explanation.sets), dtype=np.intp)])


def set_facts(model: Estimator, explanation: Explanation) -> list[dict[str, Any]]:
    """Of each set what is told of variables; ``members`` are its places among these.

    High and low have no meaning for it, as for a variable whose levels have no order.
    """
    places = {int(variable): place for place, variable in enumerate(model.causal_order_)}
    ancestor = model.ancestor_probability_
    dropped = _dropped_shares(model)
    effects, ends = Merged(model._model, model.merged_sets_).unit_effects(), _effect_intervals(model)
    return [
        {
            "name": one.shown,
            "column": one.name,
            "unit": "",
            "digits": {"given": None, "recorded": 0, "spread": 0},
            "coef": float(effects[s]),
            "coef_interval": None if ends is None else ends[:, s].tolist(),
            "sd": None,
            "own": None,
            "ancestor": None if ancestor is None else float(1.0 - np.prod(1.0 - ancestor[list(one.places)])),
            "dropped": None if dropped is None else float(dropped[s]),
            "members": [places[member] for member in one.places],
            "first": False,
            "kind": "nominal",
            "levels": [],
            "codes": [],
            "log": False,
            "limits": [],
        }
        for s, one in enumerate(explanation.sets)
    ]


def _effect_intervals(model: Estimator) -> F64 | None:
    if model.bootstrap_ is None or not model.merged_sets_:
        return None
    sets = model.merged_sets_
    draws = np.stack([Merged(one, sets).unit_effects() for one in model.bootstrap_.models])
    return interval(draws)


def _dropped_shares(model: Estimator) -> F64 | None:
    """(s,) share of resamples in which no member of each set adds anything, to anybody."""
    if model.bootstrap_ is None:
        return None
    acts = [acting(one) for one in model.bootstrap_.models]
    return 1.0 - np.array([np.mean([one[list(some)].any() for one in acts]) for some in model.merged_sets_])


def set_quantiles(model: Estimator, explanation: Explanation) -> F64:
    """(101, s) of the sets' shocks: in the cohort of the fit or, without that, among these patients."""
    if model._set_quantiles is not None:
        return model._set_quantiles
    return quantiles_of(explanation.listed.errors[:, len(explanation.variables) :])


def set_notes(model: Estimator) -> list[str]:
    """What was looked for, and what is read as one."""
    merged = model.provenance_.get("merged")
    if merged is None:
        return []
    if not merged["sets"]:
        return ["No variables are read as one: no errors of variables that an arrow joins stayed dependent."]
    called = model._encoding.shown_names
    return [
        f"Read as one: {' + '.join(called[member] for member in some)}. Their errors depend on each other, "
        "and neither a bend nor a column that was measured explains it: something unmeasured may move them, "
        "or their order is not sure."
        for some in model.merged_sets_
    ]


# What the page knows of the outcome: how finely its scale is kept, and what happened to patients.
#
# Its words are those of ``templates/outcomes.js``, which :meth:`Words.page` fills in.

BARS = 20


def page_words(explanation: Explanation, units: Mapping[str, str], target: str | None) -> Words:
    """The words of the outcome of these patients; ``units`` may hold that of it, by name."""
    attribution = explanation._model.attribution.of_outcome
    outcome = OUTCOMES[attribution.outcome]
    return outcome.words(attribution, None, units.get(outcome.unit_name(target) or "", ""), {})


def outcome_facts(words: Words, explanation: Explanation) -> dict[str, Any]:
    """What the words on the page are made of, and from where predictors are counted, in which steps."""
    return {
        "kind": words.kind,
        "step": words.step,
        "origin": origin_of(words, explanation),
        **words.page(explanation.provenance),
    }


def origin_of(words: Words, explanation: Explanation) -> float:
    """From where the page counts predictors by level."""
    return 0.0 if words.is_chance else explanation.base_value


def outcome_blocks(explanation: Explanation, known: np.ndarray | None) -> dict[str, F64]:
    """Of every patient (n, m): intervals of predictions over resamples, and what happened, where known."""
    blocks = {}
    if explanation.predicted_interval is not None:
        blocks["predicted-interval"] = explanation.predicted_interval.T
    if known is not None and explanation._model.attribution.outcome == "survival":
        spans = Spans.of(known)
        others = 0.0 if spans.competing is None else 2.0 * spans.competing
        blocks["known"] = np.column_stack([spans.time, spans.event + others])
    elif known is not None:
        blocks["known"] = known.reshape(len(known), -1)
    return blocks


def effect_ends(words: Words, model: Estimator) -> list[list[float]] | None:
    """The ends of what a shock of one standard deviation adds, by the variables of the order."""
    if model.bootstrap_ is None or not words.effect_ends:
        return None
    ends = effect_intervals(model.bootstrap_, model.n_features_in_)
    return ends[:, model.causal_order_].T.tolist()


def predictions(words: Words, predicted: F64) -> dict[str, Any]:
    """How many patients (n,) have which prediction."""
    counts, edges = np.histogram(predicted, BARS, (0.0, 1.0) if words.is_chance else None)
    return {"counts": counts.tolist(), "edges": edges.tolist()}


# The cohort at a glance: how often each variable is a root cause, and patients ordered by similarity.

# Up to this many patients the heat map has a line for each; beyond, a line for each group of similar ones.
LINES = 400
GROUPS = 200
HEAT_VARIABLES = 30
SWARM_PATIENTS = 300


def cohort_facts(
    values: F64, predictor: F64, notable_from: float, unlisted: np.ndarray, open_: np.ndarray
) -> dict[str, Any]:
    """Facts about the patients together.

    Parameters
    ----------
    values : (n, k) Shapley values of the variables in causal order, and of sets of them.
    predictor : (n,) of the outcome: by it some of them are chosen to be drawn.
    notable_from : the size from which a value counts.
    unlisted : (k,) which are members of sets, and have no place of their own in lists.
    open_ : (n, k) what was not measured, and may be nothing: it does not count.

    Returns
    -------
    dict with, for each variable, ``root_cause`` (patients whose outcome its shock notably raises),
    ``strongest`` (those of them in whom none raises it more) and ``importance`` (mean absolute value); with
    ``by_importance``, ``none`` (patients without a root cause), ``swarm`` (rows to draw) and ``heat``.
    """
    n, k = values.shape
    strongest = np.zeros(k, dtype=np.int64)
    counting = np.where(open_, 0.0, values)
    notable = counting >= notable_from
    raised = notable.any(axis=1)
    if k:
        np.add.at(strongest, counting[raised].argmax(axis=1), 1)
    importance = np.abs(values).mean(axis=0)
    by_importance = np.argsort(-importance, kind="stable")
    by_importance = by_importance[~unlisted[by_importance]]
    by_risk = np.argsort(predictor, kind="stable")
    swarm = by_risk[np.unique(np.linspace(0, n - 1, min(n, SWARM_PATIENTS)).astype(np.intp))]
    return {
        "root_cause": notable.sum(axis=0).tolist(),
        "strongest": strongest.tolist(),
        "importance": importance.tolist(),
        "by_importance": by_importance.tolist(),
        "none": int(n - raised.sum()),
        "swarm": swarm.tolist(),
        "heat": _heat(values[:, by_importance[:HEAT_VARIABLES]]),
    }


def _heat(values: F64) -> dict[str, Any]:
    """Lines of the heat map, similar ones next to each other: patients, or means of groups of patients."""
    n, k = values.shape
    if k == 0:
        return {"rows": [], "sizes": [], "means": []}
    if n <= LINES:
        return {"rows": similarity_order(values).tolist(), "sizes": [], "means": []}
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    # In so small steps, threads wait for each other longer than they work.
    with one_blas_thread(), threadpool_limits(1, user_api="openmp"):
        groups = MiniBatchKMeans(GROUPS, random_state=0, n_init=1).fit_predict(values)
    sizes = np.bincount(groups, minlength=GROUPS)
    means = np.stack([values[groups == group].mean(axis=0) for group in np.flatnonzero(sizes)])
    order = similarity_order(means)
    return {
        "rows": [],
        "sizes": sizes[sizes > 0][order].tolist(),
        "means": np.round(means[order], 4).tolist(),
    }


# The learned graph among the ancestors of the outcome, and into it.

VARIABLES_DRAWN = 60
CURVE_POINTS = 25
# Where the model does not know how its cohort is spread, a curve goes this many SDs to either side.
REACH = 2.5


def graph_facts(
    model: CausalModel,
    values: F64,
    resamples: Bootstrap | None,
    names: Sequence[str],
    quantiles: CohortQuantiles | None,
) -> dict[str, Any]:
    """The most important variables in causal order, the arrows among them, and what each shock moves.

    ``total[j][i]``: by how many standard deviations variable i moves when the shock on j grows by one. An
    arrow whose effect is just beyond the last variable leads into the outcome. Where relations are nonlinear,
    arrows have their curves, over what nearly all of the cohort has by its ``quantiles``.
    """
    important = np.argsort(-np.abs(values).mean(axis=0), kind="stable")[:VARIABLES_DRAWN]
    shown = np.sort(important)
    graph = graph_of(model, shown, resamples)
    assert graph.into_outcome is not None
    bends = any(form != LINEAR for form in model.forms()) or not model.attribution.proportional

    def facts(arrow: Arrow) -> dict[str, Any]:
        curve = _curve(model, shown, arrow, quantiles) if bends else None
        return _facts(arrow) | ({} if curve is None else {"curve": curve})

    return {
        "shown": shown.tolist(),
        "edges": [facts(arrow) for arrow in graph.edges],
        "into_outcome": [facts(arrow) for arrow in graph.into_outcome],
        "tiers": [asdict(band) for band in graph.bands],
        "covariates": [names[variable] for variable in graph.covariates],
        "known": graph.known,
        "sure_from": SURE_FROM,
        "total": model.total_effects()[np.ix_(shown, shown)].T.tolist(),
        "weakest": WEAKEST_EDGE,
        "weakest_on_outcome": model.attribution.notable,
        "n_possible": int(shown.size * (shown.size - 1) // 2),
    }


def _curve(
    model: CausalModel, shown: Index, arrow: Arrow, quantiles: CohortQuantiles | None
) -> dict[str, Any] | None:
    """What the cause does to the effect, in standard units: points of a curve, and the spread around it.

    None where one of them has levels without an order.
    """
    cause = int(shown[arrow.cause])
    if np.isnan(model.scale[cause]):
        return None
    low, high = -REACH, REACH
    if quantiles is not None:
        mean, sd = model.location(cause)
        low, high = ((quantiles.values[[1, -2], cause] - mean) / sd).tolist()
    z = np.linspace(low, high, CURVE_POINTS)
    if arrow.effect == shown.size:
        added = model.outcome_curve(cause, z)
        return None if added is None else {"y": _rounded(added), "spread": None, "form": ""}
    effect = int(shown[arrow.effect])
    curve = model.arrow_curve(cause, effect, z)
    if curve is None:
        return None
    return {"y": _rounded(curve.expected), "spread": _rounded(curve.spread), "form": model.forms()[effect]}


def _rounded(values: F64) -> list[float]:
    return np.round(values, 4).tolist()


def _facts(arrow: Arrow) -> dict[str, Any]:
    return {
        "cause": arrow.cause,
        "effect": arrow.effect,
        "weight": arrow.weight,
        "state": arrow.state,
        "said": arrow.said,
    }


# What the checks of the model found, for the page: worst first, and by variable.

# Of a name in a limit, at most (see :func:`..diagnostics.diagnosis.filled`).
NAME_LETTERS = 40


def checks_facts(diagnosis: Diagnosis, variable_of: Mapping[str, str]) -> dict[str, Any]:
    """All checks, the worst first, and what they come to.

    ``variable_of`` says what the variable of a column is called: checks name columns, and cards are about
    variables.
    """
    return {
        "verdict": diagnosis.verdict,
        "reading": diagnosis.reading,
        "checks": [
            {
                "name": check.name,
                "question": check.question,
                "verdict": check.verdict,
                "reading": check.reading,
                "statement": check.statement,
                "advice": check.advice,
                "limit": _in_labels(check.limit, check.variables, variable_of),
                "touches": check.touches,
                "variables": [str(name) for name in check.variables],
                "concerned": list(dict.fromkeys(variable_of.get(name, name) for name in check.variables)),
            }
            for check in diagnosis.worst_first
        ],
        "not_made": diagnosis.not_made,
    }


def _in_labels(limit: str, columns: Sequence[str], called: Mapping[str, str]) -> str:
    """A limit with the labels of the columns that it is about; advice keeps columns, which options take.

    Columns stand in quotes, which tells them from words of the sentence.
    """
    labels = {quoted(name, NAME_LETTERS): quoted(called.get(name, name)) for name in columns}
    if not labels:
        return limit
    any_name = "|".join(re.escape(name) for name in sorted(labels, key=len, reverse=True))
    return re.sub(any_name, lambda found: labels[found[0]], limit)


def variables_by_column(
    column_names: Sequence[str], of_columns: Index, names: Sequence[str]
) -> dict[str, str]:
    """The variable of each column, by name: "ward" for "ward = ICU". A variable's own name is its own."""
    owners = {column: names[owner] for column, owner in zip(column_names, of_columns, strict=True)}
    return owners | {name: name for name in names}
