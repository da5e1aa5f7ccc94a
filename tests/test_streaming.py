"""``rootcausal explain`` of a Parquet file larger than memory: in pieces, whole or not at all."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from command_line import error, ok

from rootcausal import RCI
from rootcausal.data import simulate
from rootcausal.inputs.from_file import stream_new_patients


@pytest.fixture
def pieces_of_100_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rootcausal.files.tables._ROWS_PER_PIECE", 100)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, np.ndarray]:
    """A model, a Parquet file of 450 patients, and their values."""
    cohort = simulate(n_samples=450, n_variables=6, random_state=1)
    named = dict(zip(cohort.feature_names, cohort.X.T, strict=True))
    RCI(alpha=1.0).fit(pa.table(named), cohort.y).save(tmp_path / "m.rci")
    pq.write_table(pa.table({"id": [f"p{k}" for k in range(450)], **named}), tmp_path / "big.parquet")
    return tmp_path / "m.rci", tmp_path / "big.parquet", cohort.X


@pytest.mark.usefixtures("pieces_of_100_rows")
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_pieces_give_what_the_whole_gives(files: tuple[Path, Path, np.ndarray], ending: str) -> None:
    model_file, patients, _ = files
    out = patients.with_name(f"scores.{ending}")
    assert "scores of 450 patients" in ok("explain", model_file, patients, "--id", "id", "--out", out)
    model = RCI.load(model_file)
    pieces = list(stream_new_patients(patients, list(model.feature_names_in_)))
    assert [piece.X.num_rows for piece in pieces] == [100, 100, 100, 100, 50]
    assert pieces[-1].row_numbers[-1] == 450
    scores = pq.read_table(out) if ending == "parquet" else pa.csv.read_csv(out)
    assert scores["id"].to_pylist() == [f"p{k}" for k in range(450)]
    np.testing.assert_array_equal(
        np.column_stack([scores[name] for name in model.feature_names_in_]),
        np.vstack([model.shapley_values(piece.X) for piece in pieces]),
    )


@pytest.mark.usefixtures("pieces_of_100_rows")
def test_missing_values_are_counted_to_the_end_and_nothing_is_written(
    files: tuple[Path, Path, np.ndarray],
) -> None:
    model_file, patients, X = files
    strict = RCI(alpha=1.0, missing="refuse")
    y = (X[:, 0] + np.random.default_rng(0).logistic(size=450) > 0).astype(int)
    strict.fit(pq.read_table(patients).drop("id"), y).save(model_file)
    holed = X.copy()
    holed[[150, 440], 1] = np.nan
    holed[200:300, 2] = np.nan  # the whole third piece
    columns = {f"x{c}": column for c, column in enumerate(holed.T)}
    pq.write_table(pa.table(columns), patients)
    out = patients.with_name("scores.parquet")
    refused = error(3, "explain", model_file, patients, "--out", out)
    assert "'x1' (2), 'x2' (100)" in refused
    assert not out.exists()
    printed = ok("explain", model_file, patients, "--drop-missing", "--out", out)
    assert "left out 102 of 450 rows" in printed
    rows = pq.read_table(out)["row"].to_numpy()
    assert rows.size == 348
    assert not {151, 201, 300, 441} & set(rows)
    pq.write_table(pa.table({name: np.full(250, np.nan) for name in columns}), patients)
    assert "leaves no row" in error(3, "explain", model_file, patients, "--drop-missing", "--out", out)


@pytest.mark.parametrize("row_group_size", [50_000, 2_000_000])
def test_the_pieces_hold_a_small_part_of_the_file(tmp_path: Path, row_group_size: int) -> None:
    big = tmp_path / "big.parquet"
    # Random numbers, so that the file is as large as its rows.
    columns = np.random.default_rng(0).random((2, 2_000_000))
    table = pa.table({"a": columns[0], "b": columns[1]})
    pq.write_table(table, big, row_group_size=row_group_size, use_dictionary=False)
    del table, columns
    gc.collect()
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in stream_new_patients(big, ["a", "b"])]
    assert len(held) > 20
    assert max(held) < big.stat().st_size / 4


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_memory_does_not_grow_with_rows(files: tuple[Path, Path, np.ndarray]) -> None:
    model_file, patients, X = files
    out = patients.with_name("scores.parquet")
    program = (
        "import sys; from rootcausal.cli import app; app(sys.argv[1:], standalone_mode=False); "
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0], file=sys.stderr)"
    )
    peaks = []
    for times in (300, 12_000):
        columns = {f"x{c}": column for c, column in enumerate(np.tile(X, (times, 1)).T)}
        pq.write_table(pa.table(columns), patients, row_group_size=1 << 16)
        command = [
            sys.executable,
            "-c",
            program,
            "explain",
            str(model_file),
            str(patients),
            "--out",
            str(out),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(done.stderr.split()[-1]))
    # In kilobytes. The patients alone are 216,000 and their explanation is three times that.
    assert peaks[1] - peaks[0] < 100_000
