"""Reading cohort tables, the words for bad ones, and which label is the disease."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cohort_files import read_cohort

from rootcausal.errors import InputError
from rootcausal.files.tables import column_names
from rootcausal.files.writing import write_tables
from rootcausal.inputs.from_file import read_new_patients
from rootcausal.inputs.target import choose_counted
from rootcausal.wording import printable, quoted

HOSTILE_NAMES = [
    "[bold]x[/bold]",
    "=cmd()",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "a.b",
    "a",
    "\u202eevil",
    "שלום",
    "🙂 :smile:",
    "\x1b[2J",
    'quote " and, comma',
    "two\nlines",
    "n" * 300,
]


def write(folder: Path, content: str | bytes, name: str = "cohort.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def message(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_cohort(path, **{"target": "d", **options})
    text = str(caught.value)
    assert all(line.startswith(f"({number}) ") for number, line in enumerate(text.split("\n")[1:], start=1))
    return text.replace(str(path.parent), "")


# --- good tables ------------------------------------------------------------------------------------


def test_numbers_booleans_and_ids(tmp_path: Path) -> None:
    path = write(tmp_path, "patient,whole,flag,real,d\n007,1,true,0.1,0\nNA,2,FALSE,-1e-3,1\n=x,3,True,7,1\n")
    patients = read_cohort(path, "d", id_column="patient")
    assert patients.X.column_names == ["whole", "flag", "real"]
    assert set(patients.X.schema.types) == {pa.float64()}
    assert patients.X.to_pydict() == {"whole": [1, 2, 3], "flag": [1, 0, 1], "real": [0.1, -1e-3, 7]}
    assert patients.ids == ["007", "NA", "=x"]
    assert patients.target is not None
    assert patients.target.tolist() == [0, 1, 1]
    assert patients.n_removed == 0


def test_csv_and_parquet_read_alike(tmp_path: Path) -> None:
    table = pa.table(
        {"a": [0.1, 0.2, 1 / 3], "b": [True, False, None], "d": ["yes", "No", "no"], "id": [1, 2, 3]}
    )
    write_tables({tmp_path / "c.csv": table, tmp_path / "c.parquet": table}, {})
    first, second = (
        read_cohort(tmp_path / name, "d", id_column="id", drop_missing=True)
        for name in ("c.csv", "c.parquet")
    )
    assert first.X.equals(second.X)
    assert first.ids == second.ids == ["1", "2"]
    assert first.target is not None
    assert second.target is not None
    assert first.target.tolist() == second.target.tolist() == ["yes", "no"]
    assert first.n_removed == second.n_removed == 1


def test_parquet_types(tmp_path: Path) -> None:
    codes = pa.array([1.5, 2.5, 1.5]).dictionary_encode()
    labels = pa.array(["ill", "well", "ill"]).dictionary_encode()
    table = pa.table(
        {
            "small": pa.array([1, 2, 3], pa.uint8()),
            "codes": codes,
            "d": labels,
            "big": pa.array([2**62, 1, 0]),
        }
    )
    pq.write_table(table, tmp_path / "c.parquet")
    patients = read_cohort(tmp_path / "c.parquet", "d")
    assert patients.X.to_pydict() == {"small": [1, 2, 3], "codes": [1.5, 2.5, 1.5], "big": [2.0**62, 1, 0]}
    assert patients.target is not None
    assert patients.target.tolist() == ["ill", "well", "ill"]


def test_dropped_columns_may_hold_anything(tmp_path: Path) -> None:
    path = write(tmp_path, "ward,a,empty,d\nnorth,1,,0\nsouth,2,,1\n")
    assert read_cohort(path, "d", drop=["ward", "empty"]).X.column_names == ["a"]


def test_drop_missing_keeps_rows_and_ids_together(tmp_path: Path) -> None:
    path = write(tmp_path, "id,a,d\np1,1,0\np2,,1\np3,NA,0\np4,4,\np5,5,1\np6,NaN,1\n")
    patients = read_cohort(path, "d", id_column="id", drop_missing=True)
    assert patients.ids == ["p1", "p5"]
    assert patients.row_numbers.tolist() == [1, 5]
    assert patients.X["a"].to_pylist() == [1, 5]
    assert patients.n_removed == 3 and "1 row without an outcome" in patients.notes[0]


def test_byte_order_mark_blank_lines_and_quoted_newlines(tmp_path: Path) -> None:
    path = write(tmp_path, '\ufeffid,"two\nlines",d\n\n"x\ny",1,0\n\nz,2,1\n\n')
    patients = read_cohort(path, "d", id_column="id")
    assert patients.X.column_names == ["two\nlines"]
    assert patients.ids == ["x\ny", "z"]


def test_new_patients_are_matched_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, "ward,b,id,a\nnorth,1,x,2\nsouth,3,y,4\n")
    patients = read_new_patients(path, ["a", "b"], id_column="id")
    assert patients.X.to_pydict() == {"a": [2, 4], "b": [1, 3]}
    assert patients.ids == ["x", "y"]
    assert patients.target is None


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_hostile_names_survive_a_round_trip(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"c.{ending}"
    table = pa.table({**{name: [1.0, 2.0] for name in HOSTILE_NAMES}, "id": HOSTILE_NAMES[:2], "d": [0, 1]})
    write_tables({path: table}, {})
    patients = read_cohort(path, "d", id_column="id")
    apostrophe = "'" if ending == "csv" else ""
    assert patients.X.column_names == [apostrophe + n if n == "=cmd()" else n for n in HOSTILE_NAMES]
    assert patients.ids == ["[bold]x[/bold]", apostrophe + "=cmd()"]


# --- bad tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "'/cohort.csv' is empty: it needs a header line"),
        ("a,b,d\n", "'/cohort.csv' has column names but no rows"),
        ("a,b,a,b,c,d\n1,2,3,4,5,0\n", "more than one column named 'a', 'b': rename"),
        ("a,b,d\n1,2,0\n1,2\n", "data row 2 of '/cohort.csv' has 2 values, but the header names 3 columns"),
        (
            "a,d\n1,0\n1,2,3\n4\n5,1\n",
            "data row 2 of '/cohort.csv' has 3 values, but the header names 2 columns (2 rows",
        ),
        ("a,when,d\n1,2020-01-01,0\n2,2020-01-02,1\n", "has dates in 'when': leave them out with --drop"),
        ("a,b,d\n1,,0\nNA,,1\n3,NaN,0\n", "missing values, here with their counts: 'a' (1), 'b' (3)."),
        (
            "a,b,d\n1,,0\n1,2,1\n",
            "Leave out the rows concerned with --drop-missing, or leave the column out with --drop",
        ),
        ("a,d\n1,\n2,NA\n3,\n", "has an outcome: 'd' (--target) is missing in each."),
        (
            "a,b,d\n1,inf,0\n2,-Inf,1\n",
            "values that are infinite or above 1e+140, here with their counts: 'b' (2). Correct them",
        ),
        ("a,b,d\n1,1.7e308,0\n2,-1e150,1\n", "infinite or above 1e+140, here with their counts: 'b' (2)."),
        ("a,b,Died\n1,2,0\n", "no column 'd' (--target); its columns are 'a', 'b', 'Died'."),
        (
            ",a,d\n0,1,0\n1,2,1\n",
            "column 1 of '/cohort.csv' has no name (often an exported row index): name it",
        ),
        ("d\n1\n0\n", "has no variables left"),
    ],
)
def test_bad_csv(tmp_path: Path, content: str | bytes, expected: str) -> None:
    assert expected in message(write(tmp_path, content))


def test_text_is_reported_with_advice_and_a_limit(tmp_path: Path) -> None:
    names = "abcefghijk"
    rows = [",".join(f"{name}{k}" for name in names) + ",0" for k in range(40)]
    path = write(tmp_path, "\n".join([",".join(names) + ",d", *rows]))
    assert "columns 'a', 'b', 'c', 'e', 'f', 'g', 'h', 'i' and 2 more have too many" in message(path)
    assert "name it with --id COLUMN, or leave it out with --drop COLUMN" in message(path)


@pytest.mark.parametrize("cell", ["1_000", "１", "3\u202f000", "0x1F", "<0.3"])
@pytest.mark.parametrize("good", ["1", "1.5", " 2", "NA", "", "+3", "1e5"])
def test_the_cell_that_is_no_number_is_the_one_named(tmp_path: Path, cell: str, good: str) -> None:
    rows = "".join(f"{k},{k}.5,0\n" for k in range(10))
    path = write(tmp_path, f"a,b,d\n{rows}6,{good},1\n7,{cell},0\n8,x,1\n")
    of_a_limit = (
        f"Where that is a limit of detection, say --limit 'b={cell}'; else correct these cells, or leave"
    )
    remedy = of_a_limit if cell.startswith("<") else "Correct these cells, or leave"
    assert f"numbers and other text are mixed: {quoted(cell)} in 'b'. {remedy}" in message(path)


def test_the_cell_is_found_far_down_a_long_table(tmp_path: Path) -> None:
    lines = [f"{k},{k}.5,{k % 2}" for k in range(3000)]
    lines[2345] = "2345,2_345,1"
    path = write(tmp_path, "a,b,d\n" + "\n".join(lines) + "\n")
    assert "mixed: '2_345' in 'b'" in message(path)


@pytest.mark.parametrize("first", ["0x1F", "0X1f", " 0x1f", '"0x1F"'])
def test_hexadecimal_text_is_text(tmp_path: Path, first: str) -> None:
    path = write(tmp_path, f"whole,sample,d\n1,{first},0\n2,0x20,1\n3,7,0\n4,8,1\n")
    patients = read_cohort(path, "d")
    assert patients.X["whole"].to_pylist() == [1, 2, 3, 4]
    assert patients.X["sample"].to_pylist() == [first.strip(' "'), "0x20", "7", "8"]


def test_hexadecimal_labels_are_text(tmp_path: Path) -> None:
    target = read_cohort(write(tmp_path, "a,d\n1,0x0\n2,0x1\n3,0x1\n"), "d", positive="0x1").target
    assert target is not None
    assert target.tolist() == ["0x0", "0x1", "0x1"]


def test_numbers_stored_as_text_in_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["1", " 2.5"], "d": [0, 1]}), tmp_path / "c.parquet")
    assert read_cohort(tmp_path / "c.parquet", "d").X["a"].to_pylist() == [1.0, 2.5]


def test_columns_that_do_not_exist(tmp_path: Path) -> None:
    path = write(tmp_path, "Patient,Died,age\n1,0,50\n2,1,60\n")
    assert "no column 'died' (--target); did you mean 'Died'?" in message(path, target="died")
    assert "no column 'patient' (--id); did you mean 'Patient'?" in message(
        path, target="Died", id_column="patient"
    )
    assert "no column 'ages' (--drop); did you mean 'age'?" in message(path, target="Died", drop=["ages"])


def test_target_with_another_role(tmp_path: Path) -> None:
    path = write(tmp_path, "a,d\n1,0\n2,1\n")
    assert message(path, id_column="d") == "'d' is both --target and --id: choose one."
    assert message(path, drop=["d"]) == "'d' is both --target and --drop: choose one."


def test_drop_missing_that_leaves_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,d\n1,,0\n2,,1\n")
    assert "--drop-missing leaves no row of '/cohort.csv'" in message(path, drop_missing=True)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        column_names("s3://bucket/c.parquet")  # a path like any other: nothing is asked of the network
    assert message(tmp_path / "no.csv") == "cannot read '/no.csv': there is no such file."
    assert message(tmp_path / "no.parquet") == "cannot read '/no.parquet': there is no such file."
    (tmp_path / "folder.parquet").mkdir()
    assert message(tmp_path / "folder.parquet") == "cannot read '/folder.parquet': it is a folder."
    assert "does not end like a table that can be read: .csv," in message(write(tmp_path, "a", "cohort.doc"))


def test_damaged_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": np.arange(1000.0), "d": np.arange(1000) % 2}), tmp_path / "good.parquet")
    good = (tmp_path / "good.parquet").read_bytes()
    for name, content in (
        ("cut", good[:-100]),
        ("foreign", b"hello"),
        ("flipped", good[:4] + b"\xff" * 400 + good[404:]),
    ):
        text = message(write(tmp_path, content, f"{name}.parquet"))
        assert f"'/{name}.parquet' is not a readable parquet file; it may be damaged" in text
    assert "is empty" in message(write(tmp_path, b"", "empty.parquet"))


def test_new_patients_without_a_column(tmp_path: Path) -> None:
    path = write(tmp_path, "Age,x\n1,2\n")
    with pytest.raises(
        InputError, match=r"lacks 2 columns that the model needs: 'age' \(is it 'Age'\?\), 'bili'\."
    ):
        read_new_patients(path, ["age", "x", "bili"])
    with pytest.raises(InputError, match="--id 'x' is one of the model's variables"):
        read_new_patients(path, ["x"], id_column="x")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_messages_cannot_command_the_terminal(tmp_path: Path, name: str) -> None:
    texts = [f"{name} {k}" for k in range(40)]
    pq.write_table(pa.table({name: texts, "d": [0, 1] * 20}), tmp_path / "c.parquet")
    text = message(tmp_path / "c.parquet")
    assert text.isprintable()
    assert len(text) < 300


def test_quoted_and_printable() -> None:
    assert quoted("a\x1b[2J\nb") == r"'a\x1b[2J\nb'"
    assert quoted("x" * 100, 10) == "'xxxxxxxxxx...'"
    assert printable("a\u202eb\n") == "a\\u202eb\n"


def test_column_names(tmp_path: Path) -> None:
    assert column_names(write(tmp_path, 'a,"b,c"\n1,2\n')) == ["a", "b,c"]


# --- the disease ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "positive", "text", "n_cases"),
    [
        (["0", "1", "1"], None, "1", 2),
        (["0.0", "1.0", "1.0"], None, "1", 2),
        (["TRUE", "False", "false"], None, "true", 1),
        (["Yes", "no", "YES", "No"], None, "yes", 2),
        (["-1", "1", "1"], None, "1", 2),
        (["Case", "control", "CASE", "Control"], None, "case", 2),
        (["1", "2", "2"], "1", "1", 1),
        (["ill", "well", "ill"], "well", "well", 1),
        (["Yes", "no", "no"], "NO", "no", 2),
    ],
)
def test_disease(tmp_path: Path, labels: list[str], positive: str | None, text: str, n_cases: int) -> None:
    path = write(tmp_path, "a,d\n" + "".join(f"{k},{label}\n" for k, label in enumerate(labels)))
    target = read_cohort(path, "d", positive=positive).target
    assert target is not None
    disease = choose_counted(*np.unique(target, return_counts=True), "d", positive)
    assert (disease.text, disease.n_cases) == (text, n_cases)
    assert (target == disease.label).sum() == n_cases


@pytest.mark.parametrize(
    ("labels", "positive", "expected"),
    [
        ([1, 1], None, r"must hold two labels, but it holds only one label, '1' \(2 rows\)"),
        ([0, 1, 2], None, r"but it holds 3 labels: '0' \(1 row\), '1' \(1 row\), '2' \(1 row\)"),
        (
            [1, 3, 3],
            None,
            r"holds '1' \(1 row\) and '3' \(2 rows\): say which one is the disease with --positive",
        ),
        (["red", "wan"], None, r"holds 'red' \(1 row\) and 'wan' \(1 row\): say which"),
        (
            ["ill", "well"],
            "sick",
            r"--positive 'sick' is not a label of 'd', which holds 'ill' \(1 row\) and 'well'",
        ),
    ],
)
def test_no_disease(labels: list[object], positive: str | None, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        choose_counted(*np.unique(labels, return_counts=True), "d", positive)
