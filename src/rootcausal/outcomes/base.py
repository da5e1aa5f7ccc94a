"""What the module of an outcome has to bring, and what several of them have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from ..method.loops import Loops
from ..method.model_parts import Attribution, Mechanism, Sampled
from ..method.moments import Columns, ScoreMoments, correlation_p_values
from ..method.outcome import Outcome
from ..method.table import F64, ColumnMoments, Index, Table
from .simulated import Simulator
from .words import Words

# Of risks, what is said beside those of nobody known.
BRIER = "mean squared error of its risks (Brier score) {:.3f}, without any variable {:.3f}"
# Beyond these, the scores of a patient would not be finite numbers.
MOST_LOG_ODDS = 1e9


class Fold(Protocol):
    """Patients whom a model has not seen, and what it says of them.

    Attributes
    ----------
    known : what happened to them.
    predictor : (n,) log-odds, log-hazard or expected value.
    predicted : (n,) risk, risk by the horizon or expected value.
    null : what is predicted of everybody where no variable is known.
    """

    @property
    def known(self) -> np.ndarray: ...

    @property
    def predictor(self) -> F64: ...

    @property
    def predicted(self) -> F64: ...

    @property
    def null(self) -> float: ...


@dataclass(frozen=True)
class Specification:
    """One kind of outcome.

    Attributes
    ----------
    outcome : what it is like in a cohort: null score, loss, what it takes to learn.
    attribution : what scores errors.
    words : how it is spoken of, given the attribution, what users call it, its unit and the parameters of the
        model; :func:`rootcausal.outcomes.words_of` is for callers.
    simulator : how it is drawn; None where patients are not drawn one by one.
    estimator : the class that users call.
    called : what it is, in an error: ``a diagnosis``.
    labels : how many classes a model has, where what is known of a patient is a label; 0 of numbers, and None
        where there may be any number of them.
    offers : which of ``log_odds`` and ``probability`` explanations have for predictor and prediction.
    unit_name : by which name its unit stands among those of variables, given what users call it; None where
        it has none.
    performance : how well what was said of some folds fits what happened, given the model's attribution and
        its parameters.
    said_of : by the names of these figures, what is said of each; one may stand beside that of chance.
    check_facts : a ValueError where a model cannot remember this of its outcome; see ``Known.facts``.
    checks : the names of the checks that are its own, in their order.
    """

    outcome: type[Outcome]
    attribution: type[Attribution]
    words: Callable[[Attribution, str | None, str, Mapping[str, Any]], Words]
    simulator: type[Simulator] | None
    estimator: str
    called: str
    labels: int | None
    offers: tuple[str, ...]
    unit_name: Callable[[str | None], str | None]
    performance: Callable[[Sequence[Fold], Attribution, Mapping[str, Any]], dict[str, float]]
    said_of: Mapping[str, str]
    check_facts: Callable[[Mapping[str, Any]], None]
    checks: tuple[str, ...]

    @property
    def name(self) -> str:
        """What parameters, files and attributions call it."""
        return self.outcome.name


class Scored:
    """An outcome whose null score, a number for each patient, columns are screened by and imputed with."""

    def p_values(self, moments: ColumnMoments) -> F64:
        return correlation_p_values(moments)

    def screen(self, columns: Columns, kept: Index, gram: F64, loops: Loops) -> ScoreMoments:
        return ScoreMoments.of(columns, kept)

    def scores(self, columns: Columns) -> None:
        return None

    def n_telling(self, n: float) -> float:
        return n


@dataclass(frozen=True, eq=False)
class TableLoss:
    """A log-likelihood in the errors that a table has at ``cols``, from the baseline at its ``start``."""

    table: Table
    cols: Index
    start: F64
    collapsible: ClassVar[bool] = True

    @property
    def n_rows(self) -> int:
        return self.table.shape[0]

    @property
    def loops(self) -> Loops:
        return self.table.loops

    def again(self, table: Table, cols: Index) -> Self:
        return replace(self, table=table, cols=cols)


class Proportional:
    """The part of an attribution that follows from coefficients and a base value.

    A Shapley value is its error times a coefficient (paper, Equation 3: S_i = E_i δ_i).

    Attributes
    ----------
    coef : (k,) what each unit of error adds, in causal order.
    """

    coef: F64

    @property
    def of_outcome(self) -> Self:
        return self

    def with_outcome(self, of_outcome: Attribution) -> Attribution:
        return of_outcome

    def centred(self, average: float) -> tuple[Self, float]:
        return self, 0.0

    @property
    def base_value(self) -> float:
        raise NotImplementedError

    @property
    def proportional(self) -> bool:
        return True

    @property
    def unit_effects(self) -> F64:
        return self.coef

    @property
    def average_effects(self) -> F64:
        return self.coef

    def average_direct_effects(self, mechanism: Mechanism) -> F64:
        return self.effects_on_outcome(mechanism)

    def importance(self) -> F64:
        return np.abs(self.coef)

    def shapley(self, errors: F64) -> F64:
        return errors * self.coef

    def sampled(self, errors: F64) -> Sampled:
        return Sampled(self.shapley(errors), None)

    def predictor(self, errors: F64) -> F64:
        told: F64 = self.base_value + self.shapley(errors).sum(axis=1)
        return told

    def effects_on_outcome(self, mechanism: Mechanism) -> F64:
        return (mechanism.slopes() @ self.coef) * mechanism.scale

    def outcome_curve(self, mechanism: Mechanism, place: int, z: F64) -> F64:
        return self.effects_on_outcome(mechanism)[place] * z

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any], mechanism: Mechanism) -> Self:
        return cls(**fields)

    def check(self) -> None:
        """Nothing beyond its schema."""


def mean_of_folds(of_folds: Sequence[float]) -> float:
    """Over the folds that have one."""
    there = [one for one in of_folds if one == one]
    return float(np.mean(there)) if there else float("nan")


def mean_square(differences: Sequence[F64]) -> float:
    """Over all patients of all folds."""
    return float((np.concatenate(differences) ** 2).mean())


def is_positive(value: Any) -> bool:
    """Whether what a file holds is a finite number above zero."""
    return type(value) in (int, float) and 0.0 < value < np.inf
