"""Nonlinear equations are the same wherever rows lie: in memory, on a GPU and on a cluster."""

from __future__ import annotations

from functools import partial, reduce
from itertools import pairwise
from operator import add
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from zoo import Animal
from zoo_fits import every_animal

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival
from rootcausal.backends.cpu.rows import NumbaTable
from rootcausal.nonlinear import array_rows, learning, places
from rootcausal.nonlinear.scattered import ScatteredPlain

KINDS = {"level": "ordinal"}
ESTIMATORS: dict[str, Any] = {"binary": RCI, "survival": RCISurvival, "continuous": RCIRegressor}


def cohort(n: int, seed: int = 0) -> pd.DataFrame:
    """A rounded cause, its bent effect of uneven spread, a level of that, heaps of zeros, and outcomes."""
    rng = np.random.default_rng(seed)
    dose = np.round(rng.uniform(-1.7, 1.7, n), 1)
    effect = np.tanh(2 * dose) + (0.3 + 0.3 * (dose > 0)) * rng.standard_t(5, n)
    level = np.searchsorted([-1.0, 0.5], effect + rng.logistic(size=n))
    zeros = np.where(rng.random(n) < 0.3, 0.0, rng.exponential(size=n))
    sex = np.where(rng.random(n) < 0.5, "f", "m")
    risk = effect**2 + zeros + 0.5 * (sex == "f")
    ill = (risk + rng.logistic(size=n) > 1.5).astype(int)
    time = np.ceil(100 * rng.exponential(size=n) * np.exp(-0.5 * risk))
    seen = {"dose": dose, "effect": effect, "level": level, "zeros": zeros, "sex": sex}
    return pd.DataFrame(seen | {"ill": ill, "time": time, "value": risk + rng.normal(size=n)})


def outcome_of(kind: str, frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Any, ...]]:
    """Variables, and what the fit is told of the outcome."""
    told = {"binary": ("ill",), "survival": ("time", "ill"), "continuous": ("value",)}[kind]
    return frame.drop(columns=["ill", "time", "value"]), tuple(frame[name] for name in told)


def are_the_same(model: Any, expected: Any) -> None:
    one, other = model._model.mechanism, expected._model.mechanism
    np.testing.assert_array_equal(one.order, other.order)
    for name in ("cause", "effect", "form", "factor", "product_effect", "n_levels"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("knots", "constant", "expected", "spread", "log_spread", "error_sd", "thresholds"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=1e-8, atol=1e-8, err_msg=name
        )
    for name in ("curves", "quantiles", "range", "intercept", "average"):
        found, wanted = (getattr(each._model.attribution, name) for each in (model, expected))
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8, err_msg=name)
    # By how many nats graphs differ.
    np.testing.assert_allclose(model.margins_, expected.margins_, rtol=1e-8)
    assert model.provenance_["pairs_evaluated"] == expected.provenance_["pairs_evaluated"]


