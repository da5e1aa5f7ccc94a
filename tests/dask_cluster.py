"""A real cluster of separate processes for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster

from rootcausal import RCI


@contextmanager
def cluster_of_processes(n_workers: int) -> Iterator[LocalCluster]:
    # On a busy machine a killed worker may take long to come back; the cluster must not give it up.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "5 minutes"}),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
    ):
        yield cluster


@contextmanager
def cluster_of(n_workers: int) -> Iterator[Client]:
    """A cluster of its own, for tests that harm it."""
    with cluster_of_processes(n_workers) as cluster, Client(cluster) as client:
        yield client


def same_model(model: RCI, expected: RCI) -> bool:
    """Order and coefficients to 1e-9."""
    return bool(
        (model.causal_order_.tolist() == expected.causal_order_.tolist())
        and abs(model.coef_ - expected.coef_).max(initial=0.0) < 1e-9
        and abs(model.intercept_ - expected.intercept_) < 1e-9
    )
