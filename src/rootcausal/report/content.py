"""What the page says: facts as plain JSON, and the patients' numbers as packed blocks."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..explaining.provenance import left_out, of_sites, parameters_in_words
from ..explaining.summary import HIDDEN_NOTE
from ..inputs.weights import in_words as weights_in_words
from ..likelihood.recalibration import in_words
from ..method.model import CausalModel
from ..method.reference_ranges import CohortQuantiles
from ..method.table import F64, Index
from ..outcomes import Words, words_of
from ..resampling.halves import Halves
from ..version import __version__
from ..wording import plain
from .views import (
    checks_facts,
    cohort_facts,
    expected_values,
    graph_facts,
    not_measured,
    origin_of,
    outcome_blocks,
    outcome_facts,
    page_words,
    places_shown,
    predictions,
    predictors_by_level,
    set_facts,
    set_notes,
    set_quantiles,
    shown_data,
    shown_quantiles,
    variable_facts,
    variables_by_column,
)

if TYPE_CHECKING:
    from ..diagnostics import Diagnosis
    from ..estimators.base import Estimator
    from ..explaining.explanation import Explanation
    from ..inputs.outcomes import Target

# Of base64 text. Below the first, numbers keep all their digits; above the second, browsers get slow.
BYTES_IN_FULL = 12_000_000
BYTES_AT_MOST = 23_500_000
# On a page too large for the intervals of all shocks, each patient's strongest keep theirs.
FEWEST_INTERVALS = 8
# Rows of the table of effects.
MOST_EFFECTS = 200


@dataclass(frozen=True)
class Content:
    """Facts for JSON, and blocks of numbers in base64, by name; and the findings that they tell."""

    facts: dict[str, Any]
    blocks: dict[str, str]
    diagnosis: Diagnosis


def page_content(
    model: Estimator,
    X: Any,
    known: Target | None,
    ids: Any,
    units: Mapping[str, str] | None,
    target: str | None,
    notes: Sequence[str],
    redact_ids: bool,
    groups: Any = None,
    horizon: float | None = None,
    weights: Any = None,
) -> Content:
    """Everything that the page of these patients shows."""
    units = {} if units is None else units
    if not isinstance(units, Mapping):
        raise InputError(f"units must be a dict from variables to their units, not {type(units).__name__}")
    by: dict[str, Any] = {} if horizon is None else {"horizon": horizon}
    if known is not None and known.strata is not None and model._model.attribution.outcome == "matched":
        by["strata"] = known.strata
    X, ids = model._with_ids(X, ids)
    if groups is not None:
        X, groups = model._with_ids(X, groups, "groups")
    if weights is not None:
        X, weights = model._with_ids(X, weights, "weights")
    everybody = model.explain(X, ids=ids, **by)
    if not len(everybody.ids):
        raise InputError("a page is about patients, and the table has no rows")
    if not everybody.scored.any():
        raise InputError(
            "nothing that the model goes by was measured of any patient: there is nothing to show"
        )
    explanation, scored = everybody.of_scored(), everybody.scored
    target = model.provenance_.get("reading", {}).get("called") if target is None else target
    causal, target = model._model, None if target is None else _text(target, "target") or None
    units = {name: _unit(units, name) for name in units}
    words = page_words(explanation, units, target)
    listed, order = explanation.listed, places_shown(explanation, causal)
    values = listed.values[:, order]
    tables = _tables(explanation, causal, order)
    n, k = values.shape
    numbers = _number_type(n, k, len(tables))
    names = [variable.shown for variable in explanation.variables]
    blocks = {name: _packed(table, numbers) for name, table in tables.items()}
    if explanation.imputed.any():
        blocks["imputed"] = _packed(not_measured(explanation, order), "<u1")
    kept = None
    if explanation.lower is not None:
        kept, intervals = _interval_blocks(explanation, order, _size(blocks), words)
        blocks |= intervals
    blocks |= _covariate_blocks(explanation, numbers, words)
    happened = None
    if known is not None:
        happened = known.known_again(X, scored.size, getattr(model, "classes_", np.empty(0)))[scored]
    blocks |= {name: _packed(table, numbers) for name, table in outcome_blocks(explanation, happened).items()}
    expected = expected_values(explanation, causal)
    if expected is not None and n * k * 4 * 4 / 3 < BYTES_IN_FULL - _size(blocks):
        blocks["expected"] = _packed(expected, "<f4")
    if explanation.recalibrated is not None:
        blocks["recalibrated"] = _packed(explanation.recalibrated, numbers)
    calibration = model._calibration
    bootstrap = None
    if model.bootstrap_ is not None:
        bootstrap = {"resamples": len(model.bootstrap_.models), "seed": int(model.bootstrap_.random_state)}
    by_level = predictors_by_level(explanation, causal, BYTES_IN_FULL - _size(blocks))
    if by_level is not None:
        blocks["by-level"] = _steps(by_level - origin_of(words, explanation), words)
    of_all = _labels(everybody.ids, redact_ids)
    labels = [label for label, there in zip(of_all, scored, strict=True) if there]
    not_scored = [label for label, there in zip(of_all, scored, strict=True) if not there]
    diagnosis = model._found.beside(model._diagnose(X, known, of_all, weights))
    facts = {
        "numbers": numbers,
        "labels": labels,
        "not_scored": not_scored,
        "unlike": _unlike(explanation),
        "n_patients": _repeated(everybody.ids if groups is None else groups, scored),
        "target": words.of_what if target is None else target,
        "positive": str(model.classes_[1]) if hasattr(model, "classes_") else None,
        "outcome": outcome_facts(words, explanation),
        "base_value": float(explanation.base_value),
        "prevalence": model.provenance_["parameters"].get("prevalence"),
        "covariates": [explanation.variables[place].shown for place in causal.covariates],
        "variables": variable_facts(model, explanation, units, words) + set_facts(model, explanation),
        "notable": explanation.notable_from,
        # Whether the page can count out by itself what is expected, and what another shock would do.
        "linear": causal.mechanism.kind == "linear",
        "quantiles": _quantiles(model, explanation, numbers),
        "cohort": cohort_facts(
            values,
            explanation.predictor,
            explanation.notable_from,
            np.isin(order, listed.members),
            listed.open[:, order],
        )
        | {"predicted": predictions(words, explanation.predicted)},
        "graph": graph_facts(
            causal, explanation.values[:, causal.order], model.bootstrap_, names, model._quantiles
        ),
        "bootstrap": bootstrap,
        "intervals": kept,
        "not_measured": {
            "cells": int(explanation.imputed.sum()),
            "patients": int(explanation.imputed.any(axis=1).sum()),
        },
        "calibration": "" if calibration is None else in_words(calibration, causal.attribution.of_outcome),
        "effects": _effects(model, target, units),
        "made": _made(model, notes, diagnosis),
    }
    return Content(facts, blocks, diagnosis)


def _unit(units: Mapping[str, Any], name: str) -> str:
    unit = units.get(name)
    return "" if unit is None else _text(unit, f"the unit of {name!r}")


def _text(name: Any, what: str) -> str:
    """What the page prints for a name that a caller gave: bytes and missing values are none."""
    try:
        missing = name is None or not bool(name == name)  # NaN and NaT differ from themselves
    except (TypeError, ValueError):  # pandas.NA does not say whether it does, and no array is a name
        missing = True
    if missing or isinstance(name, bytes):
        raise InputError(f"{what} is {name!r}: give it as text")
    return str(name)


def _quantiles(model: Estimator, explanation: Explanation, numbers: str) -> dict[str, Any]:
    """Where to place patients: in the cohort of the fit or, without its quantiles, among themselves."""
    of_fit = model._quantiles is not None
    quantiles = model._quantiles or CohortQuantiles.of(explanation._cells.columns, model._model)
    return {
        "of_fit": of_fit,
        "values": _by_variable(shown_quantiles(quantiles.values, explanation, model._model), numbers),
        "errors": _by_variable(np.hstack([quantiles.errors, set_quantiles(model, explanation)]), numbers),
    }


def _labels(ids: Sequence[Any], redact: bool) -> list[str]:
    """What each patient is called; every label is there once, since links and searches use it."""
    if redact:
        return [str(number) for number in range(1, len(ids) + 1)]
    texts = [_text(name, f"the id of row {row}") for row, name in enumerate(ids, start=1)]
    times = Counter(texts)
    taken = {text for text in texts if text.strip() and times[text] == 1}
    labels = []
    for row, text in enumerate(texts, start=1):
        label = text
        if label not in taken:
            label = f"{text} (row {row})".strip()
            while label in taken:
                label += "′"
            taken.add(label)
        labels.append(label)
    return labels


def _repeated(ids: Sequence[Any], scored: np.ndarray) -> int | None:
    """How many patients there are, where some have several rows; those without an id have one each."""
    texts = [str(name) for name, there in zip(ids, scored, strict=True) if there]
    named = [text for text in texts if text.strip()]
    n_patients = len(set(named)) + len(texts) - len(named)
    return n_patients if n_patients < len(texts) else None


def _by_variable(quantiles: F64, numbers: str) -> list[list[float]]:
    """Rounded as the patients' own numbers are, so that a tie on the page is one in the cohort."""
    largest = np.finfo(numbers).max
    return np.clip(quantiles.T, -largest, largest).astype(numbers).tolist()


