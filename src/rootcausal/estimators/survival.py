"""RCISurvival, the estimator of the time to an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..inputs.kinds import ColumnHints
from ..inputs.knowledge import Knowledge
from ..inputs.patients import Cohort
from ..inputs.survival import IN_MEMORY, FollowUp
from ..method.model import CausalModel
from ..method.pipeline import Settings
from ..method.table import F64
from ..outcomes.survival import HazardAttribution, concordance_of
from .base import Estimator, told_of_all
from .parameters import AttributionName, BackendName, MissingName, VariantName

if TYPE_CHECKING:
    from ..diagnostics import Diagnosis
    from ..explaining.explanation import Explanation
    from ..inputs.outcomes import Target


class RCISurvival(Estimator):
    """Root Causal Inference for the time to an event: whose shocks raised a patient's hazard.

    What is known of a patient is how long they were followed, and whether the event ended that. Order and
    errors are those of :class:`rootcausal.RCI`; a shock e adds e · δ to the log-hazard, by proportional
    hazards whose coefficients are next to Cox's.

    Parameters
    ----------
    alpha : float in (0, 1], default None
        Level of the test by which local variants drop variables that do not go with the martingale residuals
        of the cohort. None drops nothing of up to 50 columns; of more, the level lets about 20 pass that
        have no effect, and is never less than 0.2.
    variant, attribution, backend, progress, kinds, missing, knowledge, log, mechanism, confounding : as in
        :class:`rootcausal.RCI`.
    positive : label, default None
        Which label of ``event`` is the event; all others but the ``competing`` ones count as the end of
        follow-up. By default the one that says so itself (1 beside 0, True, "dead" beside "alive"); nothing
        is guessed of other labels, nor of 0 and 1 in a Series that by its name may say who is well ("alive",
        "censored").
    competing : label or list of labels, default None
        Which labels of ``event`` are competing events: after them the event cannot come, as no relapse comes
        after death. Effects are those on the hazard of the event (cause-specific), and risks are cumulative
        incidences (Aalen & Johansen), below one minus Kaplan and Meier's. ``[]`` says that there are none;
        None warns of labels that do not say that they are no more than the end of follow-up.
    incidence : bool, default False
        Effects are those on the cumulative incidence of the event (Fine & Gray), so that a shock which brings
        or puts off the ``competing`` events is told, too: hazards are those of the subdistribution.
    horizon : float, default None
        The time by which risks are told, in the unit of the times. By default the median time of the events,
        rounded to two digits.

    Attributes
    ----------
    causal_order_, covariates_, ancestor_probability_, margins_, merged_sets_, bootstrap_, n_features_in_,
    feature_names_in_, provenance_ : as in :class:`rootcausal.RCI`.
    coef_ : (p,) log-hazard for each unit-variance error; zero where dropped; ``exp`` of it is a hazard ratio.
        Not there where the mechanism is not linear.
    intercept_ : 0; hazards are relative to a patient whose shocks are all average; where the mechanism is not
        linear, to the mean log-hazard over shocks.
    horizon_ : the time by which risks are told.
    classes_ : (2,) the labels of ``event``; ``classes_[1]`` is the event.
    """

    outcomes: ClassVar[tuple[str, ...]] = ("survival",)

    def __init__(
        self,
        *,
        alpha: float | None = None,
        variant: VariantName = "local_plus",
        attribution: AttributionName = "sharp",
        backend: BackendName = "auto",
        positive: Any = None,
        competing: Any = None,
        incidence: bool = False,
        horizon: float | None = None,
        progress: bool = False,
        kinds: dict[str | int, Any] | None = None,
        missing: MissingName = "impute",
        knowledge: Knowledge | dict[str, Any] | None = None,
        log: Sequence[str | int] | None = None,
        mechanism: str = "auto",
        confounding: str | None = None,
        reliability: dict[str | int, Any] | None = None,
        limits: dict[str | int, Any] | None = None,
    ) -> None:
        self.alpha = alpha
        self.variant = variant
        self.attribution = attribution
        self.backend = backend
        self.positive = positive
        self.competing = competing
        self.incidence = incidence
        self.horizon = horizon
        self.progress = progress
        self.kinds = kinds
        self.missing = missing
        self.knowledge = knowledge
        self.log = log
        self.mechanism = mechanism
        self.confounding = confounding
        self.reliability = reliability
        self.limits = limits

    def __sklearn_tags__(self) -> Any:
        """What is told of a patient are a time and an event: two columns."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def fit(
        self,
        X: Any,
        y: Any = None,
        event: Any = None,
        groups: Any = None,
        start: Any = None,
        strata: Any = None,
        *,
        time: Any = None,
        weights: Any = None,
    ) -> RCISurvival:
        """Learn causal order, errors and their effects on the hazard from a cohort.

        Parameters
        ----------
        X : as in :meth:`rootcausal.RCI.fit`.
        y : (n,) how long each patient was followed, in any unit, beside ``event``; or both in one, as
            scikit-survival's structured array has them, or in two columns, the time first. For AnnData also
            the name of a column of ``obs``; for rows on a cluster the name of a column, or a dask Series.
            ``time`` is another name of this argument.
        event : (n,) whether the event ended that (1, True), or something else (0, False), given as the times
            are; other labels need ``positive``.
        groups : (n,) the patient of each row, as in :meth:`rootcausal.RCI.fit`.
        start : (n,) from when on each row was at risk, on the same clock as the times: patients who came late
            (left truncation), or patients with a row for each interval of their follow-up (counting process),
            whose values may change between rows and whose event may come again. None: all from zero on.
        strata : (n,) the stratum of each row, which has a baseline hazard of its own; also the name of a
            column of X, which is then no variable.
        weights : (n,) how much each row counts, as in :meth:`rootcausal.RCI.fit`.
        """
        X, target = self._target(X, y, event, start, strata, time)
        return self._fit(X, target, groups, weights)

    def _target(
        self, X: Any, y: Any, event: Any, start: Any = None, strata: Any = None, time: Any = None
    ) -> tuple[Any, FollowUp]:
        """The variables of X, and what happened to the patients."""
        if y is not None and time is not None:
            raise InputError("time is another name of y: give one of them")
        if strata is not None:
            if nw.dependencies.is_dask_dataframe(X):
                raise InputError(f"strata needs the rows in memory, not on a cluster: {IN_MEMORY}")
            from ..inputs.matched import variables_and_sets

            X, strata = variables_and_sets(X, strata)
        times = time if y is None else y
        chosen = (self.positive, self.horizon, self.competing)
        return X, FollowUp(times, event, *chosen, start, strata, self.incidence)

    def _check_parameters(self) -> tuple[Settings, ColumnHints]:
        checked = super()._check_parameters()
        if self.horizon is not None:
            _checked_horizon(self.horizon)
        return checked

    def _take_classes(self, cohort: Cohort) -> list[str]:
        self.classes_ = cohort.classes
        return []

    @property
    def horizon_(self) -> float:
        """The time by which risks are told."""
        check_is_fitted(self)
        return self._hazard.horizon

    @property
    def _hazard(self) -> HazardAttribution:
        attribution = self._model.attribution.of_outcome
        assert isinstance(attribution, HazardAttribution)
        return attribution

    def predict(self, X: Any) -> F64:
        """(n,): log-hazard, relative to a patient whose shocks are all average; higher means earlier."""
        check_is_fitted(self)
        return self._predictor(X)

    def predict_risk(self, X: Any, horizon: float | None = None) -> F64:
        """(n,): probability of the event by the horizon; by default that of the model."""
        check_is_fitted(self)
        return self._by(horizon).predicted(self.predict(X))

    def predict_survival(self, X: Any, times: Any) -> F64:
        """(n, m): probability of no event until each of the times (m,), none beyond the longest follow-up."""
        check_is_fitted(self)
        return self._hazard.survival(self.predict(X), _checked_times(times, self._hazard.edges[-1]))

    def _by(self, horizon: float | None) -> HazardAttribution:
        return self._hazard if horizon is None else _at(self._hazard, horizon)

    def score(
        self,
        X: Any,
        y: Any = None,
        event: Any = None,
        start: Any = None,
        strata: Any = None,
        *,
        time: Any = None,
    ) -> float:
        """Concordance of :meth:`predict` with what happened (Harrell's C): 0.5 is chance, 1 is perfect.

        The share of pairs of patients, of whom it is known who had the event first, that the model ranks so;
        those at risk at that time, and of one stratum. What happened is given as in :meth:`fit`.
        """
        X, target = self._target(X, y, event, start, strata, time)
        hazard = told_of_all(self.predict(X))
        return concordance_of(hazard, target.known_again(X, len(hazard), self.classes_))

    def explain(self, X: Any, ids: Any = None, horizon: float | None = None) -> Explanation:
        """Each patient's root causes, as in :meth:`rootcausal.RCI.explain`; values are log-hazards.

        Parameters
        ----------
        X, ids : as in :meth:`rootcausal.RCI.explain`.
        horizon : the time by which risks are told; by default that of the model.
        """
        check_is_fitted(self)
        self._by(horizon)  # refuses one beyond the longest follow-up
        return self._explained(X, ids, lambda model: _with_horizon(model, horizon))

    def report(
        self,
        X: Any,
        out: str | PathLike[str],
        time: Any = None,
        event: Any = None,
        ids: Any = None,
        *,
        horizon: float | None = None,
        units: dict[str, str] | None = None,
        target: str | None = None,
        notes: Sequence[str] = (),
        redact_ids: bool = False,
        groups: Any = None,
        start: Any = None,
        strata: Any = None,
        weights: Any = None,
    ) -> None:
        """Write a page about these patients, as :meth:`rootcausal.RCI.report` does.

        Parameters
        ----------
        X, out, ids, units, notes, redact_ids, groups, weights : as in :meth:`rootcausal.RCI.report`. The unit
            of the times is that of "time".
        time, event, start, strata : (n,) what happened to them, as in :meth:`fit`, if known.
        horizon : the time by which risks are told; by default that of the model.
        target : what to call the event.
        """
        from ..report import write_report

        check_is_fitted(self)
        X, happened = self._target(X, time, event, start, strata)
        known = None if time is None and event is None else happened
        asked = (ids, units, target, notes, redact_ids, groups, horizon, weights)
        write_report(self, X, out, known, *asked)

    def diagnose(
        self,
        X: Any,
        y: Any = None,
        event: Any = None,
        ids: Any = None,
        start: Any = None,
        strata: Any = None,
        *,
        time: Any = None,
        weights: Any = None,
    ) -> Diagnosis:
        """Check whether the assumptions of the method hold for these patients.

        Of the patients of the fit, the model keeps what was found (``provenance_["findings"]``).

        Parameters
        ----------
        X : the cohort of :meth:`fit`, or new patients.
        y, event, start, strata, time : what happened to them, as in :meth:`fit`. Without times and events
            only the checks that need neither are made, and the answer says which were not.
        ids : what to call them, as in :meth:`explain`; by default their row numbers, from 1.
        weights : (n,) how much each row counts, as in :meth:`rootcausal.RCI.diagnose`.
        """
        X, target = self._target(X, y, event, start, strata, time)
        unknown = y is None and event is None and time is None
        return self._diagnose(X, None if unknown else target, ids, weights)

    def _known(self, time: Any, event: Any = None, start: Any = None, strata: Any = None) -> Target:
        """What happened to patients of a fitted model."""
        return FollowUp(time, event, self.positive, None, self.competing, start, strata, self.incidence)


