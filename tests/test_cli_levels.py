"""What commands print and write of levels, and of values that were not measured."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import typer
from level_cohort import BILI, SEX, VARIABLES, WARD, Levelled, draw

from rootcausal import InputError
from rootcausal.cli.console import say_order
from rootcausal.cli.explain import _print_root_causes, _Scores
from rootcausal.cli.what_if import Question, answer_columns, check_question, print_answers, understood
from rootcausal.files.results import write_tables
from rootcausal.inputs.encoding import Encoding
from rootcausal.inputs.kinds import Variable

HOSTILE = ("=cmd()", "[red]\x1b[2J" * 20)


@pytest.fixture(scope="module")
def model():
    X, y = draw()
    fitted = Levelled().of(X, y, VARIABLES)
    fitted.hole = (np.zeros((400, 6), dtype=bool), np.zeros((400, 6)))
    fitted.hole[0][1, [SEX, BILI]] = True
    fitted.hole[1][1] = 0.2
    return fitted


def patients(n):
    return SimpleNamespace(ids=[f"p{k}" for k in range(n)], row_numbers=np.arange(1, n + 1))


def some(model, n=4, variables=VARIABLES):
    X = draw()[0]
    X[1, 1], X[1, 5] = 0.51, 3.4
    few = Levelled(**model.get_params())
    few.__dict__ |= vars(model)
    few._encoding, few.hole = Encoding(variables), tuple(part[:n] for part in model.hole)
    return few, X[:n]


def test_root_causes_are_said_by_level(model, capsys):
    few, X = some(model)
    explanation = few.explain(X)
    _print_root_causes(patients(4), explanation, 6, 4)
    printed = " ".join(capsys.readouterr().out.split())
    causes = [cause for causes in explanation.root_causes(6) for cause in causes]
    measured = next(cause for cause in causes if cause.level and not cause.imputed)
    assert f"{measured.variable} = {measured.level} {measured.shapley:+.2f}" in printed
    assert "not measured; " in printed and "95% interval that values not measured leave" in printed
    for cause in explanation.root_causes(6)[1]:
        if cause.variable == "sex":
            assert "sex (not measured; male (51%) expected)" in printed and cause.level == "male"
        if cause.variable == "bili":
            assert "bili (not measured; 3.4 expected)" in printed


def test_the_order_of_levels_without_an_order_has_no_sign(model, capsys):
    say_order(model)
    lines = capsys.readouterr().out.splitlines()
    ward = next(line for line in lines if " ward " in line)
    assert ward.endswith(f"{model.coef_[WARD]:.3f} either way") and "+" not in ward


def test_questions_are_understood_by_what_the_variable_is(model):
    assert understood("sex=male", model) == Question("sex", level="male")
    assert understood("stage=3", model) == Question("stage", level="3")
    assert understood("age=-1.5", model) == Question("age", shock=-1.5)
    odd = [Variable("a", "nominal", ("b=c", "=", "x")), *VARIABLES[1:]]
    assert understood("a=b=c", SimpleNamespace(_encoding=Encoding(odd))) == Question("a", level="b=c")
    assert understood("a==", SimpleNamespace(_encoding=Encoding(odd))) == Question("a", level="=")
    with pytest.raises(InputError, match="'sex' has no level '0': choose one of 'female', 'male'"):
        understood("sex=0", model)
    with pytest.raises(typer.BadParameter, match="write VARIABLE=SHOCK"):
        understood("age=old", model)
    with pytest.raises(InputError, match="the model has no variable 'weight'"):
        understood("weight=0", model)
    with pytest.raises(typer.BadParameter, match="VARIABLE=LEVEL"):
        check_question(["sex"])


def test_answers_speak_of_levels(model, capsys):
    few, X = some(model)
    X[0, 2:4] = (0.0, 0.0)
    explanation = few.explain(X)
    print_answers(understood("ward=ICU", model), patients(4), explanation)
    printed = " ".join(capsys.readouterr().out.split())
    assert "what if ward were ICU?" in printed and "ward surgery to ICU" in printed
    assert "not the effect of a treatment" in printed and "standard deviations" not in printed
    columns = dict(answer_columns(understood("ward=ICU", model), explanation))
    assert set(columns["what_if_ward"].to_pylist()) == {"ICU"}
    assert set(columns["what_if_stage"].to_pylist()) <= {"1", "2", "3", "4"}
    np.testing.assert_array_equal(
        columns["what_if_bili"], explanation.what_if("ward", level="ICU").data[:, BILI]
    )


def test_files_name_what_was_not_measured_and_hold_its_intervals(model):
    few, X = some(model)
    scores = _Scores(few, None, None)
    table = scores(SimpleNamespace(X=X, ids=None, row_numbers=np.arange(1, 5)))
    assert table["imputed"].to_pylist() == [None, "sex; bili", None, None]
    assert scores.n_imputed == 1 and "age_lower" in table.column_names
    assert "age_frequency" not in table.column_names
    few.hole = None
    later = scores(SimpleNamespace(X=X, ids=None, row_numbers=np.arange(1, 5)))
    assert later.schema == table.schema and later["age_lower"] == later["age"]


def test_hostile_levels_stay_harmless(model, capsys, tmp_path):
    hostile = list(VARIABLES)
    hostile[SEX] = Variable("sex", "binary", HOSTILE)
    few, X = some(model, variables=tuple(hostile))
    explanation = few.explain(X)
    _print_root_causes(patients(4), explanation, 6, 4)
    for level in HOSTILE:
        print_answers(Question("sex", level=level), patients(4), explanation)
    printed = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in printed)
    assert "[red]" in printed  # shown, and not obeyed
    tidy = pa.table({"level": pa.array(explanation.levels()[:, SEX], pa.string())})
    tidy = pa.concat_tables([tidy, pa.table({"level": pa.array([None, "=cmd()"], pa.string())})])
    write_tables({tmp_path / "t.csv": tidy}, {})
    assert "'=cmd()" in (tmp_path / "t.csv").read_text() and '"=cmd()' not in (tmp_path / "t.csv").read_text()
