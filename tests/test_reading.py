"""Tables as people have them: separators, encodings, .gz, Excel, Stata, SAS, words for missing."""

import gzip
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cohort_files import read_cohort
from command_line import error, ok, run
from pyarrow import csv as arrow_csv
from sas_transport import transport_file

from rootcausal import RCI, InputError, MissingExtraError
from rootcausal.files import delimited, memory
from rootcausal.files.cells import WORDS_FOR_MISSING, with_decimal_commas
from rootcausal.files.tables import column_names, read_columns, stream_columns
from rootcausal.inputs.binary import DiagnosisColumn
from rootcausal.inputs.from_file import read_labelled_cohort, read_new_patients
from rootcausal.inputs.roles import Roles


def write(folder: Path, content: str | bytes, name: str = "cohort.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path, text_column: str | None = None, na: tuple[str, ...] = ()) -> dict[str, list[Any]]:
    table = read_columns(path, column_names(path), text_column, na)
    return with_decimal_commas(table, {text_column or ""})[0].to_pydict()


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert str(caught.value).isprintable()
    return str(caught.value).replace(str(path.parent), "")


# --- separators -------------------------------------------------------------------------------------------

PLAIN = {"a": [1, 2], "b": [0.5, None], "c": ["x", "y"]}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "csv.gz", "tsv.gz", "txt.gz"])
def test_separators_are_found(tmp_path: Path, separator: str, ending: str) -> None:
    content = "a,b,c\n1,0.5,x\n2,NA,y\n".replace(",", separator).encode()
    path = write(tmp_path, gzip.compress(content) if ending.endswith("gz") else content, f"c.{ending}")
    assert column_names(path) == ["a", "b", "c"]
    assert read(path) == PLAIN


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a;b\n1;3,4\n2;-,5\n3;6\n", {"a": [1, 2, 3], "b": [3.4, -0.5, 6.0]}),
        ("a;b\n1;1.5\n2;2.5\n", {"a": [1, 2], "b": [1.5, 2.5]}),
        ("a\tb\n1,5\t1,234\n2\t12,500\n", {"a": [1.5, 2.0], "b": [1.234, 12.5]}),
        ('id;"weight, kg";x\n1;3,4;5\n2;5,6;7\n', {"id": [1, 2], "weight, kg": [3.4, 5.6], "x": [5, 7]}),
        ("a;b\n1;3,4\n2;NA\n", {"a": [1, 2], "b": [3.4, None]}),
        ("a;b\n1;3,4\n2;x\n", {"a": [1, 2], "b": ["3,4", "x"]}),
        ('a,b\n1,"3,4"\n2,"5,6"\n', {"a": [1, 2], "b": [3.4, 5.6]}),
        ("a\tb\n1\t1,234\n2\t12,500\n", {"a": [1, 2], "b": ["1,234", "12,500"]}),
        ("a,b;c,d\n1,2,3\n", {"a": [1], "b;c": [2], "d": [3]}),
        ('a;b\n"x\ny;z";1\n', {"a": ["x\ny;z"], "b": [1]}),
        ("a, b\n1, NA\n2, 3\n", {"a": [1, 2], "b": [None, 3.0]}),
    ],
)
def test_decimal_commas_and_names_that_hold_separators(
    tmp_path: Path, content: str, expected: dict[str, list[Any]]
) -> None:
    assert read(write(tmp_path, content)) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a;b,c\n1;2,3\n", "can be read as separated by ',' or by ';': put quotes"),
        ("a;b;d\n1;2;0\n1;2\n", "data row 2 of '/cohort.csv' has 2 values, but the header names 3 columns"),
        ("a;b;d\n1;2;0\n1;2\n", "a semicolon inside a text needs quotes"),
        ("a,b,d\n1,2,0,\n3,4,1,\n", "data row 1 of '/cohort.csv' has 4 values, but the header names 3"),
        ('"a" "b"\n"r1" 2 3\n"r2" 4 5\n', "has blanks between its columns: save it separated by commas"),
        ("", "is empty: it needs a header line"),
        ("\n\n", "is empty: it needs a header line"),
    ],
)
def test_text_that_is_no_clear_table(tmp_path: Path, content: str, expected: str) -> None:
    assert expected in refused(write(tmp_path, content))