def _number_type(n: int, k: int, n_tables: int) -> str:
    """The type in which so many tables of n patients and k variables fit on a page."""
    in_full = n_tables * n * k * 8 * 4 / 3
    if in_full / 2 > BYTES_AT_MOST:
        room = int(BYTES_AT_MOST * 3 / 4 / (n_tables * k * 4))
        raise InputError(
            f"a page holds at most {room:,} patients of this model ({k} variables in its causal order), and "
            f"the table has {n:,}: choose the patients to show; where their values lie in the whole cohort "
            "is kept with the model"
        )
    return "<f8" if in_full <= BYTES_IN_FULL else "<f4"


def _tables(explanation: Explanation, causal: CausalModel, order: Index) -> dict[str, F64]:
    """(n, k) numbers of which every patient's go on the page, as little-endian floats in causal order.

    Where a Shapley value is its shock times what a unit of it adds, it needs no place of its own.
    """
    tables = {"errors": explanation.listed.errors[:, order], "data": shown_data(explanation, order)}
    if causal.attribution.proportional and not explanation.sets:
        return tables
    return tables | {"shapley": explanation.listed.values[:, order]}


def _size(blocks: Mapping[str, str]) -> int:
    return sum(map(len, blocks.values()))


def _interval_blocks(
    explanation: Explanation, order: Any, used: int, words: Words
) -> tuple[int, dict[str, str]]:
    """Intervals and frequencies of each patient's strongest shocks: how many, and their blocks, (n, kept).

    All shocks where they fit. Numbers are kept as they are shown: in steps of the outcome, whole percent.
    """
    listed = explanation.listed
    assert listed.lower is not None
    assert listed.upper is not None
    n, k = listed.values.shape[0], order.size
    bytes_a_shock = n * (2 + 2 + 2 + 1) * 4 / 3
    kept = min(k, max(FEWEST_INTERVALS, int((BYTES_IN_FULL - used) / bytes_a_shock)))
    strongest = np.argsort(-np.abs(listed.values[:, order]), axis=1, kind="stable")[:, :kept]

    def chosen(table: F64) -> F64:
        return np.take_along_axis(table[:, order], strongest, axis=1)

    blocks = {
        "interval-of": _packed(strongest, "<u2"),
        "lower": _steps(chosen(listed.lower), words),
        "upper": _steps(chosen(listed.upper), words),
    }
    if listed.frequency is not None:
        share = chosen(listed.frequency)
        # A few resamples are not none, and nearly all of them are not all.
        blocks["frequency"] = _packed(np.clip(np.round(share * 100), share > 0, 100 - (share < 1)), "<u1")
    return kept, blocks


