"""Files as they lie about: without a header, of UCI and Weka, with several sheets, names with blanks."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import error, ok, run

import rootcausal
from rootcausal import RCI
from rootcausal.errors import InputError
from rootcausal.files.header import TableFile
from rootcausal.files.tables import column_names

N = 60
NOISE = np.random.default_rng(5).normal(size=(N, 3))
COHORT = pd.DataFrame(
    {
        "age": (60 + 10 * NOISE[:, 0]).round(1),
        "bili": np.exp(NOISE[:, 1]).round(2),
        "sex": np.where(np.arange(N) % 3, "male", "female"),
        "d": (NOISE[:, 1] + NOISE[:, 2] > 0).astype(int),
    }
)


def bare_text(frame: pd.DataFrame, **how: object) -> str:
    return str(frame.to_csv(index=False, header=False, **how))


def fit(path: Path, *options: object, target: str = "d") -> str:
    return ok("fit", path, "--target", target, *options, "--out", path.with_name("m.rci"))


# --- the header -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["c.csv", "c.data", "c.xlsx"])
def test_a_patient_is_no_header(tmp_path: Path, name: str) -> None:
    path, other = tmp_path / name, tmp_path / "other.csv"
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
        COHORT.to_excel(path, index=False, header=False)
    else:
        path.write_text(bare_text(COHORT))
    seen = run("fit", path, "--target", "V4", "--out", tmp_path / "m.rci")
    assert seen.exit_code == 0, seen.output
    assert f"{N} rows, 3 variables" in seen.stdout
    assert "has no header, since its first row looks like all others: its columns are called V1 to V4" in (
        seen.stderr
    )
    said = run("fit", path, "--target", "V4", "--no-header", "--out", tmp_path / "m2.rci")
    assert f"{N} rows, 3 variables" in said.stdout and "no header" not in said.stderr
    # The same model as of the table with names.
    COHORT.to_csv(other, index=False)
    fit(other)
    by_name, without = RCI.load(tmp_path / "m.rci"), RCI.load(tmp_path / "m2.rci")
    X = COHORT[["age", "bili", "sex"]]
    same = X.set_axis(["V1", "V2", "V3"], axis=1)
    assert np.array_equal(
        by_name.predict_proba(COHORT[["age", "bili", "sex"]]), without.predict_proba(same[["V1", "V2", "V3"]])
    )


@pytest.mark.parametrize("word", ["unknown", "n.d.", "?", "not done"])
def test_a_word_for_missing_in_the_first_row_is_no_name(tmp_path: Path, word: str) -> None:
    path = tmp_path / "c.csv"
    path.write_text(f"61.5,{word},x\n62.5,1.3,x\n63.1,1.4,y\n")
    assert column_names(path) == ["V1", "V2", "V3"]


def test_new_patients_without_a_header(tmp_path: Path) -> None:
    path, one = tmp_path / "c.csv", tmp_path / "one.csv"
    path.write_text(bare_text(COHORT))
    ok("fit", path, "--target", "V4", "--no-header", "--out", tmp_path / "m.rci")
    one.write_text(bare_text(COHORT[:1][["age", "bili", "sex"]]))
    for options in ([], ["--no-header"]):
        assert "row 1" in ok("explain", tmp_path / "m.rci", one, *options)
    result = run("explain", tmp_path / "m.rci", path, "--out", tmp_path / "s.csv")
    assert f"scores of {N} patients" in result.stdout


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2\n3,4\n", True),
        ("63,1,145\n41,0,130\n", False),
        ("0,1,2\n5,7,1\n5,5,2\n", True),  # as pandas writes a table without names
        (",0,1,2\na,5,7,1\nb,5,5,2\n", True),
        ("id,2018,2019,2020\nx,5,7,1\ny,5,5,2\n", True),
        ("id,1850,1880,1900\nx,5,7,1\ny,5,5,2\n", True),
        ("1,58,115\n2,59,117\n", False),  # in even steps by chance
        ("id,1001,17,350\n1,5,7,1\n2,5,5,2\n", None),  # names of genes, or is 'id' a cell?
        ("P001,63,1.5\nP002,41,0.3\n", False),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,virginica\n", False),
        ("?,63,1\n2,41,0\n", False),
        ("p,x,s\ne,x,y\np,b,s\n", False),  # letters for levels
        ("sex,stage\nmale,low\nfemale,high\nmale,low\n", True),
        ("control,name\ncontrol,x\ncase,y\n", None),
        ("a,d\na,d\n1,0\n2,1\n", True),  # the header comes again
        ("2001-12-31,5\n2002-01-01,6\n", False),
        ("0,1\n5,6\n7,8\n", None),
        ("a,b\n", True),
    ],
)
def test_what_is_seen_of_a_header(tmp_path: Path, text: str, header: bool | None) -> None:
    path = tmp_path / "c.csv"
    path.write_text(text)
    first = text.split("\n")[0].split(",")
    called = [f"V{k}" for k in range(1, len(first) + 1)]
    if header is None:
        with pytest.raises(InputError, match=r"may be a patient, or the names of the columns.*--no-header"):
            column_names(path)
    else:
        assert column_names(path) == (first if header else called)
    assert column_names(TableFile(path, header=True)) == first
    assert column_names(TableFile(path, header=False)) == called


def test_a_header_is_said_only_of_files_that_may_lack_it(tmp_path: Path) -> None:
    COHORT.to_parquet(tmp_path / "c.parquet")
    assert "have names in any case: leave --no-header out" in error(
        3, "look", tmp_path / "c.parquet", "--no-header"
    )


def test_a_short_row_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("1,2,0\n3,4,1\n5,6\n")
    told = error(3, "look", path, "--no-header")
    assert "data row 3 of " in told and "has 2 values, but the first has 3 columns" in told


# --- names, sheets, Weka ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["c.csv", "c.parquet", "c.xlsx"])
def test_blanks_around_names_go(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    spaced = COHORT.rename(columns={"age": " age", "bili": "bili ", "d": " d "})
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
        spaced.to_excel(path, index=False)
    elif name.endswith("parquet"):
        spaced.to_parquet(path)
    else:
        spaced.to_csv(path, index=False)
    for target in ("d", " d "):
        assert f"{N} rows, 3 variables" in fit(path, "--log", " bili", target=target)
    assert list(RCI.load(tmp_path / "m.rci").feature_names_in_) == ["age", "bili", "sex"]
    assert "scores of 60 patients" in ok("explain", tmp_path / "m.rci", path, "--out", tmp_path / "s.csv")


def test_blanks_around_names_go_on_a_cluster_too(tmp_path: Path) -> None:
    pytest.importorskip("dask.dataframe")
    from rootcausal.files.dask_parquet import dask_frame

    COHORT.rename(columns={"age": " age", "d": "d "}).to_parquet(tmp_path / "c.parquet")
    frame = dask_frame([tmp_path / "c.parquet"])
    assert list(frame.columns) == list(COHORT.columns)
    assert frame["age"].compute().tolist() == COHORT["age"].tolist()


def test_names_that_only_blanks_tell_apart(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("a, a,d\n1,2,0\n3,4,1\n")
    assert "has the columns 'a' and ' a', which differ in nothing but the blanks" in error(
        3, "look", tmp_path / "c.csv"
    )


def test_sheets(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path, model = tmp_path / "book.xlsx", tmp_path / "m.rci"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"read": ["me"]}).to_excel(book, sheet_name="About", index=False)
        COHORT.to_excel(book, sheet_name="Labs", index=False)
    seen = run("look", path, "--sheet", "Labs", "--target", "d")
    assert seen.stdout.startswith(f"'{path}', sheet 'Labs': {N} rows")
    line = next(text for text in seen.stdout.splitlines() if text.startswith("rootcausal fit"))
    assert "--sheet Labs" in line
    assert f"'{path}', sheet 'Labs', {N} rows" in fit(path, "--sheet", "Labs")
    assert f"patients: '{path}', sheet 'Labs'" in ok("explain", model, path, "--sheet", "Labs")
    assert f"'{path}', sheet 'Labs'" in ok("check", path, "--sheet", "Labs", "--target", "d")
    first = run("look", path)
    assert "sheet 'About'" in first.stdout
    assert "has 2 sheets: the first, 'About', was read; to read another, name it with --sheet" in (
        " ".join(first.stderr.split())
    )
    assert "has no sheet 'labs' (--sheet); it has 'About', 'Labs'." in error(
        3, "look", path, "--sheet", "labs"
    )
    COHORT.to_csv(tmp_path / "c.csv")
    assert "has no sheets: leave --sheet out" in error(3, "look", tmp_path / "c.csv", "--sheet", "Labs")


ARFF = """% a comment
@RELATION 'a cohort'
@attribute age numeric
@ATTRIBUTE 'serum bilirubin' real
@attribute sex {'fe male', male}
@attribute d {no,yes}

