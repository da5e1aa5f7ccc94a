"""What a fit on a Dask cluster costs: rows / throughput + rounds × latency, fitted to measurements.

Three measurements on this machine, each the best of several runs:
1. the round trip of a sum as the number of parts grows, on parts too small to matter;
2. fits of growing tables on one and on two workers, to which the model is fitted;
3. the same fit in memory and on two workers of one thread, both starting from one Parquet file.
From these, what the model says for 10⁸ rows × 200 columns on 64 workers.
With --before, only the third, of another checkout too (see older.py), on two workers in threads of this
process; and how many of them worked, whether models repeat, and whether they are those of one worker.
Usage: python benchmarks/dask_rows.py [--rows 1000000] [--runs 2] [--before SRC]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from measure import best_of, machine, table
from older import older
from scipy.optimize import nnls

import rootcausal
from rootcausal import RCI
from rootcausal.backends.cluster import parts as dask_parts
from rootcausal.backends.cluster.frame import FrameRows
from rootcausal.backends.cluster.rows import DaskRaw, DaskTable
from rootcausal.data import simulate

N_COLUMNS = 60
PARTS = (1, 4, 16, 64, 256)
SIZES = (25_000, 50_000, 100_000, 200_000)


@contextmanager
def workers(n: int, processes: bool = True):
    where = {"processes": processes, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=n, threads_per_worker=1, **where) as cluster,
        Client(cluster) as client,
    ):
        yield client


class Rounds(Counter):
    """Counts the round trips of fits while it is entered."""

    def __enter__(self) -> Rounds:
        self._sum = wait = DaskTable._sum

        def counted(table: DaskTable, method: str, *args: object) -> object:
            self[method] += 1
            return wait(table, method, *args)

        DaskTable._sum = counted
        return self

    def __exit__(self, *_: object) -> None:
        DaskTable._sum = self._sum


def frame_of(n: int, n_variables: int) -> pd.DataFrame:
    cohort = simulate(n_samples=n, n_variables=n_variables, random_state=0)
    return pd.DataFrame(cohort.X, columns=list(cohort.feature_names)).assign(d=cohort.y)


def round_trips(runs: int) -> dict[int, float]:
    """Seconds of one pair_sums by number of parts, 16 rows each."""
    seconds = {}
    # So many rows are too few for a grain, unless they are made to do.
    dask_parts.LEAST_ROWS_A_GRAIN, least = 16, dask_parts.LEAST_ROWS_A_GRAIN
    dask_parts.GRAINS, grains = max(PARTS), dask_parts.GRAINS
    with workers(2) as client:
        for parts in PARTS:
            frame = dd.from_pandas(frame_of(16 * parts, 4), npartitions=parts)
            raw = DaskRaw(client, FrameRows(client, frame, ["x0", "x1", "x2"], None))
            source = raw._source
            cols = np.arange(3)
            futures = source.parts(parts, 2, cols, np.zeros(3), np.ones(3))
            assert len(futures) == parts
            small = DaskTable(client, futures, raw.shape, 2).with_correlations(np.eye(3))
            pair = np.array([0]), np.array([1])
            small.pair_sums(*pair)
            seconds[parts], _ = best_of(10 * runs, lambda small=small, pair=pair: small.pair_sums(*pair))
    dask_parts.LEAST_ROWS_A_GRAIN, dask_parts.GRAINS = least, grains
    return seconds


def fits(runs: int, folder: Path) -> list[dict[str, float]]:
    """Time, rounds and pairs of fits from Parquet, on one worker and on two."""
    rows = []
    for n in SIZES:
        frame_of(n, N_COLUMNS + 1).to_parquet(folder / f"{n}.parquet", row_group_size=n // 8)
    for n_workers in (1, 2):
        with workers(n_workers) as client:
            client.submit(time.sleep, 0).result()
            RCI(variant="plus", backend="dask").fit(folder / f"{SIZES[0]}.parquet", "d")  # compiles
            for n in SIZES:
                with Rounds() as rounds:
                    seconds, model = best_of(
                        runs,
                        lambda n=n: RCI(variant="plus", backend="dask").fit(folder / f"{n}.parquet", "d"),
                    )
                rows.append(
                    {
                        "workers": n_workers,
                        "rows": n,
                        "seconds": seconds,
                        "pairs": model.provenance_["pairs_evaluated"],
                        "rounds": rounds.total() / runs,
                        "pair_rounds": (rounds["pair_sums"] + rounds["leading_pair_sums"]) / runs,
                    }
                )
                print(rows[-1], flush=True)
    return rows


def overhead(n: int, runs: int, folder: Path) -> tuple[float, float]:
    """Seconds of a fit in memory, reading included, and on two workers."""
    path = folder / "overhead.parquet"
    frame_of(n, N_COLUMNS + 1).to_parquet(path, row_group_size=n // 16)

    def in_memory() -> RCI:
        frame = pd.read_parquet(path)
        return RCI(variant="plus", backend="numba").fit(frame.drop(columns="d"), frame["d"])

    memory, expected = best_of(runs, in_memory)
    print(f"in memory: {memory:.1f} s", flush=True)
    with workers(2):
        cluster, model = best_of(runs, lambda: RCI(variant="plus", backend="dask").fit(path, "d"))
    assert model.causal_order_.tolist() == expected.causal_order_.tolist()
    print(f"on two workers: {cluster:.1f} s", flush=True)
    return memory, cluster


def before_and_after(source: str, n: int, runs: int, folder: Path) -> None:
    """Both checkouts in turns, on the same two workers, and then on one."""
    path = folder / "both.parquet"
    frame_of(n, N_COLUMNS + 1).to_parquet(path, row_group_size=n // 16)
    packages = {"before": older(source), "now": rootcausal}
    seconds: dict[str, list[float]] = {name: [] for name in packages}
    busy: dict[str, set[int]] = {name: set() for name in packages}
    models: dict[str, list[bytes]] = {name: [] for name in packages}

    def in_memory() -> RCI:
        frame = pd.read_parquet(path)
        return RCI(variant="plus", backend="numba").fit(frame.drop(columns="d"), frame["d"])

    memory = np.inf
    for n_workers in (2, 1):
        with workers(n_workers, processes=False) as client:
            client.get_task_stream()  # from here on it is kept
            for turn in range(1 + runs if n_workers == 2 else 1):
                for name, package in packages.items():
                    began, clock = time.time(), time.perf_counter()
                    model = package.RCI(variant="plus", backend="dask").fit(path, "d")
                    models[name].append(model.coef_.tobytes() + model.margins_.tobytes())
                    if turn:  # the first compiles
                        seconds[name].append(time.perf_counter() - clock)
                        tasks = client.get_task_stream(start=began)
                        busy[name].add(len({t["worker"] for t in tasks if "pair_sums" in str(t["key"])}))
                if n_workers == 2:
                    memory = min(memory, best_of(1, in_memory)[0])
    rows = []
    for name in packages:
        least, most = min(seconds[name]), max(seconds[name])
        *on_two, on_one = models[name]
        repeats, same = len(set(on_two)) == 1, {on_one} == set(on_two)
        working = ", ".join(map(str, sorted(busy[name])))
        rows.append(
            [name, f"{least:.2f} to {most:.2f}", f"{least / memory:.2f}", working, str(repeats), str(same)]
        )
    print(f"in memory: {memory:.2f} s")
    print(table(["", "seconds", "× memory", "workers at work", "repeats", "as on one worker"], rows))


def fitted(rows: list[dict[str, float]], round_trip: np.poly1d) -> tuple[float, float]:
    """Residuals a second and core, and seconds that every fit takes; least relative errors.

    Round trips, of which all these fits take about as many, are taken off as they were measured.
    """
    work = np.array([2 * r["pairs"] * r["rows"] / r["workers"] for r in rows])
    seconds = np.array([r["seconds"] for r in rows])
    waiting = np.array([r["rounds"] * round_trip(r["workers"]) for r in rows])
    design = np.column_stack([work, np.ones(len(rows))]) / seconds[:, None]
    each, start = nnls(design, (seconds - waiting) / seconds)[0]
    return 1.0 / each, start


def far_beyond(throughput: float, round_trip: np.poly1d) -> str:
    """What the model says for 10⁸ rows × 200 columns, variant plus, on 64 workers of 4 cores."""
    cores = 64 * 4
    # Pairs and rounds of a search over 200 columns, as counted on 5,000 rows.
    residuals, rounds = 2 * 150_496 * 1e8, 398 + 11
    computing, waiting = residuals / (cores * throughput), rounds * round_trip(cores)
    return f"10⁸ × 200 on 64 workers of 4 cores: {computing:.0f} s of sums, {waiting:.0f} s of round trips"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the comparison with memory")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--before", metavar="SRC", help="the src of another checkout, to compare with")
    options = parser.parse_args()
    print(machine(), flush=True)
    if options.before:
        with tempfile.TemporaryDirectory() as name:
            before_and_after(options.before, options.rows, options.runs, Path(name))
        return
    trips = round_trips(options.runs)
    print(
        table(["parts", "round trip, ms"], [[str(k), f"{1e3 * v:.1f}"] for k, v in trips.items()]), flush=True
    )
    with tempfile.TemporaryDirectory() as name:
        rows = fits(options.runs, Path(name))
        memory, cluster = overhead(options.rows, options.runs, Path(name))
    round_trip = np.poly1d(np.polyfit(list(trips), list(trips.values()), 1))
    throughput, start = fitted(rows, round_trip)
    print(f"round trip: {1e3 * round_trip[0]:.1f} ms and {1e3 * round_trip[1]:.2f} ms a part")
    print(f"residuals a second and core: {throughput:.3g}; a fit: {start:.2f} s")
    print(far_beyond(throughput, round_trip))
    print(f"{options.rows:,} rows: {cluster / memory:.2f} times the fit in memory")


if __name__ == "__main__":
    main()
