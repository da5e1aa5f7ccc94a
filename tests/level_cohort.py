"""A cohort with numbers and levels of every kind, as columns of a table, and a model of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rootcausal import RCI
from rootcausal.backends.choose import choose_table
from rootcausal.core.layout import Layout
from rootcausal.core.model import CausalModel
from rootcausal.core.moments import describe_columns
from rootcausal.core.pipeline import Learned, learn
from rootcausal.core.quantiles import CohortQuantiles
from rootcausal.explanation import Explanation
from rootcausal.inputs.encoding import Encoding
from rootcausal.inputs.kinds import Variable
from rootcausal.inputs.matrices import Matrix
from rootcausal.parameters import chosen_settings
from rootcausal.uncertainty.resample import Bootstrap, bootstrap
from rootcausal.uncertainty.training_rows import TrainingRows

VARIABLES = (
    Variable("age", "number"),
    Variable("sex", "binary", ("female", "male")),
    Variable("ward", "nominal", ("surgery", "ICU", "medicine")),
    Variable("stage", "ordinal", (1.0, 2.0, 3.0, 4.0)),
    Variable("bili", "number"),
    Variable("noise", "number"),
)
AGE, SEX, WARD, STAGE, BILI, NOISE = range(6)


def layout_of(variables: tuple[Variable, ...]) -> Layout:
    return Encoding(variables).layout


def draw(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns age, sex, ward = ICU, ward = medicine, stage, bili, noise; and labels."""
    rng = np.random.default_rng(seed)
    age = 60 + 10 * rng.gamma(2.0, 0.7, n)
    sex = (rng.random(n) < 0.45).astype(float)
    ward = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    stage = np.clip(np.round(1 + rng.exponential(1.0, n) + 0.4 * (ward == 1)), 1, 4)
    bili = 1 + rng.exponential(1.0, n) + 0.8 * (ward == 1) + 0.4 * stage + 0.5 * sex
    X = np.column_stack([age, sex, ward == 1, ward == 2, stage, bili, rng.laplace(size=n)])
    log_odds = 0.06 * (age - 74) + 1.2 * sex + 1.6 * (ward == 1) - 0.9 * (ward == 2) + 0.7 * (bili - 3.5)
    return X, (log_odds + rng.logistic(size=n) > 0).astype(int)


def learn_from(X: np.ndarray, y: np.ndarray, layout: Layout, attribution: str = "paper") -> Learned:
    raw = choose_table("numpy", X, y)
    settings = chosen_settings("plus", 1.0, attribution, None)
    return learn(raw, describe_columns(raw), settings, layout=layout)


def resamples_of(X: np.ndarray, y: np.ndarray, layout: Layout, n: int = 8) -> Bootstrap:
    settings = chosen_settings("plus", 1.0, "paper", None)
    rows = TrainingRows(X, y, settings, "numpy", None, layout)
    return bootstrap(rows, n, random_state=0, n_jobs=None, progress=False, resume=None)


def explain(
    model: CausalModel,
    X: np.ndarray,
    variables: tuple[Variable, ...] = VARIABLES,
    resamples: tuple[CausalModel, ...] = (),
    **more: Any,
) -> Explanation:
    provenance = {"parameters": {}}
    return Explanation.of(model, resamples, Matrix(X, None), variables, X, None, provenance, **more)


class Levelled(RCI):
    """An estimator whose door is open to columns only: X is a table of them, already without holes."""

    hole: Any = None  # (n, p) which values were filled in, and (n, p) what that adds

    def of(self, X: np.ndarray, y: np.ndarray, variables: tuple[Variable, ...]) -> Levelled:
        found = learn_from(X, y, layout_of(variables))
        RCI.fit(self, X[:, : len(variables)], y)  # sets what is not about variables
        self._encoding = Encoding(variables)
        self.feature_names_in_ = np.array([variable.name for variable in variables], dtype=object)
        self._set_model(found.model, found.margins, found.ancestor_probability)
        self._quantiles = CohortQuantiles.of(X, found.model)
        self.provenance_ |= {"exhausted": [], "adds_nothing": [], "columns": len(variables)}
        return self

    def _patients(self, X: Any, needed: Any = None) -> Matrix:
        return Matrix(np.asarray(X, dtype=float), None)

    def explain(self, X: Any, ids: Any = None) -> Explanation:
        resamples = () if self.bootstrap_ is None else self.bootstrap_.models
        imputed, sd = (None, None) if self.hole is None else self.hole
        found = Explanation.of(
            self._model,
            resamples,
            self._patients(X),
            self._encoding.variables,
            X,
            ids,
            self.provenance_,
            sd,
        )
        return replace(found)
