"""What all comparators share: checked input, standardised columns, a score for each patient and variable.

To add one: subclass :class:`Comparator` in a file of its own, and write ``_learn`` and ``_score``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..inputs.binary import Diagnosis
from ..inputs.matrices import matrix_for_scoring
from ..inputs.target import warn_of_choice
from ..inputs.validate import open_in_memory
from ..method.moments import reach
from ..method.table import F64, Index


class Comparator(BaseEstimator, ABC):
    """A method that ranks, for each patient, the variables by how much they led to the diagnosis.

    Attributes
    ----------
    classes_ : (2,) labels, the disease second.
    mean_, sd_ : (p,) of the cohort that was fitted; all columns are standardised by them first.
    """

    classes_: np.ndarray
    mean_: F64
    sd_: F64

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a cohort X (dataframe or array, n × p) and its two-valued diagnosis y (n,)."""
        with open_in_memory(self, X, Diagnosis(y, None)) as cohort:
            assert cohort.rows is not None
            values, labels = cohort.rows
            self.classes_ = cohort.classes
            how = "encode y as an array of 0 and 1 to choose"
            warn_of_choice(self.classes_, cohort.label_name, how, stacklevel=2)
            self.mean_, self.sd_ = cohort.columns.mean, cohort.columns.sd
            self._learn(self._standardised(values), labels)
        return self

    def scores(self, X: Any) -> F64:
        """(n, p): higher is a stronger root cause; ``-inf`` for variables that the method does not rank."""
        check_is_fitted(self)
        everything = np.arange(self.n_features_in_)
        matrix = matrix_for_scoring(self, X, everything, reach(self.mean_, self.sd_))
        return self._score(self._standardised(matrix.values))

    @abstractmethod
    def _learn(self, Z: F64, y: Index) -> None:
        """Learn from standardised columns (n, p) and labels (n,) of 0 and 1."""

    @abstractmethod
    def _score(self, Z: F64) -> F64:
        """Score patients, whose columns were standardised as those of the fitted cohort were."""

    def _standardised(self, values: F64) -> F64:
        return np.ascontiguousarray((values - self.mean_) / self.sd_)
