"""What users bring: exports of REDCap with their dictionary, queries, tables whose names lie elsewhere."""

from __future__ import annotations

import csv
import json
import shlex
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import error, ok, run

import rootcausal
from rootcausal import RCI
from rootcausal.errors import InputError, ReadingWarning

N = 60
RANDOM = np.random.default_rng(7)
AGE, BILI = RANDOM.integers(30, 80, N), RANDOM.gamma(1, 1, N).round(2)
LATER, SEX = (BILI + RANDOM.gamma(1, 1, N)).round(2), RANDOM.integers(1, 3, N)
SMOKES, STROKE = RANDOM.choice([0, 1, 2, 9], N), RANDOM.integers(0, 2, N)
DIED = (BILI + RANDOM.normal(size=N) > 1).astype(int)
WHO = [f"P{row:03}" for row in range(N)]

HEADER = (
    "Variable / Field Name,Form Name,Field Type,Field Label,"
    '"Choices, Calculations, OR Slider Labels",Text Validation Type OR Show Slider Number,Identifier?'
)
FIELDS = (
    ("who", "start", "text", "Record", "", "", ""),
    ("surname", "start", "text", "Surname", "", "", "y"),
    ("phone", "start", "text", "Telephone", "", "phone", ""),
    ("age", "start", "text", "<b>Age</b> &amp; <img src=x onerror=alert(1)>more", "", "integer", ""),
    ("sex", "start", "radio", "Sex", "1, Female | 2, Male", "", ""),
    (
        "smokes",
        "start",
        "dropdown",
        "Smoking",
        "0, Never | 1, Former | 2, Current, daily | 9, Unknown",
        "",
        "",
    ),
    (
        "history",
        "start",
        "checkbox",
        "&lt;script&gt;alert(2)&lt;/script&gt; History",
        "1, Stroke | -9, Other",
        "",
        "",
    ),
    ("remarks", "start", "notes", "Remarks", "", "", ""),
    ("bili", "labs", "text", "Bilirubin", "", "number", ""),
    ("died", "end", "yesno", "Died", "", "", ""),
)
COLUMNS = ["who", "redcap_event_name", "redcap_repeat_instrument", "redcap_repeat_instance", "surname", "age"]
COLUMNS += ["sex", "smokes", "history___1", "history____9", "remarks", "start_complete", "bili", "died"]


def written(path: Path, rows: Iterable[Iterable[object]]) -> Path:
    with path.open("w", newline="") as handle:
        csv.writer(handle).writerows(rows)
    return path


def dictionary(folder: Path, fields: Iterable[Iterable[object]] = FIELDS) -> Path:
    return written(folder / "dictionary.csv", [next(csv.reader([HEADER])), *fields])


def at_start(row: int) -> list[object]:
    of_form = ["Smith", AGE[row], SEX[row], SMOKES[row], STROKE[row], row % 2, "a, long\ntext", 2]
    return [WHO[row], "baseline_arm_1", "", "", *of_form, BILI[row], ""]


def events() -> list[list[object]]:
    nothing = [""] * 8
    rows: list[list[object]] = []
    for row in range(N):
        rows.append(at_start(row))
        rows.append([WHO[row], f"month_6_arm_{1 + row % 2}", "", "", *nothing, LATER[row], ""])
        rows.append([WHO[row], "end_arm_1", "", "", *nothing, "", DIED[row]])
    return rows


def cells(table: object, name: str) -> list[object]:
    return table[name].to_pylist()  # type: ignore[index]


# --- REDCap -----------------------------------------------------------------------------------------------


def test_codes_are_read_as_the_dictionary_says_and_events_are_visits(tmp_path: Path) -> None:
    path = written(tmp_path / "export.csv", [COLUMNS, *events()])
    with pytest.warns(ReadingWarning, match="180 rows are 60 records.*'bili.baseline'"):
        table = rootcausal.read_table(path, redcap=dictionary(tmp_path), id_column="who")
    assert cells(table, "who") == WHO
    assert cells(table, "age") == AGE.tolist()
    assert cells(table, "sex") == ["Female" if code == 1 else "Male" for code in SEX]
    words = {0: "Never", 1: "Former", 2: "Current, daily", 9: None}
    assert cells(table, "smokes") == [words[code] for code in SMOKES]
    assert cells(table, "bili.baseline") == BILI.tolist()
    assert cells(table, "bili.month_6") == LATER.tolist()
    assert cells(table, "died") == DIED.tolist()
    kept = {"who", "age", "sex", "smokes", "history___1", "history____9", "bili.baseline", "bili.month_6"}
    assert set(table.column_names) == kept | {"died"}


