"""rootcausal check, fit --bootstrap and explain --what-if: what Python says, in words and files."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.csv as arrow_csv
import pytest
from cohort_files import read_cohort
from command_line import error, ok
from page_facts import facts_of

from rootcausal import RCI


@pytest.fixture
def sure_model(cohort: Path) -> Path:
    path = cohort.parent / "sure.rci"
    ok("fit", cohort, "--target", "d", "--id", "patient", "--bootstrap", 20, "--out", path)
    return path


def test_check_says_what_python_says(cohort: Path) -> None:
    printed = json.loads(ok("check", cohort, "--target", "d", "--id", "patient", "--json"))
    patients = read_cohort(cohort, "d", id_column="patient")
    model = RCI(positive=1).fit(patients.X, patients.target)
    model.cross_validate()
    diagnosis = model.diagnose(patients.X, patients.target, ids=patients.ids)
    told = json.loads(json.dumps(diagnosis.to_dict(), default=str))
    # How a file was read only the command knows.
    assert printed["provenance"].pop("reading")["called"] == "d"
    assert printed == told


def test_check_and_page_name_the_patients_of_the_file(cohort: Path) -> None:
    lines = cohort.read_text().splitlines()
    for row, line in enumerate(lines[1:], 1):
        *cells, x4, d = line.split(",")
        lines[row] = ",".join([*cells, str(float(x4) + 3 * int(d)), d])  # a column that matters
    for row, cells in ((3, "NA,1,1,1,1,1"), (20, "1,1,1,1,NA,0"), (50, "1,1,1,1,9e3,1")):
        lines[row] = f"{lines[row].split(',')[0]},{cells}"
    cohort.write_text("\n".join(lines) + "\n")
    page = cohort.with_name("page.html")
    for options, name in (
        (["--drop", "patient"], "row 50"),
        (["--id", "patient"], "p049"),
    ):
        arguments = (cohort, "--target", "d", "--drop-missing", *options)
        assert f"; patients: {name}." in ok("check", *arguments)
        ok("report", *arguments, "--out", page)
        assert any(f"; patients: {name}." in check["statement"] for check in facts_of(page)["made"]["checks"])
    ok("report", cohort, "--target", "d", "--drop-missing", "--id", "patient", "--redact-ids", "--out", page)
    assert "p049" not in page.read_text(encoding="utf-8")
    cohort.write_text(cohort.read_text().replace('"p049"', '" "'))
    assert "; patients: row 50." in ok("check", cohort, "--target", "d", "--drop-missing", "--id", "patient")


def test_check_in_words(cohort: Path) -> None:
    printed = ok("check", cohort, "--target", "d", "--id", "patient")
    _, found = printed.split("\n\n", 1)
    assert found.startswith("overall: broken, ")
    verdicts = re.findall("^(BROKEN|DOUBTFUL|CANNOT TELL|FINE) ", found, re.MULTILINE)
    assert verdicts == sorted(verdicts, key=["BROKEN", "DOUBTFUL", "CANNOT TELL", "FINE"].index)
    assert verdicts.count("FINE") == 1 and "Did the model learn anything?" in found
    assert "made by rootcausal" in printed


def test_check_names_a_wrong_column(cohort: Path) -> None:
    assert "did you mean" in error(3, "check", cohort, "--target", "D")


def test_bootstrap_flows_into_what_explain_prints_and_writes(cohort: Path, sure_model: Path) -> None:
    model = RCI.load(sure_model)
    explanation = model.explain(read_cohort(cohort, "d", id_column="patient").X)
    # The cohort as the command sees it, the patients of whom most can be said first.
    lines = cohort.read_text().splitlines()
    by_strength = np.argsort(-explanation.values.max(axis=1), kind="stable")
    first = cohort.with_name("first.csv")
    first.write_text("\n".join([lines[0], *(lines[1 + row] for row in by_strength)]) + "\n")
    printed = " ".join(ok("explain", sure_model, first, "--id", "patient").split())
    (cause,) = explanation.root_causes(top=1)[by_strength[0]]
    sure = f"({cause.lower:+.2f} to {cause.upper:+.2f}, {cause.frequency:.0%})"
    assert f"{cause.variable} {cause.shapley:+.2f} {sure}" in printed
    assert "95% interval, and the share of resamples" in printed
    out = cohort.with_name("scores.csv")
    ok("explain", sure_model, cohort, "--id", "patient", "--out", out)
    scores = arrow_csv.read_csv(out)
    for place, name in enumerate(explanation.feature_names):
        assert np.array_equal(scores[f"{name}_lower"].to_numpy(), explanation.lower[:, place])
        assert np.array_equal(scores[f"{name}_upper"].to_numpy(), explanation.upper[:, place])
        assert np.array_equal(scores[f"{name}_frequency"].to_numpy(), explanation.frequency[:, place])


def test_resume_keeps_finished_resamples(cohort: Path) -> None:
    boot, out = cohort.with_name("boot.npz"), cohort.with_name("m.rci")
    for n in (5, 8):
        ok(
            "fit",
            cohort,
            "--target",
            "d",
            "--id",
            "patient",
            "--bootstrap",
            n,
            "--resume",
            boot,
            "--out",
            out,
        )
        assert len(RCI.load(out).bootstrap_) == n
    again = ("fit", cohort, "--target", "d", "--id", "patient", "--alpha", 0.1, "--out", out)
    message = error(3, *again, "--bootstrap", 5, "--resume", boot)
    assert "another cohort, other options, other knowledge of the order or another seed" in message


def test_options_of_the_bootstrap_need_it(cohort: Path) -> None:
    start = ("fit", cohort, "--target", "d", "--id", "patient", "--out", cohort.with_name("m.rci"))
    assert "--jobs needs --bootstrap" in error(2, *start, "--jobs", 2)
    assert "--resume needs --bootstrap" in error(2, *start, "--resume", "b.npz")
    assert "ends in .npz" in error(2, *start, "--bootstrap", 5, "--resume", "b.csv")
    assert "at least 1, or -1" in error(2, *start, "--bootstrap", 5, "--jobs", 0)


def test_attribution_of_the_paper(cohort: Path) -> None:
    out = cohort.with_name("paper.rci")
    assert "attribution=paper" in ok(
        "fit", cohort, "--target", "d", "--id", "patient", "--attribution", "paper", "--out", out
    )
    assert RCI.load(out).attribution == "paper"


def test_what_if_prints_and_writes_the_answer_of_python(cohort: Path, sure_model: Path) -> None:
    model = RCI.load(sure_model)
    variable = model.feature_names_in_[model.causal_order_[0]]
    printed = ok("explain", sure_model, cohort, "--id", "patient", "--what-if", f"{variable}=0")
    assert f"what if the shock on {variable} were 0 standard deviations?" in printed
    assert "not\nthe effect of a treatment" in printed
    out = cohort.with_name("then.csv")
    ok("explain", sure_model, cohort, "--id", "patient", "--what-if", f"{variable}=-1.5", "--out", out)
    answer = model.explain(read_cohort(cohort, "d", id_column="patient").X).what_if(variable, -1.5)
    then = arrow_csv.read_csv(out)
    assert np.array_equal(then["what_if_risk"].to_numpy(), answer.probability)
    assert np.array_equal(then["what_if_risk_lower"].to_numpy(), answer.probability_interval[0])
    assert np.array_equal(
        then[f"what_if_{variable}"].to_numpy(), answer.data[:, list(model.feature_names_in_).index(variable)]
    )


@pytest.mark.parametrize("question", ["x0", "x0=", "=1", "x0=much", "x0=inf", "x0=nan"])
def test_a_question_that_cannot_be_read(cohort: Path, sure_model: Path, question: str) -> None:
    assert "write VARIABLE=SHOCK" in error(2, "explain", sure_model, cohort, "--what-if", question)


def test_one_what_if_at_a_time(cohort: Path, sure_model: Path) -> None:
    asked = ("--what-if", "x0=0", "--what-if", "x1=0")
    assert "one question at a time" in error(2, "explain", sure_model, cohort, *asked)


def test_a_question_about_nothing(cohort: Path, sure_model: Path) -> None:
    assert "no variable 'weight' (--what-if)" in error(
        3, "explain", sure_model, cohort, "--what-if", "weight=0"
    )
