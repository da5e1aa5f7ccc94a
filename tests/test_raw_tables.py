"""Raw clinical tables on the command line: what users meet there, and in which words it is said."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import error, ok, run

from rootcausal import RCI
from rootcausal.files.tables import column_names, read_columns


def cohort(n: int = 200, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.standard_t(4, n).round(3)
    b = (a + rng.standard_t(4, n)).round(3)
    ill = (b + rng.logistic(size=n) > 0).astype(int)
    return pd.DataFrame({"a": a, "b": b, "ill": ill})


def write(folder: Path, table: pd.DataFrame, name: str = "cohort.csv") -> Path:
    path = folder / name
    table.to_csv(path, index=False)
    return path


# --- words for missing in one column ----------------------------------------------------------------------


def in_one(path: Path, *na: str) -> dict[str, list[Any]]:
    return read_columns(path, column_names(path), None, na).to_pydict()


def test_a_word_for_missing_in_one_column(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("g,h,t,day,yes\n0,0,x,1900-01-01,true\n0.0,5,0,2001-02-03,false\n.,7,.,2001-02-04,true\n")
    found = in_one(path, "g=0", "g=.", "t=x", "day=1900-01-01", "yes=TRUE", "u=5")
    assert found["g"] == [None, None, None]
    assert found["h"] == [0, 5, 7]
    assert found["t"] == [None, "0", "."]
    assert [day is None for day in found["day"]] == [True, False, False]
    assert found["yes"] == [None, False, None]
    assert in_one(path, "h=5", "0")["h"] == [None, None, 7]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("a=1", {"a": [None, 2], "a=b": [1, 1], "t": ["x=1", "1"]}),
        ("a=b=1", {"a": [1, 2], "a=b": [None, None], "t": ["x=1", "1"]}),
        ("x=1", {"a": [1, 2], "a=b": [1, 1], "t": [None, 1.0]}),
        ("t= x=1 ", {"a": [1, 2], "a=b": [1, 1], "t": [None, 1.0]}),
    ],
)
def test_equals_signs_in_names_and_words(tmp_path: Path, word: str, expected: dict[str, list[Any]]) -> None:
    path = tmp_path / "c.csv"
    path.write_text("a,a=b,t\n1,1,x=1\n2,1,1\n")
    assert in_one(path, word) == expected


def test_a_word_of_one_column_counts_for_new_patients(tmp_path: Path) -> None:
    table = cohort()
    table.loc[:40, "a"] = 0.0
    table.loc[60:70, "b"] = 0.0
    path, model = write(tmp_path, table), tmp_path / "m.rci"
    assert "41 of 400 cells are missing" in ok("fit", path, "--target", "ill", "--na", "a=0", "--out", model)
    assert RCI.load(model).provenance_["reading"] == {"na": ["a=0"]}
    ok("explain", model, path, "--out", tmp_path / "s.csv")
    imputed = pd.read_csv(tmp_path / "s.csv")["imputed"]
    assert (imputed[:41] == "a").all() and imputed[41:].isna().all()
    assert "glucose=0" in " ".join(ok("fit", "--help").split())
