"""What the checks look at, computed once: the errors of the patients, their columns and outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from ..method.arrows import WEAKEST_EDGE
from ..method.layout import Layout
from ..method.model import CausalModel
from ..method.model_parts import LINEAR
from ..method.outcome import Outcome
from ..method.table import F64, SCORE, Index
from ..method.weighted import ClassWeights
from ..name_hints.columns import says_first
from ..outcomes import OUTCOMES, Words, words_of
from ..screening.leakage import deciding_levels
from ..wording import listed, one_line, quoted

# What is checked: a model, and patients with or without their outcomes.

PATIENTS_NAMED = 5


class Needed(NamedTuple):
    """What a hidden common cause of one column and of the outcome would need: its robustness values.

    Attributes
    ----------
    column : its name.
    to_zero, to_p : the share of what is left of both that it would have to explain, to bring what the shock
        does to nothing, and to p 0.05.
    """

    column: str
    to_zero: float
    to_p: float


class Named(Protocol):
    """What columns and variables are called."""

    @property
    def column_names(self) -> Sequence[str]:
        """(q,) such as "age" and "ward = ICU"."""

    @property
    def names(self) -> Sequence[str]:
        """(p,) such as "age" and "ward"."""


@dataclass(frozen=True, eq=False)
class Checked:
    """A model, and patients to check it on.

    Attributes
    ----------
    model : what is checked.
    X : (n, q) values of all columns; drawn at random where nothing was measured, so that they vary as
        patients do.
    missing : (n, q) which of them were drawn; None where all were measured.
    known : what is known of their outcome, as :mod:`rootcausal.method.outcome` takes it: labels (n,) in {0,
    1},
        times and events (n, 2), or numbers (n,); None where unknown.
    stated : (n,) the linear predictor that the model states, such as log-odds. That of X differs where
        values of it were drawn.
    named : what columns and variables are called.
    ids : (n,) of the patients; None for their row numbers, from 1.
    provenance : how the model was made.
    of_fit : whether these are the patients of the fit.
    needed : what a hidden common cause of the outcome and of each column that is named would need.
    """

    model: CausalModel
    X: F64
    missing: np.ndarray | None
    known: np.ndarray | None
    stated: F64
    named: Named
    ids: Sequence[Any] | None
    provenance: Mapping[str, Any]
    of_fit: bool = False
    needed: Sequence[Needed] = ()

    @property
    def words(self) -> Words:
        """How the outcome is spoken of."""
        return words_of(self.model.attribution)

    @property
    def moved(self) -> str:
        """What shocks add to, in words: ``the log-odds``, or the outcome itself."""
        return f"the {self.words.scale}" if self.words.is_chance else self.words.happening

    @property
    def outcome(self) -> type[Outcome]:
        """What the model is of."""
        return OUTCOMES[self.model.attribution.outcome].outcome

    @cached_property
    def score(self) -> np.ndarray:
        """(n,) the null score of what is known: labels as they are, martingale residuals, numbers."""
        assert self.known is not None
        rows = self.outcome.of(self.known).rows(self.known)
        return rows if rows.ndim == 1 else rows[:, SCORE]

    @property
    def nonlinear(self) -> bool:
        """Whether the model has curves in place of straight lines."""
        return any(form != LINEAR for form in self.model.mechanism.forms())

    @property
    def row_noun(self) -> str:
        """What a row is: a patient, unless the cohort had several of some."""
        return "row" if "patients" in self.provenance else "patient"

    @property
    def prevalence(self) -> float | None:
        """Share of the population with the disease, where that was given."""
        share: float | None = self.provenance["parameters"].get("prevalence")
        return share

    @property
    def logged(self) -> list[str]:
        """The columns that are on a log scale, by name."""
        return list(self.provenance["parameters"].get("log") or ())

    def may_be_logged(self, ratio: float = 1.0) -> np.ndarray:
        """(q,) of which columns a logarithm can be taken (see :func:`may_be_logged`): none that is one."""
        names, layout = self.named.column_names, self.model.layout
        open_ones = np.array([name not in self.logged for name in names], dtype=bool)
        return open_ones & may_be_logged(self.X, self.missing, layout or Layout.numbers(len(names)), ratio)

    def called(self, rows: Index) -> str:
        """What to call the patients in some rows: by their ids or, where they have none, by their place."""
        if self.ids is None:
            places = listed([str(row + 1) for row in rows], PATIENTS_NAMED)
            return f"{'row' if rows.size == 1 else 'rows'} {places} of the table"
        return f"patients: {listed([one_line(self.ids[row], 40) for row in rows], PATIENTS_NAMED)}"


def may_be_logged(X: F64, missing: np.ndarray | None, layout: Layout, ratio: float = 1.0) -> np.ndarray:
    """(q,) which columns are numbers above 0 wherever they were measured, and vary by this ratio."""
    measured = True if missing is None else ~missing
    low = X.min(axis=0, initial=np.inf, where=measured)
    high = X.max(axis=0, initial=-np.inf, where=measured)
    found: np.ndarray = ~layout.discrete & (low > 0.0) & (high >= ratio * low)
    return found


# Enough to see any effect worth a verdict; the rest would only cost time.
ROWS_AT_MOST = 20_000
ERRORS_AT_MOST = 100
# Differences below this part of the spread of an error come from rounding.
ROUNDING = 1e-9
# Of an error's variance, for errors that others make up to the last digit.
RIDGE = 1e-12
# Share of patients of whom all must have been measured for these to stand for all.
FEWEST_MEASURED = 0.3
# A regression wants so many patients a variable.
ROWS_A_VARIABLE = 10


@dataclass(frozen=True)
class Evidence:
    """Errors and outcomes; of all tables, the values of a column lie side by side in memory.

    Attributes
    ----------
    errors : (n, k) that the model gives, of unit variance, in causal order.
    columns : (k,) which column of the cohort each belongs to.
    known : (n,) or (n, 2), what is known of the outcome (see :class:`.evidence.Checked`).
    names : (k,) of these columns.
    rows : (n,) which row of the cohort each is.
    population : (m,) places among these n that make up a sample of the population: all, unless cases and
        controls were sampled apart.
    with_levels : (k,) which columns are no numbers.
    searched : (k,) whose place in the order was learned: not covariates, and not what comes first, be it
        given or by its name.
    importance : (k,) what a unit of each adds to the outcome's predictor, such as log-odds.
    values : (n, k) the columns themselves, standardized.
    may_be_logged : (k,) of which a logarithm can be taken.
    outside : (n, m) columns that the model left out, standardized; at most 100.
    outside_columns, outside_names, outside_may_be_logged : (m,) of these.
    owner : (k,) the variable of each column: dummies of one have the same.
    arrows : (k, k), ``[i, j]``: whether j acts directly on i.
    learned : (k, k), ``[i, j]``: whether the order of the two was learned and not given.
    measured, outside_measured : (n, k) and (n, m), which values were measured; None where all were.
    row_noun : what a row is: a patient, or one of several rows of a patient.
    """

    errors: F64
    columns: Index
    known: np.ndarray
    names: tuple[str, ...]
    rows: Index
    population: Index
    with_levels: np.ndarray
    searched: np.ndarray
    importance: F64
    values: F64
    may_be_logged: np.ndarray
    outside: F64
    outside_columns: Index
    outside_names: tuple[str, ...]
    outside_may_be_logged: np.ndarray
    owner: Index
    arrows: np.ndarray
    learned: np.ndarray
    measured: np.ndarray | None = None
    outside_measured: np.ndarray | None = None
    row_noun: str = "patient"

    @property
    def n_rows(self) -> int:
        """Patients."""
        return len(self.known)

    def of_population(self) -> Evidence:
        """The same for a sample of the population, among whom errors are independent if they ever are.

        In a sample chosen by D, errors of the causes of D depend on each other, whatever the mechanisms.
        """
        return self if self.population.size == self.n_rows else self.of_patients(self.population)

    def of_patients(self, places: Index) -> Evidence:
        """The same of some patients, standardized among them."""
        return replace(
            self,
            errors=standardized(rows_of(self.errors, places)),
            known=self.known[places],
            rows=self.rows[places],
            population=np.arange(places.size),
            values=standardized(rows_of(self.values, places)),
            outside=standardized(rows_of(self.outside, places)),
            measured=None if self.measured is None else self.measured[places],
            outside_measured=None if self.outside_measured is None else self.outside_measured[places],
        )

    def of_measured(self) -> Evidence:
        """The same of patients all of whose errors rest on measurements, where these are not too few.

        What was drawn at random knows the outcome, as the draw has it and not as life has it: a regression of
        the outcome would find the draw.
        """
        whole = np.flatnonzero(self.rest_on_measurements.all(axis=1))
        if whole.size == self.n_rows or whole.size < FEWEST_MEASURED * self.n_rows:
            return self
        found = self.of_patients(whole)
        return found.of_columns(np.ptp(found.errors, axis=0) > 0)  # a rare level may be gone

    def measured_for(self, places: Sequence[int], outside: int | None = None) -> Index | None:
        """Patients whose errors at these places rest on measurements alone; None where all do.

        An error is made of its column and of those that act on it. What was drawn at random for a patient
        depends on the other columns as the draw has it, and not as life has it.
        """
        if self.measured is None or self.outside_measured is None:
            return None
        whole = self.rest_on_measurements[:, list(places)].all(axis=1)
        if outside is not None:
            whole &= self.outside_measured[:, outside]
        return np.flatnonzero(whole)

    @cached_property
    def rest_on_measurements(self) -> np.ndarray:
        """(n, k) which errors are made of measured values alone."""
        if self.measured is None:
            return np.ones(self.errors.shape, dtype=bool)
        causes = self.arrows | np.eye(self.columns.size, dtype=bool)
        lacking: np.ndarray = (~self.measured).astype(np.float64) @ causes.T
        return lacking == 0.0

    def of_searched(self) -> Evidence:
        """The same of columns whose order was learned.

        The others may depend on each other as they like, and be Gaussian: nothing is concluded from that.
        """
        return self.of_columns(self.searched)

    def of_strongest(self, n_telling: int) -> Evidence:
        """The same of those that matter most to the model, as many as a regression can hold.

        ``n_telling`` are the patients who tell something of the outcome: all, or those who had the event.
        """
        at_most = max(2, n_telling // ROWS_A_VARIABLE)
        kept = np.zeros(self.importance.size, dtype=bool)
        kept[np.argsort(-self.importance, kind="stable")[:at_most]] = True
        return self.of_columns(kept)

    def of_columns(self, kept: np.ndarray) -> Evidence:
        """The same of some columns: ``kept`` (k,) says which."""
        return replace(
            self,
            errors=columns_of(self.errors, kept),
            columns=self.columns[kept],
            names=tuple(name for name, stays in zip(self.names, kept, strict=True) if stays),
            with_levels=self.with_levels[kept],
            searched=self.searched[kept],
            importance=self.importance[kept],
            values=columns_of(self.values, kept),
            may_be_logged=self.may_be_logged[kept],
            owner=self.owner[kept],
            arrows=self.arrows[np.ix_(kept, kept)],
            learned=self.learned[np.ix_(kept, kept)],
            measured=None if self.measured is None else self.measured[:, kept],
        )

    def named(self, places: Index | Sequence[int]) -> tuple[str, ...]:
        """Names at these places, each once, in their order."""
        return tuple(dict.fromkeys(self.names[place] for place in np.ravel(places)))


def population_sample(y: np.ndarray, prevalence: float | None) -> Index:
    """Rows among whom the disease is as common as in the population: of one class all, of the other some."""
    if prevalence is None:
        return np.arange(len(y))
    cases, controls = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    n_cases = round(controls.size * prevalence / (1.0 - prevalence))
    n_controls = round(cases.size * (1.0 - prevalence) / prevalence)
    rng = np.random.default_rng(0)
    if n_cases <= cases.size:
        cases = rng.choice(cases, n_cases, replace=False)
    else:
        controls = rng.choice(controls, n_controls, replace=False)
    return np.sort(np.concatenate([cases, controls]))


def gather(checked: Checked, score: np.ndarray) -> Evidence:
    """The errors that this model gives to at most 20,000 patients, on the 100 columns that matter most to it.

    They are standardized among these patients, and those that differ by rounding alone are the same. By the
    outcome's null ``score`` (n,) columns outside the model are chosen.
    """
    model, X, missing, known = checked.model, checked.X, checked.missing, checked.known
    assert known is not None
    names = checked.named.column_names
    rows = np.arange(X.shape[0])
    if rows.size > ROWS_AT_MOST:
        rows = np.sort(np.random.default_rng(0).choice(rows, ROWS_AT_MOST, replace=False))
    importance = model.attribution.importance()
    places = np.sort(np.argsort(-importance, kind="stable")[:ERRORS_AT_MOST])
    values = X if rows.size == X.shape[0] else X[rows]
    layout = Layout.numbers(X.shape[1]) if model.layout is None else model.layout
    errors = model.mechanism.errors(values, places)
    if model.mechanism.kind == "linear":
        apart = int(layout.kept[model.column_order[places]].sum())
        errors = uncorrelated(errors, population_weights(known[rows], checked.prevalence), apart)
    errors = np.asfortranarray(errors)
    varies = errors.min(axis=0, initial=np.inf) < errors.max(axis=0, initial=-np.inf)
    places, errors = places[varies], columns_of(errors, varies)
    columns = model.column_order[places]
    left_out, can_log = _left_out(model, score, X, rows), checked.may_be_logged()
    return Evidence(
        ties_restored(standardized(errors)),
        columns,
        known[rows],
        tuple(names[c] for c in columns),
        rows,
        population_sample(known[rows], checked.prevalence),
        with_levels=layout.discrete[columns],
        # Nothing that was measured acts on age or sex, whatever the order: another check says so.
        searched=~layout.kept[columns] & np.array([not says_first(names[c]) for c in columns], dtype=bool),
        importance=importance[places],
        values=standardized(np.asfortranarray(values[:, columns])),
        may_be_logged=can_log[columns],
        outside=standardized(np.asfortranarray(values[:, left_out])),
        outside_columns=left_out,
        outside_names=tuple(names[c] for c in left_out),
        outside_may_be_logged=can_log[left_out],
        owner=layout.variable[columns],
        arrows=np.abs(model.mechanism.direct_effects()[np.ix_(places, places)]) >= WEAKEST_EDGE,
        learned=_learned(layout, columns),
        measured=None if missing is None else ~missing[np.ix_(rows, columns)],
        outside_measured=None if missing is None else ~missing[np.ix_(rows, left_out)],
        row_noun=checked.row_noun,
    )


def uncorrelated(errors: F64, weights: F64, n_apart: int) -> F64:
    """What errors (n, k), in causal order, leave once regressed on all before them, as the search left them.

    A model shrinks weak arrows, and leaves a trace of them in its errors that is no sign of a hidden cause.
    The first ``n_apart`` may go together. ``weights`` (n,) are those of the population.
    """
    centred = errors - weights @ errors / weights.sum()
    gram = (centred * weights[:, None]).T @ centred
    scale = np.sqrt(np.maximum(gram.diagonal(), np.finfo(float).tiny))
    root = np.linalg.cholesky(gram / np.outer(scale, scale) + RIDGE * np.eye(scale.size))
    left: F64 = solve_triangular(root, (centred / scale).T, lower=True).T
    left[:, :n_apart] = errors[:, :n_apart]
    return left


def population_weights(known: np.ndarray, prevalence: float | None) -> F64:
    """(n,) how much each patient counts in the population."""
    count = np.array([1.0, 1.0]) if prevalence is None else np.bincount(known, minlength=2).astype(float)
    if prevalence is None or not count.all():
        return np.ones(known.shape[0])
    weights = ClassWeights.of(prevalence, count)
    return np.where(known == 1, weights.cases, weights.controls)


def _left_out(model: CausalModel, score: np.ndarray, X: F64, rows: Index) -> Index:
    """Columns outside the model's order, those that go with the outcome most where they are many."""
    outside = np.setdiff1d(np.arange(X.shape[1]), model.column_order)
    if outside.size <= ERRORS_AT_MOST:
        return outside
    values = standardized(X[np.ix_(rows, outside)])
    with_outcome = np.abs(values.T @ (score[rows] - score[rows].mean()))
    return outside[np.sort(np.argsort(-with_outcome, kind="stable")[:ERRORS_AT_MOST])]


