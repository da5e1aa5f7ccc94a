"""What all comparators share: checked input, standardised columns, a score for each patient and variable.

To add one: subclass :class:`Comparator` in a file of its own, and write ``_learn`` and ``_score``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..backends.choose import choose_table
from ..core.moments import describe_columns, reach
from ..core.table import F64, Index
from ..inputs.door import old_model_kept
from ..inputs.from_frame import check_columns, matrix_for_fit, matrix_for_scoring
from ..inputs.target import encode_target, labels_of, warn_of_choice


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
        with old_model_kept(self):
            matrix = matrix_for_fit(self, X)
            labels, self.classes_ = encode_target(labels_of(X, y), None, len(matrix.values))
            warn_of_choice(self.classes_, "encode y as 0 and 1 to choose", stacklevel=2)
            columns = describe_columns(choose_table("auto", matrix.values, labels))
            check_columns(matrix, columns)
            self.mean_, self.sd_ = columns.mean, columns.sd
            self._learn(self._standardised(matrix.values), labels)
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
