"""``rootcausal report``: from a cohort, from a saved model, and what it refuses."""

import os
from pathlib import Path

import numpy as np
import pytest
from command_line import error, ok
from page_facts import facts_of

from rootcausal import RCI, load
from rootcausal.data import load_pbc
from rootcausal.files.writing import write_tables


@pytest.fixture
def pbc(tmp_path: Path) -> Path:
    path = tmp_path / "pbc.csv"
    write_tables({path: load_pbc(complete=False).to_frame()}, {})
    return path


def test_from_a_cohort(pbc: Path) -> None:
    out = pbc.with_name("report.html")
    asked = ("--target", "died", "--id", "id", "--drop-missing", "--mechanism", "linear")
    printed = ok("report", pbc, *asked, "--out", out)
    assert "disease: died = 1 (111 of 258 patients)" in printed
    assert f"page about 258 patients written to '{out}'" in printed
    facts = facts_of(out)
    assert facts["labels"] == [str(patient) for patient in load_pbc().ids]
    assert facts["target"] == "died"
    cohort = load_pbc()
    model = RCI(mechanism="linear").fit(cohort.X, cohort.y)
    assert np.allclose([one["coef"] for one in facts["variables"]], model.coef_[model.causal_order_])
    assert facts["made"]["notes"] == ["--drop-missing left out 135 of 393 rows because a value was missing"]


def test_from_a_saved_model(pbc: Path) -> None:
    model, out = pbc.with_name("model.rci"), pbc.with_name("new.html")
    ok("fit", pbc, "--target", "died", "--id", "id", "--drop-missing", "--out", model)
    new = pbc.with_name("new.csv")
    write_tables({new: load_pbc().to_frame().slice(3, 1)}, {})
    printed = ok("report", new, "--model", model, "--out", out)
    assert "model='model.rci'" in printed
    facts = facts_of(out)
    assert facts["labels"] == ["row 1"]
    assert facts["quantiles"]["of_fit"] is True


def test_of_new_patients_whose_outcome_is_known(pbc: Path) -> None:
    """As if the same patients had been given from Python; who has no outcome is left out, and said."""
    cohort, model, out = load_pbc(), pbc.with_name("model.rci"), pbc.with_name("new.html")
    ok("fit", pbc, "--target", "died", "--id", "id", "--drop-missing", "--out", model)
    new, table = pbc.with_name("new.csv"), cohort.to_frame().slice(0, 40)
    died = [None, *table["died"].to_pylist()[1:]]
    write_tables({new: table.set_column(table.column_names.index("died"), "died", [died])}, {})
    printed = ok("report", new, "--model", model, "--target", "died", "--id", "id", "--out", out)
    assert "1 row without an outcome ('died' missing) is left out" in printed
    facts = facts_of(out)
    assert facts["labels"] == [str(patient) for patient in cohort.ids[1:40]]
    same = pbc.with_name("same.html")
    loaded = load(model)
    X = table.select(cohort.feature_names).slice(1)
    loaded.report(X, same, cohort.y[1:40], cohort.ids[1:40], target="died", notes=facts["made"]["notes"])
    assert facts["cohort"] == facts_of(same)["cohort"] and facts["made"] == facts_of(same)["made"]
    ok("report", new, "--model", model, "--id", "id", "--out", same)
    assert facts_of(same)["made"] != facts["made"]
    asked = ["report", new, "--model", model, "--out", out]
    assert "is of a diagnosis: name --target" in error(3, *asked, "--time", "age", "--event", "died")
    assert "--target 'age' is one of the model's variables" in error(3, *asked, "--target", "age")
    assert "no column 'dead' (--target)" in error(3, *asked, "--target", "dead")


def test_a_page_whose_model_is_kept(pbc: Path) -> None:
    kept, fitted = pbc.with_name("kept.rci"), pbc.with_name("fitted.rci")
    asked = [pbc, "--target", "died", "--id", "id", "--mechanism", "linear", "--bootstrap", 5]
    ok("report", *asked, "--save-model", kept, "--out", pbc.with_name("p.html"))
    ok("fit", *asked, "--out", fitted)
    one, other = load(kept), load(fitted)
    assert one.provenance_ == other.provenance_
    X = load_pbc(complete=False).to_frame().select(load_pbc().feature_names)
    assert np.array_equal(one.explain(X).values, other.explain(X).values)
    assert np.array_equal(one.explain(X).lower, other.explain(X).lower)


def test_with_intervals(pbc: Path) -> None:
    out = pbc.with_name("report.html")
    ok("report", pbc, "--target", "died", "--id", "id", "--drop-missing", "--bootstrap", 5, "--out", out)
    facts = facts_of(out)
    assert facts["bootstrap"] == {"resamples": 5, "seed": 0} and facts["intervals"] == 10


def test_redacted_ids(pbc: Path) -> None:
    out = pbc.with_name("report.html")
    ok("report", pbc, "--target", "died", "--id", "id", "--drop-missing", "--redact-ids", "--out", out)
    assert facts_of(out)["labels"] == [str(number) for number in range(1, 259)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "give --target"),
        (["--model", "m.rci", "--save-model", "n.rci"], "--save-model: is for a model that is fitted here"),
        (["--model", "m.rci", "--alpha", "0.1"], "--alpha is for fitting"),
        (["--target", "died", "--out", "report.csv"], "--out: was given twice: give it once."),
    ],
)
def test_wrong_usage_leaves_nothing_behind(pbc: Path, options: list[str], expected: str) -> None:
    text = error(2, "report", pbc, "--out", pbc.with_name("report.html"), *options)
    assert expected in " ".join(text.split())
    assert os.listdir(pbc.parent) == ["pbc.csv"]


def test_a_folder_that_is_not_there(pbc: Path) -> None:
    text = error(4, "report", pbc, "--target", "died", "--out", pbc.parent / "nowhere" / "r.html")
    assert "does not exist" in text