def test_row_names_of_r_are_a_column_without_a_name(tmp_path: Path) -> None:
    path = write(tmp_path, '\n"a","d"\n"p1",2,0\n"p2",4,1\n"p3",6,1\n')
    assert column_names(path) == ["", "a", "d"]
    with pytest.warns(UserWarning, match="one name shorter than its rows: the first column is taken for row"):
        assert read(path) == {"": ["p1", "p2", "p3"], "a": [2, 4, 6], "d": [0, 1, 1]}
    with pytest.raises(InputError, match="leave it out with --drop '', or take it for the ids with --id ''"):
        read_cohort(path, "d")
    with pytest.warns(UserWarning, match="row names"):
        assert read_cohort(path, "d", id_column="").ids == ["p1", "p2", "p3"]


def test_row_names_and_a_short_row_far_down(tmp_path: Path) -> None:
    rows = [f"p{k},{k},{k % 2}" for k in range(100)]
    rows[79] = "p79,79"
    path = write(tmp_path, "a,d\n" + "\n".join(rows) + "\n")
    assert "data row 80 of '/cohort.csv' has 2 values, but the header names 3 columns" in refused(path)


# --- encodings --------------------------------------------------------------------------------------------

SPANISH = "niño;peso\nJosé;1,5\nÓscar;2\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_encodings_that_say_themselves(tmp_path: Path, encoding: str, ending: str) -> None:
    content = SPANISH.encode(encoding)
    path = write(tmp_path, gzip.compress(content) if ending.endswith("gz") else content, f"c.{ending}")
    assert read(path) == {"niño": ["José", "Óscar"], "peso": [1.5, 2.0]}


def test_utf_16_of_either_kind(tmp_path: Path) -> None:
    content = b"\xfe\xff" + "a,b\n1,0x1F\n2,3\n".encode("utf-16-be")
    assert read(write(tmp_path, content)) == {"a": [1, 2], "b": ["0x1F", "3"]}


def test_windows_1252_is_said(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="is not UTF-8 text: it was read as Windows-1252") as caught:
        assert read(write(tmp_path, SPANISH.encode("cp1252"))) == {
            "niño": ["José", "Óscar"],
            "peso": [1.5, 2.0],
        }
    assert len(caught) == 1


@pytest.mark.parametrize(("cell", "expected"), [(b"\x80", "€"), (b"\x81", "\x81")])
def test_windows_1252_far_down(tmp_path: Path, cell: bytes, expected: str) -> None:
    content = b"id,a,b\n" + b"x,1,z\n" * 60_000 + b"y,2," + cell + b"\n"
    with pytest.warns(UserWarning, match="Windows-1252"):
        assert read(write(tmp_path, content))["b"][-1] == expected
    with pytest.warns(UserWarning, match="Windows-1252"):
        read(write(tmp_path, content.replace(b"x", b"\xe9")), text_column="id")


def test_two_encodings_in_one_file(tmp_path: Path) -> None:
    content = "é,b\n".encode() + b"1,z\n" * 80_000 + b"1,\xe9\n"
    assert "has a header in UTF-8 and cells in another encoding" in refused(write(tmp_path, content))


def test_the_first_lines_of_a_cohort_are_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, look = [], delimited._dialect_of
    monkeypatch.setattr(delimited, "_dialect_of", lambda file: looked.append(file) or look(file))
    path = write(tmp_path, "a,b,d\n1,2,0\n2,3,1\n3,5,0\n4,4,1\n")
    read_labelled_cohort(path, Roles(DiagnosisColumn("d"), after=["b"]))
    assert len(looked) == 1


