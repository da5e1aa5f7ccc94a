"""What fit and checks found travels with the model: into its file, and to whoever reads or explains by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import error, ok, run
from page_facts import facts_of
from tampering import HEADER, members_of, with_header

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival
from rootcausal.data import load_pbc


def leaky(seed: int = 0, n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """A cohort with a number that is all but the diagnosis."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.laplace(size=(n, 3)), columns=["a", "b", "c"])
    y = (X["a"] + rng.logistic(size=n) > 0).to_numpy().astype(int)
    return X.assign(leak=y + 0.24 * rng.standard_normal(n)), y


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verdict")
    X, y = leaky()
    X.assign(died=y, pid=[f"Mrs {k}" for k in range(len(X))]).to_csv(folder / "cohort.csv", index=False)
    X.head(5).to_csv(folder / "new.csv", index=False)
    fit = ("fit", folder / "cohort.csv", "--target", "died", "--id", "pid", "--out", folder / "model.rci")
    assert "warning: the checks say: Do not read 'leak'" in run(*fit).stderr
    return folder


def test_what_fit_and_checks_found_is_in_the_file(files: Path) -> None:
    findings = RCI.load(files / "model.rci").provenance_["findings"]
    assert findings["verdict"] == "broken"
    found = {check["name"]: check for check in findings["checks"]}
    said = json.loads(ok("check", files / "cohort.csv", "--target", "died", "--id", "pid", "--json"))
    assert {name: check["verdict"] for name, check in found.items()} == {
        check["name"]: check["verdict"] for check in said["checks"]
    }
    leak = found["gives_away"]
    assert leak["variables"] == ["leak"] and leak["advice"] and leak["limit"].startswith("Do not read 'leak'")
    assert any("'leak'" in doubt for doubt in findings["table"])
    assert "Mrs" not in members_of((files / "model.rci").read_bytes())[HEADER].decode()


def test_it_is_said_by_all_who_use_the_model(files: Path, tmp_path: Path) -> None:
    said = ok("explain", files / "model.rci", files / "new.csv")
    assert "checks of the model: broken: Do not read 'leak' as a root cause" in said
    assert "in doubt, in the cohort of the fit: " in said
    printed = str(RCI.load(files / "model.rci"))
    assert printed.splitlines()[1].startswith("checks: broken: Do not read 'leak' as a root cause")
    page = tmp_path / "page.html"
    result = run("report", files / "new.csv", "--model", files / "model.rci", "--out", page)
    assert "overall: broken, do not read parts of it" in result.stdout
    assert "warning: the checks say: Do not read 'leak'" in result.stderr
    facts = facts_of(page)
    assert facts["target"] == "died"
    made = facts["made"]
    assert made["verdict"] == "broken" and made["checks"][0]["name"] == "gives_away"
    assert made["checks"][0]["statement"].startswith("In the cohort that the model learned from: 'leak'")
    assert made["checks"][0]["concerned"] == ["leak"]
    assert any("'leak'" in warning for warning in made["warnings"])
    in_range = next(check for check in made["checks"] if check["name"] == "in_range")
    assert "of 5 patients" in in_range["statement"]
    # In Python, too.
    RCI.load(files / "model.rci").report(pd.read_csv(files / "new.csv"), page)
    assert facts_of(page)["target"] == "died" and facts_of(page)["made"]["verdict"] == "broken"


def test_nobody_having_checked_is_said(tmp_path: Path) -> None:
    X, y = leaky()
    model = RCI().fit(X, y)
    assert model.provenance_["findings"]["verdict"] == "not checked"
    assert "\nchecks: not checked: diagnose(X, y)" in str(model)
    assert "checks" not in str(RCI()) and "checks" not in repr(model)
    model.save(tmp_path / "m.rci")
    X.head(3).to_csv(tmp_path / "new.csv", index=False)
    said = ok("explain", tmp_path / "m.rci", tmp_path / "new.csv")
    assert "checks of the model: not checked: rootcausal check" in said
    said = ok("report", tmp_path / "new.csv", "--model", tmp_path / "m.rci", "--out", tmp_path / "p.html")
    assert "overall: not checked, so nothing says that the model holds" in said
    assert facts_of(tmp_path / "p.html")["made"]["verdict"] == "not checked"


