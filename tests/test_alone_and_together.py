"""A patient's risk is the same alone and among any others: cells are read as the model's, never by batch."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rootcausal import RCI
from rootcausal.cli.models import columns_of
from rootcausal.files import delimited, tables
from rootcausal.inputs.from_file import stream_new_patients

# How levels may be written, in the cohort; some only look like numbers, truth values or dates.
SPELLINGS: dict[str, tuple[Any, ...]] = {
    "zeros in front": ("01", "02", "ICU"),
    "both": ("01", "1", "ICU"),
    "points": ("1.0", "2.0", "ICU"),
    "powers": ("1e1", "2e1", "X"),
    "truth": ("True", "False", "unknown"),
    "truth and codes": ("true", "1", "unknown"),
    "agents": ("007", "008", "OT"),
    "signs": ("+1", "+2", "u"),
    "hexadecimal": ("0x1", "0x2", "u"),
    "no numbers": ("nan1", "inf", "a"),
    "commas": ("1,5", "2,5", "x"),
    "days": ("2020-01-01", "2020-01-02", "x"),
    "whole": (1, 2, "u"),
    "floats": (1.0, 2.5, "u"),
    "booleans": (True, False, "u"),
    "numbers": (0.0, 1.0, 2.0),
    "numbers as texts": ("0.0", "1.0", "2.0"),
    "only truth": (True, False, True),
}
# What else may stand in a column of new patients, as another program wrote it.
OTHERS = ("ICU", "1", "01", "1.0", "2", "true", "FALSE", "1,5", "unknown", "9", 1, 2.0, True, None, "12:30")


@functools.cache
def cohort(spelling: str) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    place = rng.integers(0, 3, 90)
    cells = pd.Series([SPELLINGS[spelling][one] for one in place], dtype=object)
    return pd.DataFrame({"ward": cells, "x": rng.laplace(size=90), "place": place})


@functools.cache
def model(spelling: str) -> RCI:
    table, rng = cohort(spelling), np.random.default_rng(1)
    odds = 2.0 * (table["place"] != 1) - 1 + table["x"]
    y = (rng.random(len(table)) < 1 / (1 + np.exp(-odds))).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RCI(alpha=1.0, backend="numpy").fit(table[["ward", "x"]], y)


def risk(model: RCI, X: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict_proba(X)[:, 1]


def texts(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with each cell as it would be written in a file."""
    return frame.assign(ward=[None if cell is None else str(cell) for cell in frame["ward"]])


def of_arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.table({"ward": pa.array(texts(frame)["ward"], pa.string()), "x": frame["x"].to_numpy()})


CONTAINERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "objects": lambda frame: frame,
    "inferred": lambda frame: frame.assign(ward=frame["ward"].infer_objects()),
    "nullable": lambda frame: frame.convert_dtypes(),
    "strings": lambda frame: texts(frame).astype({"ward": "string"}),
    "categories": lambda frame: texts(frame).astype({"ward": "category"}),
    "polars": lambda frame: pl.from_arrow(of_arrow(frame)),
    "polars categories": lambda frame: pl.from_arrow(of_arrow(frame)).cast({"ward": pl.Categorical}),
    "arrow": of_arrow,
    "array": lambda frame: frame.to_numpy(dtype=object),
}


