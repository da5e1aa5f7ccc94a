"""Patients beyond the range of the cohort, where relations bend: what was measured of them stays as it is.

The oracle is a propagation in NumPy, patient by patient, that knows a model by its arrays only.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from rootcausal import RCI

# As it should be said of them; here what is predicted is looked at.
pytestmark = pytest.mark.filterwarnings("ignore:unlike the cohort")


def bent_cohort(n: int = 800) -> tuple[pd.DataFrame, np.ndarray]:
    """x bends w, its spread and a stage; y depends on w, and on a switch that nearly all have on."""
    rng = np.random.default_rng(0)
    x = rng.exponential(size=n) - 1.0
    w = 1.2 * np.tanh(x) + x + (0.3 + 0.2 * (x > 0)) * rng.laplace(size=n)
    stage = np.searchsorted([0.0, 1.5], 2.0 * x + rng.logistic(size=n))
    on = (rng.random(n) < 0.95).astype(int)
    y = (rng.random(n) < 1 / (1 + np.exp(-1.2 * w - 2.0 * (on - 0.95)))).astype(int)
    return pd.DataFrame({"x": x, "w": w, "stage": stage, "on": on}), y


@pytest.fixture(scope="module")
def cohort() -> tuple[pd.DataFrame, np.ndarray]:
    return bent_cohort()


@pytest.fixture(scope="module")
def model(cohort: tuple[pd.DataFrame, np.ndarray]) -> RCI:
    X, y = cohort
    known = {"not_causes": [("x", "outcome")]}
    return RCI(mechanism="nonlinear", kinds={"stage": "ordinal"}, alpha=1.0, knowledge=known).fit(X, y)


@pytest.fixture(scope="module")
def outside(cohort: tuple[pd.DataFrame, np.ndarray]) -> pd.DataFrame:
    """Patients beyond the range in x, in w, and in both."""
    X, _ = cohort
    width = X.max() - X.min()
    return pd.DataFrame(
        {
            "x": [X.x.max() + step * width.x for step in (0.01, 0.3, 2.0)] + [X.x.min() - width.x, 0.5, 9.0],
            "w": [0.5, 0.5, 0.5, -1.0, X.w.max() + width.w, X.w.min() - width.w],
            "stage": [0, 1, 2, 2, 0, 1],
            "on": [1, 0, 1, 1, 0, 1],
        }
    )


class Oracle:
    """A model's arrays, and what they say of one patient."""

    def __init__(self, model: RCI) -> None:
        self.mechanism, self.risk = model._model.mechanism, model._model.attribution

    def curve(self, pieces: np.ndarray, place: int, value: float) -> float:
        piece = pieces[int((self.mechanism.knots[place] <= value).sum())]
        return float(sum(part * value**power for power, part in enumerate(piece)))

    def expected(self, place: int, z: np.ndarray) -> tuple[float, float]:
        m = self.mechanism
        f, log_g = m.constant[place]
        for arrow in np.flatnonzero(m.effect == place):
            f += self.curve(m.expected[arrow], m.cause[arrow], z[m.cause[arrow]])
            log_g += self.curve(m.spread[arrow], m.cause[arrow], z[m.cause[arrow]])
        for product in np.flatnonzero(m.product_effect == place):
            both = np.clip(z[m.factor[product]], -2.5, 2.5) * np.clip(z[m.other_factor[product]], -2.5, 2.5)
            f += m.expected_product[product] * both
            log_g += m.spread_product[product] * both
        if not m.n_levels[place]:
            return f, float(np.exp(np.clip(log_g, *m.log_spread[place])))
        values, cuts = m.levels_at(place)
        f = np.clip(f, *m.log_spread[place])
        share = np.diff([0.0, *(1 / (1 + np.exp(f - cuts))), 1.0])
        mean = float(values @ share)
        return mean, float(np.sqrt(max(values**2 @ share - mean**2, 1e-9)))

    def values(self, errors: np.ndarray) -> np.ndarray:
        z = np.zeros_like(errors)
        for place, error in enumerate(errors):
            mean, spread = self.expected(place, z)
            own = self.mechanism.error_mean[place] + self.mechanism.error_sd[place] * error
            z[place] = mean + spread * own
        return z

    def log_odds(self, z: np.ndarray) -> float:
        """Of values in standard units: beyond the range what a variable adds is flat."""
        seen = np.clip(z, *self.risk.range.T)
        told = self.risk.intercept + sum(self.curve(c, i, seen[i]) for i, c in enumerate(self.risk.curves))
        kept = np.clip(seen, -2.5, 2.5)
        return float(told + self.risk.product @ (kept[self.risk.factor] * kept[self.risk.other_factor]))


def standard(model: RCI, X: pd.DataFrame) -> np.ndarray:
    mechanism = model._model.mechanism
    return (X.to_numpy(float)[:, mechanism.order] - mechanism.mean) / mechanism.sd