def test_large_good_files_are_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    real = arrow_csv.read_csv
    monkeypatch.setattr(arrow_csv, "read_csv", lambda *a: (calls.append(a), real(*a))[1])
    path = write(tmp_path, "a,b\n" + "1,2.5\n" * 1000)
    read(path)
    ((source, options, *_),) = calls
    assert source == path and options.encoding == "utf8"


# --- hostile text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"PK\x03\x04rest", "is no text: it is an Excel workbook or another zip archive: is its ending"),
        (b"PAR1rest", "is no text: it is a Parquet file"),
        # Without a time in it: names of tests have to be the same in every process.
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "is no text: it is compressed: give it the ending .gz"),
        (b"a,b\n1,\x00\n", "is no text, or text in UTF-16 without its mark"),
        ("a,b\n1,2\n".encode("utf-16-le"), "is no text, or text in UTF-16 without its mark"),
        (b"x" * 10_000_000, "is not a readable csv file; it may be damaged"),
        (b"1," * 200_000 + b"1\n", "has no column 'd' (--target); its columns are 'V1', 'V2'"),
        (b'"' + b"x,\n" * 1000, "has no column 'd'"),
    ],
)
def test_what_is_no_text(tmp_path: Path, content: bytes, expected: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_cohort(path, "d")
    assert expected in str(caught.value) and len(str(caught.value)) < 400


def test_nul_bytes_far_down_stay_text(tmp_path: Path) -> None:
    found = read(write(tmp_path, b"a,b\n" + b"1,2\n" * 100_000 + b"1,\x00\n"))
    assert found["b"][-1] == "\x00"


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"a,b\n1,2\n" * 1000, mtime=0)[:-20], b"a,b\n1,2\n", b"", b"\x1f\x8b" + b"\xff" * 100],
)
def test_damaged_gz(tmp_path: Path, content: bytes) -> None:
    text = refused(write(tmp_path, content, "c.csv.gz"))
    assert "is not a readable gz file; it may be damaged" in text or "is empty" in text


def test_gz_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_ALWAYS_FINE_BYTES", 1 << 20)
    content = gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000)
    assert len(content) < 20_000
    assert "unpacks to more than 200 times its size" in refused(write(tmp_path, content, "c.csv.gz"))


def test_endings(tmp_path: Path) -> None:
    for name, expected in {
        "c.rds": "a file that only R reads: write it with write.csv",
        "c.RData": "a file that only R reads",
        "c.pkl": "a pickle, which can run programs",
        "c.sav": "a file of SPSS",
        "c.parquet.gz": "does not end like a table that can be read",
        "c.gz": "does not end like a table",
        "c": "does not end like a table",
        "c.zip": "an archive: unpack it first",
    }.items():
        assert expected in refused(write(tmp_path, "a,b\n1,2\n", name))


# --- words for missing ------------------------------------------------------------------------------------


def test_the_list_of_words_is_that_of_pyarrow() -> None:
    assert list(WORDS_FOR_MISSING) == arrow_csv.ConvertOptions().null_values


