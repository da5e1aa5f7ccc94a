"""One look at a table says all that is wrong with it, at every door, and blames nothing that is fine."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from command_line import error, ok

from rootcausal import RCI, DirectLiNGAM, InputError
from rootcausal.comparators import TTest
from rootcausal.data import simulate
from rootcausal.inputs.binary import DiagnosisColumn
from rootcausal.inputs.from_file import read_labelled_cohort, read_new_patients, stream_new_patients
from rootcausal.inputs.roles import Roles
from rootcausal.inputs.rules import Findings


def a_table_with_everything_wrong() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((40, 4)), columns=["good", "holes", "ends", "huge"])
    table.loc[[3, 5], "holes"] = np.nan
    table.loc[7, "ends"] = np.inf
    table.loc[9, "huge"] = 1e200
    return table.assign(
        ward=[f"seen on day {k}" for k in range(40)], flat=1.5, copy=2.0 - 3.0 * table["good"]
    )


THREE_LABELS = np.arange(40) % 3
SAID = [
    "(1) column 'ward' ",
    "(2) X contains missing values (NaN) in 'holes' (2) and infinite values (inf) in 'ends' (1)",
    "(3) X holds numbers too large to compute with: 1e+200 in 'huge', row 10",
    "(4) the target needs exactly two classes, disease and healthy; it has 3 classes: 0, 1, 2",
    "(5) column 'flat' is constant",
    "(6) columns 'good' and 'copy' are copies or exact linear images of each other",
]


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("make", [lambda t: t, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize(
    ("method", "of_text"),
    [
        (RCI(missing="refuse"), "too many different values to be levels (at most 30, of two rows"),
        (TTest(), "is not numeric (for instance 'seen on day 0' in 'ward')"),
    ],
    ids=["RCI", "TTest"],
)
def test_a_frame(make: Callable[[pd.DataFrame], Any], method: Any, of_text: str) -> None:
    said = refused(lambda: method.fit(make(a_table_with_everything_wrong()), THREE_LABELS))
    places = [said.index(sentence) for sentence in ("6 things are wrong:\n", *SAID)]
    assert places == sorted(places)
    assert said.count("\n") == 6
    assert of_text in said


def test_an_array_and_a_method_without_labels() -> None:
    values = a_table_with_everything_wrong().drop(columns="ward").to_numpy()
    said = refused(lambda: DirectLiNGAM().fit(values))
    assert said.startswith("4 things are wrong:\n(1) X contains missing values (NaN) in 'x1' (2)")
    assert "'x3', row 10" in said
    assert "column 'x4' is constant" in said
    assert "columns 'x0' and 'x5' are copies" in said


def test_one_thing_is_said_without_a_number() -> None:
    table = a_table_with_everything_wrong()[["good", "holes"]]
    said = refused(lambda: RCI(missing="refuse").fit(table, np.arange(40) % 2))
    assert said.startswith("X contains missing values (NaN) in 'holes' (2), rows counted in brackets")


def test_a_column_that_varies_only_where_others_are_missing_is_not_blamed(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1.0, 2, 4, 8, 16, 33], "b": [5.0, 5, 5, 5, 6, 7], "d": [0, 1, 0, 1, 0, 1]})
    table["holes"] = [1.0, 3, 2, 4, np.nan, np.nan]
    said = refused(lambda: RCI(missing="refuse").fit(table.drop(columns="d"), table["d"]))
    assert "holes" in said
    assert "'b'" not in said
    table.to_csv(tmp_path / "c.csv", index=False)
    said = refused(lambda: read_labelled_cohort(tmp_path / "c.csv", Roles(DiagnosisColumn("d"))))
    assert "'holes' (2)" in said
    assert "'b'" not in said
    # Without these rows b does not vary any more: the fit says so.
    said = error(3, "fit", tmp_path / "c.csv", "--target", "d", "--drop-missing", "--out", tmp_path / "m.rci")
    assert "'b' is constant" in said


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("command", ["fit", "check", "report"])
def test_a_file(tmp_path: Path, ending: str, command: str) -> None:
    table = a_table_with_everything_wrong().assign(d=THREE_LABELS)
    path = tmp_path / f"cohort.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    out = {"fit": ["--out", tmp_path / "m.rci"], "report": ["--out", tmp_path / "page.html"]}
    said = error(3, command, path, "--target", "d", "--missing", "refuse", *out.get(command, []))
    for sentence in (
        "6 things are wrong: (1) ",
        "column 'ward' has too many different values to be levels (at most 30, of two rows or more on "
        "average): group them, as small sites into one; or, if it is an id or free text, name "
        "it with --id COLUMN, or leave it out with --drop COLUMN",
        "infinite or above 1e+140, here with their counts: 'ends' (1), 'huge' (1). Correct them",
        "missing values, here with their counts: 'holes' (2). Leave out the rows concerned with",
        "the target 'd' must hold two labels, but it holds 3 labels: '0' (14 rows)",
        "column 'flat' is constant",
        "columns 'good' and 'copy' are copies",
    ):
        assert sentence in said
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


def test_labels_are_counted_on_all_rows_of_a_file(tmp_path: Path) -> None:
    """Cases only where another value is missing: that they are few is no finding."""
    path = tmp_path / "c.csv"
    path.write_text("a,b,d\n1,5,no\n2,9,no\n3,,yes\n4,,yes\n5,,\n")
    said = refused(lambda: read_labelled_cohort(path, Roles(DiagnosisColumn("d"))))
    assert "'b' (2)" in said
    assert "things are wrong" not in said


def test_no_row_is_left(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("a,d\n,0\n1,\n")
    said = refused(lambda: read_labelled_cohort(path, Roles(DiagnosisColumn("d"), drop_missing=True)))
    assert "--drop-missing leaves no row of " in said


def test_every_option_that_names_no_column(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("age,died\n1,0\n2,1\n")
    said = refused(
        lambda: read_labelled_cohort(path, Roles(DiagnosisColumn("dead"), id_column="ag", drop=["who"]))
    )
    assert said.startswith("3 things are wrong:\n(1) ")
    for sentence in ("no column 'dead' (--target)", "no column 'ag' (--id)", "no column 'who' (--drop)"):
        assert sentence in said


def test_new_patients_in_a_frame() -> None:
    drawn = simulate(300, 5, random_state=1)
    X = pd.DataFrame(drawn.X, columns=list("abcd"))
    model = RCI(alpha=1.0, missing="refuse").fit(X, drawn.y)
    new = X.head(3).assign(b="text", c=[1.0, np.nan, 2.0]).drop(columns="a")
    said = refused(lambda: model.shapley_values(new))
    for sentence in ("'a' is missing from the new data", "'b' is not numeric", "(NaN) in 'c' (1)"):
        assert sentence in said


def test_new_patients_with_holes_in_a_frame() -> None:
    drawn = simulate(300, 5, random_state=1)
    X = pd.DataFrame(drawn.X, columns=list("abcd"))
    model = RCI(alpha=1.0).fit(X, drawn.y)
    new = X.head(3).assign(b="text", c=[1.0, np.nan, 2.0], d=[np.inf, 1.0, 2.0])
    said = refused(lambda: model.shapley_values(new))
    for sentence in ("'b' is not numeric", "'d' (1)"):
        assert sentence in said
    assert "'c'" not in said


def test_new_patients_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("a,b,c\n1,text,1\n2,x,inf\n,y,3\n")
    said = refused(lambda: read_new_patients(path, ["a", "b", "c"]))
    for sentence in ("'b' (for example 'text' in data row 1)", "'c' (1). Correct", "'a' (1). Leave out"):
        assert sentence in said


def test_many_copies_are_all_named() -> None:
    X = np.random.default_rng(0).standard_normal((50, 4))
    said = refused(lambda: RCI().fit(np.hstack([X, X[:, :2] * 2.0]), np.arange(50) % 2))
    assert "'x0' and 'x4'" in said
    assert "'x1' and 'x5'" in said
    assert "keep one of each group" in said


def test_a_group_of_copies_is_named_once() -> None:
    X = np.random.default_rng(0).standard_normal((50, 3))
    said = refused(lambda: RCI().fit(np.column_stack([X, X[:, 1] * 2.0, 1.0 - X[:, 1]]), np.arange(50) % 2))
    assert "columns 'x1', 'x3' and 'x4' are copies" in said
    assert "keep one of them" in said


def test_what_else_is_wrong_with_a_column_that_has_holes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.standard_normal(30), "site": 1.1, "d": np.arange(30) % 2})
    table["months"] = 12.0 * table["age"]
    table.loc[3, ["age", "months"]] = np.nan
    table.loc[4, "site"] = np.inf
    table["note"] = ["text", None, "more", None, "text", None] * 5
    table["void"] = np.nan
    table.to_csv(tmp_path / "c.csv", index=False)
    for said in (
        refused(lambda: RCI(missing="refuse").fit(table.drop(columns="d"), table["d"])),
        refused(lambda: read_labelled_cohort(tmp_path / "c.csv", Roles(DiagnosisColumn("d")))),
        refused(
            lambda: read_labelled_cohort(tmp_path / "c.csv", Roles(DiagnosisColumn("d"), drop_missing=True))
        ),
    ):
        assert "'site' is constant" in said
        assert "'age' and 'months' are copies" in said
        assert "'void'" in said
    assert "'note' (15)" in refused(lambda: RCI(missing="refuse").fit(table.drop(columns="d"), table["d"]))
    assert "'note' (15)" in refused(
        lambda: read_labelled_cohort(tmp_path / "c.csv", Roles(DiagnosisColumn("d")))
    )


def test_constant_columns_do_not_hide_those_that_vary_too_little() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(40), np.ones(40), 1e9 + 1e-7 * rng.standard_normal(40)])
    said = refused(lambda: RCI().fit(X, np.arange(40) % 2))
    assert "'x1' is constant" in said
    assert "too little variation for 64-bit numbers to hold in 'x2'" in said


ODD_LABELS = {
    "continuous": np.arange(40) * 0.5,
    "two columns": np.zeros((40, 2)),
    "a number": 3,
    "bytes": [b"a", b"b"] * 20,
    "missing, and three": ["a", "b", "c", None] * 10,
}


@pytest.mark.parametrize("kind", ODD_LABELS)
def test_odd_labels_do_not_hide_what_is_wrong_with_the_rows(kind: str) -> None:
    table = a_table_with_everything_wrong()[["good", "holes"]]
    said = refused(lambda: RCI(missing="refuse").fit(table, ODD_LABELS[kind]))
    assert said.startswith("2 things are wrong" if kind != "missing, and three" else "3 things are wrong")
    assert "'holes' (2)" in said


def test_too_many_labels_are_not_also_too_few_of_a_class(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("a,b,d\n" + "".join(f"{k},{k * k},{k / 3}\n" for k in range(9)))
    said = refused(lambda: read_labelled_cohort(path, Roles(DiagnosisColumn("d"))))
    assert "9 labels" in said
    assert "only one row" not in said


def test_two_rows_are_not_called_copies() -> None:
    X = np.random.default_rng(0).standard_normal((2, 3))
    assert "copies" not in refused(lambda: RCI().fit(X, [0, 1]))


def test_unreadable_ids_and_labels_hide_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    rows = {"a": [1.0, None, 3.0], "id": [b"\xff", b"b", b"c"], "d": [[0], [1], [0]]}
    pa.parquet.write_table(pa.table(rows), path)
    said = refused(lambda: read_labelled_cohort(path, Roles(DiagnosisColumn("d"), id_column="id")))
    for sentence in ("'d' (--target)", "'id' (--id)", "'a' (1)"):
        assert sentence in said


@pytest.mark.parametrize("bad", [["t"] * 6, [1.0, np.inf, 1.0, 1.0, 1.0, 1.0]])
def test_no_piece_of_a_refused_stream_comes_out(tmp_path: Path, bad: list[object]) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": np.arange(6.0), "b": bad}).to_parquet(path, row_group_size=2)
    seen = []
    with pytest.raises(InputError):
        for piece in stream_new_patients(path, ["a", "b"]):
            seen.append(piece)
    assert seen == []


def test_values_too_large_for_the_model_are_counted_in_the_file(tmp_path: Path) -> None:
    drawn = simulate(300, 5, random_state=1)
    table = pd.DataFrame(drawn.X, columns=list("abcd"))
    table.assign(d=drawn.y).to_csv(tmp_path / "c.csv", index=False)
    ok("fit", tmp_path / "c.csv", "--target", "d", "--alpha", 1, "--out", tmp_path / "m.rci")
    table.loc[5, "a"] = 1e100
    table.loc[1, "b"] = np.nan
    table.to_csv(tmp_path / "new.csv", index=False)
    said = error(3, "explain", tmp_path / "m.rci", tmp_path / "new.csv", "--drop-missing")
    assert "values that are infinite or too large for the model, here with their counts: 'a' (1)" in said


def test_files_and_options_are_looked_at_before_a_cluster_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rootcausal.inputs import from_cluster

    for name in ("connect", "local_cluster"):
        monkeypatch.setattr(from_cluster, name, lambda *_: pytest.fail("a cluster was asked"))
    pd.DataFrame({"a": [1.0, 2.0], "d": [0, 1]}).to_parquet(tmp_path / "c.parquet")
    options = ["--scheduler", "tcp://127.0.0.1:1", "--out", tmp_path / "m.rci"]
    assert "no column 'e'" in error(3, "fit", tmp_path / "c.parquet", "--target", "e", *options)
    assert "no Parquet file" in error(3, "fit", tmp_path / "no.parquet", "--target", "d", *options)


def test_names_of_an_earlier_fit_do_not_outlive_it() -> None:
    drawn = simulate(100, 5, random_state=1)
    model = RCI().fit(pd.DataFrame(drawn.X, columns=list("abcd")), drawn.y)
    assert not hasattr(model.fit(pd.DataFrame(drawn.X), drawn.y), "feature_names_in_")


def test_only_what_is_the_users_to_mend_is_noted() -> None:
    findings = Findings()
    with pytest.raises(ZeroDivisionError), findings.noting():
        raise ZeroDivisionError
    assert not findings
    findings.refuse()


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (RCI(), "numbers and other text are mixed: '<0.3' in 'x1', 'high' in 'x2'. Where that is a limit"),
        (TTest(), "columns 'x1', 'x2' are not numeric (for instance '<0.3' in 'x1')"),
    ],
    ids=["RCI", "TTest"],
)
def test_text_in_an_array_of_objects_is_named(method: Any, told: str) -> None:
    X = np.random.default_rng(0).standard_normal((10, 3)).astype(object)
    X[4, 1], X[2, 2], X[7, 2] = "<0.3", "high", "low"
    assert told in refused(lambda: method.fit(X, np.arange(10) % 2))


def test_infinite_values_of_columns_that_are_not_needed_are_missing(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1.0, 2.0], "b": [np.inf, 3.0]}).to_csv(tmp_path / "t.csv", index=False)
    read = read_new_patients(tmp_path / "t.csv", ["a", "b"], needed=["a"]).X["b"].to_pylist()
    assert np.isnan(read[0])
    assert read[1] == 3.0


def test_one_case_is_said_beside_other_findings(tmp_path: Path) -> None:
    notes = [f"note {k}" for k in range(10)]
    table = pd.DataFrame({"a": np.arange(10.0) ** 2, "ward": notes, "d": [0, 1] + [0] * 8})
    table.to_csv(tmp_path / "t.csv", index=False)
    said = refused(lambda: read_labelled_cohort(tmp_path / "t.csv", Roles(DiagnosisColumn("d"))))
    assert "'ward'" in said
    assert "only one row has the label 1" in said


def test_warnings_of_a_fit_name_the_caller() -> None:
    X = np.random.default_rng(0).laplace(size=(80, 4))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RCI().fit(X, (X[:, 1] > 0).astype(int))
        DirectLiNGAM().fit(np.random.default_rng(0).standard_normal((5, 9)))
    assert len(caught) >= 2
    assert {one.filename for one in caught} == {__file__}
