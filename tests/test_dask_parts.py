"""Sums of a table on a cluster, to the last digit: on any number of workers, however they were read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")

import dask.dataframe as dd
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st

from rootcausal import RCI, DirectLiNGAM, RCIRegressor, RCISurvival
from rootcausal.backends.cluster import parts as dask_parts
from rootcausal.backends.cluster import rows as dask_rows
from rootcausal.backends.cluster.parts import Branches, grain_edges
from rootcausal.backends.cluster.reading import cuts_of
from rootcausal.data import simulate


@given(st.integers(1, 10**9), st.integers(1, 20_000))
def test_grains_are_of_equal_numbers_of_rows(n: int, k: int) -> None:
    edges = grain_edges(n, k)
    assert edges[0] == 0 and edges[-1] == n
    sizes = np.diff(edges)
    assert sizes.min() >= 1 and np.ptp(sizes) <= 1
    if edges.size > 2:
        assert sizes.min() >= min(dask_parts.LEAST_ROWS_A_GRAIN, dask_parts.VALUES_A_GRAIN // k) // 2
        assert sizes.max() <= max(dask_parts.MOST_ROWS_A_GRAIN, dask_parts.ROWS_A_COLUMN * k) * 3 // 2 + 1


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(sum), st.data())
def test_every_row_is_in_one_grain(rows: list[int], data: st.DataObject) -> None:
    leaves = data.draw(st.integers(1, sum(rows)))
    edges = np.arange(leaves + 1) * sum(rows) // leaves
    n_parts = data.draw(st.integers(1, leaves))
    starts = np.cumsum([0, *rows])
    found: dict[int, list[int]] = {}
    for first, last in pairwise(leaves * part // n_parts for part in range(n_parts + 1)):
        for cut in cuts_of(rows, edges, first, last):
            assert cut.first_row == starts[cut.partition]
            for grain, taken in cut.slices:
                assert 0 <= taken.start < taken.stop <= rows[cut.partition]
                found.setdefault(grain, []).extend(
                    range(cut.first_row + taken.start, cut.first_row + taken.stop)
                )
    assert list(found) == list(range(leaves))
    assert [found[grain] for grain in found] == [list(range(a, b)) for a, b in pairwise(edges.tolist())]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=70), st.data())
@settings(max_examples=200)
def test_sums_do_not_depend_on_who_adds(values: list[float], data: st.DataObject) -> None:
    whole = Branches.of(len(values), dict(enumerate(values))).whole
    places = data.draw(st.permutations(range(len(values))))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(values)))) | {0, len(values)})
    some = [Branches.of(len(values), {g: values[g] for g in places[a:b]}) for a, b in pairwise(cuts)]
    total = some[0]
    for more in some[1:]:
        total = total + more
    assert total.whole == whole
    assert whole == pytest.approx(sum(values), abs=1e-6)


@contextmanager
def in_this_process(n_workers: int, threads: int) -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=n_workers, threads_per_worker=threads, processes=False, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


def cohort() -> pd.DataFrame:
    drawn = simulate(n_samples=900, n_variables=9, random_state=4)
    frame = pd.DataFrame(drawn.X, columns=list(drawn.feature_names)).assign(d=drawn.y)
    rng = np.random.default_rng(0)
    times = rng.exponential(np.exp(-frame["x1"] / 4)).round(3) + 0.001
    return frame.assign(time=times, y=frame["x0"] + rng.standard_t(4, 900))


def with_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    gone = np.random.default_rng(1).random(len(frame)) < 0.05
    return frame.assign(x2=frame["x2"].mask(gone))


def kinds_of_fits(frame: pd.DataFrame, folder: Path) -> dict[str, Callable[[], Any]]:
    diagnosed = frame.drop(columns=["time", "y"])
    diagnosed.to_parquet(folder / "a.parquet", row_group_size=130)
    in_pieces = dd.read_parquet(folder / "a.parquet", split_row_groups=True)
    gaps, followed = with_gaps(diagnosed), frame.drop(columns="y")
    measured = frame.drop(columns=["d", "time"])
    return {
        "diagnosis": lambda: RCI(variant="plus", backend="dask", mechanism="linear").fit(in_pieces, "d"),
        "holes": lambda: RCI(backend="dask", mechanism="linear").fit(dd.from_pandas(gaps, 4), "d"),
        "held": lambda: RCI(backend="dask", mechanism="linear").fit(in_pieces.persist(), "d"),
        "weighted": lambda: RCI(backend="dask", mechanism="linear", prevalence=0.1).fit(in_pieces, "d"),
        "follow-up": lambda: RCISurvival(backend="dask", mechanism="linear").fit(
            dd.from_pandas(followed, 4), "time", "d"
        ),
        "number": lambda: RCIRegressor(backend="dask", mechanism="linear").fit(
            dd.from_pandas(measured, 4), "y"
        ),
        "order": lambda: DirectLiNGAM(backend="dask").fit(dd.from_pandas(measured, 4)),
    }


def numbers(model: Any) -> bytes:
    if isinstance(model, DirectLiNGAM):
        return model.causal_order_.tobytes() + model.adjacency_matrix_.tobytes()
    fitted = model.causal_order_, model.coef_, model.margins_, model.intercept_
    return b"".join(np.asarray(part).tobytes() for part in fitted)


@pytest.mark.parametrize(
    "kinds",
    [
        ["diagnosis"],
        pytest.param(["holes", "held", "weighted", "follow-up", "number", "order"], marks=pytest.mark.slow),
    ],
    ids=["a diagnosis", "all others"],
)
def test_the_last_digits_repeat_on_any_cluster(
    two_processes: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kinds: list[str]
) -> None:
    monkeypatch.setattr(dask_parts, "LEAST_ROWS_A_GRAIN", 70)
    monkeypatch.setattr(dask_parts, "GRAINS", 12)
    monkeypatch.setattr(dask_rows, "GATHERED_AT_ONCE", 2)  # so that workers add up among themselves
    fits = kinds_of_fits(cohort(), tmp_path)
    assert grain_edges(900, 8).size == 13
    found: dict[str, set[bytes]] = {kind: set() for kind in kinds}
    clusters = [in_this_process(1, 1), in_this_process(2, 2), in_this_process(3, 1)]
    for cluster in (*clusters, nullcontext(two_processes)):
        with cluster as started, Client(started):
            for kind in kinds:
                found[kind].add(numbers(fits[kind]()))
                if len(started.workers) == 2:
                    # Again, in more parts than there are workers.
                    with monkeypatch.context() as patch:
                        patch.setattr(dask_rows, "PARTS_A_WORKER", 1e9)
                        found[kind].add(numbers(fits[kind]()))
    assert {kind: len(models) for kind, models in found.items()} == dict.fromkeys(kinds, 1)