class Shards:
    """The rows of a table in several places, one of which has none."""

    def __init__(self, places: list[Any]) -> None:
        self.places = places

    @classmethod
    def of(cls, table: NumbaTable) -> Shards:
        columns, labels = table.columns, table.labels
        assert labels is not None
        n = columns.shape[1]
        edges = [0, n // 3, n // 3, n // 3 + 1, n]
        cuts = [slice(a, b) for a, b in pairwise(edges)]
        return cls([SimpleNamespace(table=NumbaTable(columns[:, cut], labels[cut])) for cut in cuts])

    def made(self, make: Any) -> Shards:
        return Shards([make(rows, place) for place, rows in enumerate(self.places)])

    def asked(self, ask: Any) -> Any:
        return lambda: reduce(add, [ask(rows, place) for place, rows in enumerate(self.places)])


def in_places(table: Any) -> Any:
    parts = places.parts_of(table)
    counted = [(part.weight, part.patients) for part in parts]
    make = partial(places._held, counted)
    return ScatteredPlain.of([Shards.of(part.table) for part in parts], make, table.shape[1])


def as_arrays(table: Any) -> Any:
    return places.on_card(places.parts_of(table), np)


@pytest.mark.parametrize("where", [in_places, as_arrays])
@pytest.mark.parametrize(
    ("kind", "how"), [*((kind, {}) for kind in ESTIMATORS), ("binary", {"prevalence": 0.1})]
)
def test_sums_of_several_places_and_of_whole_arrays_are_those_in_memory(
    where: Any, kind: str, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs on a cluster, without one; and on a GPU, with NumPy in place of CuPy."""
    X, told = outcome_of(kind, cohort(1500))
    # A sample of the rows is looked at first, and arrays are worked on a few designs at a time.
    monkeypatch.setattr(learning, "SEARCHED_ROWS", 500)
    monkeypatch.setattr(array_rows, "VALUES_AT_ONCE", 100_000)
    expected, model = (ESTIMATORS[kind](mechanism="nonlinear", kinds=KINDS, **how) for _ in range(2))
    expected.fit(X, *told)
    monkeypatch.setattr(learning, "rows_of", where)
    model.fit(X, *told)
    assert expected._model.mechanism.cause.size
    are_the_same(model, expected)


@every_animal
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_cohort_of_the_zoo_is_learned_alike(animal: Animal, monkeypatch: pytest.MonkeyPatch) -> None:
    if animal.has_missing:
        pytest.skip("on a cluster lines are told of it")
    try:
        expected = RCI(mechanism="nonlinear").fit(animal.X, animal.y)
    except InputError:
        pytest.skip("nothing is learned of it in memory either")
    for where in (in_places, as_arrays):
        monkeypatch.setattr(learning, "rows_of", where)
        are_the_same(RCI(mechanism="nonlinear").fit(animal.X, animal.y), expected)


def test_a_cluster_says_what_memory_says(client_of_processes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    monkeypatch.setattr("rootcausal.backends.cluster.parts.LEAST_ROWS_A_GRAIN", 150)
    frame = cohort(600).drop(columns=["time", "value"])
    there = dd.from_pandas(frame, npartitions=3)
    expected = RCI(kinds=KINDS).fit(frame.drop(columns="ill"), frame["ill"])
    model = RCI(backend="dask", kinds=KINDS).fit(there, "ill")
    assert model.provenance_["mechanism"] == expected.provenance_["mechanism"]
    assert model.provenance_["mechanism"]["taken"] == "nonlinear"
    are_the_same(model, expected)
    values = model.shapley_values(there.drop(columns="ill")).compute().to_numpy()
    np.testing.assert_allclose(values, expected.shapley_values(frame.drop(columns="ill")), atol=1e-8)


def test_of_a_cluster_whose_rows_lack_values_lines_are_told(client_of_processes: Any) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    frame = cohort(300).drop(columns=["time", "value", "sex"])
    frame.loc[::7, "effect"] = np.nan
    there = dd.from_pandas(frame, npartitions=2)
    taken = RCI(backend="dask").fit(there, "ill").provenance_["mechanism"]
    assert taken["taken"] == "linear" and "missing" in taken["why"]
    with pytest.raises(InputError, match=r"where no value is missing.*mechanism='linear'"):
        RCI(backend="dask", mechanism="nonlinear").fit(there, "ill")


@pytest.mark.gpu
@pytest.mark.parametrize("n", [600, 25_000])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_gpu_says_what_memory_says(kind: str, n: int) -> None:
    X, told = outcome_of(kind, cohort(n))
    expected = ESTIMATORS[kind](mechanism="nonlinear", kinds=KINDS, backend="numba").fit(X, *told)
    model = ESTIMATORS[kind](mechanism="nonlinear", kinds=KINDS, backend="cupy").fit(X, *told)
    assert model.provenance_["backend"] == "cupy"
    are_the_same(model, expected)


@pytest.mark.gpu
def test_a_gpu_and_classes_that_were_sampled_apart_or_lack_values() -> None:
    X, told = outcome_of("binary", cohort(900))
    holed = X.assign(effect=X["effect"].where(np.random.default_rng(1).random(len(X)) > 0.1))
    for variables, how in ((X, {"prevalence": 0.1}), (holed, {})):
        expected, model = (
            RCI(mechanism="nonlinear", kinds=KINDS, backend=backend, **how).fit(variables, *told)
            for backend in ("numba", "cupy")
        )
        are_the_same(model, expected)


@pytest.mark.gpu
def test_a_search_that_a_card_has_no_room_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rootcausal.backends.cuda.rows._free_bytes", lambda: 1 << 30)
    X, told = outcome_of("binary", cohort(600))
    with pytest.raises(InputError, match=r"600 rows and 5 columns needs 3\.0 GiB of GPU memory and 1\.0"):
        RCI(mechanism="nonlinear", kinds=KINDS, backend="cupy").fit(X, *told)