def test_words_of_the_user_count_in_numbers_and_texts(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,c,s,t\n.,999,3,x,NA\n1, 999.0,-9,unk,u\n2,5,<100, unk,v\n")
    assert read(path)["a"] == [".", "1", "2"]
    assert read(path)["t"] == [None, "u", "v"]
    assert read(path, na=(".", "999", "-9", "<100", "unk")) == {
        "a": [None, 1, 2],
        "b": [None, None, 5],
        "c": [3, None, None],
        "s": ["x", None, None],
        "t": [None, "u", "v"],
    }
    assert read(path, "t", na=("u",))["t"] == ["NA", "u", "v"]  # ids are nobody's gaps


def test_words_of_the_user_in_parquet(tmp_path: Path) -> None:
    table = pa.table(
        {
            "whole": [1, 999, 3],
            "real": [999.0, 1.5, None],
            "text": ["unk", " NA", "x "],
            "level": pa.array(["unk", "b", "c"]).dictionary_encode(),
            "code": pa.array([999, 1, 2]).dictionary_encode(),
            "flag": [True, False, True],
        }
    )
    pq.write_table(table, tmp_path / "c.parquet")
    expected = {
        "whole": [1, None, 3],
        "real": [None, 1.5, None],
        "text": [None, None, "x "],
        "level": [None, "b", "c"],
        "code": [None, 1, 2],
        "flag": [True, False, True],
    }
    assert read(tmp_path / "c.parquet", na=("999", "unk", "1.0e9")) == expected
    (piece,) = stream_columns(tmp_path / "c.parquet", table.column_names, None, ("999", "unk"))
    assert piece.to_pydict() == expected


def test_ordered_levels_keep_their_order(tmp_path: Path) -> None:
    levels = pa.DictionaryArray.from_arrays([0, 1, 2, 1], ["low", "high", "unk"], ordered=True)
    pq.write_table(pa.table({"a": levels}), tmp_path / "c.parquet")
    column = read_columns(tmp_path / "c.parquet", ["a"], None, ["unk"])["a"]
    assert column.to_pylist() == ["low", "high", None, "high"]
    assert column.type.ordered and column.chunk(0).dictionary.to_pylist()[:2] == ["low", "high"]


def test_labels_honour_the_words_of_the_user(tmp_path: Path) -> None:
    path = write(tmp_path, "a,d\n1,yes\n2,no\n3,unknown\n4,yes\n5,no\n")
    patients = read_cohort(path, "d", na=["unknown"])
    assert patients.target is not None and patients.target.tolist() == ["yes", "no", "yes", "no"]
    assert patients.notes == ("1 row without an outcome ('d' missing) is left out",)


# --- Excel, Stata, SAS ------------------------------------------------------------------------------------

FRAME = pd.DataFrame(
    {
        "id": [7, 8, 9],
        "real": [1.0, 2.5, np.nan],
        "text": ["x", " y", ""],
        "when": pd.to_datetime(["2020-01-01", "2020-02-01", None]),
        "mixed": [1, "<3", 2],
        "flag": [True, False, True],
    }
)


def test_excel(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    FRAME.to_excel(tmp_path / "c.xlsx", index=False)
    found = read_columns(tmp_path / "c.xlsx", list(FRAME.columns), "id", ["<3"])
    assert found.drop_columns("when").to_pydict() == {
        "id": ["7", "8", "9"],
        "real": [1.0, 2.5, None],
        "text": ["x", "y", None],
        "mixed": [1.0, None, 2.0],
        "flag": [True, False, True],
    }
    assert pa.types.is_timestamp(found["when"].type)
    assert read(tmp_path / "c.xlsx")["mixed"] == ["1", "<3", "2"]


def test_the_first_sheet_is_read_and_named(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "c.xlsx") as book:
        FRAME[["id"]].to_excel(book, sheet_name="patients", index=False)
        FRAME[["real"]].to_excel(book, sheet_name="labs", index=False)
    with pytest.warns(UserWarning, match="has 2 sheets: the first, 'patients', was read"):
        assert read(tmp_path / "c.xlsx") == {"id": [7, 8, 9]}


def test_odd_workbooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openpyxl")
    twice = pd.DataFrame([[1, 2, 3]], columns=["a", "a", None])
    twice.to_excel(tmp_path / "twice.xlsx", index=False)
    assert "more than one column named 'a'" in refused(tmp_path / "twice.xlsx")
    pd.DataFrame().to_excel(tmp_path / "empty.xlsx", index=False)
    assert "is empty: it needs a header line" in refused(tmp_path / "empty.xlsx")
    assert "is not a readable Excel file" in refused(write(tmp_path, "a,b\n1,2\n", "text.xlsx"))
    monkeypatch.setattr(memory, "_ALWAYS_FINE_BYTES", 1 << 10)
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 10_000_000)
    assert "unpacks to more than 200 times its size" in refused(tmp_path / "bomb.xlsx")


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [("c.xlsx", "openpyxl", "excel"), ("c.xls", "xlrd", "excel"), ("c.dta", "pandas", "pandas")],
)
def test_a_library_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    path = write(tmp_path, b"\xd0\xcf\x11\xe0", name)
    with pytest.raises(MissingExtraError, match=rf"pip install 'rootcausal\[{extra}\]'"):
        column_names(path)
    assert f"rootcausal[{extra}]" in error(2, "check", path, "--target", "d")


