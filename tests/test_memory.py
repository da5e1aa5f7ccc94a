"""Files that would take more memory than there is: refused in a sentence, or read in pieces."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_line import error, ok
from pyarrow import csv as arrow_csv
from pyarrow import parquet as pq

from rootcausal.files import delimited, memory

N = 3000
RNG = np.random.default_rng(2)
NUMBERS = RNG.normal(size=(N, 3)).round(4)
COHORT = pd.DataFrame(
    {
        "a": np.where(np.arange(N) % 50 == 7, np.nan, NUMBERS[:, 0]),
        "b": NUMBERS[:, 1],
        "ward": np.array(["north", "south", "west"])[RNG.integers(0, 3, N)],
        "code": np.array(["01", "02", "ICU"])[np.arange(N) * 3 // N],  # of each piece one, or two
        "stage": RNG.integers(1, 5, N),
        "when": pd.date_range("2001-01-01", periods=N, freq="11h").strftime("%m/%d/%Y"),
        "c": NUMBERS[:, 2],
    }
)
COHORT["d"] = (COHORT["b"] + COHORT["stage"] - 2 + RNG.normal(size=N) > 0).astype(int)


def in_small_pieces(patch: pytest.MonkeyPatch) -> list[int]:
    """Let texts come in pieces of few rows; how many rows each has is noted."""
    seen: list[int] = []
    types = delimited.with_types

    def noted(piece: Any, *more: Any) -> Any:
        seen.append(piece.num_rows)
        return types(piece, *more)

    patch.setattr(delimited, "_LONG_TEXT_BYTES", 1 << 12)
    patch.setattr(delimited, "_PIECE_BYTES", 1 << 14)
    patch.setattr(delimited, "with_types", noted)
    return seen


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "latin.csv"])
def test_a_long_text_is_explained_in_pieces_with_the_same_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    model, path = tmp_path / "m.rci", tmp_path / name
    table = COHORT.replace({"ward": {"west": "wést"}})
    table[::7].to_csv(tmp_path / "c.csv", index=False)
    ok(
        "fit",
        tmp_path / "c.csv",
        "--target",
        "d",
        "--keep",
        "a,b,c,ward,code,stage,when",
        "--alpha",
        0.2,
        "--out",
        model,
    )
    encoding = "cp1252" if name == "latin.csv" else "utf-8"
    if name == "latin.csv":  # far down the file
        table["ward"] = table["ward"].where((table["ward"] != "wést") | (np.arange(N) > 2500), "north")
    table.to_csv(path, index=False, sep="\t" if name == "t.tsv" else ",", encoding=encoding)
    ok("explain", model, path, "--out", tmp_path / "whole.csv")
    seen = in_small_pieces(monkeypatch)
    ok("explain", model, path, "--out", tmp_path / "pieces.csv")
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "pieces.csv").read_bytes()
    # Once to see what is missing, once to score.
    assert sum(seen) == 2 * N and max(seen) < N / 5


def test_what_is_wrong_far_down_a_long_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, path, out = tmp_path / "m.rci", tmp_path / "t.csv", tmp_path / "s.csv"
    COHORT[:400].to_csv(tmp_path / "c.csv", index=False)
    ok("fit", tmp_path / "c.csv", "--target", "d", "--keep", "a,b,stage", "--out", model)
    COHORT.to_csv(path, index=False)
    whole = path.read_text().splitlines()
    in_small_pieces(monkeypatch)
    for wrong, told in {
        "1,2": f"data row {N - 2} of '{path}' has 2 values, but the header names 8 columns",
        "1,y,north,01,1,01/02/2001,1,1": f"not numbers: 'b' (for example 'y' in data row {N - 2})",
    }.items():
        path.write_text("\n".join([*whole[:-3], wrong, *whole[-2:]]) + "\n")
        said = error(3, "explain", model, path, "--out", out)
        assert told in said
        assert not out.exists()


def test_a_bomb_is_refused_before_a_library_unpacks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused in the middle, threads of pyarrow waited for ever, with all of it in memory."""
    path = tmp_path / "c.csv.gz"
    path.write_bytes(gzip.compress(b"a,d\n" + b"1,0\n" * 1_000_000))
    monkeypatch.setattr(memory, "_ALWAYS_FINE_BYTES", 1 << 20)
    monkeypatch.setattr(arrow_csv, "read_csv", None)
    assert "unpacks to more than 200 times its size" in error(3, "look", path)


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As much as is needed at least, and 20 MiB."""
    monkeypatch.setattr(memory, "memory_left", lambda: memory.LEAST + (20 << 20))


@pytest.mark.usefixtures("little_memory")
def test_tables_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    n_rows = 2_000_000  # which take no room in the file
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int8)), pa.array([1.5]))
    pq.write_table(pa.table({"a": column, "d": column}), tmp_path / "c.parquet")
    assert (tmp_path / "c.parquet").stat().st_size < 20_000
    told = "is too large for the memory of this machine: a table of 2,000,000 rows needs about 91 MiB, and"
    for command in (["look"], ["fit", "--out", tmp_path / "m.rci"], ["check"]):
        name, *more = command
        assert told in error(3, name, tmp_path / "c.parquet", "--target", "d", *more)
    (tmp_path / "c.csv").write_text("a,d\n" + "1,0\n" * 3_000_000)
    assert "is too large for the memory of this machine: its table" in error(3, "look", tmp_path / "c.csv")
    pd.DataFrame({"a": np.zeros(400_000), "d": 0.0}).to_stata(tmp_path / "c.dta", write_index=False)
    assert "is too large for the memory of this machine: its table" in error(3, "look", tmp_path / "c.dta")


def test_one_cell_far_out_makes_no_table_of_billions(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for place, cell in {"A1": "a", "B1": "d", "A2": 1, "B2": 0, "XFD1048576": 5}.items():
        book.active[place] = cell
    book.save(tmp_path / "far.xlsx")
    assert "a sheet of 1,048,576 rows and 16,384 columns needs" in error(3, "look", tmp_path / "far.xlsx")


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of Linux")
@pytest.mark.parametrize("left", [1 << 24, 1 << 27])
def test_too_little_memory_ends_in_a_sentence(tmp_path: Path, left: int) -> None:
    """And not in an abort of pyarrow."""
    (tmp_path / "c.csv").write_text("a,b,d\n" + "1.5,2.5,0\n2.5,1.5,1\n" * 500_000)
    script = f"""
import resource, sys
import pandas, pyarrow.csv, rootcausal.profiling.look
from rootcausal.cli.application import main
taken = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmSize:"))
resource.setrlimit(resource.RLIMIT_AS, (taken + {left},) * 2)
sys.argv = ["rootcausal", "look", {str(tmp_path / "c.csv")!r}]
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode in (1, 3), done
    assert done.stderr.startswith("error: ") and "memory" in done.stderr, done


def test_files_that_the_kernel_keeps_take_no_memory_from_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a table that was read once could be refused when it is read again."""
    monkeypatch.setattr(memory, "_CONTAINER", tmp_path)
    monkeypatch.setattr(memory, "_of_machine", lambda: None)
    monkeypatch.setattr(memory, "address_space_left", lambda: None)
    assert memory.memory_left() is None
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("900\n")
    (tmp_path / "memory.stat").write_text("anon 150\ninactive_file 600\nactive_file 50\n")
    assert memory.memory_left() == 750
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.memory_left() is None