def _checked_horizon(horizon: Any) -> float:
    if isinstance(horizon, bool) or not isinstance(horizon, Real) or not 0.0 < float(horizon) < np.inf:
        raise InputError(f"horizon must be a time above 0, in the unit of the times, not {horizon!r}")
    return float(horizon)


def _checked_times(times: Any, longest: float) -> F64:
    """(m,) times from 0 to the longest follow-up."""
    try:
        checked = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError):
        checked = np.full(1, np.nan)
    if checked.ndim != 1 or not (checked >= 0.0).all():
        raise InputError(f"times must be numbers of at least 0, in the unit of the times, not {times!r}")
    if checked.max(initial=0.0) > longest:
        raise InputError(_too_late(checked.max(), longest))
    return checked


def _too_late(time: float, longest: float) -> str:
    return (
        f"{time:g} is beyond the longest follow-up of the cohort, {longest:g}: nobody is known that long; "
        "choose an earlier time"
    )


def _at(hazard: HazardAttribution, horizon: float) -> HazardAttribution:
    """The same with another horizon, within the longest follow-up."""
    if _checked_horizon(horizon) > hazard.edges[-1]:
        raise InputError(_too_late(horizon, hazard.edges[-1]))
    return hazard.with_horizon(float(horizon))


def _with_horizon(model: CausalModel, horizon: float | None) -> CausalModel:
    if horizon is None:
        return model
    hazard = model.attribution.of_outcome
    assert isinstance(hazard, HazardAttribution)
    moved = hazard.with_horizon(_checked_horizon(horizon))
    return replace(model, attribution=model.attribution.with_outcome(moved))