def test_stata(tmp_path: Path) -> None:
    frame = FRAME.drop(columns=["mixed"]).assign(
        stage=pd.Categorical(["low", "high", "low"], ["low", "high"]), code=[1, 2, 9]
    )
    frame.to_stata(tmp_path / "c.dta", write_index=False, value_labels={"code": {9: "refused"}})
    found = read_columns(tmp_path / "c.dta", list(frame.columns), "id", ["refused"])
    assert found["id"].to_pylist() == ["7", "8", "9"]
    assert found["real"].to_pylist() == [1.0, 2.5, None]
    assert found["text"].to_pylist() == ["x", " y", None]
    assert pa.types.is_timestamp(found["when"].type)
    assert found["stage"].to_pylist() == ["low", "high", "low"]
    assert pa.types.is_dictionary(found["stage"].type) and not found["stage"].type.ordered
    assert found["stage"].chunk(0).dictionary.to_pylist() == ["low", "high"]
    assert found["code"].to_pylist() == [1.0, 2.0, None]
    assert "is not a readable Stata file" in refused(write(tmp_path, b"junk", "junk.dta"))


def test_sas(tmp_path: Path) -> None:
    content = transport_file({"AGE": [50.5, -1.0, 999.0], "SEX": ["f", "m", "é"]})
    path = write(tmp_path, content, "c.xpt")
    assert column_names(path) == ["AGE", "SEX"]
    assert read(path, na=("999",)) == {"AGE": [50.5, -1.0, None], "SEX": ["f", "m", "é"]}
    for name in ("junk.xpt", "junk.sas7bdat"):
        assert "is not a readable SAS file" in refused(write(tmp_path, b"junk" * 200, name))


# --- options ----------------------------------------------------------------------------------------------


def test_keep(tmp_path: Path) -> None:
    path = write(tmp_path, 'a,b,"c,d",e,id,t\n1,2,3,x,p,0\n4,5,6,y,q,1\n')
    assert read_cohort(path, "t", keep=["c,d", "b"]).X.column_names == ["b", "c,d"]
    assert read_cohort(path, "t", keep=["a, b"]).X.column_names == ["a", "b"]
    assert read_cohort(path, "t", drop=["e,id"]).X.column_names == ["a", "b", "c,d"]
    for options, expected in (
        ({"keep": ["a"], "drop": ["b"]}, "--keep and --drop are given both"),
        ({"keep": ["a", "ids"]}, r"has no column 'ids' \(--keep\); did you mean 'id'"),
        ({"keep": ["t"]}, "'t' is both --target and --keep"),
        ({"keep": ["id"], "id_column": "id"}, "'id' is both --id and --keep"),
    ):
        with pytest.raises(InputError, match=expected):
            read_cohort(path, "t", **options)


STAGES = "id,a,stage\n" + "".join(f"p{k},{k * 7 % 11},{(0, 1, 2, 3)[k % 4]}\n" for k in range(40))