@data
"""


def test_tables_of_weka(tmp_path: Path) -> None:
    path = tmp_path / "c.arff"
    table = COHORT.assign(
        bili=COHORT["bili"].astype(str).where(np.arange(N) != 3, "?"),
        sex=COHORT["sex"].map({"male": " male", "female": "'fe male'"}),
        d=COHORT["d"].map({0: "no", 1: "yes"}),
    )
    rows = [",".join(map(str, row)) for row in table.itertuples(index=False)]
    path.write_text(ARFF + "% another\n" + "\n".join(rows) + "\n")
    told = fit(path)
    assert f"{N} rows, 3 variables" in told and "1 binary (sex: fe male, male)" in told
    assert "1 of 180 cells are missing: serum bilirubin 2%" in told
    assert column_names(path) == ["age", "serum bilirubin", "sex", "d"]
    assert "disease: d = yes" in told
    path.write_text(ARFF + "{0 5, 3 yes}\n")
    assert "lists only what is not zero" in error(3, "look", path)
    path.write_text("a,b\n1,2\n")
    assert "is no table of Weka" in error(3, "look", path)
    path.write_text(ARFF + "1,'2',male\n")
    assert "data row 1 of " in error(3, "look", path)


# --- what is missing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        (["d"], ["--target", "d"]),
        (["age"], ["--target", "age", "--outcome", "continuous"]),
        (["age", "d"], ["--time", "age", "--event", "d"]),
    ],
)
def test_rows_without_an_outcome_are_left_out_and_counted(
    tmp_path: Path, columns: list[str], options: list[str]
) -> None:
    """And no other row, though there are rows with holes: fit, check and report say the same."""
    table = COHORT.astype({"d": "Int64"}).copy()
    for k, column in enumerate(columns):
        table.loc[[3 * k, 3 * k + 1], column] = None
    table.loc[40:45, "bili"] = np.nan
    gone = 2 * len(columns)
    path = tmp_path / "c.csv"
    table.to_csv(path, index=False)
    for command in (
        ["fit", path, *options, "--out", tmp_path / "m.rci"],
        ["check", path, *options],
        ["report", path, *options, "--out", tmp_path / "p.html"],
    ):
        told = ok(*command)
        missing = ", ".join(f"'{column}'" for column in columns)
        assert f"{gone} rows without an outcome ({missing} missing) are left out" in told
        assert f"{N - gone} rows, {3 if len(columns) == 1 else 2} variables" in told
    assert rootcausal.load(tmp_path / "m.rci").provenance_["rows"] == N - gone
    # Look proposes a line that is not refused.
    seen = json.loads(ok("look", path, *options, "--json"))
    assert run(*[*seen["fit"]["arguments"][:-1], tmp_path / "line.rci"]).exit_code == 0


def test_in_python_rows_without_an_outcome_are_an_error() -> None:
    y = COHORT["d"].astype(float).where(np.arange(N) > 2)
    with pytest.raises(InputError, match="3"):
        RCI().fit(COHORT[["age", "bili"]], y)


def test_variables_that_are_mostly_missing(tmp_path: Path) -> None:
    table = COHORT.assign(rare=np.where(np.arange(N) < 15, NOISE[:, 0], np.nan))
    table["half"] = np.where(np.arange(N) < 30, NOISE[:, 1], np.nan)
    path = tmp_path / "c.csv"
    table.to_csv(path, index=False)
    told = fit(path, "--max-missing", 0.6)
    assert "left out, more than 60% missing: 'rare' (75%)" in told and f"{N} rows, 4 variables" in told
    # Rows are not dropped for what is left out.
    assert f"{30} rows, 4 variables" in fit(path, "--max-missing", 0.6, "--drop-missing")
    for command in ("check", "report"):
        more = ["--out", tmp_path / "p.html"] if command == "report" else []
        assert "'half' (50%)" in ok(command, path, "--target", "d", "--max-missing", "0.4", *more)
    told = error(
        3, "fit", path, "--target", "d", "--max-missing", 0.6, "--first", "rare", "--out", tmp_path / "m.rci"
    )
    assert "left out by --max-missing" in told


def test_look_takes_words_for_missing_and_hands_them_on(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    table = COHORT.assign(x=np.where(np.arange(N) % 4, NOISE[:, 0].round(2), -9))
    table.to_csv(path, index=False)
    seen = json.loads(ok("look", path, "--target", "d", "--na", "x=-9", "--json"))
    assert next(column for column in seen["columns"] if column["name"] == "x")["missing"] == 15
    assert shlex.split(seen["fit"]["line"]).count("x=-9") == 1


# --- dates ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["%m/%d/%y", "%B %d, %Y", "%Y%m%d", "%d%b%y", "%b %d %Y"])
def test_one_grammar_of_dates(tmp_path: Path, form: str) -> None:
    """Of look, fit, fit --keep and explain."""
    days = pd.date_range("1998-02-01", periods=N, freq="9D")
    path, new = tmp_path / "c.csv", tmp_path / "new.csv"
    COHORT.assign(when=days.strftime(form)).to_csv(path, index=False)
    seen = json.loads(ok("look", path, "--target", "d", "--json"))
    assert next(column for column in seen["columns"] if column["name"] == "when")["kind"] == "date"
    assert "has dates in 'when'" in error(3, "fit", path, "--target", "d", "--out", tmp_path / "m.rci")
    fit(path, "--keep", "age,bili,when")
    model = RCI.load(tmp_path / "m.rci")
    assert model.provenance_["reading"]["origins"] == {"when": "1998-02-01"}
    plain = COHORT[["age", "bili"]].assign(when=9.0 * np.arange(N))
    for rows in (slice(0, N), slice(5, 6)):  # a patient alone is dated as the cohort was
        COHORT.assign(when=days.strftime(form))[rows].to_csv(new, index=False)
        ok("explain", tmp_path / "m.rci", new, "--out", tmp_path / "s.csv")
        risk = pd.read_csv(tmp_path / "s.csv")["risk"]
        assert np.allclose(risk, model.predict_proba(plain[rows])[:, 1], atol=1e-12)


def test_a_century_that_is_not_plain_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    births = pd.date_range("1931-02-01", periods=N, freq="200D").strftime("%m/%d/%y")
    COHORT.assign(born=births).to_csv(path, index=False)
    told = error(3, "fit", path, "--target", "d", "--keep", "age,born", "--out", tmp_path / "m.rci")
    assert "of which the century is not plain, 1931 or 2031: write years with four digits" in told


def test_tables_of_weka_from_hostile_hands(tmp_path: Path) -> None:
    """Neither names nor cells without an end take longer than reading them does."""
    path = tmp_path / "c.arff"
    path.write_text("@attribute '" + "\\" * 80 + "\n@attribute b real\n@data\n1,2\n")
    assert len(column_names(path)) == 2
    path.write_text(
        "@attribute a {x}\n@attribute b real\n@data\n'x',1" + " " * 60_000 + "2\n" + "'x',2\n" * 9
    )
    assert "10 rows" in ok("look", path)


def test_letters_of_weka_that_are_not_utf8_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "c.arff"
    rows = [f"{age},{'Köln' if k % 2 else 'Kåln'}" for k, age in enumerate(COHORT["age"])]
    path.write_bytes(
        "\n".join(["@attribute age real", "@attribute town {}", "@data", *rows]).encode("cp1252")
    )
    told = run("look", path, "--target", "town")
    assert "Köln" in told.stdout and "Kåln" in told.stdout
    assert "is not UTF-8 text: it was read as Windows-1252" in told.stdout + told.stderr


@pytest.mark.parametrize("first", ["1,2,3", "2,4,6,8", "1950,1980,1999"])
def test_a_patient_whose_numbers_count_is_asked_about(tmp_path: Path, first: str) -> None:
    """Names that are numbers do not lie among those below them; those of a patient do."""
    numbers = [int(cell) for cell in first.split(",")]
    rows = [",".join(str(number + 1 - k % 3) for number in numbers) for k in range(N) if k % 3 != 1]
    path = tmp_path / "c.csv"
    path.write_text("\n".join([first, *rows]))
    assert "may be a patient, or the names of the columns" in error(3, "look", path)
    assert f"{len(rows) + 1} rows" in ok("look", path, "--no-header")
    far = [",".join(str(number / 7000) for number in numbers) for _ in rows]
    path.write_text("\n".join([first, *far]))
    assert column_names(path) == first.split(",")
