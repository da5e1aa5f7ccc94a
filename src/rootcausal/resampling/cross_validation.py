"""What a model knows of patients whom it has not seen: each fold told by a model of the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ..backends.blas import one_blas_thread
from ..errors import InputError
from ..method.table import F64, Index
from ..method.weighted import ClassWeights
from .bootstrap import learn_from
from .training_rows import TrainingRows


@dataclass(frozen=True, eq=False)
class Fold:
    """Patients of one fold, and what a model of all others says of them.

    Attributes
    ----------
    rows : (n,) which rows of the cohort these are; one that counts more than others may be there again.
    known : what happened to them.
    predictor : (n,) log-odds, log-hazard or expected value.
    predicted : (n,) risk, risk by the horizon or expected value.
    null : what is predicted of everybody where no variable is known.
    """

    rows: Index
    known: np.ndarray
    predictor: F64
    predicted: F64
    null: float


def fold_by_fold(cohort: TrainingRows, folds: int, random_state: int) -> Iterator[Fold]:
    """One fold after the other; a patient is in one of them, with all of their rows."""
    if not (isinstance(folds, Integral) and 2 <= folds <= len(cohort.X)):
        raise InputError(f"folds must be a whole number from 2 to the number of patients, not {folds!r}")
    member = _folds(cohort, int(folds), np.random.default_rng(random_state))
    for fold in range(int(folds)):
        inside, outside = np.flatnonzero(member == fold), np.flatnonzero(member != fold)
        if cohort.weights is not None:  # told are rows that stand for all of the fold
            inside = inside[cohort.weights.taken(inside).sample]
        if not inside.size or not cohort.outcome_of_all.is_enough(cohort.y[outside]):
            raise InputError(f"{int(folds)} folds are too many for this cohort: choose fewer")
        with one_blas_thread():
            learned, columns, outcome = learn_from(cohort, outside, cohort.settings)
            X = learned.completion.fill(cohort.X[np.ix_(inside, columns)])
            predictor = learned.model.predictor(X)
        nobody = outcome.attribution(np.zeros(0), outcome.start, ClassWeights.of(None, np.ones(1)))
        null = nobody.predicted(np.array([nobody.base_value]))
        predicted = learned.model.attribution.predicted(predictor)
        yield Fold(inside, cohort.y[inside], predictor, predicted, float(null[0]))


def _folds(cohort: TrainingRows, folds: int, rng: np.random.Generator) -> Index:
    """(n,) the fold of each row: folds are alike in their outcomes, and no patient is in two of them."""
    groups = np.arange(len(cohort.X)) if cohort.groups is None else cohort.groups
    patients, first = np.unique(groups, return_index=True)
    score = cohort.outcome_of_all.rows(cohort.y)[first]
    score = score if score.ndim == 1 else score[:, 0]
    # Patients in the order of their outcomes, in random order among equals, are dealt out in turns.
    dealt = np.lexsort((rng.random(patients.size), score))
    of_patient = np.empty(patients.size, dtype=np.intp)
    of_patient[dealt] = np.arange(patients.size) % folds
    return of_patient[np.searchsorted(patients, groups)]
