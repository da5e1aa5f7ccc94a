"""Result tables: exact numbers, no formulas, all files or none."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from rootcausal.errors import InputError
from rootcausal.files.writing import write_tables


def test_csv_numbers_read_back_exactly(tmp_path: Path) -> None:
    bits = np.random.default_rng(0).integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    values = np.concatenate(
        [bits[np.isfinite(bits)], [0.1 + 0.2, -0.0, 5e-324, 1.7976931348623157e308, 1e22, 1 / 3]]
    )
    write_tables({tmp_path / "s.csv": pa.table({"x": values})}, {})
    lines = (tmp_path / "s.csv").read_text().splitlines()[1:]
    assert np.array_equal(np.array([float(line) for line in lines]).view(np.uint64), values.view(np.uint64))


def test_csv_cells_start_no_formula(tmp_path: Path) -> None:
    ids = ["=cmd()", "+1+1", "-1+1", "@x", "\tx", "\rx", "\nx", "\uff1dx", "-5", "+1.5e3", "a=b", ""]
    table = pa.table({"=id": ids, "x": [-1.0 * k for k in range(len(ids))]})
    write_tables({tmp_path / "s.csv": table}, {})
    read = arrow_csv.read_csv(
        tmp_path / "s.csv", parse_options=arrow_csv.ParseOptions(newlines_in_values=True)
    )
    assert read.column_names == ["'=id", "x"]
    assert read["'=id"].to_pylist() == ["'" + text for text in ids[:8]] + ids[8:]
    assert read["x"].to_pylist() == table["x"].to_pylist()


def test_parquet_says_how_it_was_made(tmp_path: Path) -> None:
    write_tables({tmp_path / "s.parquet": pa.table({"=id": ["=x"]})}, {"command": "explain", "alpha": 0.2})
    metadata = pq.read_schema(tmp_path / "s.parquet").metadata
    assert json.loads(metadata[b"rootcausal"]) == {"command": "explain", "alpha": 0.2}
    assert pq.read_table(tmp_path / "s.parquet").to_pydict() == {"=id": ["=x"]}


def test_second_table_failing_leaves_neither(tmp_path: Path) -> None:
    tables = {tmp_path / "a.csv": pa.table({"x": [1.0]}), tmp_path / "b.csv": pa.table({"x": [[1.0]]})}
    with pytest.raises(pa.ArrowException):
        write_tables(tables, {})
    with pytest.raises(InputError, match=r"neither \.csv nor \.parquet"):
        write_tables(
            {tmp_path / "a.csv": pa.table({"x": [1.0]}), tmp_path / "b.xlsx": pa.table({"x": [1.0]})}, {}
        )
    assert os.listdir(tmp_path) == []
