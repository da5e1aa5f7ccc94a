"""The methods of the card: baselines that are told nothing, methods of others, and those of this package."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from ..errors import MissingExtraError
from ..estimators.classifier import RCI
from ..estimators.outliers import RootCauseOutliers
from ..experiments.methods import own_class
from ..method.table import F64
from .trial import Method, Trial

LABELS = "cases, not their faults"
GRAPH = "the true graph"
SEED = 0


class ZScore(Method):
    """How many standard deviations a value is off."""

    name: ClassVar[str] = "z-score"

    def scores(self, trial: Trial) -> F64:
        return trial.by_unit(np.abs((trial.rows - trial.mean) / trial.sd))


class RobustZ(Method):
    """By median and interquartile range, the largest of a period: as BARO scores (Pham et al. 2024)."""

    name: ClassVar[str] = "robust z (BARO-like)"

    def scores(self, trial: Trial) -> F64:
        low, middle, high = np.percentile(trial.reference, [25, 50, 75], axis=0)
        spread = np.where(high > low, high - low, trial.sd)
        z = np.abs(trial.rows - middle) / spread
        found = np.zeros((len(trial.answers), z.shape[1]))
        np.maximum.at(found, trial.unit, z)
        return found


def information(trial: Trial) -> F64:
    """(m, p): -log of the share of the reference that is at least as far from its mean."""
    found = np.empty_like(trial.rows)
    for column in range(found.shape[1]):
        far = np.sort(np.abs(trial.reference[:, column] - trial.mean[column]))
        asked = np.abs(trial.rows[:, column] - trial.mean[column])
        above = far.size - np.searchsorted(far, asked, side="left")
        found[:, column] = -np.log((above + 1.0) / (far.size + 1.0))
    return found


class ScoreOrdering(Method):
    """The variable that is the most surprising by itself (Okati et al. 2024)."""

    name: ClassVar[str] = "score ordering"

    def scores(self, trial: Trial) -> F64:
        return trial.by_unit(information(trial))


class SmoothTraversal(Method):
    """The variable that is surprises more than its most surprising cause, by the most (Okati et al. 2024)."""

    name: ClassVar[str] = "smooth traversal"
    told: ClassVar[str] = GRAPH

    def applies(self, trial: Trial) -> bool:
        return trial.causes is not None

    def scores(self, trial: Trial) -> F64:
        assert trial.causes is not None, "it does not apply without a graph"
        surprise = trial.by_unit(information(trial))
        gap = surprise.copy()
        for column, name in enumerate(trial.columns):
            causes = [trial.columns.index(cause) for cause in trial.causes[name]]
            if causes:
                gap[:, column] -= surprise[:, causes].max(axis=1)
        return gap


class DowhyNoise(Method):
    """Noise terms of an additive noise model of the true graph, by their surprise (dowhy.gcm)."""

    name: ClassVar[str] = "dowhy.gcm noise"
    told: ClassVar[str] = GRAPH

    def applies(self, trial: Trial) -> bool:
        return trial.causes is not None

    def fit(self, trial: Trial) -> None:
        try:
            import networkx
            import pandas
            from dowhy import gcm
        except ImportError as error:
            raise MissingExtraError("dowhy.gcm needs dowhy: pip install 'rootcausal[dowhy]'") from error
        assert trial.causes is not None, "it does not apply without a graph"
        graph = networkx.DiGraph()
        graph.add_nodes_from(trial.columns)
        graph.add_edges_from((cause, name) for name, some in trial.causes.items() for cause in some)
        gcm.util.general.set_random_seed(SEED)
        self._frame = pandas.DataFrame
        self._model = gcm.InvertibleStructuralCausalModel(graph)
        reference = pandas.DataFrame(trial.reference, columns=trial.columns)
        gcm.auto.assign_causal_mechanisms(self._model, reference)
        gcm.fit(self._model, reference)
        self._noise = self._noise_of(reference)

    def _noise_of(self, rows: Any) -> F64:
        from dowhy.gcm._noise import compute_noise_from_data

        found = compute_noise_from_data(self._model, rows)
        return np.asarray(found[list(rows.columns)], dtype=np.float64)

    def scores(self, trial: Trial) -> F64:
        noise = self._noise_of(self._frame(trial.rows, columns=trial.columns))
        usual = self._noise
        return trial.by_unit(np.abs((noise - usual.mean(axis=0)) / usual.std(axis=0)))


class LogisticShap(Method):
    """SHAP values of a logistic regression: its coefficient times the distance from the mean."""

    name: ClassVar[str] = "logistic SHAP"
    told: ClassVar[str] = LABELS

    def applies(self, trial: Trial) -> bool:
        return len(trial.cases) > 0

    def fit(self, trial: Trial) -> None:
        from sklearn.linear_model import LogisticRegression

        X, y = trial.labelled()
        model = LogisticRegression(max_iter=2000).fit((X - trial.mean) / trial.sd, y)
        self._coef = model.coef_[0]

    def scores(self, trial: Trial) -> F64:
        return trial.by_unit((trial.rows - trial.mean) / trial.sd * self._coef)


class TreeShap(Method):
    """SHAP values of boosted trees (Lundberg et al. 2020)."""

    name: ClassVar[str] = "TreeSHAP"
    told: ClassVar[str] = LABELS

    def applies(self, trial: Trial) -> bool:
        return len(trial.cases) > 0

    def fit(self, trial: Trial) -> None:
        try:
            import shap
        except ImportError as error:
            raise MissingExtraError("TreeSHAP needs shap: pip install 'rootcausal[shap]'") from error
        from sklearn.ensemble import GradientBoostingClassifier

        model = GradientBoostingClassifier(random_state=SEED).fit(*trial.labelled())
        self._explainer = shap.TreeExplainer(model)

    def scores(self, trial: Trial) -> F64:
        return trial.by_unit(np.asarray(self._explainer.shap_values(trial.rows), dtype=np.float64))


class RootCauses(Method):
    """Shapley values of RCI, learned from reference and cases."""

    told: ClassVar[str] = LABELS
    asked: ClassVar[dict[str, Any]]

    def applies(self, trial: Trial) -> bool:
        return len(trial.cases) > 0

    def fit(self, trial: Trial) -> None:
        self._model = RCI(positive=1, **self.asked).fit(*trial.labelled())

    def scores(self, trial: Trial) -> F64:
        return trial.by_unit(self._model.shapley_values(trial.rows))


class RCIPaper(RootCauses):
    """With the attribution of the paper."""

    name: ClassVar[str] = "RCI paper"
    asked: ClassVar[dict[str, Any]] = {"attribution": "paper"}


class RCILinear(RootCauses):
    """With linear mechanisms."""

    name: ClassVar[str] = "RCI linear"
    asked: ClassVar[dict[str, Any]] = {"mechanism": "linear"}


class RCIAuto(RootCauses):
    """As it comes: with nonlinear mechanisms where they are called for."""

    name: ClassVar[str] = "RCI auto"
    asked: ClassVar[dict[str, Any]] = {"mechanism": "auto"}


class Outliers(Method):
    """Departure from the reference rows, and nothing else is told."""

    name: ClassVar[str] = "RootCauseOutliers"

    def options(self, trial: Trial) -> dict[str, Any]:
        """What the estimator is made with."""
        return {}

    def fit(self, trial: Trial) -> None:
        self._model = RootCauseOutliers(**self.options(trial)).fit(trial.reference)

    def scores(self, trial: Trial) -> F64:
        found = self._model.explain(trial.rows, groups=None if trial.single else trial.unit)
        surprise = found.surprise[np.argsort(np.array(found.ids))]
        return np.where(np.isnan(surprise), -np.inf, surprise)

    def p_values(self, rows: F64) -> F64:
        found = self._model.explain(rows)
        return np.asarray(np.nanmin(found.adjusted, axis=1))


class OutliersFirst(Outliers):
    """Told what comes first."""

    name: ClassVar[str] = "RootCauseOutliers, first"
    told: ClassVar[str] = "what comes first"

    def applies(self, trial: Trial) -> bool:
        return bool(trial.first)

    def options(self, trial: Trial) -> dict[str, Any]:
        return {"knowledge": {"first": [f"x{trial.columns.index(name)}" for name in trial.first]}}


class OutliersCases(Outliers):
    """With cases beside the reference rows."""

    name: ClassVar[str] = "RootCauseOutliers, cases"
    told: ClassVar[str] = LABELS

    def applies(self, trial: Trial) -> bool:
        return len(trial.cases) > 0

    def fit(self, trial: Trial) -> None:
        self._model = RootCauseOutliers(positive=1).fit(*trial.labelled())


METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        ZScore,
        RobustZ,
        ScoreOrdering,
        SmoothTraversal,
        DowhyNoise,
        LogisticShap,
        TreeShap,
        RCIPaper,
        RCILinear,
        RCIAuto,
        Outliers,
        OutliersFirst,
        OutliersCases,
    )
}


@contextmanager
def quietly() -> Iterator[None]:
    """Methods warn of much that a benchmark is not about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def find_method(name: str) -> type[Method]:
    """A method of the card by its name, or ``package.module:Class``."""
    if name in METHODS:
        return METHODS[name]
    found: type[Method] = own_class(name, "method", list(METHODS), ("applies", "fit", "scores", "p_values"))
    return found
