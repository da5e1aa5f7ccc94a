"""Fits on a real cluster of separate processes equal those in memory, whatever the partitions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")

import dask.dataframe as dd
import joblib
from dask_cluster import same_model
from distributed import Client
from labelled_rows import order_columns
from mixed_tables import mixed

from rootcausal import RCI, DirectLiNGAM, InputError
from rootcausal.backends.cluster import parts as dask_parts
from rootcausal.backends.cluster import rows as dask_rows
from rootcausal.backends.cluster.frame import FrameRows
from rootcausal.backends.cluster.rows import DaskRaw, DaskTable
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.data import simulate
from rootcausal.inputs.binary import LabelRows
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering.ordering import VARIANTS

CASES = sorted((Path(__file__).parent / "data").glob("*.npz"))


@pytest.fixture(scope="module")
def client(client_of_processes: Client) -> Client:
    return client_of_processes


@pytest.fixture(autouse=True)
def several_grains(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small tables too are cut, and by the edges of no partition."""
    monkeypatch.setattr(dask_parts, "LEAST_ROWS_A_GRAIN", 70)
    monkeypatch.setattr(dask_parts, "ROWS_A_COLUMN", 1)


def table(X: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"x{c}" for c in range(X.shape[1])]).assign(d=y)


def in_pieces(frame: pd.DataFrame, sizes: list[int]) -> Any:
    edges = np.cumsum([0, *sizes])
    assert edges[-1] == len(frame)
    pieces = [frame.iloc[a:b] for a, b in pairwise(edges)]
    return dd.from_map(lambda piece: piece, pieces, meta=frame.iloc[:0])


@pytest.fixture(scope="module")
def small() -> pd.DataFrame:
    cohort = simulate(n_samples=500, n_variables=8, random_state=3)
    return table(cohort.X, cohort.y)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "n_partitions", [pytest.param(1, marks=pytest.mark.slow), 3, pytest.param(16, marks=pytest.mark.slow)]
)
def test_reference_cases(client: Client, path: Path, n_partitions: int) -> None:
    case = np.load(path)
    expected = RCI(mechanism="linear").fit(case["X"], case["y"])
    frame = dd.from_pandas(table(case["X"], case["y"]), npartitions=n_partitions)
    model = RCI(backend="dask", mechanism="linear").fit(frame, "d")
    assert same_model(model, expected)
    shapley = model.shapley_values(frame).compute().to_numpy()
    assert np.abs(shapley - expected.shapley_values(case["X"])).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("n_partitions", [1, 3, 16])
