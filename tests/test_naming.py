"""Labels, units and digits: from a dict or a file, in the model, and wherever people read of variables."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from command_line import error, ok
from page_facts import facts_of
from tampering import archive_of, members_of

from rootcausal import RCI, InputError, load, plots
from rootcausal.data import load_pbc
from rootcausal.inputs.naming import Naming, read_namings

LABELS = {"bili": {"label": "Bilirubin", "unit": "mg/dl", "digits": 1}, "age": "Age", "died": "Death"}


@pytest.fixture(scope="module")
def cohort():
    return load_pbc()


@pytest.fixture
def model(cohort):
    frame = pd.DataFrame(cohort.X, columns=list(cohort.feature_names))
    return RCI().fit(frame, cohort.y), frame


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_the_same_as_a_dict(tmp_path):
    commas = "column,label,unit,digits\nbili,Bilirubin,mg/dl,1\nage,Age\n\nalb,,g/dl,\n"
    for name, text in (("a.csv", commas), ("b.csv", "\ufeff" + commas.replace(",", ";"))):
        found = read_namings(written(tmp_path / name, text))
        assert found == {
            "bili": Naming("Bilirubin", "mg/dl", 1),
            "age": Naming("Age"),
            "alb": Naming("", "g/dl"),
        }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line has to name the columns column, label, unit, digits"),
        ("name,label\nbili,B\n", "the first line has to name"),
        ("column,label,colour\nbili,B,red\n", "no column 'colour' is known"),
        ("column,digits\nbili,1.5\n", "line 2: digits have to be a whole number from 0 to 12, not '1.5'"),
        ("column,digits\nbili,-1\n", "not '-1'"),
        ("column,label\nbili,A\nbili,B\n", "line 3 names 'bili' a second time"),
        ("column,label\n,A\n", "line 2 names no column"),
        ("column,label\na,b,c\n", "line 2 has 3 cells, and the header 2"),
        ("column,label\na,X\nb,X\n", "'a' and 'b' would both be called 'X'"),
        ('column,label\na,"x\n', "line"),
    ],
)
def test_a_wrong_file_is_one_clear_error(tmp_path, text, message):
    path = written(tmp_path / "labels.csv", text)
    with pytest.raises(InputError, match=message.replace("(", r"\(")) as raised:
        read_namings(path)
    assert "labels.csv" in str(raised.value)


def test_files_that_are_no_text(tmp_path):
    path = tmp_path / "labels.csv"
    with pytest.raises(InputError, match="cannot read the labels"):
        read_namings(path)
    path.write_bytes("column,label\nbili,Bilirubin µ\n".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_namings(path)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["Bilirubin"], "labels must be a dict"),
        ({"bili": 3}, "has to be a text, or a dict of label, unit, digits"),
        ({"bili": {"colour": "red"}}, "has to be a text, or a dict"),
        ({"bili": {"digits": True}}, "digits have to be a whole number"),
        ({"bili": "age"}, "'age' and 'bili' would both be called 'age'|'bili' and 'age' would both"),
        ({"nothing": "Something"}, "none of the labels is of a variable of the model"),
    ],
)
def test_wrong_labels_change_nothing(model, labels, message):
    fitted, frame = model
    with pytest.raises(InputError, match=message):
        fitted.set_labels(labels)
    assert fitted.explain(frame.head(1)).variables[0].shown == fitted.feature_names_in_[0]


def test_the_model_file_keeps_them(model, tmp_path):
    fitted, frame = model
    fitted.set_labels(LABELS).save(tmp_path / "m.rci")
    again = load(tmp_path / "m.rci")
    variable = again.explain(frame.head(1)).variables[list(again.feature_names_in_).index("bili")]
    assert (variable.shown, variable.unit, variable.digits) == ("Bilirubin", "mg/dl", 1)
    assert again.provenance_["labels"]["died"]["label"] == "Death"
    assert again.set_labels({"bili": "B"}).explain(frame.head(1)).variables[0].unit == ""
    again.save(tmp_path / "again.rci")


def test_labels_of_a_tampered_file_are_refused(model, tmp_path):
    fitted, _ = model
    fitted.set_labels(LABELS).save(tmp_path / "m.rci")
    members = members_of((tmp_path / "m.rci").read_bytes())
    name = next(name for name in members if name.endswith(".json"))
    secret = written(tmp_path / "secret.csv", "column,label\nbili,stolen\n")
    for labels in (str(secret), {"bili": {"digits": 99}}, {"bili": 7}):
        header = json.loads(members[name])
        header["provenance"]["labels"] = labels
        path = tmp_path / "bad.rci"
        path.write_bytes(archive_of(members | {name: json.dumps(header).encode()}))
        with pytest.raises(InputError):
            load(path)


def test_tables_and_figures_show_them(model, cohort):
    pytest.importorskip("matplotlib").use("Agg")
    fitted, frame = model
    assert "label" not in fitted.explain(frame.head(2)).to_frame()
    explanation = fitted.set_labels(LABELS).explain(frame, ids=cohort.ids)
    tidy = explanation.to_frame()
    row = tidy[tidy["variable"] == "bili"].iloc[0]
    assert (row["label"], row["unit"]) == ("Bilirubin", "mg/dl")
    assert explanation.text(0, explanation.feature_names.index("bili")) == f"{frame['bili'][0]:.1f}"
    ax = plots.waterfall(explanation, 10)
    assert any("Bilirubin" in label.get_text() for label in ax.get_yticklabels())
    assert np.array_equal(explanation.what_if("bili").data, fitted.explain(frame).what_if("bili").data)


def test_commands_take_them(cohort, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(cohort.X, columns=list(cohort.feature_names))
    frame.assign(id=cohort.ids, died=cohort.y).to_csv("c.csv", index=False)
    written(tmp_path / "labels.csv", "column,label,unit,digits\nbili,Bilirubin,mg/dl,1\ndied,Death\nxx,X\n")
    labels = ["--labels", "labels.csv"]
    said = ok("fit", "c.csv", "--target", "died", "--id", "id", *labels, "--out", "m.rci")
    assert "Bilirubin" in said and "no variables of the model: 'xx'" in said
    assert "Bilirubin +" in " ".join(ok("explain", "m.rci", "c.csv", "--id", "id").split())
    assert "bili +" in " ".join(
        ok("explain", "m.rci", "c.csv", "--id", "id", "--labels", other(tmp_path)).split()
    )
    ok("report", "c.csv", "--target", "died", "--id", "id", *labels, "--out", "p.html")
    facts = facts_of(tmp_path / "p.html")
    bili = next(one for one in facts["variables"] if one["column"] == "bili")
    assert (bili["name"], bili["unit"], facts["target"]) == ("Bilirubin", "mg/dl", "Death")
    ok("report", "c.csv", "--model", "m.rci", "--id", "id", "--out", "q.html")
    assert any(one["name"] == "Bilirubin" for one in facts_of(tmp_path / "q.html")["variables"])
    before = sorted(os.listdir(tmp_path))
    assert "cannot read the labels" in error(
        3, "fit", "c.csv", "--target", "died", "--labels", "no.csv", "--out", "n.rci"
    )
    assert sorted(os.listdir(tmp_path)) == before


def other(folder):
    return written(folder / "other.csv", "column,label\nage,Age\n")
