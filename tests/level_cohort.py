"""A cohort with numbers and levels of every kind, as a user's table and as columns, and models of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from labelled_rows import learn

from rootcausal import RCI
from rootcausal.backends.choose import choose_table
from rootcausal.estimators.parameters import chosen_settings
from rootcausal.explaining.explanation import Explanation
from rootcausal.inputs.encoding import Encoding
from rootcausal.inputs.kinds import Variable
from rootcausal.inputs.matrices import Matrix
from rootcausal.method.layout import Layout
from rootcausal.method.model import CausalModel
from rootcausal.method.moments import describe_columns
from rootcausal.method.pipeline import Learned
from rootcausal.resampling.bootstrap import Bootstrap, bootstrap
from rootcausal.resampling.training_rows import TrainingRows

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
) -> Explanation:
    """What a model of columns says of patients of whom all was measured."""
    return Explanation.of(model, resamples, Matrix(X, None), variables, None, {"parameters": {}})


def frame_of(X: np.ndarray, variables: tuple[Variable, ...] = VARIABLES) -> pd.DataFrame:
    """Columns as a user has them: a column for each variable, levels in words."""
    sex, ward = (np.array(variables[place].levels, dtype=object) for place in (SEX, WARD))
    columns = (
        X[:, 0],
        sex[X[:, 1].astype(int)],
        ward[(X[:, 2] + 2 * X[:, 3]).astype(int)],
        X[:, 4],
        X[:, 5],
        X[:, 6],
    )
    return pd.DataFrame({one.name: column for one, column in zip(variables, columns, strict=True)})


def with_holes(frame: pd.DataFrame, **holes: int | list[int]) -> pd.DataFrame:
    """The same patients, without what variables, by name, hold in these rows."""
    holed = frame.copy()
    for name, rows in holes.items():
        where = np.isin(np.arange(len(frame)), rows)
        holed[name] = holed[name].where(~where, None if holed[name].dtype == object else np.nan)
    return holed


def fitted(variables: tuple[Variable, ...] = VARIABLES) -> RCI:
    X, y = draw()
    # The guess finds these kinds by itself; which of two hostile texts is the higher one it cannot know.
    kinds = None if variables == VARIABLES else {"sex": list(variables[SEX].levels)}
    model = RCI(variant="plus", alpha=1.0, attribution="paper", backend="numpy", kinds=kinds)
    return model.fit(frame_of(X, variables), y)
