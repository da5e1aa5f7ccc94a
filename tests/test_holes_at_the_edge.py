"""Cohorts with holes that are odd in one more way: files, single values, rows without any, clusters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tampering import with_array

from rootcausal import RCI
from rootcausal.data import simulate
from rootcausal.errors import InputError


def cohort(share: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    drawn = simulate(400, 12, random_state=0)
    X = drawn.X.copy()
    X[np.random.default_rng(0).random(X.shape) < share] = np.nan
    return X, drawn.y


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_a_model_of_a_cohort_with_holes_comes_back(
    tmp_path: Path, backend: str, prevalence: float | None
) -> None:
    X, y = cohort()
    model = RCI(variant="plus", backend=backend, prevalence=prevalence).fit(X, y)
    model.save(tmp_path / "m.rci")
    np.testing.assert_array_equal(RCI.load(tmp_path / "m.rci").shapley_values(X), model.shapley_values(X))


@pytest.mark.parametrize("variant", ["local_plus", "plus"])
def test_a_column_with_a_single_value_is_refused(variant: str) -> None:
    X, y = cohort(0.0)
    X = np.column_stack([X, np.where(np.arange(len(X)) == 3, 1.0, np.nan)])
    with pytest.raises(InputError, match="'x11' is constant"):
        RCI(variant=variant).fit(X, y)


def test_a_covariance_that_no_columns_can_have_is_refused(tmp_path: Path) -> None:
    X, y = cohort(0.0)
    RCI(variant="plus").fit(X, y).save(tmp_path / "m.rci")

    def spoil(covariance: np.ndarray) -> np.ndarray:
        sd = np.sqrt(np.diagonal(covariance))
        r = np.eye(sd.size)
        r[0, 1] = r[1, 0] = r[0, 2] = r[2, 0] = 0.9
        r[1, 2] = r[2, 1] = -0.9
        return r * np.outer(sd, sd)

    with pytest.raises(InputError, match="covariance"):
        RCI.load(with_array(tmp_path / "m.rci", "completion_covariance", spoil))


@pytest.fixture(scope="module")
def client():
    from distributed import Client

    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as found:
        yield found


def frame() -> pd.DataFrame:
    X, y = cohort(0.0)
    X[::9, 0] = np.nan
    return pd.DataFrame(X, columns=[f"x{c}" for c in range(X.shape[1])]).assign(y=y)


def on_cluster(table: pd.DataFrame) -> RCI:
    import dask.dataframe as dd

    return RCI(backend="dask").fit(dd.from_pandas(table, npartitions=3), "y")


def test_a_cluster_refuses_a_constant_beside_holes(client: object) -> None:
    with pytest.raises(InputError, match="constant"):
        on_cluster(frame().assign(k=3.0))


def test_a_cluster_refuses_rows_without_a_value(client: object) -> None:
    table = frame()
    table.iloc[5, :-1] = np.nan
    with pytest.raises(InputError, match="no value in any column"):
        on_cluster(table)


def test_a_cluster_says_that_absence_tells_the_outcome(client: object) -> None:
    table = frame()
    table["t"] = np.where(table.y == table.y.max(), np.nan, np.arange(len(table)) % 97)
    with pytest.warns(UserWarning, match="tells the outcome"):
        on_cluster(table)
