"""Missing values on a cluster: the same draws and the same answer as in memory, whatever the partitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")

import dask.dataframe as dd
from distributed import Client
from labelled_rows import learn

from rootcausal.backends.choose import choose_table
from rootcausal.backends.cluster.frame import FrameRows
from rootcausal.backends.cluster.missing import DaskIncomplete
from rootcausal.backends.cluster.rows import DaskRaw
from rootcausal.data import simulate
from rootcausal.estimators.parameters import chosen_settings
from rootcausal.inputs.binary import LabelRows
from rootcausal.method.layout import Layout
from rootcausal.method.missing.sums import IncompleteRaw
from rootcausal.method.moments import describe_columns
from rootcausal.method.pipeline import Learned


@pytest.fixture(scope="module")
def client(client_of_processes: Client) -> Client:
    return client_of_processes


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    drawn = simulate(400, 8, random_state=4)
    X = drawn.X.copy()
    X[:, 1] = X[:, 1] > 0.0
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[:100] = drawn.X[:100]  # so that a partition has no holes
    X[:100, 1] = drawn.X[:100, 1] > 0.0
    return pd.DataFrame(X, columns=[f"x{c}" for c in range(X.shape[1])]).assign(d=drawn.y.astype(int))


LAYOUT = Layout(np.arange(7), (np.empty(0), np.array([0.0, 1.0]), *(np.empty(0),) * 5))


def fitted(raw: Any, prevalence: float | None, variant: str) -> Learned:
    chosen = chosen_settings(variant, 0.2, "sharp", prevalence)
    return learn(raw, describe_columns(raw, prevalence), chosen, layout=LAYOUT)


def on_cluster(client: Client, rows: Any) -> DaskIncomplete:
    source = FrameRows(client, rows, list(rows.columns[:-1]), LabelRows("d", (1,)))
    return DaskIncomplete(client, source)


@pytest.mark.parametrize(
    ("n_partitions", "prevalence", "variant"),
    [(1, None, "local_plus"), (4, None, "local_plus"), (3, 0.1, "local_plus"), (7, None, "plus")],
)
def test_the_answer_is_that_of_memory(
    client: Client, frame: pd.DataFrame, n_partitions: int, prevalence: float | None, variant: str
) -> None:
    X, y = frame.to_numpy()[:, :-1], frame["d"].to_numpy()
    expected = fitted(choose_table("numba", X, y), prevalence, variant)
    raw = on_cluster(client, dd.from_pandas(frame, npartitions=n_partitions, sort=False))
    assert isinstance(raw, IncompleteRaw)
    found = fitted(raw, prevalence, variant)
    assert found.ordering.order.tolist() == expected.ordering.order.tolist()
    np.testing.assert_allclose(found.ordering.mixing, expected.ordering.mixing, atol=1e-9)
    np.testing.assert_allclose(
        found.model.attribution.unit_effects, expected.model.attribution.unit_effects, atol=1e-7
    )
    np.testing.assert_allclose(found.completion.covariance, expected.completion.covariance, rtol=1e-9)
    for name in ("missing", "unknown"):
        one, two = (getattr(done.imputation, name) for done in (found, expected))
        np.testing.assert_allclose(one, two, atol=1e-9)
    assert found.imputation.rows == expected.imputation.rows


def test_patients_who_are_alike_are_told_apart_across_partitions(client: Client, frame: pd.DataFrame) -> None:
    """Whole numbers, of which every partition has the same; the order of the rows changes nothing."""
    alike = frame.drop(columns="d").clip(-1, 1).round().assign(d=frame["d"])
    expected = fitted(choose_table("numba", alike.to_numpy()[:, :-1], alike["d"].to_numpy()), None, "plus")
    shuffled = alike.sample(frac=1.0, random_state=0)
    found = fitted(on_cluster(client, dd.from_pandas(shuffled, npartitions=5, sort=False)), None, "plus")
    assert found.ordering.order.tolist() == expected.ordering.order.tolist()
    np.testing.assert_allclose(found.ordering.mixing, expected.ordering.mixing, atol=1e-9)


def test_partitions_that_dask_merges_draw_the_same(
    client: Client, frame: pd.DataFrame, tmp_path: Path
) -> None:
    """Of many columns few are read: Dask may then read several partitions as one."""
    wide = frame.drop(columns="d").assign(**{f"u{c}": np.arange(400) % 2 + 0.1 * c for c in range(40)})
    wide = wide.assign(d=frame["d"])
    dd.from_pandas(wide, npartitions=8, sort=False).to_parquet(tmp_path / "rows")
    rows = dd.read_parquet(tmp_path / "rows")
    X, y = wide.to_numpy()[:, :-1], wide["d"].to_numpy()
    settings = chosen_settings("local_plus", 0.2, "sharp", None)
    found, expected = (
        learn(raw, describe_columns(raw), settings)
        for raw in (on_cluster(client, rows), choose_table("numba", X, y))
    )
    assert found.ordering.order.tolist() == expected.ordering.order.tolist()
    np.testing.assert_allclose(found.ordering.mixing, expected.ordering.mixing, atol=1e-9)


def test_a_complete_cohort_knows_what_is_expected(client: Client, frame: pd.DataFrame) -> None:
    whole = frame.fillna(0.5)
    source = FrameRows(
        client, dd.from_pandas(whole, npartitions=3), list(whole.columns[:-1]), LabelRows("d", (1,))
    )
    assert source.incomplete_rows == 0
    expected = fitted(
        choose_table("numba", whole.to_numpy()[:, :-1], whole["d"].to_numpy()), 0.1, "local_plus"
    )
    found = fitted(DaskRaw(client, source), 0.1, "local_plus")
    np.testing.assert_allclose(found.completion.covariance, expected.completion.covariance, rtol=1e-8)
