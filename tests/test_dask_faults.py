"""What can go wrong on a cluster: lost workers are made good, and bad input is one clear error."""

from __future__ import annotations

import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")

import dask.dataframe as dd
from command_line import error, ok
from dask import delayed
from dask_cluster import cluster_of, same_model
from distributed import Client

from rootcausal import RCI, InputError, MissingExtraError
from rootcausal.backends.cluster import rows as dask_rows
from rootcausal.backends.cluster.rows import DaskTable
from rootcausal.data import simulate


@pytest.fixture(scope="module")
def client(client_of_processes: Client) -> Client:
    return client_of_processes


@pytest.fixture(scope="module")
def good() -> pd.DataFrame:
    cohort = simulate(n_samples=300, n_variables=6, random_state=1)
    return pd.DataFrame(cohort.X, columns=list(cohort.feature_names)).assign(d=cohort.y)


Spoil = Callable[[pd.DataFrame], pd.DataFrame]
BAD: dict[str, tuple[Spoil, str]] = {
    "missing": (
        lambda f: f.assign(x1=f["x1"].mask(f.index < 7), x3=f["x3"].mask(f.index == 299)),
        "missing values (NaN) in 'x1' (7), 'x3' (1)",
    ),
    "infinite": (
        lambda f: f.assign(x0=f["x0"].mask(f.index == 200, np.inf)),
        "infinite values (inf) in 'x0' (1)",
    ),
    "constant": (lambda f: f.assign(x2=4.0), "'x2' is constant"),
    "nearly constant": (
        lambda f: f.assign(x2=8e15 + f.index % 2),
        "too little variation for 64-bit numbers to hold in 'x2' (from 8000000000000000.0 to 80",
    ),
    "copies": (lambda f: f.assign(z=3.0 - 2.0 * f["x1"]), "'x1' and 'z' are copies"),
    "one class": (lambda f: f.assign(d=1), "it has one class: 1"),
    "three classes": (lambda f: f.assign(d=f.index % 3), "it has 3 classes: 0, 1, 2"),
    "one case": (lambda f: f.assign(d=(f.index == 5).astype(int)), "only one row has the label 1"),
    "unlabelled": (lambda f: f.assign(d=f["d"].mask(f.index < 3)), "y has 3 missing value(s)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_refused_in_the_words_used_in_memory(
    client: Client, good: pd.DataFrame, case: str
) -> None:
    spoil, words = BAD[case]
    bad = spoil(good)
    with pytest.raises(InputError) as in_memory:
        RCI(missing="refuse").fit(bad.drop(columns="d"), bad["d"])
    with pytest.raises(InputError) as on_cluster:
        RCI(backend="dask", mechanism="linear", missing="refuse").fit(dd.from_pandas(bad, 3), "d")
    assert words in str(on_cluster.value)
    assert str(on_cluster.value) == str(in_memory.value)


def test_numbers_too_large_are_counted(client: Client, good: pd.DataFrame) -> None:
    bad = good.assign(x4=good["x4"].mask(good.index > 297, 1e300))
    with pytest.raises(InputError, match=r"numbers too large to compute with: 'x4' \(2\); correct them"):
        RCI(backend="dask", mechanism="linear").fit(dd.from_pandas(bad, 3), "d")


def pieces_with_a_bad_one(good: pd.DataFrame, spoil: Spoil) -> list[pd.DataFrame]:
    return [good.iloc[:100], spoil(good.iloc[100:200]), good.iloc[200:]]


def times(piece: pd.DataFrame) -> Any:
    return pd.to_timedelta(np.arange(len(piece)), "D")


LIARS: dict[str, tuple[Spoil, str]] = {
    "text": (lambda f: f.assign(x2="high"), "column 'x2' in partitions[1] of X holds 'high', where numbers"),
    "numbers as text": (lambda f: f.assign(x2="1.5"), "'x2' in partitions[1] of X holds '1.5', where"),
    "categories": (
        lambda f: f.assign(x2=pd.Categorical(["a"] * len(f))),
        "'x2' in partitions[1] of X holds 'a'",
    ),
    "dates": (
        lambda f: f.assign(x2=pd.Timestamp("2020-01-01") + times(f)),
        "'x2' in partitions[1] of X holds '2020-01-01 00:00:00', where numbers are promised",
    ),
    "durations": (lambda f: f.assign(x2=times(f)), "'x2' in partitions[1] of X holds '0 days 00:00:00'"),
    "complex numbers": (lambda f: f.assign(x2=2.0 + 1.0j), "'x2' in partitions[1] of X holds '(2+1j)'"),
    "missing column": (lambda f: f.drop(columns="x2"), "partitions[1] of X lacks the promised column 'x2'"),
    "missing target": (lambda f: f.drop(columns="d"), "partitions[1] of X lacks the promised column 'd'"),
    "a column twice": (
        lambda f: pd.concat([f, f[["x2"]]], axis=1),
        "partitions[1] of X has the column 'x2' twice",
    ),
}


@pytest.mark.parametrize("case", LIARS)
def test_partitions_that_contradict_their_metadata(client: Client, good: pd.DataFrame, case: str) -> None:
    spoil, words = LIARS[case]
    pieces = [delayed(piece) for piece in pieces_with_a_bad_one(good, spoil)]
    with pytest.raises(InputError) as caught:
        RCI(backend="dask", mechanism="linear").fit(
            dd.from_delayed(pieces, meta=good.iloc[:0], verify_meta=False), "d"
        )
    assert words in str(caught.value)
    assert str(caught.value).endswith(": correct the partition, or the metadata of the dask dataframe")


@pytest.mark.parametrize("case", ["text", "dates", "missing column"])
def test_contradictions_that_dask_itself_finds(client: Client, good: pd.DataFrame, case: str) -> None:
    pieces = [delayed(piece) for piece in pieces_with_a_bad_one(good, LIARS[case][0])]
    with pytest.raises(InputError, match="a partition of X contradicts its metadata: correct") as caught:
        RCI(backend="dask", mechanism="linear").fit(dd.from_delayed(pieces, meta=good.iloc[:0]), "d")
    assert "'x2'" in str(caught.value) and "\n" not in str(caught.value)


def test_a_column_of_complex_numbers_is_refused(client: Client, good: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="neither numbers nor text, here with an example: 'x2'"):
        RCI(backend="dask", mechanism="linear").fit(dd.from_pandas(good.assign(x2=1j * good["x2"]), 2), "d")


def test_partitions_that_hold_numbers_of_another_kind(client: Client, good: pd.DataFrame) -> None:
    def spoil(piece: pd.DataFrame) -> pd.DataFrame:
        return piece.assign(x0=piece["x0"].astype("Float64"), x2=piece["x2"].astype(object))

    pieces = [delayed(piece) for piece in pieces_with_a_bad_one(good, spoil)]
    frame = dd.from_delayed(pieces, meta=good.iloc[:0], verify_meta=False)
    expected = RCI().fit(good.drop(columns="d"), good["d"])
    assert same_model(RCI(backend="dask", mechanism="linear").fit(frame, "d"), expected)
    empty = [delayed(p) for p in pieces_with_a_bad_one(good, lambda piece: piece.assign(x2=None))]
    frame = dd.from_delayed(empty, meta=good.iloc[:0], verify_meta=False)
    with pytest.raises(InputError, match=r"missing values \(NaN\) in 'x2' \(100\)"):
        RCI(backend="dask", mechanism="linear", missing="refuse").fit(frame, "d")


def test_arguments_that_do_not_fit_together(client: Client, good: pd.DataFrame) -> None:
    frame = dd.from_pandas(good, 2)
    for words, backend, X, y in (
        ("use backend='dask', or X.compute\\(\\)", "numba", frame, "d"),
        ("takes a dask dataframe, or the path of Parquet files, not DataFrame", "dask", good, "d"),
        ("no column 'died'", "dask", frame, "died"),
        ("a dask Series with the rows of X; it is ndarray", "dask", frame, np.zeros(300)),
        ("the target y is None", "dask", frame, None),
        ("'ward' is constant", "dask", dd.from_pandas(good.assign(ward="a"), 2), "d"),
        ("no Parquet files at '/nowhere/\\*.parquet'", "dask", "/nowhere/*.parquet", "d"),
    ):
        with pytest.raises(InputError, match=words):
            RCI(backend=backend).fit(X, y)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, good: pd.DataFrame) -> None:
    for module in [name for name in sys.modules if name.startswith("rootcausal.inputs.from_cluster")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rootcausal\[dask\]'"):
        RCI(backend="dask", mechanism="linear").fit("cohort.parquet", "d")


def test_a_parquet_file_that_differs_is_named(client: Client, good: pd.DataFrame, tmp_path: Path) -> None:
    good.to_parquet(tmp_path / "a.parquet")
    odd = tmp_path / "b.parquet"
    for table, words in (
        (good.drop(columns="x2").assign(weight=1.0), "it lacks 'x2', it adds 'weight'"),
        (good.assign(x2="high"), "'x2' holds text instead of numbers"),
    ):
        table.to_parquet(odd)
        with pytest.raises(InputError, match=f"{odd.name}' does not match .*a.parquet': {words}"):
            RCI(backend="dask", mechanism="linear").fit(str(tmp_path / "*.parquet"), "d")
    odd.write_bytes(b"PAR1 but not really")
    with pytest.raises(InputError, match=r"b.parquet' is not a readable Parquet file"):
        RCI(backend="dask", mechanism="linear").fit(str(tmp_path / "*.parquet"), "d")
    # Integers among floats are numbers all the same.
    good.assign(x2=range(300)).to_parquet(odd)
    RCI(backend="dask", mechanism="linear").fit(str(tmp_path / "*.parquet"), "d")


def test_the_command_line_fits_on_a_running_cluster(
    client: Client, good: pd.DataFrame, tmp_path: Path
) -> None:
    named = good.assign(patient=[f"p{k}" for k in range(300)], d=np.where(good["d"] == 1, "yes", "no"))
    named.iloc[:100].to_parquet(tmp_path / "a.parquet")
    named.iloc[100:].to_parquet(tmp_path / "b.parquet")
    address = client.scheduler.address
    out = tmp_path / "m.rci"
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    options = ["--target", "d", "--id", "patient", "--out", out]
    printed = ok("fit", *files, *options, "--scheduler", address)
    assert "and 1 more files, 300 rows, 5 variables" in printed
    assert f"disease: d = yes ({int((good['d'] == 1).sum())} of 300 patients)" in printed
    assert same_model(RCI.load(out), RCI().fit(good.drop(columns="d"), good["d"]))
    assert "only with --backend dask or --scheduler" in error(2, "fit", *files, *options)
    named.assign(x0=named["x0"].mask(named.index == 4)).iloc[:100].to_parquet(files[0])
    options += ["--scheduler", address]
    assert "missing values (NaN) in 'x0' (1)" in error(3, "fit", *files, *options, "--missing", "refuse")
    assert "299 rows" in ok("fit", *files, *options, "--drop-missing")


@pytest.mark.parametrize("kind", ["object", "category"])
def test_labels_are_spelled_alike_on_a_cluster_and_in_memory(
    client: Client, good: pd.DataFrame, tmp_path: Path, kind: str
) -> None:
    spellings = {1: ["Yes", "yes", " YES"], 0: ["no", "No"]}
    labels = [spellings[d][row % len(spellings[d])] for row, d in enumerate(good["d"])]
    labels[4], labels[5] = "NA", None
    file = tmp_path / "a.parquet"
    good.assign(d=pd.Series(labels, dtype=kind)).to_parquet(file)
    options = ["fit", file, "--target", "d", "--drop-missing", "--out"]
    in_memory = ok(*options, tmp_path / "memory.rci")
    on_cluster = ok(*options, tmp_path / "cluster.rci", "--scheduler", client.scheduler.address)
    diseases = [line for line in in_memory.splitlines() if line.startswith("disease: d = yes (")]
    assert len(diseases) == 1 and diseases[0] in on_cluster
    expected = RCI.load(tmp_path / "memory.rci")
    model = RCI.load(tmp_path / "cluster.rci")
    assert same_model(model, expected)
    assert model.classes_.tolist() == expected.classes_.tolist() == ["no", "yes"]
    without = error(3, *options[:4], "--out", tmp_path / "m.rci", "--scheduler", client.scheduler.address)
    assert "y has 2 missing value(s)" in without


def test_a_scheduler_that_cannot_be_reached_is_named(
    monkeypatch: pytest.MonkeyPatch, good: pd.DataFrame, tmp_path: Path
) -> None:
    from rootcausal.inputs import from_cluster as dask_cohort

    assert dask_cohort.SECONDS_TO_CONNECT <= 25
    monkeypatch.setattr(dask_cohort, "SECONDS_TO_CONNECT", 1)
    good.to_parquet(tmp_path / "a.parquet")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        began = time.monotonic()
        refused = error(
            3,
            "fit",
            tmp_path / "a.parquet",
            "--target",
            "d",
            "--out",
            tmp_path / "m.rci",
            "--scheduler",
            address,
        )
    assert f"no Dask scheduler answers at '{address}'" in refused
    assert time.monotonic() - began < 20


def test_a_client_closed_during_the_fit(
    two_processes: Any, monkeypatch: pytest.MonkeyPatch, good: pd.DataFrame
) -> None:
    with Client(two_processes) as client:
        waited = DaskTable.gram

        def closing(self: DaskTable) -> Any:
            client.close()
            return waited(self)

        monkeypatch.setattr(DaskTable, "gram", closing)
        with pytest.raises(InputError, match="the Dask client was closed during the fit"):
            RCI(backend="dask", mechanism="linear").fit(dd.from_pandas(good, 2), "d")


LONELY_SCHEDULER = """
import asyncio, os, sys
from distributed import Scheduler, Worker

async def run():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        async with Worker(scheduler.address, nthreads=1, dashboard=False):
            print(scheduler.address, flush=True)
            await scheduler.finished()

asyncio.run(run())
"""


def test_a_scheduler_that_is_lost_during_the_fit(
    monkeypatch: pytest.MonkeyPatch, good: pd.DataFrame, tmp_path: Path
) -> None:
    good.to_parquet(tmp_path / "cohort.parquet")
    lonely = subprocess.Popen([sys.executable, "-c", LONELY_SCHEDULER], stdout=subprocess.PIPE, text=True)
    waited = dask_rows.wait_for
    calls = itertools.count()

    def lose(*args: Any) -> None:
        if next(calls) == 1:
            lonely.kill()
        waited(*args)

    monkeypatch.setattr(dask_rows, "wait_for", lose)
    assert lonely.stdout is not None
    address = lonely.stdout.readline().strip()
    try:
        command = "fit", tmp_path / "cohort.parquet", "--target", "d", "--scheduler", address
        said = error(3, *command, "--out", tmp_path / "model.rci")
    finally:
        lonely.kill()
        lonely.wait()
        lonely.stdout.close()
    assert next(calls) > 1
    assert said == (
        "error: the connection to the Dask scheduler was lost during the work: see that it runs and can be "
        "reached, and start again"
    )
    assert not (tmp_path / "model.rci").exists()


def test_a_cluster_that_stays_without_workers(monkeypatch: pytest.MonkeyPatch, good: pd.DataFrame) -> None:
    monkeypatch.setattr(dask_rows, "SECONDS_A_LOOK", 0.2)
    monkeypatch.setattr(dask_rows, "SECONDS_WITHOUT_WORKERS", 0.5)
    with (
        cluster_of(0),
        pytest.raises(InputError, match=r"the Dask cluster has had no workers for 0.5 seconds"),
    ):
        RCI(backend="dask", mechanism="linear").fit(dd.from_pandas(good, 2), "d")


def large(tmp_path: Path) -> tuple[Any, RCI]:
    """A cohort in sixteen partitions, and what its fit should give."""
    cohort = simulate(n_samples=60_000, n_variables=41, random_state=0)
    frame = pd.DataFrame(cohort.X, columns=list(cohort.feature_names)).assign(d=cohort.y)
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=60_000 // 16)
    expected = RCI(variant="plus").fit(cohort.X, cohort.y)
    return dd.read_parquet(tmp_path / "a.parquet", split_row_groups=True), expected


@pytest.mark.slow
def test_workers_killed_at_random_moments_change_nothing(tmp_path: Path) -> None:
    frame, expected = large(tmp_path)
    moments = random.Random(5)
    with cluster_of(2) as client:
        RCI(variant="plus", backend="dask", mechanism="linear").fit(frame, "d")  # compiles
        began = time.monotonic()
        RCI(variant="plus", backend="dask", mechanism="linear").fit(frame, "d")
        undisturbed = time.monotonic() - began
        for _ in range(10):
            address, pid = moments.choice(sorted(client.run(os.getpid).items()))
            killer = threading.Timer(moments.uniform(0, undisturbed), os.kill, (pid, signal.SIGKILL))
            killer.start()
            model = RCI(variant="plus", backend="dask", mechanism="linear").fit(frame, "d")
            killer.join()
            assert same_model(model, expected)
            while address in client.scheduler_info()["workers"]:
                time.sleep(0.05)
            client.wait_for_workers(2)


def retire_all(client: Client) -> None:
    cluster = client.cluster
    cluster.scale(0)
    while client.scheduler_info()["workers"]:
        time.sleep(0.05)
    cluster.scale(1)


def kill_all(client: Client) -> None:
    """Their nannies start new ones, at other addresses."""
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("lose_all", [retire_all, kill_all])
@pytest.mark.parametrize(
    ("place", "method", "call"),
    [(Client, "compute", 3), (DaskTable, "_each", 4), (DaskTable, "_each", 40)],
    ids=["reading", "first sums", "ordering"],
)
def test_all_workers_gone_and_a_new_one_joined(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    lose_all: Callable[[Client], None],
    place: type,
    method: str,
    call: int,
) -> None:
    frame, expected = large(tmp_path)
    with cluster_of(2) as client:
        RCI(variant="plus", backend="dask", mechanism="linear").fit(frame, "d")  # compiles
        start = getattr(place, method)
        calls = iter(range(1, 1_000_000))

        def start_and_lose(*args: Any, **kwargs: Any) -> Any:
            tasks = start(*args, **kwargs)
            if next(calls) == call:
                lose_all(client)
            return tasks

        monkeypatch.setattr(place, method, start_and_lose)
        too_long = threading.Timer(240, client.close)  # a fit that waits for ever fails
        too_long.start()
        model = RCI(variant="plus", backend="dask", mechanism="linear").fit(frame, "d")
        too_long.cancel()
        assert next(calls) > call
        assert same_model(model, expected)