def test_rows_with_other_labels_are_left_out_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path, STAGES)
    roles = Roles(DiagnosisColumn("stage", ("2",), ("0",)), "id")
    patients, chosen = read_labelled_cohort(path, roles)
    assert patients.notes == ("20 rows with other labels (1, 3) are left out",)
    assert (chosen.disease.label, chosen.disease.n_cases, patients.X.num_rows, patients.n_removed) == (
        2,
        10,
        20,
        0,
    )
    assert patients.row_numbers.tolist() == [k + 1 for k in range(40) if k % 4 in (0, 2)]
    assert patients.ids is not None and patients.ids[1] == "p2"
    assert patients.reading == {"groups": {"positive": ["2"], "negative": ["0"]}, "called": "stage"}
    with pytest.raises(InputError, match=r"--negative '7' is not a label of 'stage', which holds '0', '1'"):
        read_labelled_cohort(path, Roles(DiagnosisColumn("stage", ("2",), ("7",)), "id"))
    with pytest.raises(InputError, match=r"4 labels: .*; choose two with --positive LABEL --negative LABEL"):
        read_labelled_cohort(path, Roles(DiagnosisColumn("stage"), "id"))


@pytest.mark.parametrize(
    ("cells", "positive", "negative"),
    [
        (["Yes", "yes ", "No", "no", "maybe"], "yes", "NO"),
        (["2.0", "2", "0", "0.0", "1"], "2", "0.0"),
        (["2", "2", "0", "0", "x"], "2.0", "0"),
    ],
)
def test_chosen_labels_in_any_spelling(
    tmp_path: Path, cells: list[str], positive: str, negative: str
) -> None:
    path = write(tmp_path, "a,d\n" + "".join(f"{k * k},{cell}\n" for k, cell in enumerate(cells)))
    patients, chosen = read_labelled_cohort(path, Roles(DiagnosisColumn("d", (positive,), (negative,))))
    assert (patients.X.num_rows, chosen.disease.n_cases) == (4, 2)
    assert patients.notes[0].startswith("1 row with other labels (")


def test_gaps_of_rows_that_are_left_out_are_no_gaps(tmp_path: Path) -> None:
    path = write(tmp_path, "a,d\n1,0\n2,0\n,1\n4,2\n5,2\n6,\n")
    patients, chosen = read_labelled_cohort(path, Roles(DiagnosisColumn("d", ("2",), ("0",))))
    assert (patients.X.num_rows, chosen.disease.n_cases, patients.n_removed) == (4, 2, 0)
    assert patients.row_numbers.tolist() == [1, 2, 4, 5]
    assert patients.notes == (
        "1 row with other labels (1) is left out",
        "1 row without an outcome ('d' missing) is left out",
    )


DATES = "a,when,d\n" + "".join(f"{k * 7 % 11},2020-0{1 + k % 3}-0{1 + k % 5},{k % 2}\n" for k in range(5, 35))


def test_dates_are_days_since_the_first_where_kept(tmp_path: Path) -> None:
    path = write(tmp_path, DATES.replace("2020-03-01", "2020-03-01 12:00:00").replace("2020-02-02", "NA"))
    with pytest.raises(InputError, match="has dates in 'when': leave them out with --drop COLUMN, or name"):
        read_cohort(path, "d")
    patients = read_cohort(path, "d", keep=["a", "when"], drop_missing=True)
    days = patients.X["when"].to_pylist()
    assert min(days) == 0.0 and 60.5 in days
    assert patients.reading["origins"] == {"when": "2020-01-01"}
    later = write(tmp_path, "a,when\n1,2020-01-11\n2,2019-12-31\n", "new.csv")
    assert read_new_patients(later, ["when"], origins={"when": "2020-01-01"}).X.to_pydict() == {
        "when": [10.0, -1.0]
    }


def test_dates_of_parquet_types(tmp_path: Path) -> None:
    days = pd.to_datetime(["2020-01-03 06:00", "2020-01-01 18:00"])
    table = pa.table(
        {
            "day": pa.array(days.date),
            "zone": pa.array(days.tz_localize("UTC")),
            "ns": pa.array(days),
            "d": [0, 1],
        }
    )
    pq.write_table(table, tmp_path / "c.parquet")
    patients = read_cohort(tmp_path / "c.parquet", "d", keep=["day,zone,ns"])
    assert patients.X.to_pydict() == {"day": [2.0, 0.0], "zone": [2.25, 0.75], "ns": [2.25, 0.75]}