def test_many_rows(client: Client, tmp_path: Path, n_partitions: int) -> None:
    cohort = simulate(n_samples=200_000, n_variables=61, random_state=0)
    frame = table(cohort.X, cohort.y)
    names = [name for name in frame if name != "d"]
    expected = RCI(variant="plus").fit(frame[names], frame["d"])
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=-(-200_000 // n_partitions))
    pieces = dd.read_parquet(tmp_path / "a.parquet", split_row_groups=True)
    assert pieces.npartitions == n_partitions
    model = RCI(variant="plus", backend="dask", mechanism="linear").fit(pieces, "d")
    assert same_model(model, expected)
    shapley = model.shapley_values(pieces).compute().to_numpy()
    assert np.abs(shapley - expected.shapley_values(frame[names])).max() < 1e-9


@pytest.mark.parametrize("variant", ["original", "plus", "local", "local_plus"])
def test_every_variant(client: Client, small: pd.DataFrame, variant: str) -> None:
    names = list(small.columns[:-1])
    expected = RCI(variant=variant).fit(small[names], small["d"])
    assert same_model(
        RCI(variant=variant, backend="dask", mechanism="linear").fit(dd.from_pandas(small, 3), "d"), expected
    )


def test_direct_lingam(client: Client, small: pd.DataFrame) -> None:
    X = small.drop(columns="d")
    expected = DirectLiNGAM().fit(X)
    model = DirectLiNGAM(backend="dask").fit(dd.from_pandas(X, 4))
    assert model.causal_order_.tolist() == expected.causal_order_.tolist()
    np.testing.assert_allclose(model.adjacency_matrix_, expected.adjacency_matrix_, atol=1e-9)


def test_partitions_that_are_empty_or_unequal_or_of_one_class(client: Client, small: pd.DataFrame) -> None:
    by_class = small.sort_values("d", kind="stable", ignore_index=True)
    healthy = int((by_class["d"] == 0).sum())
    assert healthy > 110
    pieces = in_pieces(by_class, [0, 100, healthy - 100, 1, 0, 500 - healthy - 1])
    expected = RCI().fit(by_class.drop(columns="d"), by_class["d"])
    assert same_model(RCI(backend="dask", mechanism="linear").fit(pieces, "d"), expected)


def test_no_variable_that_matters(client: Client) -> None:
    rng = np.random.default_rng(0)
    noise = table(rng.uniform(size=(200, 3)), np.arange(200) % 2)
    with pytest.warns(UserWarning, match="the outcome depends on no variable"):
        model = RCI(alpha=1e-6, backend="dask", mechanism="linear").fit(dd.from_pandas(noise, 2), "d")
    assert model.causal_order_.size == 0
    assert abs(model.intercept_) < 1e-9


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_classes_weighted_to_a_prevalence(client: Client, small: pd.DataFrame, attribution: str) -> None:
    X, y = small.drop(columns="d"), small["d"]
    by_label = small.sort_values("d", kind="stable")  # so that some partitions have rows of one class only
    for prevalence, frame in ((0.02, by_label), (0.4, small)):
        options = {"attribution": attribution, "prevalence": prevalence}
        expected = RCI(**options).fit(X, y)
        assert same_model(
            RCI(backend="dask", mechanism="linear", **options).fit(in_pieces(frame, [7, 0, 193, 300]), "d"),
            expected,
        )
    share = float(y.mean()) * (1 + 1e-14)  # a hair beside it, so that rows are taken by class
    sample, population = (
        RCI(backend="dask", mechanism="linear", attribution=attribution, prevalence=prevalence).fit(
            dd.from_pandas(small, 3), "d"
        )
        for prevalence in (None, share)
    )
    assert population.causal_order_.tolist() == sample.causal_order_.tolist()
    np.testing.assert_allclose(population.coef_, sample.coef_, rtol=1e-12, atol=1e-12)
    assert population.intercept_ == pytest.approx(sample.intercept_, rel=1e-12)


@pytest.mark.parametrize(
    ("prevalence", "variants"),
    [(None, VARIANTS), (0.1, ("original", "local_plus"))],
    ids=["sample", "weighted"],
)
def test_discrete_columns(client: Client, prevalence: float | None, variants: Iterable[str]) -> None:
    drawn = mixed(3, 400)
    frame = table(drawn.X, drawn.y).sort_values("d", kind="stable")  # so that some parts have one class only
    pieces = in_pieces(frame, [100, 0, 7, 293])
    source = FrameRows(client, pieces, list(frame.columns[:-1]), LabelRows("d", (1,)))
    for variant in variants:
        found, expected = (
            order_columns(raw, describe_columns(raw, prevalence), VARIANTS[variant], 0.2, layout=drawn.layout)
            for raw in (DaskRaw(client, source), NumbaRaw(drawn.X, drawn.y))
        )
        assert found.order.tolist() == expected.order.tolist()
        np.testing.assert_allclose(found.mixing, expected.mixing, atol=1e-9)


def test_copies_are_found_whatever_the_classes_weigh(client: Client, small: pd.DataFrame) -> None:
    doubled = small.assign(again=1.0 - 2.0 * small["x3"])
    with pytest.raises(InputError, match="'x3' and 'again' are copies"):
        RCI(backend="dask", mechanism="linear", prevalence=0.01).fit(dd.from_pandas(doubled, 3), "d")


def test_labels_in_a_series_of_their_own(client: Client, small: pd.DataFrame) -> None:
    frame = dd.from_pandas(small.assign(d=np.where(small["d"] == 1, "ill", "well")), 3)
    X = frame.drop(columns="d")
    expected = RCI(positive="ill").fit(small.drop(columns="d"), np.where(small["d"] == 1, "ill", "well"))
    model = RCI(positive="ill").fit(X, frame["d"])
    assert same_model(model, expected)
    assert model.classes_.tolist() == ["well", "ill"]
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.provenance_["backend"] == "dask"
    assert model.provenance_["cases"] == int((small["d"] == 1).sum())


def test_labels_in_another_order_never_mean_two_things(client: Client, small: pd.DataFrame) -> None:
    X, shuffled = small.drop(columns="d"), small["d"].sample(frac=1, random_state=0)
    model = RCI().fit(dd.from_pandas(X, 3), dd.from_pandas(shuffled, 3))
    assert same_model(model, RCI().fit(X, shuffled.loc[X.index]))
    with pytest.raises(InputError, match="y has the index of X in another order"):
        RCI().fit(X, shuffled)


def test_labels_are_read_by_the_rule_used_in_memory(client: Client, small: pd.DataFrame) -> None:
    said = small.assign(d=np.where(small["d"] == 1, "case", "control"))
    model = RCI().fit(dd.from_pandas(said, 2), "d")
    assert model.classes_.tolist() == ["control", "case"]
    assert same_model(model, RCI().fit(small.drop(columns="d"), small["d"]))
    unsaid = small.assign(d=np.where(small["d"] == 1, "gone", "here"))
    with pytest.warns(UserWarning, match="'gone' and 'here' do not say which of them is the disease"):
        assert RCI().fit(dd.from_pandas(unsaid, 2), "d").classes_.tolist() == ["gone", "here"]
    named = dd.from_pandas(small.rename(columns={"d": "survived"}), 2)
    X = named.drop(columns="survived")
    for given in ((named, "survived"), (X, named["survived"])):
        with pytest.warns(UserWarning, match="0 and 1 of 'survived', which by its name may say who is well"):
            assert RCI().fit(*given).classes_.tolist() == [0, 1]


def test_columns_far_from_zero_or_unit_scale_keep_their_variance(client: Client, small: pd.DataFrame) -> None:
    far = small.assign(x0=small["x0"] + 1.7e9, x1=small["x1"] * 1e-80, x2=small["x2"] * 1e80)
    expected = RCI().fit(far.drop(columns="d"), far["d"])
    assert same_model(RCI(backend="dask", mechanism="linear").fit(dd.from_pandas(far, 3), "d"), expected)


def test_parquet_files_by_glob_and_folder(client: Client, small: pd.DataFrame, tmp_path: Path) -> None:
    small.iloc[:120].to_parquet(tmp_path / "a.parquet", row_group_size=50)
    small.iloc[120:].to_parquet(tmp_path / "b.parquet")
    expected = RCI().fit(small.drop(columns="d"), small["d"])
    for path in (tmp_path, str(tmp_path / "*.parquet"), [tmp_path / "a.parquet", tmp_path / "b.parquet"]):
        assert same_model(RCI(backend="dask", mechanism="linear").fit(path, "d"), expected)


def test_nothing_stays_on_the_cluster(client: Client, small: pd.DataFrame) -> None:
    RCI(backend="dask", mechanism="linear").fit(dd.from_pandas(small, 3), "d")
    client.run_on_scheduler(_until_no_task_is_left)


async def _until_no_task_is_left(dask_scheduler: Any) -> None:
    import asyncio

    async with asyncio.timeout(20):
        while dask_scheduler.tasks:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("n_rows", [400, 20_000])
def test_at_most_two_round_trips_a_root(client: Client, monkeypatch: pytest.MonkeyPatch, n_rows: int) -> None:
    cohort = simulate(n_samples=n_rows, n_variables=31, random_state=2)
    calls = []
    waited = DaskTable._sum
    monkeypatch.setattr(
        DaskTable, "_sum", lambda self, *args: (calls.append(args[0]), waited(self, *args))[1]
    )
    frame = dd.from_pandas(table(cohort.X, cohort.y), 4)
    raw = DaskRaw(client, FrameRows(client, frame, list(frame.columns[:-1]), None))
    ordering = order_columns(raw, describe_columns(raw), VARIANTS["plus"], 1.0)
    # The last root has no rival, so no pair is asked for; every other root takes one round at least.
    rounds = sum(name in ("pair_sums", "leading_pair_sums") for name in calls)
    assert 29 <= rounds <= 2 * 29
    assert ordering.order.size == 30


def test_lazy_shapley_values(client: Client, small: pd.DataFrame) -> None:
    X = small.drop(columns="d")
    model = RCI(alpha=0.2, missing="refuse").fit(X, small["d"])
    shuffled = small[small.columns[::-1]]
    lazy = model.shapley_values(in_pieces(shuffled, [0, 200, 300]))
    assert isinstance(lazy, dd.DataFrame)
    assert list(lazy.columns) == list(X.columns)
    computed = lazy.compute()
    np.testing.assert_allclose(computed.to_numpy(), model.shapley_values(X), atol=1e-12)
    assert computed.index.equals(small.index)
    names = list(X.columns)
    needed, left_out = names[model.causal_order_[0]], set(names) - {names[c] for c in model.causal_order_}
    with pytest.raises(InputError, match=f"'{needed}' is missing from the new data"):
        model.shapley_values(dd.from_pandas(small.drop(columns=needed), 2))
    assert left_out
    few = model.shapley_values(dd.from_pandas(small.drop(columns=left_out), 2)).compute()
    np.testing.assert_allclose(few.to_numpy(), model.shapley_values(X), atol=1e-12)
    with pytest.raises(InputError, match=r"missing values \(NaN\) in 'x1' \(1\)"):
        model.shapley_values(dd.from_pandas(small.assign(x1=[np.nan] + [0.0] * 499), 2)).compute()
    with pytest.raises(InputError, match="map_partitions"):
        model.predict(dd.from_pandas(X, 2))


def test_many_fits_spread_by_joblib(client: Client, small: pd.DataFrame) -> None:
    X, y = small.drop(columns="d").to_numpy(), small["d"].to_numpy()
    rows = [np.random.default_rng(seed).integers(0, len(X), len(X)) for seed in range(4)]
    with joblib.parallel_config(backend="dask"):
        models = joblib.Parallel()(joblib.delayed(RCI().fit)(X[take], y[take]) for take in rows)
    assert all(
        same_model(model, RCI().fit(X[take], y[take])) for model, take in zip(models, rows, strict=True)
    )


def test_a_worker_that_is_lost_after_it_was_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts are made all the same: whoever asks for them waits for the next worker."""
    monkeypatch.setattr(dask_rows, "wait_for_a_worker", lambda client: None)
    nobody = SimpleNamespace(scheduler_info=lambda n_workers: {"workers": {}})
    asked: list[int] = []
    dask_rows.table_on_cluster(nobody, (1000, 50), lambda n_parts, threads: asked.append(n_parts) or [])
    assert asked == [1]
