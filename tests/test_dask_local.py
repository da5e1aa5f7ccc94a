"""Without a client, a cluster lives as long as the fit. No fixture here may leave a client behind."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")

import dask.dataframe as dd
from command_line import ok
from dask_cluster import same_model
from distributed import get_client

from rootcausal import RCI
from rootcausal.data import simulate


def test_a_cluster_is_started_and_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One worker does for a test, however many cores there are.
    monkeypatch.setattr("distributed.deploy.local.nprocesses_nthreads", lambda: (1, 1))
    cohort = simulate(n_samples=300, n_variables=6, random_state=1)
    frame = pd.DataFrame(cohort.X, columns=list(cohort.feature_names)).assign(d=cohort.y)
    expected = RCI().fit(cohort.X, cohort.y)
    assert same_model(RCI(backend="dask", mechanism="linear").fit(dd.from_pandas(frame, 2), "d"), expected)
    with pytest.raises(ValueError, match="No global client found"):
        get_client()
    frame.to_parquet(tmp_path / "a.parquet")
    options = ["--target", "d", "--backend", "dask", "--out", tmp_path / "m.rci"]
    ok("fit", tmp_path / "a.parquet", *options)
    assert same_model(RCI.load(tmp_path / "m.rci"), expected)
