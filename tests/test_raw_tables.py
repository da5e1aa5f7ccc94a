"""Raw clinical tables on the command line: what users meet there, and in which words it is said."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cohort_files import read_cohort
from command_line import error, ok, run
from page_facts import facts_of

from rootcausal import RCI, InputError
from rootcausal.files.cells import holds_written_dates
from rootcausal.files.tables import column_names, read_columns
from rootcausal.inputs.from_file import read_new_patients


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
    assert RCI.load(model).provenance_["reading"] == {"na": ["a=0"], "called": "ill"}
    ok("explain", model, path, "--out", tmp_path / "s.csv")
    imputed = pd.read_csv(tmp_path / "s.csv")["imputed"]
    assert (imputed[:41] == "a").all() and imputed[41:].isna().all()
    assert "glucose=0" in " ".join(ok("fit", "--help").split())


# --- dates as people write them ---------------------------------------------------------------------------


def dated(folder: Path, form: str, days: pd.DatetimeIndex | None = None) -> Path:
    table = cohort()
    days = pd.date_range("2001-12-01", periods=len(table), freq="D") if days is None else days
    table["when"] = days.strftime(form)
    return write(folder, table)


@pytest.mark.parametrize(
    ("form", "order"),
    [
        ("%d/%m/%Y", "day first"),
        ("%d-%m-%Y %H:%M", "day first"),
        ("%m/%d/%Y", "month first"),
        ("%m-%d-%Y", "month first"),
        ("%d.%m.%Y", None),
        ("%d-%b-%Y", None),
        ("%d%b%Y", None),
        ("%d %B %Y", None),
        ("%Y/%m/%d", None),
    ],
)
def test_written_dates_are_days_since_the_first_where_kept(
    tmp_path: Path, form: str, order: str | None
) -> None:
    path, model = dated(tmp_path, form), tmp_path / "m.rci"
    said = error(3, "fit", path, "--target", "ill", "--out", model)
    assert "has dates in 'when': leave them out with --drop COLUMN" in said and "free text" not in said
    ok("fit", path, "--target", "ill", "--keep", "a,b,when", "--out", model)
    reading = RCI.load(model).provenance_["reading"]
    orders = {} if order is None else {"date_orders": {"when": order}}
    assert reading == {"origins": {"when": "2001-12-01"}, "called": "ill", **orders}
    assert read_cohort(path, "ill", keep=["when"]).X["when"].to_pylist() == [float(k) for k in range(200)]


def test_one_new_patient_is_dated_as_the_cohort_was(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    known: dict[str, Any] = {"origins": {"when": "2001-01-01"}, "date_orders": {"when": "day first"}}

    def days(text: str) -> list[float]:
        path.write_text(f"a,when\n1,{text}\n")
        return read_new_patients(path, ["when"], **known).X["when"].to_pylist()

    assert days("02/01/2001") == [1.0] and days("2001-01-03") == [2.0] and days("04-Jan-2001") == [3.0]
    with pytest.raises(InputError, match="holds '01/13/2001', which is no date with the day first"):
        days("01/13/2001")


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (["01/02/2001", "2/2/2001"], "such as '01/02/2001', of which none tells the day from the month"),
        (["31/02/2001", "30/01/2001"], "holds '31/02/2001', which is no date with the day first"),
        (["31/01/2001", "01/31/2001"], "the day first in '31/01/2001', but the month in '01/31/2001'"),
    ],
)
def test_dates_that_cannot_be_understood(tmp_path: Path, days: list[str], expected: str) -> None:
    table = cohort()
    table["when"] = np.resize(days, len(table))
    path = write(tmp_path, table)
    said = error(3, "fit", path, "--target", "ill", "--keep", "a,when", "--out", tmp_path / "m.rci")
    assert expected in said
    assert "has dates in 'when'" in error(3, "fit", path, "--target", "ill", "--out", tmp_path / "m.rci")


def test_dates_in_which_day_and_month_are_the_same_are_plain(tmp_path: Path) -> None:
    table = cohort()
    table["when"] = np.resize(["01/01/2001", "02/02/2001", "03/03/2001"], len(table))
    path = write(tmp_path, table)
    assert "written" in ok("fit", path, "--target", "ill", "--keep", "a,when", "--out", tmp_path / "m.rci")


@pytest.mark.parametrize("texts", [["1/2", "3/4"], ["13/13/2001"], ["1/2/2001", "unknown"], ["40-Dec-2001"]])
def test_texts_that_are_no_dates(texts: list[str]) -> None:
    assert not holds_written_dates(pa.chunked_array([texts]))


# --- rows with holes --------------------------------------------------------------------------------------


def with_a_hole_in_every_row() -> pd.DataFrame:
    table = cohort()
    table.loc[::2, "a"] = np.nan
    table.loc[1::2, "b"] = np.nan
    table.loc[0, "b"] = np.nan
    return table.assign(c=np.random.default_rng(1).normal(size=len(table)))


def test_where_every_row_has_a_hole_dropping_rows_is_no_way_out(tmp_path: Path) -> None:
    path = write(tmp_path, with_a_hole_in_every_row())
    arguments = ["fit", path, "--target", "ill", "--out", tmp_path / "m.rci"]
    said = error(3, *arguments, "--drop-missing")
    assert "leaves no row of " in said and "most are missing in 'b' (101), 'a' (100)" in said
    assert "--missing impute (the default)" in said and "empty" not in said
    said = error(3, *arguments, "--missing", "refuse")
    assert "--drop-missing would leave no row: impute what is missing with --missing impute" in said
    assert "Leave out the rows" not in said
    table = with_a_hole_in_every_row()
    table["ill"] = table["ill"].astype(float).where(np.arange(len(table)) > 3)
    said = ok(*arguments[:1], write(tmp_path, table), *arguments[2:])
    assert "4 rows without an outcome ('ill' missing) are left out" in said


# --- the target and the ids -------------------------------------------------------------------------------


def test_a_label_alone_asks_for_the_other(tmp_path: Path) -> None:
    path = write(tmp_path, cohort().assign(stage=np.arange(200) % 3, age=20 + np.arange(200) % 52))
    arguments = ["fit", path, "--out", tmp_path / "m.rci", "--target"]
    said = error(3, *arguments, "stage", "--positive", "2")
    assert "beside --positive 2, say which of the others are the controls: add --negative LABEL" in said
    assert "choose two" in error(3, *arguments, "stage", "--positive", "7")
    for options in ([], ["--positive", "50"]):
        said = error(3, *arguments, "age", *options)
        assert "holds 52 different numbers, from 20 to 71: if the number itself is the outcome, add" in said
        assert "--outcome continuous. For an outcome that is yes or no give a limit, as in --positive" in said
        assert "choose two" not in said
    assert "disease: age = >=50" in ok(*arguments, "age", "--positive", ">=50")


def test_few_ids_with_many_rows_each_are_doubted(tmp_path: Path) -> None:
    path = write(tmp_path, cohort().assign(ward=np.arange(200) % 3, who=np.arange(200) // 4))
    arguments = ["fit", path, "--target", "ill", "--out", tmp_path / "m.rci"]
    said = run(*arguments, "--id", "ward", "--drop", "who").stderr
    assert "warning: 'ward' has only 3 different ids in 200 rows, which hardly tells patients apart" in said
    assert "different ids" not in run(*arguments, "--id", "who", "--drop", "ward").stderr


# --- explain ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.rci"
    rng = np.random.default_rng(2)
    table = cohort(400).assign(noise=rng.standard_t(4, 400))
    RCI(alpha=0.05, backend="numpy").fit(table[["a", "b", "noise"]], table["ill"]).save(path)
    assert "noise" not in RCI.load(path).feature_names_in_[RCI.load(path).causal_order_]
    return path


def scores(model: Path, table: pd.DataFrame, folder: Path, *options: object) -> tuple[pd.DataFrame, str]:
    path, out = folder / "new.parquet", folder / "scores.csv"
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path)
    said = ok("explain", model, path, "--out", out, *options)
    return pd.read_csv(out), said


def test_the_model_comes_first(model: Path, tmp_path: Path) -> None:
    path = write(tmp_path, cohort())
    assert "cohort.csv' is not a model: give the model first" in error(3, "explain", path, model)


def test_intervals_of_what_was_not_measured(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rootcausal.files.tables._ROWS_PER_PIECE", 50)
    table = cohort().assign(noise=1.0)
    whole, said = scores(model, table, tmp_path)
    assert not [name for name in whole if name.endswith(("_lower", "_upper"))] and "_lower" not in said
    table.loc[[120, 130], "a"] = np.nan  # not in the first piece
    table.loc[3, "noise"] = np.nan
    some, said = scores(model, table, tmp_path)
    used = RCI.load(model).feature_names_in_[RCI.load(model).causal_order_]
    intervals = {f"{name}_{end}" for name in used for end in ("lower", "upper")}
    assert {name for name in some if name.endswith(("_lower", "_upper"))} == intervals
    wide = some["a_upper"] - some["a_lower"] > 0
    assert wide[[120, 130]].all() and wide.sum() == 2
    assert "2 patients have values that were not measured: see 'imputed'; '_lower' and '_upper' hold" in said
    assert "what these values leave open" not in said
    assert "nothing of the doubt about the model" in " ".join(ok("explain", "--help").split())


def test_rows_of_repeated_patients_are_called_rows(model: Path, tmp_path: Path) -> None:
    table = cohort().assign(noise=1.0, who=np.arange(200) // 2)
    table.loc[5, "a"] = np.nan
    _, said = scores(model, table, tmp_path, "--id", "who")
    assert "scores of 200 rows written" in said and "1 row has values" in said
    _, said = scores(model, table[:1], tmp_path, "--id", "who")
    assert "scores of 1 patient written" in said
    page = tmp_path / "page.html"
    write(tmp_path, table)
    ok("report", tmp_path / "cohort.csv", "--model", model, "--id", "who", "--out", page)
    assert facts_of(page)["n_patients"] == 100
    fitted = RCI.load(model)
    fitted.report(table, page, ids=["x", "x", "", "", *range(196)])
    assert facts_of(page)["n_patients"] == 199
    fitted.report(table, page)
    assert facts_of(page)["n_patients"] is None


def test_causes_too_small_to_see_are_not_listed(model: Path, tmp_path: Path) -> None:
    average = RCI.load(model)
    table = pd.DataFrame({"a": [0.0], "b": [0.0], "noise": [0.0]})
    # The patient whose shocks are all average, and then hardly above.
    order = [str(name) for name in average.feature_names_in_[average.causal_order_]]
    for _ in range(50):
        for name in order:
            error_ = average.explain(table).errors[0, list(table).index(name)]
            table[name] = table[name] - error_ / 2
    table += 1e-3
    values = average.explain(table).values
    assert 0 < values.max() < 0.005
    said = ok("explain", model, write(tmp_path, table))
    assert "none was found that stands out" in " ".join(said.split()) and "+0.00 (" not in said


# --- words ------------------------------------------------------------------------------------------------


def test_shares_above_none_and_one_more_variable(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    table = cohort(1000)
    for name in "cdefg":
        table[name] = rng.standard_t(4, 1000)
    table.loc[0, list("abcdef")] = np.nan
    said = ok("fit", write(tmp_path, table), "--target", "ill", "--out", tmp_path / "m.rci")
    assert "6 of 7000 cells are missing: a <1%, b <1%, c <1%, d <1%, e <1% and 1 more variable\n" in said


def test_a_column_that_decides_may_be_the_outcome(tmp_path: Path) -> None:
    table = cohort()
    with pytest.warns(
        UserWarning, match=r"may be a part of the outcome .*more rows help only where there are"
    ):
        RCI(alpha=1.0, backend="numpy").fit(table[["a", "b"]], table["b"] > 0.1)


@pytest.mark.parametrize(
    ("gone", "words"),
    [(["b"], "says of it leans on how it goes with"), (["a", "b"], "says of them leans on how they go with")],
)
def test_what_is_mostly_imputed_in_one_and_in_many(gone: list[str], words: str) -> None:
    table = cohort(400).assign(c=np.random.default_rng(4).standard_t(4, 400))
    rng = np.random.default_rng(5)
    for name in gone:
        table.loc[rng.random(400) < 0.7, name] = np.nan
    with pytest.warns(UserWarning, match=words):
        RCI(alpha=1.0, backend="numpy").fit(table[["a", "b", "c"]], table["ill"])


def test_fit_says_how_missing_values_were_filled_in(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.exponential(size=200), rng.exponential(size=200)
    ill = (a + b + rng.logistic(size=200) > 2).astype(int)
    holed = pd.DataFrame({"a": np.where(np.arange(200) % 4, a, np.nan), "b": b, "ill": ill})
    holed.to_csv(tmp_path / "c.csv", index=False)
    printed = ok("fit", tmp_path / "c.csv", "--target", "ill", "--out", tmp_path / "m.rci")
    assert "50 missing values of 1 variable were filled in 5 times, by what was measured" in printed
    assert re.search(r"at most: a 2\d%", printed)
    holed.assign(a=np.where(np.arange(200), a, np.nan)).to_csv(tmp_path / "one.csv", index=False)
    printed = ok("fit", tmp_path / "one.csv", "--target", "ill", "--out", tmp_path / "m.rci")
    assert "1 missing value of 1 variable was filled in 5 times" in printed
    without = ["--target", "ill", "--drop", "a"]
    assert "filled in" not in ok("fit", tmp_path / "c.csv", *without, "--out", tmp_path / "n.rci")