def _covariate_blocks(explanation: Explanation, numbers: str, words: Words) -> dict[str, str]:
    """What each patient's covariates add together (n,), its interval (n, 2), and whose are not all measured.

    No block where there are no covariates, there is no interval, or all was measured.
    """
    if not explanation.covariates:
        return {}
    blocks = {"covariates": _packed(explanation.covariate_effect, numbers)}
    if explanation.covariate_interval is not None:
        blocks["covariates-interval"] = _steps(explanation.covariate_interval.T, words)
    expected = explanation.imputed[:, explanation._model.covariates].any(axis=1)
    if expected.any():
        blocks["covariates-expected"] = _packed(expected, "<u1")
    return blocks


def _steps(table: F64, words: Words) -> str:
    """In whole steps of the outcome's scale, which take a quarter of the place."""
    return _packed(np.clip(np.round(table / words.step), -32767, 32767), "<i2")


def _unlike(explanation: Explanation) -> dict[int, str]:
    """By row what the variable is called in which a patient departs most from all of the fit."""
    shown = {variable.name: variable.shown for variable in explanation.variables}
    return {row: shown[name] for row, name in enumerate(explanation.unlike_most) if name is not None}


def _packed(table: Any, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(table, dtype=kind).tobytes()).decode("ascii")


def _effects(model: Estimator, target: str | None, units: Mapping[str, str]) -> dict[str, Any]:
    """The table of effects without a prior beside the model's, the surest ones where there are many."""
    attribution = model._model.attribution
    unit = units.get("time" if attribution.outcome == "survival" else str(target), "")
    found = model.summary().called(words_of(attribution, target, unit), units)
    shown = found.terms if len(found.terms) <= MOST_EFFECTS else found.strongest()[:MOST_EFFECTS]
    return {
        "heading": found.heading,
        "head": found.HEAD,
        "rows": [[term.label, *found.cells(term)] for term in shown],
        "notes": found.notes,
        "of": len(found.terms),
        "hidden": {
            "head": found.HIDDEN_HEAD,
            "rows": [[term.label, *found.hidden_cells(term)] for term in found.causes[:MOST_EFFECTS]],
            "note": HIDDEN_NOTE,
        },
    }


