"""RCI, the scikit-learn estimator: open the cohort, call the core, set attributes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import saving
from .backends.choose import check_backend
from .core.completion import Completion
from .core.model import CausalModel
from .core.pipeline import Settings, learn
from .core.quantiles import CohortQuantiles
from .core.table import F64, Index
from .diagnostics import Checked, Diagnosis, diagnose
from .explanation import Explanation
from .inputs.cohort import Cohort, Target, names_of, names_out
from .inputs.door import open_cohort
from .inputs.encoding import Encoding
from .inputs.from_frame import ids_of, patient_ids
from .inputs.kinds import Wishes
from .inputs.knowledge import Knowledge
from .inputs.matrices import Matrix, matrix_for_scoring
from .inputs.target import encode_known, labels_of, warn_of_choice
from .long_work.progress import ordering_progress
from .parameters import TransformIsAParameter, chosen_settings, chosen_wishes, plain_parameters
from .provenance import how_it_was_made, how_it_was_resampled, warn_of_fit, warn_of_resamples
from .uncertainty.resample import Bootstrap, bootstrap
from .uncertainty.training_rows import TrainingRows, checksum, rows_at_hand


class RCI(TransformIsAParameter, ClassifierMixin, TransformerMixin, BaseEstimator):
    """Root Causal Inference (Strobl & Lasko 2022): whose shocks led to the diagnosis, patient by patient.

    Parameters
    ----------
    alpha : float in (0, 1], default 0.2
        Level of the t-test by which local variants drop variables that the diagnosis does not depend on.
    variant : {"local_plus", "local", "plus", "original"}, default "local_plus"
        Which Direct LiNGAM orders the variables. ``plus`` prunes the search and finds the same roots;
        ``local`` keeps only variables on which the diagnosis depends.
    attribution : {"sharp", "paper"}, default "sharp"
        How shocks become log-odds. ``paper`` regresses the diagnosis on all errors that survived the
        t-test. ``sharp`` looks for the few direct causes of the diagnosis and the paths that lead to
        them, and shrinks the rest (see :mod:`rootcausal.core.sharp`).
    backend : {"auto", "numpy", "numba", "cupy", "dask"}, default "auto"
        Where the sums are computed. A dask dataframe is summed on the cluster it belongs to.
    positive : label, default None
        Which label of y is the disease. By default the one that says so itself (1 beside 0, "yes" beside
        "no", "case" beside "control"); for other labels the second of the sorted ones, as in scikit-learn,
        with a warning.
    progress : bool, default False
        Show a progress bar on standard error for fits longer than two seconds.
    prevalence : float in (0, 1), default None
        Share of the population with the disease, where cases and controls were sampled apart. Mechanisms are
        then learned for that population, and risks are risks in it. None takes the patients for the
        population: right for a cohort, biased for a case-control study, which nothing here can tell.
    kinds : dict, default None
        What columns are, by name (of an array: "x0" or 0), where the guess is wrong: "number", "binary",
        "ordinal", "nominal", or a list of the levels in order. ``provenance_["kinds"]`` says what was taken.
    missing : {"impute", "refuse"}, default "impute"
        What to do about missing values in :meth:`fit`: impute them, or refuse the table.
    knowledge : Knowledge or dict, default None
        What is known of the causal order, which then keeps to it: a :class:`rootcausal.Knowledge`, or its
        fields, as in ``{"first": ["age", "sex"]}``.
    transform : dict, default None
        Columns, by name (of an array: "x0" or 0), that the method is to see on a log scale, as in
        ``{"bili": "log"}``: all values have to be above 0. Missing ones are imputed on that scale, shocks are
        standard deviations of the logarithm, and whatever shows a value shows it in the column's own unit.
        The attribute of this name is the method :meth:`transform`: :meth:`get_params` has the parameter.

    Attributes
    ----------
    causal_order_ : (k,) column indices, in the order found; under local variants only variables that
        stayed dependent on the diagnosis.
    covariates_ : (c,) column indices of variables that are adjusted for: in the risk, and in no order.
    coef_ : (p,) log-odds for each unit-variance error (of a nominal variable its size); zero where dropped.
    ancestor_probability_ : (p,) probability that each variable is an ancestor of the diagnosis; zero for
        variables that the t-test dropped, which in a small cohort may include weak ancestors. None with
        ``attribution="paper"``, which takes every survivor for an ancestor.
    intercept_ : float, log-odds of a patient whose shocks are all average. This is not the prevalence.
    margins_ : (k,) by how much each root won; under pruned search a lower bound. A root that won by next
        to nothing could be another one in a slightly different cohort.
    bootstrap_ : the resamples of :meth:`bootstrap`, or None.
    classes_ : (2,) the labels; ``classes_[1]`` is the disease.
    n_features_in_, feature_names_in_ : as in scikit-learn; names only when X had them.
    provenance_ : dict, how the model was made.
    """

    _encoding: Encoding
    _quantiles: CohortQuantiles | None = None  # files of older models have none
    _cohort: TrainingRows | None = None

    def __init__(
        self,
        *,
        alpha: float = 0.2,
        variant: str = "local_plus",
        attribution: str = "sharp",
        backend: str = "auto",
        positive: Any = None,
        progress: bool = False,
        prevalence: float | None = None,
        kinds: dict[str | int, Any] | None = None,
        missing: str = "impute",
        knowledge: Knowledge | dict[str, Any] | None = None,
        transform: dict[str | int, str] | None = None,
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
        self.__dict__["transform"] = transform

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, as in scikit-learn; ``deep`` makes no difference."""
        return {**super().get_params(deep), "transform": vars(self).get("transform")}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = self.missing == "impute"
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None) -> RCI:
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
            patients, with all of their rows. For AnnData also the name of a column of ``obs``.
        """
        self._check_parameters()
        target = Target(y, self.positive)
        wishes, prevalence, known = self._wishes(), self._settings().prevalence, self.knowledge
        with open_cohort(self, X, target, self.backend, prevalence, wishes, groups, known) as cohort:
            return self._fit(cohort)

    def _check_parameters(self) -> None:
        self._settings()
        self._wishes()
        check_backend(self.backend)

    def _fit(self, cohort: Cohort) -> RCI:
        raw, self.classes_ = cohort.raw, cohort.classes
        if self.positive is None:
            warn_of_choice(self.classes_, "choose by positive={1} or positive={0}", stacklevel=3)
        with ordering_progress() if self.progress else nullcontext() as on_round:
            learned = learn(raw, cohort.columns, self._settings(), on_round, cohort.layout)
        warn_of_fit(learned, cohort, self._settings())
        self._encoding = cohort.encoding
        self._set_model(learned.model, learned.margins, learned.ancestor_probability, learned.completion)
        if cohort.rows is not None:
            values, labels = cohort.rows
            seal = checksum(values) if cohort.borrowed else None
            self._cohort = TrainingRows(
                values, labels, self._settings(), self.backend, seal, cohort.layout, cohort.groups
            )
            whole = learned.completion.draw(values, self._settings().imputation_seed, cohort.layout)
            self._quantiles = CohortQuantiles.of(whole, self._model)
        parameters = plain_parameters(self.get_params(), cohort.encoding.transforms())
        self.provenance_ = how_it_was_made(learned, cohort, parameters)
        return self

    def _settings(self) -> Settings:
        return chosen_settings(self.variant, self.alpha, self.attribution, self.prevalence)

    def _wishes(self) -> Wishes:
        return chosen_wishes(self.kinds, self.missing, vars(self).get("transform"))

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
        self.coef_ = np.zeros(model.n_variables)
        self.coef_[model.order] = model.unit_effects
        self.intercept_ = model.base_value
        self.margins_ = margins
        self.bootstrap_: Bootstrap | None = None
        self._cohort = None
        self._quantiles = None

    def __getstate__(self) -> dict[str, Any]:
        """Patients stay in this process: a copy of the model travels without them."""
        return {**super().__getstate__(), "_cohort": None}

    def bootstrap(
        self,
        n: int = 200,
        *,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        progress: bool = False,
        resume: str | PathLike[str] | None = None,
    ) -> RCI:
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
        check_is_fitted(self)
        rows = rows_at_hand(self._cohort)
        self.bootstrap_ = bootstrap(
            rows, n, random_state=random_state, n_jobs=n_jobs, progress=progress, resume=resume
        )
        self.provenance_ = {**self.provenance_, "bootstrap": how_it_was_resampled(self.bootstrap_)}
        warn_of_resamples(self.bootstrap_)
        return self

    def transform(self, X: Any) -> F64:
        """(n, k): unit-variance errors of the variables in ``causal_order_``, columns in table order."""
        return self._model.errors(self._patients(X).values)[:, np.sort(self.causal_order_)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of :meth:`transform`."""
        check_is_fitted(self)
        return names_out(self, np.sort(self.causal_order_), input_features)

    def _patients(self, X: Any, needed: Index | None = None) -> Matrix:
        """Patients whom the model can score; by default these need covariates and the causal order."""
        check_is_fitted(self)
        needed = self._model.used if needed is None else needed
        return matrix_for_scoring(self, X, needed, self._model.reach(), self._encoding, self._completion)

    def shapley_values(self, X: Any) -> Any:
        """(n, p): log-odds that each shock of a patient adds; zero for non-ancestors and covariates.

        For a dask dataframe this is another one, of which nothing is computed yet.
        """
        check_is_fitted(self)
        if nw.dependencies.is_dask_dataframe(X):
            from .inputs.from_cluster import scored_frame

            known = getattr(self, "feature_names_in_", ())
            if not set(X.columns).issuperset(known):
                self._patients(X._meta)  # says which columns are missing
            return scored_frame(self._shapley, X, names_of(self), known)
        return self._shapley(X)

    def _shapley(self, X: Any) -> F64:
        return self._model.shapley(self._patients(X).values)

    def scores(self, X: Any) -> F64:
        """Shapley values with ``-inf`` for variables that the model does not rank: what the metrics take."""
        values = self._shapley(X)
        unranked = np.ones(values.shape[1], dtype=bool)
        unranked[self.causal_order_] = False
        values[:, unranked] = -np.inf
        return values

    def decision_function(self, X: Any) -> F64:
        """(n,): log-odds of the disease; with a ``prevalence``, in that population."""
        check_is_fitted(self)
        return self._model.log_odds(self._patients(X).values)

    def predict_proba(self, X: Any) -> F64:
        """(n, 2): probability of each class of ``classes_``; with a ``prevalence``, in that population."""
        risk = expit(self.decision_function(X))
        return np.column_stack([1.0 - risk, risk])

    def predict(self, X: Any) -> np.ndarray:
        """(n,): the more probable label."""
        check_is_fitted(self)
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def explain(self, X: Any, ids: Any = None) -> Explanation:
        """Each patient's root causes, with intervals after :meth:`bootstrap`.

        Parameters
        ----------
        X : patients, with the columns of the cohort; a dataframe may lack those that the model, and each of
            its resamples, left out.
        ids : what to call them: a sequence, or the name of a column of X (of AnnData: of ``obs``); by default
            their row numbers (of AnnData: ``obs_names``).
        """
        matrix = self._patients(X, self._needed_variables())
        resamples = self.bootstrap_.models if self.bootstrap_ is not None else ()
        variables = self._encoding.variables
        return Explanation.of(self._model, resamples, matrix, variables, X, ids_of(X, ids), self.provenance_)

    def _needed_variables(self) -> Index:
        """The variables that explanations are made from: a resample may use what the model left out."""
        resamples = self.bootstrap_.models if self.bootstrap_ is not None else ()
        return np.unique(np.concatenate([model.used for model in (self._model, *resamples)]))

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
    ) -> None:
        """Write a page about these patients: one HTML file that works offline and sends nothing.

        Parameters
        ----------
        X : patients, with the columns of the cohort.
        out : the file to write, whole or not at all.
        y : (n,) their diagnoses, if known: the page then says what the checks of the model found, as far as
            these patients allow them.
        ids : what to call them, as in :meth:`explain`.
        units : unit of each variable, by name.
        target : what to call the diagnosis.
        notes : sentences to print under "How it was made".
        redact_ids : put the numbers 1 to n in place of the ids.
        groups : (n,) the patient of each row, where one may have several and ``ids`` do not tell.
        """
        from .report import write_report

        check_is_fitted(self)
        write_report(self, X, out, y, ids, units, target, notes, redact_ids, groups)

    def diagnose(self, X: Any, y: Any = None, ids: Any = None) -> Diagnosis:
        """Check whether the assumptions of the method hold for these patients.

        Parameters
        ----------
        X : the cohort of :meth:`fit`, or new patients.
        y : their diagnosis, as in :meth:`fit`. Without it, or with fewer than two patients of either kind,
            only the checks that need none are made, and the answer says which were not.
        ids : what to call them, as in :meth:`explain`; by default their row numbers, from 1.
        """
        # The checks that look at diagnoses also look at what the model left out.
        matrix = self._patients(X, None if y is None else np.arange(self._model.n_variables))
        values = matrix.drawn(self._encoding.layout)
        labels = None if y is None else encode_known(labels_of(X, y), self.classes_, len(values))
        ids = ids_of(X, ids)
        called = None if ids is None else patient_ids(ids, X, len(values))
        missing = None if matrix.measured is None else np.isnan(matrix.measured)
        stated = self._model.log_odds(matrix.values)
        made, names = self.provenance_, self._encoding
        same = made["rows"] == len(values) and self._quantiles is not None
        of_fit = same and self._quantiles is not None and self._quantiles.are_of(values, self._model)
        return diagnose(Checked(self._model, values, missing, labels, stated, names, called, made, of_fit))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a single file that :meth:`load` reads; no pickle."""
        check_is_fitted(self)
        saving.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> RCI:
        """Read a model written by :meth:`save`; a damaged, foreign or newer file is refused."""
        return saving.load(cls, path)