def test_from_an_export_to_the_page_of_new_records_in_one_option(tmp_path: Path) -> None:
    known = dictionary(tmp_path)
    path = written(tmp_path / "export.csv", [COLUMNS, *events()])
    seen = json.loads(ok("look", path, "--target", "died", "--redcap", known, "--json"))
    assert shlex.split(seen["fit"]["line"])[-6:-4] == ["--redcap", str(known)]
    model, page = tmp_path / "m.rci", tmp_path / "page.html"
    said = ok("fit", path, "--target", "died", "--redcap", known, "--out", model, "--kind", "smokes=ordinal")
    assert "8 variables" not in said  # the records are ids, and no variable
    assert "(smokes: Never < Former < Current, daily)" in said.replace("\n", " ")
    labels = {name: one["label"] for name, one in RCI.load(model).provenance_["labels"].items()}
    assert labels["age"] == "Age & more"
    assert labels["history___1"] == "<script>alert(2)</script> History: Stroke"
    assert labels["bili.month_6"] == "Bilirubin: month 6"
    assert "P000" in ok("explain", model, path, "--redcap", known)
    ok("report", path, "--model", model, "--redcap", known, "--out", page)
    text = page.read_text()
    assert (
        "P007" in text
        and "History: Stroke" in text
        and "img src=x" not in text
        and "<script>alert(2)" not in text
        and "Smith" not in text
    )


def test_a_form_that_repeats_is_asked_about(tmp_path: Path) -> None:
    again = [[WHO[0], "baseline_arm_1", "labs", n, *[""] * 8, 1.5, ""] for n in (2, 3)]
    path = written(tmp_path / "export.csv", [COLUMNS, *events(), *again])
    said = error(3, "look", path, "--redcap", dictionary(tmp_path))
    assert "'bili' more than once (up to 3 times) of one record and event (the form 'labs')" in said
    assert "which of them counts?" in said
    # A form of its own row, once a record, is no repetition.
    once = [[WHO[0], "end_arm_1", "labs", 1, *[""] * 8, 1.5, ""]]
    path = written(tmp_path / "once.csv", [COLUMNS, *events(), *once])
    with pytest.warns(ReadingWarning):
        table = rootcausal.read_table(path, redcap=dictionary(tmp_path))
    assert cells(table, "bili.end") == [1.5, *[None] * (N - 1)]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda fields: [("a", "b")], "is no data dictionary|does not describe"),
        (lambda fields: [["pid", *fields[0][1:]], *fields[1:]], "does not describe .* lacks 'pid'"),
        (lambda fields: [], "names no field|is no data dictionary"),
    ],
)
def test_a_dictionary_of_something_else_is_refused(tmp_path: Path, change, match) -> None:
    path = written(tmp_path / "export.csv", [COLUMNS, *events()])
    with pytest.raises(InputError, match=match):
        rootcausal.read_table(path, redcap=dictionary(tmp_path, change(FIELDS)))


def test_labels_that_two_fields_share_are_told_apart(tmp_path: Path) -> None:
    fields = [*FIELDS[:-1], ("alb", "labs", "text", "Bilirubin", "", "number", ""), FIELDS[-1]]
    rows = [
        [*row[:5], row[12], row[12] * 2 + n % 3, DIED[n]] for n, row in enumerate(map(at_start, range(N)))
    ]
    path = written(tmp_path / "export.csv", [[*COLUMNS[:5], "bili", "alb", "died"], *rows])
    ok("fit", path, "--target", "died", "--redcap", dictionary(tmp_path, fields), "--out", tmp_path / "m.rci")
    labels = RCI.load(tmp_path / "m.rci").provenance_["labels"]
    assert {one["label"] for one in labels.values()} == {"Bilirubin (bili)", "Bilirubin (alb)"}


# --- names that lie elsewhere -----------------------------------------------------------------------------

FRAME = pd.DataFrame({"age": AGE, "bili": BILI, "sex": np.where(SEX == 1, "f", "m"), "died": DIED})


@pytest.mark.parametrize("name", ["c.data", "c.xlsx"])
def test_names_are_given_to_a_table_without_a_header(tmp_path: Path, name: str) -> None:
    path, whole = tmp_path / name, tmp_path / "whole.csv"
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
        FRAME.to_excel(path, header=False, index=False)
    else:
        FRAME.to_csv(path, header=False, index=False)
    FRAME.to_csv(whole, index=False)
    table = rootcausal.read_table(path, names=list(FRAME))
    assert table.to_pandas().equals(rootcausal.read_table(whole).to_pandas())
    seen = json.loads(
        ok("look", path, "--names", "age, bili,sex", "--names", "died", "--target", "died", "--json")
    )
    assert [one["name"] for one in seen["columns"]] == list(FRAME)
    line = shlex.split(seen["fit"]["line"])
    assert line[line.index("--names") :][:2] == ["--names", "age,bili,sex,died"] and "--no-header" not in line
    assert "died = 1" in ok(*line[1:-1], tmp_path / "m.rci")


@pytest.mark.parametrize(
    ("text", "options", "match"),
    [
        ("1,2,3\n4,5,6\n", ["a,b"], "--names has 2 names, and .* has 3 columns"),
        ("1,2\n4,5\n", ["a,a"], "more than one column named 'a'"),
        ("a,b\n4,5\n", ["a,b"], "has these names already"),
        ("1,2\n4,5\n", ["a,b", "--header"], "--names is for a table without a header"),
    ],
)
def test_names_that_do_not_fit_are_refused(tmp_path: Path, text: str, options: list[str], match: str) -> None:
    path = tmp_path / "c.csv"
    path.write_text(text)
    assert pytest.importorskip("re").search(match, error(3, "look", path, "--names", *options))


