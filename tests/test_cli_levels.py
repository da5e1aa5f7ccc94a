"""What commands print and write of levels, and of values that were not measured."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import typer
from command_line import error, ok
from level_cohort import BILI, SEX, VARIABLES, WARD, draw, fitted, frame_of, with_holes
from pyarrow.csv import read_csv

from rootcausal import RCI, InputError
from rootcausal.cli.console import say_order, words_of_model
from rootcausal.cli.explain import (
    Asked,
    Question,
    _Scores,
    answer_columns,
    check_question,
    print_answers,
    print_root_causes,
    understood,
)
from rootcausal.files.writing import write_tables
from rootcausal.inputs.encoding import Encoding
from rootcausal.inputs.kinds import Variable
from rootcausal.inputs.patients import Patients

HOSTILE = ("=cmd()", "[red]\x1b[2J" * 20)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def holed():
    """Four patients, of the second of whom sex and bili were not measured."""
    return with_holes(frame_of(draw()[0][:4]), sex=1, bili=1)


def patients(n):
    return Patients(None, None, [f"p{k}" for k in range(n)], np.arange(1, n + 1), 0)


@pytest.mark.filterwarnings("ignore:no patient has 'age'")
def test_root_causes_are_said_by_level(model, capsys):
    everyone = list(range(400))
    holed = with_holes(frame_of(draw()[0]), sex=everyone[::2], ward=everyone[::3], age=everyone[1:])
    found = model.explain(holed)
    # What is expected of a variable may itself be a root cause, where it is unusual beyond doubt.
    told = (found.notable & found.imputed)[:, [SEX, WARD]].any(axis=1)
    explanation = model.explain(holed[told | (holed["sex"] == "male")].head(12))
    print_root_causes(patients(12), explanation, words_of_model(model), 6, 12)
    printed = " ".join(capsys.readouterr().out.split())
    causes = [cause for causes in explanation.root_causes(6) for cause in causes]
    measured = next(cause for cause in causes if cause.level and not cause.imputed)
    assert f"{measured.variable} = {measured.level} {measured.shapley:+.2f}" in printed
    assert "not measured: " in printed and "95% interval that values not measured leave" in printed
    assert all(cause.lower > 0 for cause in causes if cause.imputed)
    for row, of_patient in enumerate(explanation.root_causes(6)):
        for cause in of_patient:
            place = explanation.feature_names.index(cause.variable)
            if cause.imputed:
                value = explanation.text(row, place)
                assert f"{cause.variable} (not measured; {value} expected) {cause.shapley:+.2f}" in printed


def test_the_order_of_levels_without_an_order_has_no_sign(model, capsys):
    say_order(model, words_of_model(model))
    lines = capsys.readouterr().out.splitlines()
    ward = next(line for line in lines if " ward " in line)
    assert ward.endswith(f"{model.coef_[WARD]:.3f} either way") and "+" not in ward


def test_questions_are_understood_by_what_the_variable_is(model):
    assert understood("sex=male", model) == Question("sex", level="male")
    assert understood("stage=3", model) == Question("stage", level="3")
    assert understood("age=-1.5", model) == Question("age", shock=-1.5)
    odd = [Variable("a", "nominal", ("b=c", "=", "x")), *VARIABLES[1:]]
    of_odd = SimpleNamespace(_encoding=Encoding(odd), covariates_=())
    assert understood("a=b=c", of_odd) == Question("a", level="b=c")
    assert understood("a==", of_odd) == Question("a", level="=")
    with pytest.raises(InputError, match="'sex' has no level '0': choose one of 'female', 'male'"):
        understood("sex=0", model)
    with pytest.raises(typer.BadParameter, match="write VARIABLE=SHOCK"):
        understood("age=old", model)
    with pytest.raises(InputError, match="the model has no variable 'weight'"):
        understood("weight=0", model)
    with pytest.raises(typer.BadParameter, match="VARIABLE=LEVEL"):
        check_question(["sex"])


def test_answers_speak_of_levels(model, holed, capsys):
    explanation = model.explain(holed.assign(ward=["surgery", "ICU", "medicine", "ICU"]))
    print_answers(understood("ward=ICU", model), patients(4), explanation, words_of_model(model))
    printed = " ".join(capsys.readouterr().out.split())
    assert "what if ward were ICU?" in printed and "ward surgery to ICU" in printed
    assert "not the effect of a treatment" in printed and "standard deviations" not in printed
    columns = dict(answer_columns(understood("ward=ICU", model), explanation, "risk"))
    assert set(columns["what_if_ward"].to_pylist()) == {"ICU"}
    assert set(columns["what_if_stage"].to_pylist()) <= {"1", "2", "3", "4"}
    np.testing.assert_array_equal(
        columns["what_if_bili"], explanation.what_if("ward", level="ICU").data[:, BILI]
    )


def test_files_name_what_was_not_measured_and_hold_its_intervals(model, holed):
    scores = _Scores(Asked(model, None, words_of_model(model)), None, None)
    table = scores(Patients(holed, None, None, np.arange(1, 5), 0))
    assert table["imputed"].to_pylist() == [None, "sex; bili", None, None]
    assert scores.n_imputed == 1 and "age_lower" in table.column_names
    assert "age_frequency" not in table.column_names
    whole = frame_of(draw()[0][4:8])
    later = scores(Patients(whole, None, None, np.arange(5, 9), 0))
    assert later.schema == table.schema and later["age_lower"] == later["age"] and scores.n_imputed == 1


def test_hostile_levels_stay_harmless(capsys, tmp_path):
    hostile = list(VARIABLES)
    hostile[SEX] = Variable("sex", "binary", HOSTILE)
    model = fitted(tuple(hostile))
    explanation = model.explain(with_holes(frame_of(draw()[0][:4], tuple(hostile)), sex=1, bili=1))
    print_root_causes(patients(4), explanation, words_of_model(model), 6, 4)
    for level in HOSTILE:
        print_answers(Question("sex", level=level), patients(4), explanation, words_of_model(model))
    printed = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in printed)
    assert "[red]" in printed  # shown, and not obeyed
    tidy = pa.table({"level": pa.array(explanation.levels()[:, SEX], pa.string())})
    tidy = pa.concat_tables([tidy, pa.table({"level": pa.array([None, "=cmd()"], pa.string())})])
    write_tables({tmp_path / "t.csv": tidy}, {})
    assert "'=cmd()" in (tmp_path / "t.csv").read_text() and '"=cmd()' not in (tmp_path / "t.csv").read_text()


# --- from a file to the answer -----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, holed):
    """A cohort with some holes, and new patients with others."""
    X, y = draw()
    cohort = with_holes(frame_of(X), ward=[3, 5, 8], bili=[8, 9], sex=12)
    cohort.assign(died=y).to_csv(tmp_path / "cohort.csv", index=False)
    holed.assign(patient=["p0", "=cmd()", "p2", "p3"]).to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("bootstrap", [False, True])
def test_a_level_is_asked_for_on_the_command_line(files, bootstrap):
    model, new = files / "model.rci", files / "new.csv"
    more = ["--bootstrap", 4] if bootstrap else []
    printed = ok("fit", files / "cohort.csv", "--target", "died", "--alpha", 1, *more, "--out", model)
    assert "sex: female, male" in printed and "ward: surgery, ICU, medicine" in printed
    printed = " ".join(ok("explain", model, new, "--id", "patient", "--what-if", "sex=male").split())
    assert "what if sex were male?" in printed and "the model's prediction" in printed
    assert ("in brackets: 95% intervals from the bootstrap" in printed) is bootstrap
    asked = ["--id", "patient", "--what-if", "sex=male", "--out", files / "scores.csv"]
    printed = ok("explain", model, new, *asked)
    of_these = "" if bootstrap else "; '_lower' and '_upper' hold only what these leave open"
    assert f"1 patient has values that were not measured: see 'imputed'{of_these}\n" in printed
    scores = read_csv(files / "scores.csv").to_pandas()
    assert scores["what_if_sex"].tolist() == ["male"] * 4
    assert scores["imputed"].fillna("").tolist() == ["", "sex; bili", "", ""]
    assert scores["patient"].tolist() == ["p0", "'=cmd()", "p2", "p3"]
    loaded, frame = RCI.load(model), read_csv(new).to_pandas()
    answer = loaded.explain(frame).what_if("sex", level="male")
    np.testing.assert_array_equal(scores["what_if_risk"], answer.probability)
    np.testing.assert_array_equal(scores["risk"], loaded.predict_proba(frame)[:, 1])
    assert (scores["sex_lower"] < scores["sex"])[1] and ("sex_frequency" in scores) is bootstrap


def test_levels_that_are_none_are_refused_on_the_command_line(files, model):
    model.save(files / "model.rci")
    explain = ["explain", files / "model.rci", files / "new.csv", "--what-if"]
    assert "'sex' has no level 'man': choose one of 'female', 'male'" in error(3, *explain, "sex=man")
    assert "'ward' has no level '1': choose one of 'surgery', 'ICU', 'medicine'" in error(
        3, *explain, "ward=1"
    )
