"""Row files of ``rootcausal reproduce``: what nobody wrote is refused, in one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from rootcausal.errors import InputError
from rootcausal.experiments.rows import Row, RowFile, read_rows

LINE = {
    "seed": 0,
    "source": "synthetic-n100-p6",
    "n": 100,
    "p": 6,
    "number": 0,
    "method": "TT",
    "overlap": 0.5,
    "mse": 0.25,
    "seconds": 0.125,
    "pairs": None,
    "error": None,
    "version": "0.1.0",
}


def test_rows_of_older_files_chose_no_mechanism(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    file = RowFile(path, 0)
    row = Row(**{name: value for name, value in LINE.items() if name != "seed"}, mechanism="linear")
    file.add([row])
    file.freeze()
    assert read_rows(path, 0) == [row]
    parquet.write_table(parquet.read_table(path).drop_columns("mechanism"), path)
    assert read_rows(path, 0) == [replace(row, mechanism=None)]


@pytest.mark.parametrize(
    "bad",
    [
        b"\xff\xfe",
        b"[" * 50_000,
        b" " * 200_000,
        b"5",
        json.dumps(LINE | {"overlap": float("nan")}).encode(),
        json.dumps(LINE | {"overlap": "much"}).encode(),
        json.dumps(LINE | {"seconds": 1}).encode(),
        json.dumps(LINE | {"n": 2**40}).encode(),
        json.dumps(LINE | {"number": True}).encode(),
        json.dumps(LINE | {"method": "\ud800"}).encode(),
        json.dumps(LINE | {"seed": [0]}).encode(),
        json.dumps(LINE | {"more": 1}).encode(),
        json.dumps(LINE | {"crc32": 1}).encode(),
        json.dumps({name: LINE[name] for name in LINE if name != "error"}).encode(),
    ],
    ids=lambda bad: bad[:40].decode(errors="replace") + f" ({len(bad)})",
)
def test_lines_that_nobody_wrote_are_refused(bad: bytes, tmp_path: Path) -> None:
    good = json.dumps(LINE).encode()
    journal = tmp_path / "rows.journal"
    for content in (bad + b"\n" + good + b"\n", good + b"\n" + bad + b"\n"):
        journal.write_bytes(content)
        with pytest.raises(InputError, match=r"rows\.journal' does not hold result rows"):
            RowFile(tmp_path / "rows.parquet", 0)
        assert journal.read_bytes() == content


def test_journals_of_older_versions_are_read(tmp_path: Path) -> None:
    (tmp_path / "rows.journal").write_text(json.dumps(LINE) + "\n", encoding="utf-8")
    assert [row.overlap for row in RowFile(tmp_path / "rows.parquet", 0).rows.values()] == [0.5]


def test_a_journal_of_another_seed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.journal").write_text(json.dumps(LINE) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="was made from seed 0, not 1: choose another folder"):
        RowFile(tmp_path / "rows.parquet", 1)
    assert (tmp_path / "rows.journal").exists()


def test_a_changed_line_is_noticed(tmp_path: Path) -> None:
    rows = RowFile(tmp_path / "rows.parquet", 0)
    rows.add([Row(**{name: LINE[name] for name in LINE if name != "seed"})])
    rows.journal.write_bytes(rows.journal.read_bytes().replace(b"0.5", b"0.6"))
    with pytest.raises(InputError, match="the checksum of a line differs"):
        RowFile(tmp_path / "rows.parquet", 0)


def test_parquet_rows_are_checked_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    (tmp_path / "rows.journal").write_text(json.dumps(LINE) + "\n", encoding="utf-8")
    RowFile(path, 0)
    good = parquet.read_table(path)

    def refused(table: pa.Table, match: str) -> None:
        parquet.write_table(table, path, compression="zstd")
        with pytest.raises(InputError, match=match):
            read_rows(path, 0)

    refused(good.take([0] * 200_000), "far more rows than a file of its size can hold")
    long = pa.array(["x" * (32 << 20)])
    refused(good.set_column(9, "error", long), "far more memory than a file of its size can need")
    for column, value in (("overlap", float("inf")), ("n", -1), ("method", None)):
        place = good.column_names.index(column)
        odd = pa.array([value], good.schema.field(column).type.value_type if column == "method" else None)
        field = good.schema.field(column)
        refused(good.set_column(place, field, odd.cast(field.type)), f"{column} cannot be")
    refused(good.set_column(5, "overlap", pa.array(["much"])), "'overlap' is of another type")
    refused(good.drop_columns("overlap"), "does not hold result rows")
    refused(good.replace_schema_metadata({b"rootcausal_seed": b"zero"}), "does not hold result rows")