# --- queries ----------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.register("frame", FRAME)
        connection.execute('CREATE TABLE "labs; DROP TABLE x" AS SELECT * FROM frame')
        connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
    return tmp_path / "clinic.duckdb"


def test_rows_of_a_query_are_fitted_as_those_of_a_file(database: Path, tmp_path: Path) -> None:
    query = "SELECT age, bili, sex, died FROM visits WHERE age > 35"
    FRAME[FRAME.age > 35].to_csv(tmp_path / "c.csv", index=False)
    seen = json.loads(ok("look", database, "--sql", query, "--target", "died", "--json"))
    line = shlex.split(seen["fit"]["line"])
    assert line[line.index("--sql") + 1] == query
    ok(*line[1:-1], tmp_path / "a.rci")
    ok("fit", tmp_path / "c.csv", "--target", "died", "--out", tmp_path / "b.rci")
    one, other = RCI.load(tmp_path / "a.rci"), RCI.load(tmp_path / "b.rci")
    assert np.array_equal(one.predict_proba(FRAME), other.predict_proba(FRAME))
    said = ok("explain", tmp_path / "a.rci", database, "--sql", f"{query} LIMIT 1;")
    assert "row 1" in said
    assert cells(rootcausal.read_table(database, sql="FROM visits SELECT sum(age)"), "sum(age)") == [
        AGE.sum()
    ]


def test_any_table_is_called_cohort_in_a_query(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    FRAME.to_csv(tmp_path / "c.csv", index=False)
    table = rootcausal.read_table(
        tmp_path / "c.csv", sql="SELECT sex, count(*) AS n FROM cohort GROUP BY ALL"
    )
    assert (
        dict(zip(cells(table, "sex"), cells(table, "n"), strict=True)) == FRAME.sex.value_counts().to_dict()
    )


def test_ids_that_a_query_selects_stay_as_they_are_written(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    (tmp_path / "c.csv").write_text("id,age\n007,50\n010,60\n")
    query = "SELECT id, age + 1 AS age FROM cohort"
    table = rootcausal.read_table(tmp_path / "c.csv", sql=query, id_column="id")
    assert cells(table, "id") == ["007", "010"]
    assert cells(table, "age") == [51, 61]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM '{secret}'",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM glob('/*')",
        "COPY visits TO '{written}'",
        "ATTACH '{written}' AS other",
        "INSTALL httpfs",
        "SET enable_external_access=true",
        "CREATE TABLE x AS SELECT 1",
        "DROP TABLE visits",
        "SELECT 1; DROP TABLE visits",
        "SELECT * FROM visits; SELECT 2",
        "EXPORT DATABASE '{written}'",
        "SELECT * FROM sqlite_scan('{secret}', 'x')",
        "SELECT * FROM FRAME",
        "",
        "SELEC",
    ],
)
def test_a_query_reads_its_file_and_nothing_else(database: Path, tmp_path: Path, query: str) -> None:
    secret, out = tmp_path / "secret.csv", tmp_path / "written"
    secret.write_text("a,b\nhunter2,1\n")
    before = database.read_bytes()
    FRAME.to_csv(tmp_path / "c.csv", index=False)
    asked = query.format(secret=secret, written=out)
    for path in (database, tmp_path / "c.csv"):
        result = run("look", path, "--sql", asked)
        assert result.exit_code in (2, 3) and "hunter2" not in result.output and not out.exists()
        assert result.stderr.startswith("error: ") or result.exit_code == 2
    assert database.read_bytes() == before


def test_a_database_without_a_query_says_one_that_works(database: Path, tmp_path: Path) -> None:
    said = error(3, "look", database)
    assert "--sql 'SELECT * FROM \"labs; DROP TABLE x\"'" in said
    assert "60 rows" in ok("look", database, "--sql", 'SELECT * FROM "labs; DROP TABLE x"')
    (tmp_path / "no.duckdb").write_text("age,died\n1,2\n")
    assert "DuckDB cannot read" in error(3, "look", tmp_path / "no.duckdb", "--sql", "SELECT 1")
    sqlite3.connect(tmp_path / "x.sqlite").close()
    assert "a database of SQLite" in error(3, "look", tmp_path / "x.sqlite")


def test_names_from_a_query_are_text_on_the_page(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    FRAME.to_csv(tmp_path / "c.csv", index=False)
    query = 'SELECT died, bili AS "<script>alert(1)</script>", age AS "a\'; DROP TABLE x; --" FROM cohort'
    ok("report", tmp_path / "c.csv", "--sql", query, "--target", "died", "--out", tmp_path / "p.html")
    assert "<script>alert(1)" not in (tmp_path / "p.html").read_text()
