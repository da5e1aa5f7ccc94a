"""RCIRegressor, the estimator of a number such as a score of severity, or of a count of events."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..inputs.continuous import Amount
from ..inputs.kinds import ColumnHints
from ..inputs.knowledge import Knowledge
from ..inputs.outcomes import Target, given_by, numbers_of, refuse_missing
from ..method.pipeline import Settings
from ..method.table import F64
from .base import OfOneColumn, told_of_all
from .parameters import (
    AttributionName,
    BackendName,
    MissingName,
    VariantName,
    check_outcome,
)

if TYPE_CHECKING:
    from ..diagnostics import Diagnosis

COUNT = "count"


class RCIRegressor(RegressorMixin, OfOneColumn):
    """Root Causal Inference for a number, such as severity: by how much each shock of a patient moved it.

    Order and errors are those of :class:`rootcausal.RCI`; a shock e adds e · δ, in the unit of y.

    Parameters
    ----------
    alpha : float in (0, 1], default None
        Level of the test by which local variants drop variables that do not correlate with y. None takes the
        level at which about 20 variables without any effect pass, and never less than 0.2.
    variant, attribution, backend, progress, kinds, missing, knowledge, log, mechanism, confounding : as in
        :class:`rootcausal.RCI`.
    outcome : {"continuous", "count"}, default "continuous"
        What y is: any number, or a count of events, by a negative binomial regression. Shocks then add to the
        log-rate.
    dispersion : float of at least 0, default None
        Of counts, how much more they vary than by chance: a count of which μ is expected has the variance
        μ + ``dispersion`` · μ². None learns it; 0 makes counts Poisson.

    Attributes
    ----------
    causal_order_, covariates_, ancestor_probability_, margins_, merged_sets_, bootstrap_, n_features_in_,
    feature_names_in_, provenance_ : as in :class:`rootcausal.RCI`.
    coef_ : (p,) what each unit-variance error adds to y, or to the log-rate; zero where dropped.
        Not there where the mechanism is not linear.
    intercept_ : what is expected of a patient whose shocks are all average; of counts the log-rate.
    """

    outcomes: ClassVar[tuple[str, ...]] = ("continuous", "count")

    def __init__(
        self,
        *,
        alpha: float | None = None,
        variant: VariantName = "local_plus",
        attribution: AttributionName = "sharp",
        backend: BackendName = "auto",
        progress: bool = False,
        kinds: dict[str | int, Any] | None = None,
        missing: MissingName = "impute",
        knowledge: Knowledge | dict[str, Any] | None = None,
        log: Sequence[str | int] | None = None,
        mechanism: str = "auto",
        confounding: str | None = None,
        reliability: dict[str | int, Any] | None = None,
        limits: dict[str | int, Any] | None = None,
        outcome: Literal["continuous", "count"] = "continuous",
        dispersion: float | None = None,
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
        self.mechanism = mechanism
        self.confounding = confounding
        self.reliability = reliability
        self.limits = limits
        self.outcome = outcome
        self.dispersion = dispersion

    def fit(
        self, X: Any, y: Any, groups: Any = None, exposure: Any = None, *, weights: Any = None
    ) -> RCIRegressor:
        """Learn causal order, errors and what they add to y from a cohort.

        Parameters
        ----------
        X, groups, weights : as in :meth:`rootcausal.RCI.fit`.
        y : (n,) a number for each patient, matched to the rows of X by place; for AnnData also the name of a
            column of ``obs``; for rows on a cluster the name of a column, or a dask Series.
        exposure : (n,) of counts, how long, or of how much, each was counted; given as y is, and above 0.
            None: the same of all. What is expected is then for one unit of it.
        """
        return self._fit(X, self._known(y, exposure), groups, weights)

    @property
    def _asked_for(self) -> tuple[str, ...]:
        return (self.outcome,)

    def _check_parameters(self) -> tuple[Settings, ColumnHints]:
        checked = super()._check_parameters()
        check_outcome(self.outcome, self.outcomes, "ordinal", "RCI")
        spread: Any = self.dispersion
        if spread is not None and self.outcome != COUNT:
            raise InputError("dispersion is for counts: leave it out, or choose outcome='count'")
        if spread is not None and (isinstance(spread, bool) or not isinstance(spread, Real) or spread < 0):
            raise InputError(f"dispersion must be at least 0, not {spread!r}")
        return checked

    def predict(self, X: Any, exposure: Any = None) -> F64:
        """(n,): the expected value of y; of counts, for this ``exposure`` (n,), or for one unit of it."""
        check_is_fitted(self)
        expected = self._model.attribution.predicted(self._predictor(X))
        if exposure is None:
            return expected
        self._refuse_exposure()
        seen, missing = numbers_of(given_by(X, exposure, "exposure"), "exposure", expected.size)
        refuse_missing(int(missing.sum()), "exposure")
        return expected * seen

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of :meth:`predict`: 1 is perfect, 0 what the mean of y tells."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, told_of_all(self.predict(X)), sample_weight=sample_weight))

    def report(
        self,
        X: Any,
        out: str | PathLike[str],
        y: Any = None,
        ids: Any = None,
        *,
        exposure: Any = None,
        units: dict[str, str] | None = None,
        target: str | None = None,
        notes: Sequence[str] = (),
        redact_ids: bool = False,
        groups: Any = None,
        weights: Any = None,
    ) -> None:
        """Write a page about these patients: one HTML file that works offline and sends nothing.

        Parameters
        ----------
        X : patients, with the columns of the cohort.
        out : the file to write, whole or not at all.
        y, exposure : (n,) what happened to them, as in :meth:`fit`, if known: the page then says what the
            checks of the model found, as far as these patients allow them.
        ids : what to call them, as in :meth:`explain`.
        units : unit of each variable, by name; that of a number y is the one of ``target``, that of an
            exposure the one of "exposure".
        target : what to call y.
        notes : sentences to print under "How it was made".
        redact_ids : put the numbers 1 to n in place of the ids.
        groups : (n,) the patient of each row, where one may have several and ``ids`` do not tell.
        weights : (n,) how much each row counts, where :meth:`fit` was told so: for the checks.
        """
        known = None if y is None else self._known(y, exposure)
        self._write_report(X, out, known, ids, units, target, notes, redact_ids, groups, None, weights)

    def diagnose(
        self, X: Any, y: Any = None, ids: Any = None, exposure: Any = None, *, weights: Any = None
    ) -> Diagnosis:
        """Check whether the assumptions of the method hold for these patients.

        Of the patients of the fit, the model keeps what was found (``provenance_["findings"]``).

        Parameters
        ----------
        X : the cohort of :meth:`fit`, or new patients.
        y, exposure : what happened to them, as in :meth:`fit`. Without it only the checks that need none are
            made, and the answer says which were not.
        ids : what to call them, as in :meth:`explain`; by default their row numbers, from 1.
        weights : (n,) how much each row counts, as in :meth:`fit`. Checked are rows that stand for all, each
            as often as it counts: of inclusion weights as many as the effective sample size, the same each
            time.
        """
        return self._diagnose(X, None if y is None else self._known(y, exposure), ids, weights)

    def _refuse_exposure(self) -> None:
        if self.outcome != COUNT:
            raise InputError("exposure is for counts: leave it out, or choose outcome='count'")

    def _known(self, y: Any, exposure: Any = None) -> Target:
        if exposure is not None:
            self._refuse_exposure()
        if self.outcome != COUNT:
            return Amount(y)
        from ..inputs.count import Tally

        return Tally(y, exposure, self.dispersion)
