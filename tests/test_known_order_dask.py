"""On a cluster, what is known before holds as it does in memory, and the order is the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("distributed", reason="Dask is not installed")

import dask.dataframe as dd
from distributed import Client
from labelled_rows import order_columns
from test_known_order import check_rules_hold, cohort, rules

from rootcausal.backends.cluster.frame import FrameRows
from rootcausal.backends.cluster.rows import DaskRaw
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.inputs.binary import LabelRows
from rootcausal.method.layout import Layout
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.method.ordering.precedence import Precedence


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    # Threads of this process: thousands of small tables would wait for messages between processes.
    with Client(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
    ) as client:
        yield client


def on_cluster(client: Client, X: np.ndarray, y: np.ndarray) -> DaskRaw:
    frame = pd.DataFrame(X, columns=[f"x{c}" for c in range(X.shape[1])]).assign(d=y)
    source = FrameRows(client, dd.from_pandas(frame, 2), list(frame.columns[:-1]), LabelRows("d", (1,)))
    return DaskRaw(client, source)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1))
def test_no_rule_is_broken(client, seed):
    check_rules_hold(lambda X, y: on_cluster(client, X, y), seed)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1))
def test_no_rule_is_broken_in_ten_thousand_tables(client, seed):
    check_rules_hold(lambda X, y: on_cluster(client, X, y), seed)


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_the_order_is_that_in_memory(client, variant):
    rng = np.random.default_rng(len(variant))
    X, y, owner, levels = cohort(rng, 9, n=200)
    layout = Layout(owner, tuple(levels), Precedence.of(*rules(rng, 9)))
    found, expected = (
        order_columns(raw, describe_columns(raw), VARIANTS[variant], 0.2, layout=layout)
        for raw in (on_cluster(client, X, y), NumbaRaw(X, y))
    )
    assert found.order.tolist() == expected.order.tolist()
    np.testing.assert_allclose(found.mixing, expected.mixing, atol=1e-9)
