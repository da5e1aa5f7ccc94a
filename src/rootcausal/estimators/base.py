"""What the estimators of all outcomes share: open the cohort, call the core, set attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..backends.choose import check_backend
from ..errors import InputError
from ..inputs.encoding import Encoding
from ..inputs.from_frame import names_of, names_out, patient_ids, with_ids
from ..inputs.kinds import ColumnHints
from ..inputs.knowledge import Knowledge
from ..inputs.matrices import Matrix, matrix_for_scoring, usual_of
from ..inputs.naming import as_plain, namings_of
from ..inputs.outcomes import Target
from ..inputs.patients import Cohort
from ..inputs.validate import open_cohort
from ..inputs.weights import counted, weighed
from ..method.missing.completion import Completion
from ..method.missing.noise import contents
from ..method.model import CausalModel
from ..method.pipeline import Settings
from ..method.reference_ranges import CohortQuantiles, Usual, quantiles_of
from ..method.set_effects import SetEffects
from ..method.table import F64, Index
from ..method.weighted import rows_that_tell
from ..outcomes import OUTCOMES
from ..wording import listed, one_line, plain, quoted
from .parameters import (
    chosen_confounding,
    chosen_hints,
    chosen_settings,
    parameter_names,
    plain_parameters,
    refuse_what_is_not_exact,
)

# What only some methods need is imported by them: who makes an estimator waits for none of it.
if TYPE_CHECKING:
    from ..diagnostics import Diagnosis
    from ..diagnostics.diagnosis import Found
    from ..diagnostics.evidence import Needed
    from ..explaining.explanation import Explanation
    from ..explaining.summary import Summary
    from ..likelihood.effects import Effects
    from ..likelihood.recalibration import Calibration
    from ..method.confounded_sets import Sets, Together
    from ..resampling.bootstrap import Bootstrap
    from ..resampling.cross_validation import Fold
    from ..resampling.halves import Halves
    from ..resampling.training_rows import TrainingRows

# Where linear algebra multiplies no more often, more threads than one take longer to start than they save.
FEW_PRODUCTS = 1e8
NO_ROWS = (
    "the rows of the fit are not at hand (it was on a cluster, they were changed in place, or the model's "
    "file is of an older version)"
)
MOST_SPLITS = 10_000
HOW_TO_CHECK = "diagnose(X, y), of the cohort of the fit, says whether its assumptions hold"


class Estimator(TransformerMixin, BaseEstimator):
    """Root causes of an outcome, patient by patient; where outcomes differ, what derives from it says so.

    See :class:`rootcausal.RCI`, :class:`rootcausal.RCISurvival` and :class:`rootcausal.RCIRegressor`.
    """

    outcomes: ClassVar[tuple[str, ...]]  # the names of those that it is for

    alpha: float | None
    variant: str
    attribution: str
    mechanism: str
    backend: str
    progress: bool
    kinds: dict[str | int, Any] | None
    missing: str
    knowledge: Knowledge | dict[str, Any] | None
    confounding: str | None
    reliability: dict[str | int, Any] | None
    limits: dict[str | int, Any] | None

    merged_sets_: Sets
    _encoding: Encoding
    _quantiles: CohortQuantiles | None = None  # none of rows on a cluster
    _cohort: TrainingRows | None = None
    _set_quantiles: F64 | None = None
    _usual: Usual | None = None
    _shared: SetEffects | None = None

    @property
    def _asked_for(self) -> tuple[str, ...]:
        """The outcomes that its parameters allow."""
        return self.outcomes

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, as in scikit-learn; ``deep`` makes no difference."""
        kind: Any = type(self)  # mypy doubts that classes have hashes
        return {name: vars(self).get(name) for name in parameter_names(kind)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "impute"
        return tags

    def _fit(self, X: Any, target: Target, groups: Any, weights: Any = None) -> Self:
        from ..backends.blas import one_blas_thread

        settings, hints = self._check_parameters()
        if weights is not None:
            how = self.backend, settings.prevalence
            X, target, groups, weights = weighed(X, target, groups, weights, *how)
        asked = (self.backend, settings.prevalence, hints, groups, self.knowledge)
        with open_cohort(self, X, target, *asked, weights=weights) as cohort:
            n, q = cohort.raw.shape
            # What is large a GPU multiplies itself.
            few = cohort.rows is not None and (n * q * q <= FEW_PRODUCTS or cohort.raw.backend == "cupy")
            with one_blas_thread() if few else nullcontext():
                return self._learn(cohort, settings)

    def _check_parameters(self) -> tuple[Settings, ColumnHints]:
        """How to learn, and what the user says of the columns; a parameter that cannot be is refused."""
        settings = self._settings()
        hints = chosen_hints(self.kinds, self.missing, self.log, self.reliability, self.limits)
        refuse_what_is_not_exact(hints, settings)
        chosen_confounding(self.confounding)
        check_backend(self.backend)
        return settings, hints

    def _learn(self, cohort: Cohort, settings: Settings) -> Self:
        from ..diagnostics.diagnosis import Found
        from ..explaining.provenance import how_it_was_made, how_it_was_merged, warn_of_fit, warn_of_sets
        from ..progress.bars import ordering_progress
        from ..resampling.training_rows import TrainingRows, checksum
        from .mechanism_choice import learn_cohort

        merge = chosen_confounding(self.confounding)
        if merge and cohort.rows is None:
            raise InputError(
                "confounding='merge' looks at the errors of patients in memory, and these rows are on a "
                "cluster: fit on a sample of them in memory, or without it"
            )
        said = self._take_classes(cohort)
        parameters = plain_parameters(self.get_params(), cohort.encoding.logged())
        with ordering_progress() if self.progress else nullcontext() as on_round:
            chosen = learn_cohort(cohort, settings, parameters, on_round)
        learned, settings = chosen.learned, chosen.settings
        said += warn_of_fit(learned, cohort, settings)
        self._encoding = cohort.encoding
        self._set_model(learned.model, learned.margins, learned.ancestor_probability, learned.completion)
        if cohort.rows is not None:
            values, known = cohort.rows
            seal = checksum(values) if cohort.borrowed else None
            self._cohort = TrainingRows(
                values,
                known,
                settings,
                self.backend,
                seal,
                cohort.layout,
                cohort.groups,
                cohort.outcome,
                cohort.weights,
            )
            # Who counts more is there more often.
            if cohort.weights is not None:
                values, known = (of_rows[cohort.counted] for of_rows in cohort.rows)
            whole = values
            if learned.imputation is not None:
                whole = learned.completion.draw(values, settings.imputation_seed, cohort.layout)
        self.provenance_ = how_it_was_made(learned, cohort, parameters)
        self._shared = cohort.shared
        self._keep_quantiles(None if cohort.rows is None else self._quantiles_of(whole, cohort))
        if chosen.said is not None:
            self.provenance_["mechanism"] = chosen.said
        if merge:
            missing = np.isnan(values) if learned.imputation is not None else None
            found = self._merge(whole, missing, known)
            self.provenance_ = {**self.provenance_, **how_it_was_merged(found, cohort)}
            said += warn_of_sets(found, cohort)
        self._keep(Found(fit=tuple(said)))
        return self

    def _quantiles_of(self, whole: F64, cohort: Cohort) -> CohortQuantiles:
        """Of values (n, q) as they were measured, and of shocks without what rows of a matched set share."""
        quantiles = CohortQuantiles.of(whole, self._model, getattr(cohort.raw, "ranked", None))
        if cohort.measured is None:
            return quantiles
        return replace(CohortQuantiles.of(cohort.measured, self._model), errors=quantiles.errors)

    @property
    def _found(self) -> Found:
        """What was found while the model was made."""
        from ..diagnostics.diagnosis import Found

        return Found.of(self.provenance_)

    def _keep(self, found: Found) -> None:
        self.provenance_ = {**self.provenance_, "findings": found.to_dict()}

    def __format__(self, spec: str) -> str:
        """Within a sentence: the parameters alone."""
        return format(repr(self), spec)

    def __str__(self) -> str:
        """The parameters and, once it is fitted, what was found: short."""
        if "provenance_" not in vars(self):
            return repr(self)
        from ..diagnostics.diagnosis import IN_SHORT

        found = self._found
        warned = [f"the fit warned: {one_line(text, IN_SHORT)}" for text in found.fit]
        return "\n".join([repr(self), f"checks: {found.in_short(HOW_TO_CHECK)}", *warned])

    def _merge(self, X: F64, missing: np.ndarray | None, known: np.ndarray) -> Together:
        """Look among the patients of the fit for variables that are to be read as one."""
        from ..diagnostics import Checked, read_together
        from ..method.confounded_sets import Merged

        model = self._model
        stated = np.zeros(len(X))  # nobody asks for it here, and it would take values of all of a wide table
        found = read_together(
            Checked(model, X, missing, known, stated, self._encoding, None, self.provenance_, of_fit=True)
        )
        self.merged_sets_ = found.sets
        self._set_quantiles = quantiles_of(Merged(model, found.sets).errors_of(X))
        return found

    def _settings(self) -> Settings:
        return chosen_settings(self.variant, self.alpha, self.attribution, mechanism=self.mechanism)

    def _take_classes(self, cohort: Cohort) -> list[str]:
        """Keep the labels of the outcome, where it has labels; what was said of the choice among them."""
        return []

    def _set_model(
        self,
        model: CausalModel,
        margins: F64,
        ancestor_probability: F64 | None,
        completion: Completion | None,
    ) -> None:
        self._model = model
        self._completion = completion if self.missing == "impute" else None
        self.ancestor_probability_ = ancestor_probability
        self.causal_order_, self.covariates_ = model.order, model.covariates
        self.__dict__.pop("coef_", None)  # of a fit before
        if model.attribution.proportional:
            self.coef_ = self._unit_effects
        self.intercept_ = model.base_value
        self.margins_ = margins
        self.bootstrap_: Bootstrap | None = None
        self._cohort = None
        self._quantiles = None
        self._usual = None
        self.merged_sets_ = ()
        self._set_quantiles = None

    @property
    def _unit_effects(self) -> F64:
        """(p,) what an error of one on each variable adds where all others are zero."""
        effects = np.zeros(self._model.n_variables)
        effects[self._model.order] = self._model.unit_effects
        return effects

    def __getattr__(self, name: str) -> Any:
        """``coef_`` where relations are nonlinear: averages, worked out when they are asked for."""
        if name != "coef_" or "_model" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.coef_ = np.zeros(self._model.n_variables)
        self.coef_[self._model.order] = self._model.average_effects
        return self.coef_

    def __getstate__(self) -> dict[str, Any]:
        """Patients stay in this process: a copy of the model travels without them, and with what it found."""
        if "_model" in vars(self):
            self._remember_effects()
        return {**super().__getstate__(), "_cohort": None}

    def summary(self, penalized: bool = True) -> Summary:
        """The effect of each variable without a prior, and beside it what the model makes of it.

        The outcome is regressed on all columns of the fit at once, covariates among them, by maximum
        likelihood with Firth's penalty (log-odds, log-hazard) or least squares (a number). So each effect is
        adjusted for all other columns, and the model's own, beside it, is the same: what one unit of the
        variable adds with all others held fixed. Missing values are imputed 20 times (Rubin's rules); where
        patients have several rows, standard errors allow for it; a ``prevalence`` moves the intercept only.

        Parameters
        ----------
        penalized : whether with Firth's penalty. Without it these are the numbers of other programs; a column
            then is "not estimable" beside others that tell some patients' outcome for certain, and the
            patients of the fit have to be at hand.

        Returns
        -------
        A :class:`rootcausal.explaining.summary.Summary`: ``print`` shows a table, ``frame`` is a pandas
        DataFrame. Where columns are too many for the patients, ``none`` says so and there are no such
        effects; a column that others explain wholly, or that tells some patients' outcome for certain, is
        "not estimable".

        Notes
        -----
        It is worked out when it is first asked for, or when the model is saved or copied, and kept with it.
        """
        from ..explaining.summary import Summary
        from ..likelihood.effects import unshrunk_effects
        from ..resampling.training_rows import rows_at_hand

        check_is_fitted(self)
        effects = (
            self._effects
            if penalized
            else unshrunk_effects(rows_at_hand(self._cohort), self._model, penalized=False)
        )
        found = effects, self.coef_, self.ancestor_probability_
        return Summary.of(self._model, self._encoding, *found, self.provenance_)

    @property
    def _effects(self) -> Effects:
        """Effects without a prior; where there are none it says why."""
        from ..likelihood.effects import Effects

        self._remember_effects()
        kept = self.provenance_.get("effects")
        n_columns = self._model.n_columns
        if kept is None:
            return Effects.nothing(n_columns, self.provenance_["rows"], NO_ROWS)
        return Effects.of_dict(kept, n_columns)

    def _remember_effects(self) -> None:
        """Work out effects without a prior, where that was not done, and can be."""
        from ..likelihood.effects import unshrunk_effects

        rows = self._cohort
        if "effects" not in self.provenance_ and rows is not None and rows.unchanged:
            self.provenance_ = {**self.provenance_, "effects": unshrunk_effects(rows, self._model).to_dict()}

    def bootstrap(
        self,
        n: int = 200,
        *,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        progress: bool = False,
        resume: str | PathLike[str] | None = None,
    ) -> Self:
        """Learn again from resampled patients, so that :meth:`explain` gives intervals.

        Parameters
        ----------
        n : number of resamples; 200 are enough for intervals to read, 1,000 for intervals to print.
        random_state : seed; the same one gives the same numbers, whatever the number of jobs. None draws one,
            which ``bootstrap_`` and ``provenance_`` then name, or goes on with that of ``resume``.
        n_jobs : how many resamples at once, as joblib counts them (-1 is one a core); with None one, or as
            many as the surrounding ``joblib.parallel_config`` says, for instance on a Dask cluster.
        progress : show a progress bar on standard error if it takes longer than two seconds.
        resume : file in which finished resamples are kept, so that an interrupted run goes on. It holds
            models and a hash, no patients. Where it holds more than ``n``, the first ``n`` are taken and all
            are kept. Resamples of another cohort, other options or another version of rootcausal are refused.

        Returns
        -------
        The model, with the resamples in ``bootstrap_``. They are saved with it.

        Notes
        -----
        The cohort is kept in memory from :meth:`fit` for this, and never written to a file. An array is not
        copied: one that was changed in place meanwhile is refused.
        """
        from ..resampling.bootstrap import bootstrap
        from ..resampling.training_rows import rows_at_hand

        check_is_fitted(self)
        rows = rows_at_hand(self._cohort)
        self._take_resamples(
            bootstrap(rows, n, random_state=random_state, n_jobs=n_jobs, progress=progress, resume=resume)
        )
        return self

    def _take_resamples(self, resamples: Bootstrap) -> None:
        from ..explaining.provenance import how_it_was_resampled, warn_of_resamples

        self.bootstrap_ = resamples
        self.provenance_ = {**self.provenance_, "bootstrap": how_it_was_resampled(self.bootstrap_)}
        said, found = warn_of_resamples(self.bootstrap_), self._found
        self._keep(replace(found, fit=tuple(dict.fromkeys((*found.fit, *said)))))

    def cross_validate(self, folds: int = 5, random_state: int = 0) -> dict[str, float]:
        """What the model knows of patients whom it has not seen.

        The cohort of :meth:`fit` is cut into folds, and each is told by a model that was learned anew from
        all others; by the mechanism of the fit, where that was chosen by ``mechanism="auto"``.

        Parameters
        ----------
        folds : how many.
        random_state : seed of the cut.

        Returns
        -------
        The figures, which ``provenance_`` keeps. Of a diagnosis: ``auc`` (0.5 is chance, 1 is perfect),
        ``brier`` (mean squared error of the risk) and ``brier_without_variables`` (that of the same risk for
        everybody; with a ``prevalence`` neither, since the patients are not the population). Of the time to
        an event: ``concordance`` (0.5 is chance), and the Brier scores by the ``horizon``. Of a number:
        ``r2``, and the root mean squared ``error`` and ``error_without_variables``.
        """
        from ..files.array_archive import is_seed
        from ..resampling.cross_validation import fold_by_fold
        from ..resampling.training_rows import rows_at_hand

        check_is_fitted(self)
        rows = rows_at_hand(self._cohort)
        if not is_seed(plain(random_state)):
            raise InputError(f"random_state must be a whole number of at least 0, not {random_state!r}")
        told = list(fold_by_fold(rows, folds, int(random_state)))
        self._keep_calibration(rows, told, int(random_state))
        outcome = OUTCOMES[self._model.attribution.outcome]
        figures = outcome.performance(told, self._model.attribution.of_outcome, self.get_params())
        # What no fold can tell, such as who comes first of one patient, is left out.
        figures = {name: figure for name, figure in figures.items() if figure == figure}
        figures |= {"folds": int(folds), "random_state": int(random_state)}
        self.provenance_ = {**self.provenance_, "cross_validation": figures}
        return figures

    def split_half(self, n: int = 10, random_state: int = 0) -> Halves:
        """Would two halves of the cohort say the same, and how often would they if the assumptions held?

        The cohort of :meth:`fit` is cut in two at random, each half is learned from anew, and both are asked
        about all patients. The same is done with 20 cohorts of as many patients that are drawn from the
        fitted model, where every assumption holds: halves of a small cohort disagree even then.

        Parameters
        ----------
        n : how often the cohort is cut.
        random_state : seed of the cuts, and of what is drawn.

        Returns
        -------
        A :class:`rootcausal.resampling.halves.Halves`: ``same``, the share of patients of whom both halves
        name the same strongest root cause, of those of whom either names one, and ``expected_same``, what
        that would be; ``overlap`` and ``expected_overlap`` of ranks; ``low``, whether it is lower than in
        nearly all cohorts of this size that the model would give. The model keeps it, and :meth:`diagnose`
        and pages tell it. It takes as long as about a hundred fits of half the cohort.
        """
        from ..files.array_archive import is_seed
        from ..resampling.halves import split_half
        from ..resampling.training_rows import rows_at_hand

        check_is_fitted(self)
        rows = rows_at_hand(self._cohort)
        if not (isinstance(plain(n), int) and 1 <= n <= MOST_SPLITS) or not is_seed(plain(random_state)):
            raise InputError(
                f"n must be a whole number from 1 to {MOST_SPLITS:,}, and random_state one of at least 0, "
                f"not {n!r} and {random_state!r}"
            )
        found = split_half(rows, self._model, self._completion, int(n), int(random_state))
        self.provenance_ = {**self.provenance_, "halves": found.to_dict()}
        return found

    def _keep_calibration(self, rows: TrainingRows, told: list[Fold], random_state: int) -> None:
        """Keep what risks are worth of patients whom a model has not seen."""
        from ..likelihood.recalibration import calibration_of

        X = rows.X if self._completion is None else self._completion.fill(rows.X)
        stated, attribution = self._model.predictor(X), self._model.attribution.of_outcome
        found = calibration_of(rows, told, random_state, stated, attribution)
        kept = {} if found is None else found.to_dict()
        self.provenance_ = {**self.provenance_, "calibration": kept}

    @property
    def _calibration(self) -> Calibration | None:
        """That of :meth:`cross_validate`; where nobody asked for it and it takes little time, by itself."""
        from ..likelihood.recalibration import SEED, Calibration, told_in_folds, worth_asking

        rows = self._cohort
        asked = "calibration" in self.provenance_ or rows is None or not rows.unchanged
        if not asked and rows is not None and worth_asking(rows):
            self._keep_calibration(rows, told_in_folds(rows), SEED)
        return Calibration.of_dict(self.provenance_.get("calibration", {}))

    def _of_fit(self, matrix: Matrix) -> np.ndarray:
        """(n,) which patients are of the fit: by the same values or, where these are gone, by quantiles."""
        values, rows = matrix.values if matrix.measured is None else matrix.measured, self._cohort
        if rows is not None:
            return np.isin(contents(values, np.arange(values.shape[1])), rows.contents)
        same = len(values) == self.provenance_["rows"] and self._quantiles is not None
        if same and self._quantiles is not None:
            same = self._quantiles.are_of(matrix.drawn(self._encoding.layout), self._model)
        return np.full(len(values), same)

    def _recalibrated(self, explanation: Explanation, matrix: Matrix) -> Explanation:
        """With the risks of patients of the fit as they would be told if the model had not seen them."""
        calibration = self._calibration
        if calibration is None:
            return explanation
        of_fit = self._of_fit(matrix) & explanation.scored
        if not of_fit.any():
            return explanation
        risks = np.full(of_fit.size, np.nan)
        stated, attribution = explanation.predictor[of_fit], explanation._model.attribution.of_outcome
        risks[of_fit] = calibration.recalibrated(stated, attribution)
        return replace(explanation, recalibrated=risks)

    def transform(self, X: Any) -> F64:
        """(n, k): unit-variance errors of the variables in ``causal_order_``, columns in table order."""
        matrix = self._patients(X)
        return matrix.scored(self._model.errors(matrix.values)[:, np.sort(self.causal_order_)])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of :meth:`transform`."""
        check_is_fitted(self)
        return names_out(self, np.sort(self.causal_order_), input_features)

    def _predictor(self, X: Any) -> F64:
        """(n,): what shocks and covariates add up to; NaN for patients of whom nothing was measured."""
        matrix = self._patients(X)
        return matrix.scored(self._model.predictor(matrix.values))

    def _patients(
        self, X: Any, needed: Index | None = None, *, to_score: bool = True, in_part: bool = False
    ) -> Matrix:
        """Patients whom the model can score; by default these need covariates and the causal order."""
        check_is_fitted(self)
        used, reach = self._model.used, self._model.reach()
        kept = (self._encoding, self._completion, self._usual, used if to_score else None)
        return matrix_for_scoring(self, X, used if needed is None else needed, reach, *kept, in_part=in_part)

    def _keep_quantiles(self, quantiles: CohortQuantiles | None) -> None:
        """Keep quantiles of the cohort, if there are any, and what of its numbers is unusual."""
        self._quantiles, made = quantiles, self.provenance_
        self._usual = usual_of(self._model, quantiles, self._encoding, rows_that_tell(made))

    def shapley_values(self, X: Any) -> Any:
        """(n, p): what each shock of a patient adds to the outcome; zero for non-ancestors and covariates.

        NaN for patients of whom nothing was measured that the model goes by, as in all that is predicted.

        For a dask dataframe this is another one, of which nothing is computed yet.
        """
        check_is_fitted(self)
        if nw.dependencies.is_dask_dataframe(X):
            from ..inputs.from_cluster import scored_frame

            known = getattr(self, "feature_names_in_", ())
            if not set(X.columns).issuperset(known):
                self._patients(X._meta)  # says which columns are missing
            return scored_frame(partial(self._shapley, in_part=True), X, names_of(self), known)
        return self._shapley(X)

    def _shapley(self, X: Any, in_part: bool = False) -> F64:
        matrix = self._patients(X, in_part=in_part)
        return matrix.scored(self._model.shapley(matrix.values))

    def scores(self, X: Any) -> F64:
        """Shapley values with ``-inf`` for variables that the model does not rank: what the metrics take.

        NaN for patients who are not scored.
        """
        return self._with_unranked(self._shapley(X))

    def _with_unranked(self, values: F64) -> F64:
        """Shapley values (n, p) with ``-inf`` for variables that the model does not rank."""
        unranked = np.ones(values.shape[1], dtype=bool)
        unranked[self.causal_order_] = False
        values[unranked & ~np.isnan(values)] = -np.inf
        return values

    def _explained(
        self,
        X: Any,
        ids: Any,
        seen: Callable[[CausalModel], CausalModel] = lambda model: model,
        strata: Any = None,
    ) -> Explanation:
        """What the model and its resamples say, each as it is ``seen``, such as by another horizon.

        ``strata`` (n,) are the matched sets of the rows, if they are known.
        """
        from ..explaining.explanation import Explanation

        X, ids = self._with_ids(X, ids)
        matrix = self._without_shared(self._patients(X, self._needed_variables(strata)), strata)
        resamples = tuple(map(seen, self.bootstrap_.models)) if self.bootstrap_ is not None else ()
        variables, model = self._encoding.variables, seen(self._model)
        made, sets = self.provenance_, self.merged_sets_
        found = Explanation.of(
            model, resamples, matrix, variables, ids, made, sets, self._usual, self._quantiles
        )
        return self._recalibrated(found, matrix)

    def _with_ids(self, X: Any, ids: Any, name: str = "ids") -> tuple[Any, Any]:
        """The variables of X, and one id a row, or None; a column that ``ids`` names is no variable."""
        check_is_fitted(self)
        if isinstance(ids, str) and ids in getattr(self, "feature_names_in_", ()):
            raise InputError(f"{name}={ids!r} is one of the model's variables: choose a column that is not")
        return with_ids(X, ids, name)

    def _needed_variables(self, strata: Any = None) -> Index:
        """The variables that explanations are made from: a resample may use what the model left out."""
        resamples = self.bootstrap_.models if self.bootstrap_ is not None else ()
        needed = [model.used for model in (self._model, *resamples)]
        if strata is not None and self._shared is not None:
            needed.append(self._encoding.layout.variable[self._shared.columns])
        return np.unique(np.concatenate(needed))

    def _without_shared(self, matrix: Matrix, strata: Any) -> Matrix:
        """The same without what the rows of a matched set share, where the sets (n,) are known."""
        own = self._own(matrix.values, strata)
        return (
            matrix
            if own is matrix.values
            else replace(matrix, values=own, borrowed=False, told=matrix.values)
        )

    def _own(self, values: F64, strata: Any) -> F64:
        """Values (n, q) without that."""
        if strata is None or self._shared is None:
            return values
        from ..inputs.matched import sets_of

        return values - self._shared.shared(values, sets_of(strata, len(values)))

    def _diagnose(self, X: Any, target: Target | None, ids: Any, weights: Any = None) -> Diagnosis:
        from ..diagnostics import Checked, diagnose

        X, ids = self._with_ids(X, ids)
        if weights is not None:
            X, target, ids = counted(X, target, ids, weights)
        # The checks that look at the outcome also look at what the model left out.
        needed = None if target is None else np.arange(self._model.n_variables)
        matrix = self._patients(X, needed, to_score=False)
        values = matrix.drawn(self._encoding.layout)
        known, strata = None, None
        if target is not None:
            strata = target.strata
            known = target.known_again(X, len(values), getattr(self, "classes_", np.empty(0)))
        called = None if ids is None else patient_ids(ids, len(values))
        missing = None if matrix.measured is None else np.isnan(matrix.measured)
        of_hidden = () if target is None else self._needed_of_hidden_causes()
        made, names = self.provenance_, self._encoding  # with the effects that were asked for just now
        same = rows_that_tell(made) == len(values) and self._quantiles is not None
        of_fit = same and self._quantiles is not None and self._quantiles.are_of(values, self._model)
        stated = self._model.predictor(self._own(matrix.values, strata))
        values = self._own(values, strata)
        found = diagnose(
            Checked(self._model, values, missing, known, stated, names, called, made, of_fit, of_hidden)
        )
        # A model of rows on a cluster cannot tell whose they are: its users can.
        if found.of_outcome and (of_fit or self._quantiles is None):
            self._keep(self._found.with_checks(found))
        return found

    def _needed_of_hidden_causes(self) -> tuple[Needed, ...]:
        """What a hidden common cause of the outcome and of each column that is named would need."""
        from ..diagnostics.evidence import Needed

        return tuple(Needed(term.term, term.robustness, term.robustness_p) for term in self.summary().causes)

    def set_labels(self, labels: Any) -> Self:
        """Say what variables are called on pages, in figures and on screen; the model remembers it.

        Parameters
        ----------
        labels : by column a label, as in ``{"bili": "Bilirubin"}``, or a dict of any of ``label``, ``unit``
            and ``digits`` (behind the point); or the path of a CSV file with the columns column, label, unit
            and digits. Other columns than those of the model, such as that of the outcome, may be among them.

        Returns
        -------
        The model. Columns keep their names wherever something is asked or computed.
        """
        check_is_fitted(self)
        namings = namings_of(labels)
        if namings and not set(namings) & set(self._encoding.names):
            raise InputError(
                f"none of the labels is of a variable of the model: it has "
                f"{listed([quoted(name) for name in self._encoding.names], 8)}"
            )
        self._encoding = self._encoding.called(namings)
        self.provenance_ = {**self.provenance_, "labels": as_plain(namings)}
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a single file that :meth:`load` reads; no pickle."""
        from .saving import save

        check_is_fitted(self)
        with suppress(ValueError):  # of a model that could not be read back, which is said when it is written
            self._model.check()
            self._remember_effects()
            _ = self._calibration
        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model written by :meth:`save`; any other file, or a damaged one, is refused."""
        from .saving import load

        return load(cls, path)


class OfOneColumn(Estimator):
    """An estimator of an outcome that one column tells, y."""

    def _known(self, y: Any) -> Target:
        """What y says happened to the patients."""
        raise NotImplementedError

    def explain(self, X: Any, ids: Any = None) -> Explanation:
        """Each patient's root causes, with intervals after :meth:`bootstrap`.

        Parameters
        ----------
        X : patients, with the columns of the cohort; a dataframe may lack those that the model, and each of
            its resamples, left out.
        ids : what to call them: a sequence, matched to rows by place, or the name of a column of X that is no
            variable (of AnnData: of ``obs``); by default their row numbers (of AnnData: ``obs_names``). A
            pandas Series with the index of X in another order is refused.
        """
        return self._explained(X, ids)

    def report(
        self,
        X: Any,
        out: str | PathLike[str],
        y: Any = None,
        ids: Any = None,
        *,
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
        y : (n,) what happened to them, as in :meth:`fit`, if known: the page then says what the checks of the
            model found, as far as these patients allow them.
        ids : what to call them, as in :meth:`explain`.
        units : unit of each variable, by name; that of a number y is the one of ``target``.
        target : what to call y.
        notes : sentences to print under "How it was made".
        redact_ids : put the numbers 1 to n in place of the ids.
        groups : (n,) the patient of each row, where one may have several and ``ids`` do not tell.
        weights : (n,) how much each row counts, where :meth:`fit` was told so: for the checks.
        """
        check_is_fitted(self)
        known = None if y is None else self._known(y)
        self._write_report(X, out, known, ids, units, target, notes, redact_ids, groups, None, weights)

    def _write_report(self, X: Any, out: str | PathLike[str], known: Target | None, *asked: Any) -> None:
        from ..report import write_report

        check_is_fitted(self)
        write_report(self, X, out, known, *asked)

    def diagnose(self, X: Any, y: Any = None, ids: Any = None, *, weights: Any = None) -> Diagnosis:
        """Check whether the assumptions of the method hold for these patients.

        Of the patients of the fit, the model keeps what was found (``provenance_["findings"]``).

        Parameters
        ----------
        X : the cohort of :meth:`fit`, or new patients.
        y : what happened to them, as in :meth:`fit`. Without it, or with fewer than two patients of either
            kind, only the checks that need none are made, and the answer says which were not.
        ids : what to call them, as in :meth:`explain`; by default their row numbers, from 1.
        weights : (n,) how much each row counts, as in :meth:`fit`: checked are rows that stand for all.
        """
        return self._diagnose(X, None if y is None else self._known(y), ids, weights)


def told_of_all(predicted: F64) -> F64:
    """The same (n,), where somebody asks for an answer about everybody: NaN is none."""
    rows = [str(row + 1) for row in np.flatnonzero(np.isnan(predicted)).tolist()]
    if rows:
        raise InputError(
            f"nothing that the model goes by was measured in {'row' if len(rows) == 1 else 'rows'} "
            f"{listed(rows, 5)}: leave out who was not measured"
        )
    return predicted
