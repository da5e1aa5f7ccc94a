"""RCI, the estimator of a diagnosis that is yes or no, of matched cases and controls, and of stages."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import narwhals as nw
import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..inputs.binary import Diagnosis
from ..inputs.kinds import ColumnHints
from ..inputs.knowledge import Knowledge
from ..inputs.outcomes import Target
from ..inputs.patients import Cohort
from ..inputs.target import warn_of_choice
from ..method.pipeline import Settings
from ..method.table import F64
from ..outcomes.matched import RelativeOddsAttribution, chance_in_sets
from ..outcomes.ordinal import StageAttribution
from ..wording import listed
from .base import OfOneColumn, told_of_all
from .parameters import (
    AttributionName,
    BackendName,
    MissingName,
    VariantName,
    check_outcome,
    chosen_settings,
)

if TYPE_CHECKING:
    from ..diagnostics import Diagnosis as Checks
    from ..explaining.explanation import Explanation

ORDINAL = "ordinal"

# Of its t-test.
PAPERS_LEVEL = 0.2


class RCI(ClassifierMixin, OfOneColumn):
    """Root Causal Inference (Strobl & Lasko 2022): whose shocks led to the diagnosis, patient by patient.

    Parameters
    ----------
    alpha : float in (0, 1], default None
        Level of the t-test by which local variants drop variables that the diagnosis does not depend on. None
        drops nothing of up to 50 columns; of more, the level lets about 20 pass that have no effect, and is
        never less than 0.2. With ``attribution="paper"`` None is the paper's level, 0.2.
    variant : {"local_plus", "local", "plus", "original"}, default "local_plus"
        Which Direct LiNGAM orders the variables. ``plus`` prunes the search and finds the same roots;
        ``local`` keeps only variables on which the diagnosis depends.
    attribution : {"sharp", "paper"}, default "sharp"
        How shocks become log-odds. ``paper`` regresses the diagnosis on all errors that survived the
        t-test. ``sharp`` looks for the direct causes of the diagnosis and the paths that lead to them; how
        many there are, and how strong, is learned from the data (see
        :mod:`rootcausal.method.attribution.sparse`).
    backend : {"auto", "numpy", "numba", "cupy", "dask"}, default "auto"
        Where the sums are computed. A dask dataframe is summed on the cluster it belongs to.
    positive : label, default None
        Which label of y is the disease. By default the one that says so itself (1 beside 0, "yes" beside
        "no", "case" beside "control"); for other labels, and for 0 and 1 in a Series that by its name
        may say who is well ("survived"), the second of the sorted ones, as in scikit-learn, with a warning.
    progress : bool, default False
        Show a progress bar on standard error for fits longer than two seconds.
    prevalence : float in (0, 1), default None
        Share of the population with the disease, where cases and controls were sampled apart. Mechanisms are
        then learned for that population, and risks are risks in it. None takes the patients for the
        population: right for a cohort, biased for a case-control study, which nothing here can tell.
    kinds : dict, default None
        What columns are, by name (of an array: "x0" or 0), where the kind inferred is wrong: "number",
        "binary", "ordinal", "nominal", or a list of the levels in order. ``provenance_["kinds"]``
        says what was taken.
    missing : {"impute", "refuse"}, default "impute"
        What to do about missing values in :meth:`fit`: impute them, or refuse the table.
    knowledge : Knowledge or dict, default None
        What is known of the causal order, which then keeps to it: a :class:`rootcausal.Knowledge`, or its
        fields, as in ``{"first": ["age", "sex"]}``.
    log : list, default None
        Columns, by name (of an array: "x0" or 0), that the method is to see on a log scale, as in
        ``["bili"]``: all values have to be above 0. Missing ones are imputed on that scale, shocks are
        standard deviations of the logarithm, and whatever shows a value shows it in the column's own unit.
    mechanism : {"auto", "linear", "nonlinear"}, default "auto"
        How variables come from their causes. ``linear`` is the paper's. ``nonlinear`` fits curves
        and spreads that differ, x = f(causes) + g(causes) · error, and pushes a risk model of the variables
        through them: Shapley values are sampled where paths are nonlinear, and ``coef_`` are averages.
        ``auto`` takes it where it describes the cohort, or how the outcome is told, in clearly less, and
        the linear one elsewhere, where nonlinear ones cannot be had (``attribution="paper"``, matched sets,
        ``reliability``, rows at sites, rows with missing values on a cluster), and of tables with fewer than
        50 rows or two a column, more than 200 columns or ten million values;
        ``provenance_["mechanism"]`` says which was taken and why.
    outcome : {"binary", "ordinal"}, default "binary"
        What y is: two labels, or stages in order, as in none, mild and severe. Shocks then add to the
        log-odds
        of a higher stage (proportional odds), whichever stage that is.
    levels : list, default None
        The stages from low to high, for ``outcome="ordinal"``, where labels do not say their order
        themselves:
        numbers, ordered categories and texts such as I, II, III do.
    confounding : {"merge"}, default None
        What to do about variables whose errors stay dependent, as something unmeasured that moves them leaves
        them: with "merge" they are looked for, and what they add is told as that of one set
        (``merged_sets_``); patients have to be in memory. None tells it of each variable.
    reliability : dict, default None
        How reliable the measurements of columns are, by name (of an array: "x0" or 0): the share of the
        variance that is no measurement error, as in ``{"bili": 0.9}`` (on a log scale, of the logarithm's);
        ``"sd 0.2"``, the standard deviation of the error in its own unit; or ``"repeats"``, where rows of one
        patient (``groups``) measure the same, and tell it. Mechanisms and effects are then those of true
        values, patients' shocks are what is expected of them, and intervals hold the doubt. For linear
        mechanisms and rows in memory. None, and a share of 1, take values for exact.
    limits : dict, default None
        Limits of detection by column, as in ``{"crp": "<3"}``, ``{"crp": [">100"]}`` or, of both,
        ``["<3", ">100"]``, in the column's own unit: values at or beyond one, and cells that say so ("<3",
        "<2"), are censored. They are drawn from what is expected of them within the limit, as missing values.
        For linear mechanisms and rows in memory.

    Attributes
    ----------
    causal_order_ : (k,) column indices, in the order found; under local variants only variables that
        stayed dependent on the diagnosis.
    covariates_ : (c,) column indices of variables that are adjusted for: in the risk, and in no order.
    coef_ : (p,) log-odds for each unit-variance error (of a nominal variable its size); zero where dropped.
        Where the mechanism is not linear, what an error adds differs between patients, and this is what a
        unit more of it adds on average over people: errors times ``coef_`` are then no Shapley values.
    ancestor_probability_ : (p,) probability that each variable is an ancestor of the diagnosis; of those that
        the t-test dropped, by how clearly it did, and by how many ancestors the others hold. None with
        ``attribution="paper"``, which takes every survivor for an ancestor.
    intercept_ : float, log-odds of a patient whose shocks are all average; where the mechanism is not linear,
        their mean over shocks. This is not the prevalence.
    margins_ : (k,) by how much each root won; under pruned search a lower bound. A root that won by next
        to nothing could be another one in a slightly different cohort. Where the mechanism is not linear,
        what it would cost, in nats, to turn round the least sure arrow of the variable.
    merged_sets_ : tuple of tuples of column indices, the variables that are read as one; see ``confounding``.
    bootstrap_ : the resamples of :meth:`bootstrap`, or None.
    classes_ : (2,) the labels; ``classes_[1]`` is the disease. The stages, from low to high.
    n_features_in_, feature_names_in_ : as in scikit-learn; names only when X had them.
    provenance_ : dict, how the model was made; ``findings`` is what fit and checks found.
    """

    outcomes: ClassVar[tuple[str, ...]] = ("binary", "matched", "ordinal")

    def __init__(
        self,
        *,
        alpha: float | None = None,
        variant: VariantName = "local_plus",
        attribution: AttributionName = "sharp",
        backend: BackendName = "auto",
        positive: Any = None,
        progress: bool = False,
        prevalence: float | None = None,
        kinds: dict[str | int, Any] | None = None,
        missing: MissingName = "impute",
        knowledge: Knowledge | dict[str, Any] | None = None,
        log: Sequence[str | int] | None = None,
        mechanism: str = "auto",
        confounding: str | None = None,
        reliability: dict[str | int, Any] | None = None,
        limits: dict[str | int, Any] | None = None,
        outcome: Literal["binary", "ordinal"] = "binary",
        levels: Sequence[Any] | None = None,
    ) -> None:
        self.alpha = alpha
        self.variant = variant
        self.attribution = attribution
        self.backend = backend
        self.positive = positive
        self.progress = progress
        self.prevalence = prevalence
        self.kinds = kinds
        self.missing = missing
        self.knowledge = knowledge
        self.log = log
        self.mechanism = mechanism
        self.confounding = confounding
        self.reliability = reliability
        self.limits = limits
        self.outcome = outcome
        self.levels = levels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.outcome == ORDINAL
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None, strata: Any = None, *, weights: Any = None) -> RCI:
        """Learn causal order, errors and their effects from a cohort.

        Parameters
        ----------
        X : dataframe of any library, AnnData or array, of shape (n, p): numbers, texts, truth values and
            categories. With ``backend="dask"`` a dask dataframe, or the path of Parquet files (a glob, a
            folder).
        y : (n,) diagnosis with two labels, matched to the rows of X by place; for AnnData also the name of a
            column of ``obs``; for rows on a cluster the name of a column, or a dask Series, which dask
            matches by its index. A pandas Series with the index of X in another order is refused.
        groups : (n,) the patient of each row, where patients have several rows: :meth:`bootstrap` then draws
            patients, with all of their rows. Also the name of a column of X, which is then no variable (of
            AnnData: of ``obs``).
        strata : (n,) the matched set of each row, where cases were matched with controls; named likewise.
            Effects are then those within sets (conditional logistic regression; exact in sets of up to 40
            rows, Efron's approximation beyond), mechanisms are learned without what the rows of a set share,
            there is no base value, and :meth:`bootstrap` draws whole sets.
        weights : (n,) how much each row counts; named likewise. Integers count rows: the fit is that of a
            table in which each row is there so many times, and one of weight 0 is left out. Other numbers are
            inclusion weights: patients count in proportion, sums over rows are weighted, and the sample size
            is the effective one, (Σ w)² / Σ w² (Kish 1965). A resample draws rows, each with its weight.
            Integers that add up to more than ten times the rows are inclusion weights, too. Not with
            ``prevalence`` or ``strata``.
        """
        X, strata = self._with_strata(X, strata)
        return self._fit(X, self._target(y, strata), groups, weights)

    def _with_strata(self, X: Any, strata: Any) -> tuple[Any, Any]:
        """The variables of X, and the matched set of each row, or None; refused where there can be none."""
        if strata is None:
            return X, None
        from ..inputs.matched import ON_A_CLUSTER, variables_and_sets

        if nw.dependencies.is_dask_dataframe(X) or self.backend == "dask":
            raise InputError(ON_A_CLUSTER)
        wrong = {
            "outcome='ordinal'": self.outcome == ORDINAL,
            f"prevalence={self.prevalence!r}": self.prevalence is not None,
            f"mechanism={self.mechanism!r}": self.mechanism == "nonlinear",
        }
        if any(wrong.values()):
            named = listed([name for name, given in wrong.items() if given])
            raise InputError(f"matched sets (strata) do not go together with {named}: leave one of them out")
        return variables_and_sets(X, strata)

    @property
    def _asked_for(self) -> tuple[str, ...]:
        return (ORDINAL,) if self.outcome == ORDINAL else ("binary", "matched")

    def _check_parameters(self) -> tuple[Settings, ColumnHints]:
        checked = super()._check_parameters()
        check_outcome(self.outcome, ("binary", ORDINAL), "count", "RCIRegressor")
        levels: Any = self.levels
        if levels is not None and (isinstance(levels, str) or not isinstance(levels, Sequence)):
            raise InputError(f"levels must be a list of the stages from low to high, not {levels!r}")
        given = (
            {"levels": levels is not None}
            if self.outcome != ORDINAL
            else {
                "positive": self.positive is not None,
                "prevalence": self.prevalence is not None,
            }
        )
        if any(given.values()):
            named = listed([name for name, there in given.items() if there])
            raise InputError(f"{named} does not go together with outcome={self.outcome!r}: leave it out")
        return checked

    def _settings(self) -> Settings:
        alpha = PAPERS_LEVEL if self.alpha is None and self.attribution == "paper" else self.alpha
        return chosen_settings(self.variant, alpha, self.attribution, self.prevalence, self.mechanism)

    def _take_classes(self, cohort: Cohort) -> list[str]:
        self.classes_ = cohort.classes
        if self.positive is not None or self.outcome == ORDINAL:
            return []
        how = "choose by positive={1} or positive={0}"
        return warn_of_choice(self.classes_, cohort.label_name, how, stacklevel=5)

    def decision_function(self, X: Any) -> F64:
        """(n,): log-odds of the disease; with a ``prevalence``, in that population.

        Of stages, the log-odds of the stage that the cut is at, or a higher one; of matched sets, relative to
        one of the same set whose shocks are all average.
        """
        check_is_fitted(self)
        return self._predictor(X)

    def predict_proba(self, X: Any, strata: Any = None) -> F64:
        """(n, C): probability of each class of ``classes_``; with a ``prevalence``, in that population.

        A model of matched sets tells no risks by themselves: ``strata`` says which rows are a set, and the
        second column is then the chance to be its case, if it has one.
        """
        check_is_fitted(self)
        attribution = self._model.attribution.of_outcome
        if isinstance(attribution, RelativeOddsAttribution):
            risk = self._chance_in_sets(X, strata)
            return np.column_stack([1.0 - risk, risk])
        if strata is not None:
            raise InputError("this model is of no matched sets: leave strata out")
        log_odds = self.decision_function(X)
        if isinstance(attribution, StageAttribution):
            return attribution.of_stages(log_odds)
        risk = expit(log_odds)
        return np.column_stack([1.0 - risk, risk])

    def _chance_in_sets(self, X: Any, strata: Any) -> F64:
        from ..inputs.matched import sets_of, variables_and_sets

        if strata is None:
            raise InputError(
                "matched sets tell no risks by themselves: give strata, the set of each row, for the "
                "chance of each "
                "to be the case of its set; or ask decision_function for log-odds relative to others of a set"
            )
        X, strata = variables_and_sets(X, strata)
        matrix = self._without_shared(self._patients(X, self._needed_variables(strata)), strata)
        predictor = told_of_all(matrix.scored(self._model.predictor(matrix.values)))
        return chance_in_sets(predictor, sets_of(strata, len(predictor)))

    def predict(self, X: Any, strata: Any = None) -> np.ndarray:
        """(n,): the most probable label; ``strata`` as in :meth:`predict_proba`."""
        check_is_fitted(self)
        if self._model.attribution.outcome == "binary" and strata is None:
            return self.classes_[(told_of_all(self.decision_function(X)) > 0).astype(int)]
        chances = self.predict_proba(X, strata)
        told_of_all(chances[:, 0])
        return self.classes_[chances.argmax(axis=1)]

    def explain(self, X: Any, ids: Any = None, strata: Any = None) -> Explanation:
        """Each patient's root causes, with intervals after :meth:`bootstrap`.

        Parameters
        ----------
        X, ids : as in :meth:`rootcausal.RCIRegressor.explain`.
        strata : (n,) of a model of matched sets, the set of each row; or the name of a column of X. Shocks
            are then told without what the rows of a set share.
        """
        X, strata = self._sets_told(X, strata)
        return self._explained(X, ids, strata=strata)

    def shapley_values(self, X: Any, strata: Any = None) -> Any:
        """(n, p): as in :meth:`rootcausal.RCIRegressor.shapley_values`; ``strata`` as in :meth:`explain`."""
        if strata is None:
            return super().shapley_values(X)
        return self.explain(X, strata=strata).values

    def scores(self, X: Any, strata: Any = None) -> F64:
        """Shapley values with ``-inf`` for variables that the model does not rank: what the metrics take."""
        if strata is None:
            return super().scores(X)
        return self._with_unranked(self.shapley_values(X, strata))

    def _sets_told(self, X: Any, strata: Any) -> tuple[Any, Any]:
        from ..inputs.matched import variables_and_sets

        check_is_fitted(self)
        if strata is None:
            return X, None
        if self._model.attribution.outcome != "matched":
            raise InputError("this model is of no matched sets: leave strata out")
        return variables_and_sets(X, strata)

    def report(
        self,
        X: Any,
        out: str | PathLike[str],
        y: Any = None,
        ids: Any = None,
        *,
        strata: Any = None,
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
        X, out, y, ids, units, target, notes, redact_ids, groups, weights : as in
            :meth:`rootcausal.RCIRegressor.report`.
        strata : (n,) of a model of matched sets, beside ``y``: the set of each row.
        """
        X, strata = self._sets_told(X, strata)
        known = None if y is None else self._known(y, strata)
        self._write_report(X, out, known, ids, units, target, notes, redact_ids, groups, None, weights)

    def diagnose(
        self, X: Any, y: Any = None, ids: Any = None, strata: Any = None, *, weights: Any = None
    ) -> Checks:
        """Check whether the assumptions of the method hold for these patients.

        Parameters
        ----------
        X, y, ids, weights : as in :meth:`rootcausal.RCIRegressor.diagnose`.
        strata : (n,) of a model of matched sets, beside ``y``: the set of each row.
        """
        X, strata = self._sets_told(X, strata)
        return self._diagnose(X, None if y is None else self._known(y, strata), ids, weights)

    def _target(self, y: Any, strata: Any) -> Target:
        if self.outcome == ORDINAL:
            from ..inputs.ordinal import Stages

            return Stages(y, self.levels)
        if strata is None:
            return Diagnosis(y, self.positive)
        from ..inputs.matched import MatchedDiagnosis

        return MatchedDiagnosis(y, self.positive, strata)

    def _known(self, y: Any, strata: Any = None) -> Target:
        """What happened to patients of a fitted model."""
        check_is_fitted(self)
        if strata is None and self._model.attribution.outcome == "matched":
            raise InputError("this model is of matched sets: beside y it takes strata, the set of each row")
        return self._target(y, strata)
