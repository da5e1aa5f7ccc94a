"""What several tests start from, and how patient all are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from command_line import ok
from hypothesis import settings
from kept_resamples import learned_once as learned_once

from rootcausal.data import simulate

# A test must not fail because a machine is busy, or because its first example has something to compile.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def cohort(tmp_path: Path) -> Path:
    """A folder with cohort.csv (patient, x0 to x4, d), the working folder of the test."""
    drawn = simulate(n_samples=200, n_variables=6, random_state=1)
    columns = dict(zip(drawn.feature_names, drawn.X.T, strict=True))
    ids = [f"p{k:03}" for k in range(200)]
    arrow_csv.write_csv(pa.table({"patient": ids, **columns, "d": drawn.y}), tmp_path / "cohort.csv")
    return tmp_path / "cohort.csv"


@pytest.fixture
def model(cohort: Path) -> Path:
    path = cohort.parent / "model.rci"
    ok("fit", cohort, "--target", "d", "--id", "patient", "--out", path)
    return path


@pytest.fixture(scope="session")
def two_processes() -> Iterator[Any]:
    """A cluster of two workers, started once: each has to import all there is."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    from dask_cluster import cluster_of_processes

    with cluster_of_processes(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client_of_processes(two_processes: Any) -> Iterator[Any]:
    """A client that ends with its file: others are to find none."""
    from distributed import Client

    with Client(two_processes) as client:
        yield client


@pytest.fixture(scope="module")
def client_of_threads() -> Iterator[Any]:
    """A cluster within this process: as quick as one gets."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0"
    ) as client:
        yield client