def test_the_patients_of_the_fit_are_kept_and_others_are_not(tmp_path: Path) -> None:
    X, y = leaky()
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    model = RCI().fit(X, y)
    model.diagnose(*leaky(5))
    model.diagnose(X)
    assert model.provenance_["findings"]["checks"] == []
    diagnosis = model.diagnose(X, y, ids=[f"Mrs {k}" for k in range(len(X))])
    findings = model.provenance_["findings"]
    assert findings["verdict"] == diagnosis.verdict
    assert [check["name"] for check in findings["checks"]] == [check.name for check in diagnosis.checks]
    assert "Mrs" not in str(findings) and "findings" not in diagnosis.to_dict()["provenance"]
    model.diagnose(*leaky(5))
    assert model.provenance_["findings"] == findings
    model.save(tmp_path / "m.rci")
    assert RCI.load(tmp_path / "m.rci").provenance_["findings"] == findings
    # A new fit forgets.
    assert model.fit(X, y).provenance_["findings"]["checks"] == []


def test_times_and_numbers_keep_theirs(tmp_path: Path) -> None:
    X, y = leaky()
    number = X["a"] + np.random.default_rng(2).laplace(size=len(X))
    for model, known in ((RCIRegressor(), (number,)), (RCISurvival(), (np.exp(-number), y))):
        model.fit(X[["a", "b", "c"]], *known)
        verdict = model.diagnose(X[["a", "b", "c"]], *known).verdict
        model.save(tmp_path / "m.rci")
        again = type(model).load(tmp_path / "m.rci")
        assert again.provenance_["findings"] == model.provenance_["findings"]
        assert verdict == again.provenance_["findings"]["verdict"] != "not checked"


def test_warnings_of_the_fit_are_kept(tmp_path: Path) -> None:
    X, y = leaky()
    X["leak"] = np.where(y == 1, 1.0, -1.0) * (1 + np.random.default_rng(0).random(len(X)))
    with pytest.warns(UserWarning, match="separate the classes") as said:
        model = RCI().fit(X, y)
    messages = [str(one.message) for one in said]
    model.save(tmp_path / "m.rci")
    kept = RCI.load(tmp_path / "m.rci")
    assert kept.provenance_["findings"]["fit"] == messages
    assert f"the fit warned: {messages[0][:100]}" in str(kept)
    model.report(X.head(3), tmp_path / "p.html")
    assert facts_of(tmp_path / "p.html")["made"]["warnings"] == messages


HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[2J\n=1+1"


def test_hostile_findings_are_told_and_do_nothing(files: Path, tmp_path: Path) -> None:
    def change(header: dict[str, Any]) -> None:
        findings = header["provenance"]["findings"]
        findings["fit"] = [HOSTILE]
        findings["checks"][0] |= {"statement": HOSTILE, "limit": HOSTILE, "verdict": "broken"}

    path = tmp_path / "m.rci"
    path.write_bytes((files / "model.rci").read_bytes())
    with_header(path, change)
    said = ok("explain", path, files / "new.csv")
    assert "\x1b" not in said and r"\x1b[2J\n=1+1" in said
    assert "\x1b" not in str(RCI.load(path))
    ok("report", files / "new.csv", "--model", path, "--out", tmp_path / "p.html")
    assert HOSTILE in facts_of(tmp_path / "p.html")["made"]["warnings"]
    assert "<img src=x" not in (tmp_path / "p.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.pop("verdict"),
        lambda found: found.update(more=1),
        lambda found: found.update(verdict="fine"),
        lambda found: found.update(verdict=["broken"]),
        lambda found: found.update(fit="text"),
        lambda found: found.update(table=[1]),
        lambda found: found.update(not_made="x" * 30_000),
        lambda found: found.update(checks={}),
        lambda found: found["checks"][0].pop("limit"),
        lambda found: found["checks"][0].update(verdict="excellent"),
        lambda found: found["checks"][0].update(verdict=[]),
        lambda found: found["checks"][0].update(reading="go on"),
        lambda found: found["checks"][0].update(touches={}),
        lambda found: found["checks"][0].update(number="1"),
        lambda found: found["checks"][0].update(number=True),
        lambda found: found["checks"][0].update(variables="leak"),
        lambda found: found["checks"][0].update(statement=None),
    ],
)
def test_findings_that_cannot_be_are_refused(files: Path, tmp_path: Path, change: Any) -> None:
    path = tmp_path / "m.rci"
    path.write_bytes((files / "model.rci").read_bytes())
    with_header(path, lambda header: change(header["provenance"]["findings"]) and None)
    with pytest.raises(InputError, match="is not a rootcausal model, or it is damaged"):
        RCI.load(path)
    assert "Traceback" not in error(3, "explain", path, files / "new.csv")


