"""RCIRegressor, the estimator of a number such as a score of severity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..inputs.continuous import Amount
from ..inputs.knowledge import Knowledge
from ..inputs.outcomes import Target
from ..method.table import F64
from .base import OfOneColumn, told_of_all


class RCIRegressor(RegressorMixin, OfOneColumn):
    """Root Causal Inference for a number, such as severity: by how much each shock of a patient moved it.

    Order and errors are those of :class:`rootcausal.RCI`; a shock e adds e · δ, in the unit of y.

    Parameters
    ----------
    alpha : float in (0, 1], default None
        Level of the test by which local variants drop variables that do not correlate with y. None takes the
        level at which about 20 variables without any effect pass, and never less than 0.2.
    variant, attribution, backend, progress, kinds, missing, knowledge, log, confounding : as in
        :class:`rootcausal.RCI`.

    Attributes
    ----------
    causal_order_, covariates_, ancestor_probability_, margins_, merged_sets_, bootstrap_, n_features_in_,
    feature_names_in_, provenance_ : as in :class:`rootcausal.RCI`.
    coef_ : (p,) what each unit-variance error adds to y; zero where dropped.
    intercept_ : what is expected of a patient whose shocks are all average.
    """

    outcome: ClassVar[str] = "continuous"

    def __init__(
        self,
        *,
        alpha: float | None = None,
        variant: str = "local_plus",
        attribution: str = "sharp",
        backend: str = "auto",
        progress: bool = False,
        kinds: dict[str | int, Any] | None = None,
        missing: str = "impute",
        knowledge: Knowledge | dict[str, Any] | None = None,
        log: Sequence[str | int] | None = None,
        confounding: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.variant = variant
        self.attribution = attribution
        self.backend = backend
        self.progress = progress
        self.kinds = kinds
        self.missing = missing
        self.knowledge = knowledge
        self.log = log
        self.confounding = confounding

    def fit(self, X: Any, y: Any, groups: Any = None) -> RCIRegressor:
        """Learn causal order, errors and what they add to y from a cohort.

        Parameters
        ----------
        X, groups : as in :meth:`rootcausal.RCI.fit`.
        y : (n,) a number for each patient, matched to the rows of X by place; for AnnData also the name of a
            column of ``obs``; for rows on a cluster the name of a column, or a dask Series.
        """
        return self._fit(X, self._known(y), groups)

    def predict(self, X: Any) -> F64:
        """(n,): the expected value of y."""
        check_is_fitted(self)
        return self._model.attribution.predicted(self._predictor(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of :meth:`predict`: 1 is perfect, 0 what the mean of y tells."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, told_of_all(self.predict(X)), sample_weight=sample_weight))

    def _known(self, y: Any) -> Target:
        return Amount(y)