# --- through the commands ---------------------------------------------------------------------------------


def cohort_text(n: int = 120) -> str:
    rng = np.random.default_rng(3)
    a = rng.standard_t(4, n)
    b = a + rng.standard_t(4, n)
    ill = (b + rng.logistic(size=n) > 0).astype(int)
    when = (np.datetime64("2020-01-01") + rng.integers(0, 300, n)).astype(str)
    lines = [
        f"p{k};{str(round(a[k], 4)).replace('.', ',')};{999 if k == 5 else round(b[k], 4)};{when[k]};"
        f"{'other' if k % 10 == 0 else 'ill' if ill[k] else 'well'}"
        for k in range(n)
    ]
    return "id;a;b;when;state\n" + "\n".join(lines) + "\n"


def test_options_from_fit_to_explain(tmp_path: Path) -> None:
    path, model = write(tmp_path, cohort_text(), "c.txt"), tmp_path / "m.rci"
    options = [
        "--target",
        "state",
        "--positive",
        "ill",
        "--negative",
        "well",
        "--na",
        "999",
        "--drop-missing",
    ]
    said = ok("fit", path, *options, "--keep", "a,b,when", "--out", model, "--backend", "numpy")
    assert "12 rows with other labels (other) are left out" in said
    assert "--drop-missing left out 1 of 108 rows" in said
    loaded = RCI.load(model)
    assert list(loaded.feature_names_in_) == ["a", "b", "when"]
    assert loaded.provenance_["reading"] == {
        "origins": {"when": "2020-01-05"},
        "na": ["999"],
        "groups": {"positive": ["ill"], "negative": ["well"]},
        "decimal_comma": True,
        "called": "state",
    }
    out = tmp_path / "scores.csv"
    assert "left out 1 of 120 rows" in ok("explain", model, path, "--drop-missing", "--out", out)
    assert "patients written" in ok(
        "report", path, "--model", model, "--drop-missing", "--out", out.with_suffix(".html")
    )
    ok("check", path, *options, "--drop", "when,id")


def test_a_damaged_origin_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    model = RCI(alpha=1.0, backend="numpy").fit(
        pd.DataFrame(rng.standard_t(4, (40, 2)), columns=["a", "b"]), np.arange(40) % 2
    )
    for reading in (
        {"origins": {"a": "never"}},
        {"origins": {"a": 3}},
        {"na": "x"},
        ["x"],
        {"origins": 3},
        {"date_orders": {"a": "x"}},
    ):
        model.provenance_["reading"] = reading
        model.save(tmp_path / "m.rci")
        with pytest.raises(InputError, match="damaged"):
            RCI.load(tmp_path / "m.rci")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--negative", "0"], "--positive"),
        (["--negative", "0", "--positive", "0"], "same label"),
        (["--keep", "a", "--drop", "b"], "leave --drop out"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, options: list[str], expected: str) -> None:
    path = write(tmp_path, STAGES)
    assert expected in error(2, "check", path, "--target", "stage", *options)


def test_a_number_below_zero_is_a_word(tmp_path: Path) -> None:
    path = write(tmp_path, "a,d\n" + "".join(f"{k * 7 % 11 or -9},{k % 2}\n" for k in range(40)))
    result = run("check", path, "--target", "d", "--na", "-9")
    assert "rows 1, 12, 23, 34 have no value in any column" in result.stderr


def test_warnings_of_reading_are_lines(tmp_path: Path) -> None:
    path = write(tmp_path, cohort_text().replace("other", "só").encode("cp1252"), "c.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run(
            "check", path, "--target", "state", "--positive", "ill", "--negative", "well", "--keep", "a,b"
        )
    assert result.exit_code == 0, result.output
    (line,) = (line for line in result.stderr.splitlines() if "1252" in line)
    assert line.startswith("warning: ") and line.endswith("is not UTF-8 text: it was read as Windows-1252")
    assert "12 rows with other labels (só) are left out" in result.stdout