def _made(model: Estimator, notes: Sequence[str], diagnosis: Diagnosis) -> dict[str, Any]:
    """How model and page were made."""
    provenance, encoding = model.provenance_, model._encoding
    called = dict(zip(encoding.names, encoding.shown_names, strict=True))
    owner_of = variables_by_column(encoding.column_names, encoding.layout.variable, encoding.names)
    why = asdict(left_out(encoding.names, model._model.used.tolist(), provenance))
    return {
        "version": __version__,
        "fitted_with": provenance["rootcausal"],
        "parameters": {key: _for_json(value) for key, value in parameters_in_words(provenance).items()},
        "backend": provenance["backend"],
        "rows": provenance["rows"],
        "cases": provenance.get("cases"),
        "columns": provenance["columns"],
        "log_scale": [encoding.shown_names[place] for place in encoding.on_log_scale],
        "bent": not model._model.attribution.proportional,
        "halves": _halves(provenance),
        "why_mechanism": provenance.get("mechanism", {}).get("why", ""),
        "separated": bool(provenance["separated"]) and "findings" not in provenance,  # else a warning says it
        "unsettled": not provenance.get("converged", True),
        "left_out": {
            reason: None if names is None else [called[name] for name in names]
            for reason, names in why.items()
        },
        "notes": [*(_text(note, "a note") for note in notes), *set_notes(model), *_of_all(provenance)],
        "warnings": [*model._found.fit, *model._found.table],
        **checks_facts(diagnosis, {column: called[owner] for column, owner in owner_of.items()}),
    }


def _of_all(provenance: Mapping[str, Any]) -> list[str]:
    """Sentences on whom the model was learned from: sites, and rows that count differently."""
    return [*of_sites(provenance), *weights_in_words(provenance)]


def _halves(provenance: Mapping[str, Any]) -> str:
    """Whether two halves of the cohort agree, as a sentence; empty where nobody asked."""
    found = provenance.get("halves")
    return "" if not found or found["same"] is None else f"{Halves.of_dict(found)}."


def _for_json(value: Any) -> str | int | float | bool | None:
    value = plain(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
