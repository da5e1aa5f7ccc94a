"""Rules that name the outcome: what is known to act on it directly, and what is known not to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rootcausal import RCI, Knowledge, RCIRegressor, RCISurvival
from rootcausal.errors import InputError


def trial(seed: int = 0, n: int = 600, p: int = 8) -> tuple[pd.DataFrame, pd.Series]:
    """A weak arm beside columns of which two matter."""
    g = np.random.default_rng(seed)
    X = g.laplace(size=(n, p))
    X[:, 1] += X[:, 0]
    arm = g.integers(0, 2, n)
    log_odds = -1.8 - 0.75 * arm + 0.8 * X[:, 1] - 0.6 * X[:, 2]
    y = (g.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)
    frame = pd.DataFrame(X, columns=[f"x{c}" for c in range(p)]).assign(arm=arm)
    return frame, pd.Series(y, name="died")


def effect_of(model: RCI, name: str) -> float:
    return float(model.coef_[list(model.feature_names_in_).index(name)])


@pytest.mark.parametrize("called", ["died", "outcome"])
def test_a_known_cause_is_not_shrunk_as_one_that_may_be_none(called: str) -> None:
    known = Knowledge(first=["arm"], causes=[("arm", called)])
    effects = []
    for seed in range(6):
        X, y = trial(seed)
        plain = RCI(alpha=1, attribution="paper", knowledge={"first": ["arm"]}).fit(X, y)
        model = RCI(knowledge=known).fit(X, y)
        assert model.ancestor_probability_[list(X).index("arm")] == 1.0
        effects.append((effect_of(model, "arm"), effect_of(plain, "arm")))
    known_effect, unshrunk = np.mean(effects, axis=0)
    assert 0.8 < known_effect / unshrunk < 1.05


def test_no_test_drops_a_known_cause() -> None:
    g = np.random.default_rng(3)
    X, y = trial(3)
    X["noise"] = g.normal(size=len(X))
    model = RCI(alpha=1e-6, knowledge={"causes": [("noise", "died")]}).fit(X, y)
    assert list(X).index("noise") in model.causal_order_


def test_what_does_not_act_directly_has_only_what_others_pass_on() -> None:
    X, y = trial(1)
    chance = np.random.default_rng(2).logistic(size=len(X))
    y = pd.Series((X["x0"] + X["x1"] + chance > 0.3).astype(int), name="died")
    free = RCI().fit(X, y)
    model = RCI(knowledge={"not_causes": [("x2", "died"), ("x0", "died")], "first": ["x0"]}).fit(X, y)
    assert effect_of(model, "x2") == pytest.approx(0.0, abs=0.02)  # what others pass on
    places = [list(X).index(name) for name in ("x2", "x0")]
    assert model.ancestor_probability_[places[0]] < 0.2
    assert model.ancestor_probability_[places[1]] > 0.96  # by x1, as surely as an arrow can be in 600 rows
    assert abs(effect_of(model, "x0")) < abs(effect_of(free, "x0"))


def test_numbers_and_times_take_it_too() -> None:
    X, y = trial(2)
    g = np.random.default_rng(0)
    number = pd.Series(0.1 * X["arm"] + X["x1"] + g.normal(size=len(X)), name="score")
    model = RCIRegressor(knowledge={"causes": [("arm", "score")]}).fit(X, number)
    assert model.ancestor_probability_[-1] == 1.0
    time = pd.Series(g.exponential(np.exp(-0.1 * X["arm"])), name="days")
    for called in ("died", "days", "outcome"):
        model = RCISurvival(knowledge={"causes": [("arm", called)]}).fit(X, time, y)
        assert model.ancestor_probability_[-1] == 1.0


def test_it_comes_back_with_the_model(tmp_path) -> None:
    X, y = trial(4)
    known = {"causes": [("arm", "died")], "not_causes": [("x3", "died")]}
    model = RCI(knowledge=known).fit(X, y).bootstrap(3)
    model.save(tmp_path / "model.rci")
    again = RCI.load(tmp_path / "model.rci")
    assert again.knowledge == Knowledge(causes=[("arm", "died")], not_causes=[("x3", "died")])
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert effect_of(again, "x3") == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize(
    ("knowledge", "told"),
    [
        ({"causes": [("arm", "dead")]}, "no variable of the table: 'dead'"),
        ({"causes": [("arm", "died")], "not_causes": [("arm", "died")]}, "these go round in a circle"),
        ({"first": ["arm"], "not_causes": [("arm", "x1")]}, "'arm' is in first"),
    ],
)
def test_what_cannot_hold_is_told(knowledge: dict, told: str) -> None:
    X, y = trial()
    with pytest.raises(InputError, match=told):
        RCI(knowledge=knowledge).fit(X, y)


def test_first_and_no_cause_of_the_outcome_go_together() -> None:
    """Age may act by others only; of two columns, the same words would be a contradiction."""
    X, y = trial()
    model = RCI(knowledge=Knowledge(first=["x0"], not_causes=[("x0", "died")])).fit(X, y)
    assert model.causal_order_[0] == 0


def test_who_cannot_take_it_in_says_so() -> None:
    X, y = trial()
    with pytest.raises(InputError, match="what acts on the outcome"):
        RCI(knowledge={"not_causes": [("x2", "died")]}, attribution="paper").fit(X, y)


def test_a_cluster_keeps_rules_about_the_outcome() -> None:
    dd = pytest.importorskip("dask.dataframe")
    X, y = trial(5, p=3)
    known = Knowledge(first=["arm"], causes=[("arm", "died")], not_causes=[("x2", "outcome")])
    there = RCI(knowledge=known, backend="dask").fit(dd.from_pandas(X.assign(died=y), npartitions=2), "died")
    here = RCI(knowledge=known).fit(X, y)
    assert there.ancestor_probability_[list(X).index("arm")] == 1.0
    assert there.ancestor_probability_ == pytest.approx(here.ancestor_probability_, abs=1e-6)
    assert there.coef_ == pytest.approx(here.coef_, abs=1e-6)
    assert abs(effect_of(there, "x2")) < 0.1 < abs(effect_of(RCI().fit(X, y), "x2"))