def risks_of_parts(model: RCI, frame: Any, put: Callable[[Any], Any], ends: Sequence[int]) -> np.ndarray:
    parts = [frame.iloc[start:end] for start, end in zip([0, *ends], [*ends, len(frame)], strict=True)]
    return np.concatenate([risk(model, put(part.reset_index(drop=True))) for part in parts])


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_alone_as_in_the_cohort(spelling: str) -> None:
    frame, one = cohort(spelling)[["ward", "x"]].iloc[:6], model(spelling)
    assert cohort(spelling)["place"][:6].nunique() == 3
    expected = risk(one, cohort(spelling)[["ward", "x"]])[:6]
    for name, put in CONTAINERS.items():
        alone = risks_of_parts(one, frame, put, range(1, 6))
        np.testing.assert_allclose(alone, expected, atol=1e-9, err_msg=name)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_alone_as_among_strangers(data: st.DataObject) -> None:
    spelling = data.draw(st.sampled_from(sorted(SPELLINGS)))
    cells = data.draw(st.lists(st.sampled_from([*SPELLINGS[spelling], *OTHERS]), min_size=2, max_size=6))
    put = CONTAINERS[data.draw(st.sampled_from(sorted(CONTAINERS)))]
    frame = pd.DataFrame({"ward": pd.Series(cells, dtype=object), "x": np.linspace(-1, 1, len(cells))})
    together = risk(model(spelling), put(frame))
    alone = risks_of_parts(model(spelling), frame, put, range(1, len(cells)))
    np.testing.assert_allclose(alone, together, atol=1e-9)
    if len({type(cell) for cell in cells}) == 1:
        np.testing.assert_allclose(risk(model(spelling), frame), together, atol=1e-9)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_files_in_pieces(spelling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS_PER_PIECE", 4)
    frame, one = cohort(spelling)[["ward", "x"]], model(spelling)
    # First a piece in which no cell looks like a number, then pieces in which all do.
    frame = frame.loc[[*frame.index[cohort(spelling)["place"] == 2][:4], *range(20)]].reset_index(drop=True)
    expected = risk(one, frame)
    frame = texts(frame)
    frame.assign(id=[f"{k:03}" for k in range(24)]).to_csv(tmp_path / "whole.csv", index=False)
    frame.iloc[4:8].to_csv(tmp_path / "piece.csv", index=False)
    frame.to_excel(tmp_path / "whole.xlsx", index=False)
    frame.to_parquet(tmp_path / "whole.parquet")
    for name, rows in {"whole.csv": 24, "piece.csv": 4, "whole.xlsx": 24, "whole.parquet": 24}.items():
        pieces = stream_new_patients(tmp_path / name, **columns_of(one, None))
        found = np.concatenate([risk(one, piece.X) for piece in pieces])
        assert len(found) == rows
        start = 0 if rows == 24 else 4
        np.testing.assert_allclose(found, expected[start : start + rows], atol=1e-9, err_msg=name)
    monkeypatch.setattr(delimited, "_LONG_TEXT_BYTES", 1)
    monkeypatch.setattr(delimited, "_PIECE_BYTES", 100)
    pieces = list(stream_new_patients(tmp_path / "whole.csv", id_column="id", **columns_of(one, None)))
    assert len(pieces) > 2 and pieces[1].ids[0].startswith("0")
    np.testing.assert_allclose(np.concatenate([risk(one, piece.X) for piece in pieces]), expected, atol=1e-9)


def test_codes_for_missing_in_every_company(tmp_path: Path) -> None:
    one = model("numbers")
    asked = columns_of(one, ["999", "0x"])
    expected = risk(one, pd.DataFrame({"ward": [np.nan], "x": [0.5]}))
    for company in ("2", "unknown", "true", "0x"):
        (tmp_path / "new.csv").write_text(f"ward,x\n999.0,0.5\n{company},0.5\n999,0.5\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (piece,) = stream_new_patients(tmp_path / "new.csv", **asked)
        np.testing.assert_allclose(risk(one, piece.X)[[0, 2]], expected.repeat(2), atol=1e-9)


@pytest.mark.parametrize("spelling", ["zeros in front", "both", "truth", "numbers as texts"])
def test_dask_as_memory(spelling: str) -> None:
    frame, one = cohort(spelling)[["ward", "x"]].sort_values("ward").reset_index(drop=True), model(spelling)
    found = one.shapley_values(dd.from_pandas(frame, npartitions=4)).compute(scheduler="sync")
    np.testing.assert_allclose(found, one.shapley_values(frame), atol=1e-9)
