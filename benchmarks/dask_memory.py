"""A table larger than the memory of its workers: peak memory of each worker, and time.

Draws a cohort of about 6.4 GB of Parquet chunk by chunk, fits it on two workers limited to 1.5 GB each,
and deletes it. Usage: python benchmarks/dask_memory.py FOLDER [--alpha 0.05] [--keep]
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster
from scipy.special import expit

from rootcausal import RCI
from rootcausal.data import simulate

N_COLUMNS = 400
ROWS_A_FILE, N_FILES, ROWS_A_GROUP = 250_000, 8, 25_000
WORKERS, MEMORY = 2, "1.5GB"


def draw(folder: Path) -> None:
    """Rows of one model, as the paper's generator draws it; only the rows come in chunks."""
    model = simulate(n_samples=100, n_variables=N_COLUMNS + 1, random_state=6)
    mixing = np.linalg.inv(np.eye(N_COLUMNS) - model.adjacency)
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for file in range(N_FILES):
        schema = pa.schema([(name, pa.float64()) for name in model.feature_names] + [("d", pa.int64())])
        with pq.ParquetWriter(folder / f"{file}.parquet", schema, use_dictionary=["d"]) as writer:
            for _ in range(ROWS_A_FILE // ROWS_A_GROUP):
                errors = np.empty((ROWS_A_GROUP, N_COLUMNS))
                errors[:, 0::3] = rng.standard_t(5, errors[:, 0::3].shape)
                errors[:, 1::3] = rng.chisquare(3, errors[:, 1::3].shape) - 3
                errors[:, 2::3] = rng.uniform(-1, 1, errors[:, 2::3].shape)
                X = errors @ mixing.T
                d = (rng.random(ROWS_A_GROUP) < expit(X @ model.target_weights)).astype(np.int64)
                arrays = [pa.array(column) for column in np.ascontiguousarray(X.T)]
                writer.write_table(pa.Table.from_arrays([*arrays, pa.array(d)], schema=schema))


def peak_memory() -> tuple[float, float]:
    """Peak and current resident memory of this process, in GB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith(("VmHWM", "VmRSS"))}
    return float(fields["VmHWM"]) / 1e6, float(fields["VmRSS"]) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--keep", action="store_true", help="keep the table, and use it if it is there")
    options = parser.parse_args()
    if not options.folder.exists():
        draw(options.folder)
    size = sum(file.stat().st_size for file in options.folder.iterdir())
    print(f"{size / 1e9:.2f} GB of Parquet, {N_FILES * ROWS_A_FILE} rows, {N_COLUMNS} columns", flush=True)
    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, memory_limit=MEMORY, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        began = time.perf_counter()
        model = RCI(alpha=options.alpha, backend="dask", progress=True).fit(str(options.folder), "d")
        print(f"fit: {time.perf_counter() - began:.0f} s, {len(model.causal_order_)} roots")
        for worker, (peak, now) in client.run(peak_memory).items():
            print(f"{worker}: peak {peak:.2f} GB, now {now:.2f} GB (limit {MEMORY})")
        print(model.provenance_)
    if not options.keep:
        shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