def test_a_measured_effect_is_not_replaced(model: RCI, cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    """The outcome depends on w alone: however extreme its cause, the risk is that of w."""
    X, _ = cohort
    acts = np.abs(model._model.attribution.curves).max(axis=(1, 2)) > 0
    assert set(X.columns[model._model.mechanism.order[acts]]) == {"w", "on"}
    steps = np.array([0.0, 0.1, 0.5, 2.0, 1e3, 1e7])
    extreme = pd.DataFrame({"x": X.x.max() + steps, "w": 0.5, "stage": 1, "on": 1})
    told, same = model.predict_proba(extreme)[:, 1], model.predict_proba(extreme.assign(x=1.0))[:, 1]
    np.testing.assert_allclose(told[:-1], same[:-1], atol=1e-9)
    assert told[-1] == pytest.approx(same[-1], abs=1e-4)  # ten digits of w went into the size of x
    values = model.shapley_values(extreme)
    np.testing.assert_allclose(values[-1], values[-2], atol=0.05 * np.abs(values[-2]).max())


def test_risks_beyond_the_range_are_those_of_the_measured_values(model: RCI, outside: pd.DataFrame) -> None:
    told = [Oracle(model).log_odds(z) for z in standard(model, outside)]
    np.testing.assert_allclose(model.decision_function(outside), told, atol=1e-9)
    ends = outside.copy()
    ends["w"] = ends["w"].clip(*bent_cohort()[0].w.agg(["min", "max"]))
    np.testing.assert_allclose(model.decision_function(ends), told, atol=1e-9)  # flat, and no cliff


def test_errors_beyond_the_range_lead_back_to_the_values(model: RCI, outside: pd.DataFrame) -> None:
    errors = model._model._errors_in_order(outside.to_numpy(float))
    for mine, z in zip(errors, standard(model, outside), strict=True):
        np.testing.assert_allclose(Oracle(model).values(mine), z, atol=1e-9)
    # A shock that is set to what it is leaves the patient as they are.
    place = list(outside).index("x")
    for row in range(len(outside)):
        told = model.explain(outside.iloc[[row]])
        same = told.what_if("x", error=float(told.errors[0, place]))
        np.testing.assert_allclose(same.data[0, :2], outside.iloc[row, :2].astype(float), atol=1e-9)
        np.testing.assert_allclose(same.predictor, told.predictor, atol=1e-9)


def test_errors_grow_along_lines_and_do_not_explode(
    model: RCI, cohort: tuple[pd.DataFrame, np.ndarray]
) -> None:
    X, _ = cohort
    x = X.x.max() + np.arange(100.0, 2000.0, 100.0)  # where the spread has come to its limit
    far = pd.DataFrame({"x": x, "w": 0.5, "stage": 0, "on": 1})
    errors = pd.DataFrame(model.transform(far), columns=model.get_feature_names_out())
    for name in errors:
        size = 1.0 + np.abs(errors[name]).max()
        np.testing.assert_allclose(np.diff(errors[name], 2), 0.0, atol=1e-9 * size, err_msg=name)
    # A stage that nobody has who has such an x is as odd as it would be at the largest x, and no odder.
    at_end = pd.DataFrame(model.transform(far[:1].assign(x=X.x.max())), columns=list(errors))
    np.testing.assert_allclose(errors["stage"], at_end["stage"][0], rtol=1e-9)


def exact_shapley(model: RCI, errors: np.ndarray, people: np.ndarray) -> np.ndarray:
    """By all orders, averaged over people whose errors were drawn."""
    oracle = Oracle(model)
    known: dict[tuple[int, ...], float] = {}

    def told(of_patient: tuple[int, ...]) -> float:
        if of_patient not in known:
            drawn = people.copy()
            drawn[:, of_patient] = errors[list(of_patient)]
            known[of_patient] = float(np.mean([oracle.log_odds(oracle.values(one)) for one in drawn]))
        return known[of_patient]

    values = np.zeros(errors.size)
    orders = list(permutations(range(errors.size)))
    for order in orders:
        for at, place in enumerate(order):
            before, after = (tuple(sorted(order[:end])) for end in (at, at + 1))
            values[place] += (told(after) - told(before)) / len(orders)
    return values


def test_shapley_values_beyond_the_range_are_exact_and_add_up(model: RCI, outside: pd.DataFrame) -> None:
    values = model.shapley_values(outside)
    told = model.decision_function(outside)
    np.testing.assert_allclose(model.intercept_ + values.sum(axis=1), told, atol=1e-9)
    attribution = model._model.attribution
    # Errors that act in proportion are told from zero, the others from those of the cohort.
    people = np.zeros((128, 4))
    shares = np.random.default_rng(1).permuted(np.tile((np.arange(128) + 0.5) / 128, (4, 1)), axis=1)
    for place in attribution._drawn:
        people[:, place] = np.interp(shares[place], np.linspace(0, 1, 129), attribution.quantiles[place])
    errors = model._model._errors_in_order(outside.to_numpy(float))
    order = model._model.mechanism.order
    for row in (2, 4, 5):
        exact = exact_shapley(model, errors[row], people)
        np.testing.assert_allclose(values[row, order], exact, atol=0.1 + 0.03 * np.abs(exact).max())


def test_a_switch_that_nearly_all_have_on_adds_what_its_line_says(
    model: RCI, cohort: tuple[pd.DataFrame, np.ndarray]
) -> None:
    """Its range ends a quarter of a standard deviation above its mean."""
    X, _ = cohort
    two = pd.DataFrame({"x": 0.0, "w": 0.0, "stage": 1, "on": [0, 1]})
    apart = np.diff(model.decision_function(two))[0]
    place = list(X).index("on")
    assert apart == pytest.approx(np.diff(model.shapley_values(two)[:, place])[0], abs=1e-9)
    assert apart > 1.0
