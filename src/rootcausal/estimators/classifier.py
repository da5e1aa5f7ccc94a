"""RCI, the estimator of a diagnosis that is yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..inputs.binary import Diagnosis
from ..inputs.knowledge import Knowledge
from ..inputs.outcomes import Target
from ..inputs.patients import Cohort
from ..inputs.target import warn_of_choice
from ..method.pipeline import Settings
from ..method.table import F64
from .base import OfOneColumn, told_of_all
from .parameters import chosen_settings

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
    mechanism : {"linear", "nonlinear", "auto"}, default "linear"
        How variables come from their causes. ``linear`` is the paper's. ``nonlinear`` fits curves
        and spreads that differ, x = f(causes) + g(causes) · error, and pushes a risk model of the variables
        through them: Shapley values are sampled where paths are nonlinear, and there is no ``coef_``.
        ``auto`` takes it where the check of linearity fails, or where it describes the cohort in clearly
        less, and the linear one elsewhere; ``provenance_["mechanism"]`` says which was taken and why.
    confounding : {"merge"}, default None
        What to do about variables whose errors stay dependent, as something unmeasured that moves them leaves
        them: with "merge" they are looked for, and what they add is told as that of one set
        (``merged_sets_``); patients have to be in memory. None tells it of each variable.

    Attributes
    ----------
    causal_order_ : (k,) column indices, in the order found; under local variants only variables that
        stayed dependent on the diagnosis.
    covariates_ : (c,) column indices of variables that are adjusted for: in the risk, and in no order.
    coef_ : (p,) log-odds for each unit-variance error (of a nominal variable its size); zero where dropped.
        Not there where the mechanism is not linear: what an error adds then differs between patients.
    ancestor_probability_ : (p,) probability that each variable is an ancestor of the diagnosis; of those that
        the t-test dropped, by how clearly it did, and by how many ancestors the others hold. None with
        ``attribution="paper"``, which takes every survivor for an ancestor, and where the mechanism is not
        linear.
    intercept_ : float, log-odds of a patient whose shocks are all average; where the mechanism is not linear,
        their mean over shocks. This is not the prevalence.
    margins_ : (k,) by how much each root won; under pruned search a lower bound. A root that won by next
        to nothing could be another one in a slightly different cohort. Where the mechanism is not linear,
        what it would cost, in nats, to turn round the least sure arrow of the variable.
    merged_sets_ : tuple of tuples of column indices, the variables that are read as one; see ``confounding``.
    bootstrap_ : the resamples of :meth:`bootstrap`, or None.
    classes_ : (2,) the labels; ``classes_[1]`` is the disease.
    n_features_in_, feature_names_in_ : as in scikit-learn; names only when X had them.
    provenance_ : dict, how the model was made; ``findings`` is what fit and checks found.
    """

    outcome: ClassVar[str] = "binary"

    def __init__(
        self,
        *,
        alpha: float | None = None,
        variant: str = "local_plus",
        attribution: str = "sharp",
        backend: str = "auto",
        positive: Any = None,
        progress: bool = False,
        prevalence: float | None = None,
        kinds: dict[str | int, Any] | None = None,
        missing: str = "impute",
        knowledge: Knowledge | dict[str, Any] | None = None,
        log: Sequence[str | int] | None = None,
        mechanism: str = "linear",
        confounding: str | None = None,
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
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
            patients, with all of their rows. Also the name of a column of X, which is then no variable (of
            AnnData: of ``obs``).
        """
        return self._fit(X, self._known(y), groups)

    def _settings(self) -> Settings:
        alpha = PAPERS_LEVEL if self.alpha is None and self.attribution == "paper" else self.alpha
        return chosen_settings(self.variant, alpha, self.attribution, self.prevalence, self.mechanism)

    def _take_classes(self, cohort: Cohort) -> list[str]:
        self.classes_ = cohort.classes
        if self.positive is not None:
            return []
        how = "choose by positive={1} or positive={0}"
        return warn_of_choice(self.classes_, cohort.label_name, how, stacklevel=5)

    def decision_function(self, X: Any) -> F64:
        """(n,): log-odds of the disease; with a ``prevalence``, in that population."""
        check_is_fitted(self)
        return self._predictor(X)

    def predict_proba(self, X: Any) -> F64:
        """(n, 2): probability of each class of ``classes_``; with a ``prevalence``, in that population."""
        risk = expit(self.decision_function(X))
        return np.column_stack([1.0 - risk, risk])

    def predict(self, X: Any) -> np.ndarray:
        """(n,): the more probable label."""
        check_is_fitted(self)
        return self.classes_[(told_of_all(self.decision_function(X)) > 0).astype(int)]

    def _known(self, y: Any) -> Target:
        return Diagnosis(y, self.positive)