def standardized(values: F64) -> F64:
    """The same with mean 0 and variance 1; a column that is the same in all patients is 0."""
    centred = values - values.mean(axis=0)
    sd = np.sqrt((centred * centred).mean(axis=0))
    centred /= np.where(sd > 0, sd, 1.0)
    return centred


def rows_of(values: F64, places: Index) -> F64:
    """Some rows, each column in one piece."""
    return values.T.take(places, axis=1).T


def columns_of(values: F64, kept: Index | np.ndarray) -> F64:
    """Some columns, each in one piece."""
    return values.T[kept].T


def _learned(layout: Layout, columns: Index) -> np.ndarray:
    variables, owner = np.unique(layout.variable[columns], return_inverse=True)
    given = np.eye(variables.size, dtype=bool)  # dummies of one variable have no order among themselves
    if layout.precedence is not None:
        given |= layout.precedence.known(variables)
    learned: np.ndarray = ~given[np.ix_(owner, owner)]
    return learned


def ties_restored(errors: F64) -> F64:
    """The same, where patients with the same error have exactly the same number.

    Sums of many columns differ in their last digits, and ranks would take those for data.
    """
    low, high = np.quantile(errors, (0.1, 0.9), axis=0) if errors.size else np.zeros((2, errors.shape[1]))
    step = ROUNDING * np.where(high > low, high - low, 1.0)
    restored = errors / step
    np.round(restored, out=restored)
    restored *= step
    return restored


def decided(evidence: Evidence, outcome: np.ndarray, either: bool = True) -> np.ndarray:
    """(k,) which columns are a level, or two, that decides the outcome (n,), 1 or 0, of its patients."""
    found = np.zeros(evidence.columns.size, dtype=bool)
    for place in np.flatnonzero(evidence.with_levels).tolist():
        levels, of_row = np.unique(evidence.values[:, place], return_inverse=True)
        found[place] = levels.size == 2 and bool(deciding_levels(of_row, outcome, either))
    return found


def decided_by(evidence: Evidence, deciding: np.ndarray) -> str:
    """What a check says of the columns that it leaves out for this; nothing where there are none."""
    names = evidence.named(np.flatnonzero(deciding))
    if not names:
        return ""
    named = listed([quoted(name, 40) for name in names])
    return (
        f" Left out of this check: {named}, of which one level decides the outcome of its patients "
        "(quasi-complete separation)."
    )