def test_a_file_of_before_was_not_checked(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.rci"
    path.write_bytes((files / "model.rci").read_bytes())
    with_header(path, lambda header: header["provenance"].pop("findings") and None)
    assert "\nchecks: not checked: " in str(RCI.load(path))


def test_a_label_takes_the_place_of_its_column_and_of_no_word(tmp_path: Path) -> None:
    cohort = load_pbc()
    X = pd.DataFrame(cohort.X, columns=list(cohort.feature_names)).rename(columns={"bili": "order"})
    model = (
        RCI(knowledge=cohort.knowledge, mechanism="linear")
        .fit(X, cohort.y)
        .set_labels({"order": "Birth order"})
    )
    model.report(X, tmp_path / "p.html", cohort.y)
    checks = {check["name"]: check for check in facts_of(tmp_path / "p.html")["made"]["checks"]}
    assert checks["logarithm"]["limit"].startswith("The order around 'Birth order', 'alk.phos', 'chol' rests")
    for check in checks.values():
        assert "Birth order" not in check["limit"].replace("'Birth order'", "")


def test_nothing_is_said_of_brackets_where_there_are_none(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.laplace(size=(400, 2)), columns=["a", "b"])
    y = (X["a"] + rng.logistic(size=400) > 0).astype(int)
    RCI(alpha=1.0, variant="plus").fit(X, y).save(tmp_path / "m.rci")
    X.nlargest(4, "a").assign(b=[np.nan, 1.0, 2.0, 3.0]).to_csv(tmp_path / "new.csv", index=False)
    said = ok("explain", tmp_path / "m.rci", tmp_path / "new.csv")
    assert "a +" in said and " to " not in said.split("What the numbers mean")[0]
    assert "in brackets" not in said


def test_look_and_check_agree_on_a_copy_with_flips(tmp_path: Path) -> None:
    X, y = leaky(n=400)
    flipped = np.where(np.random.default_rng(3).random(400) < 0.06, 1 - y, y)
    X.drop(columns="leak").assign(copy=flipped, died=y).to_csv(tmp_path / "c.csv", index=False)
    seen = json.loads(ok("look", tmp_path / "c.csv", "--target", "died", "--json"))
    assert [one["columns"] for one in seen["findings"] if one["name"] == "nearly decides"] == [["copy"]]
    said = json.loads(ok("check", tmp_path / "c.csv", "--target", "died", "--json"))
    assert [one["variables"] for one in said["checks"] if one["name"] == "gives_away"] == [["copy"]]


def test_which_label_was_taken_for_the_disease_is_kept() -> None:
    X, y = leaky()
    with pytest.warns(UserWarning, match="do not say which of them is the disease"):
        model = RCI().fit(X, np.where(y == 1, "type A", "type B"))
    (said,) = model.provenance_["findings"]["fit"]
    assert "'type B' is taken for it" in said and said[:100] in str(model)


def test_findings_of_endless_names_are_kept_as_far_as_they_are_read(tmp_path: Path) -> None:
    X, y = leaky()
    X = X.rename(columns={"leak": "leak" * 6000})
    model = RCI().fit(X, y)
    assert model.diagnose(X, y).verdict == "broken"
    assert "checks: broken" in str(model)
    model.save(tmp_path / "m.rci")
    assert RCI.load(tmp_path / "m.rci").provenance_["findings"]["verdict"] == "broken"
