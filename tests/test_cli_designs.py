"""Designs at the command line: from look to the page, and new patients whose outcome is known."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from command_line import error, ok, run
from page_facts import facts_of

DATA = Path(__file__).parent / "data"
CGD = ("--start", "tstart", "--time", "tstop", "--event", "status", "--id", "id")
MATCHED = ("--target", "case", "--strata", "stratum", "--drop", "education,age,parity,pooled.stratum")
MYELOMA = ("--time", "months", "--event", "end", "--positive", "myeloma", "--competing", "death")


def cut(name: str, tmp_path: Path, rows: int = 200) -> Path:
    path = tmp_path / f"{name}.csv"
    pd.read_csv(DATA / f"{name}.csv").head(rows).to_csv(path, index=False)
    return path


def test_rows_from_start_to_stop_from_look_to_page(tmp_path: Path) -> None:
    table, model, page = cut("cgd", tmp_path), tmp_path / "m.rci", tmp_path / "p.html"
    looked = ok("look", table, "--target", "status")
    line = re.search(r"rootcausal (fit .*) --out", " ".join(looked.split()))
    assert line is not None and "--time tstop --event status --start tstart --id id" in line[1]
    said = ok("fit", table, *CGD, "--out", model)
    assert "start: tstart; rows are at risk from it on, to the time" in said
    assert "of 126 patients: the bootstrap resamples patients, not rows" in said
    assert "warning: Column 'tstart'" not in said
    ok("explain", model, table, "--id", "id", "--out", tmp_path / "scores.csv")
    assert len(pd.read_csv(tmp_path / "scores.csv")) >= 200
    assert "it tells which of two patients has the event first" in ok("check", table, *CGD)
    ok("report", table, *CGD, "--out", page)
    facts = facts_of(page)["outcome"]
    assert facts["late"] == (pd.read_csv(table).tstart > 0).sum() and "competing" not in facts
    again = ok("report", table, "--model", model, *CGD, "--out", page)
    assert "page about 200 rows" in again


def test_strata_of_times(tmp_path: Path) -> None:
    table, page = cut("retinopathy", tmp_path), tmp_path / "p.html"
    options = ("--time", "futime", "--event", "status", "--strata", "type", "--id", "id")
    assert "strata: type; each has a baseline hazard of its own" in ok(
        "report", table, *options, "--out", page
    )
    assert facts_of(page)["outcome"]["strata"] == 2


def test_competing_events_and_new_patients(tmp_path: Path) -> None:
    table, model, page = cut("mgus2", tmp_path, 400), tmp_path / "m.rci", tmp_path / "p.html"
    said = ok("fit", table, *MYELOMA, "--horizon", "120", "--out", model)
    assert "competing events, after which it cannot come: 'death'" in said
    assert "They are cumulative incidences" in " ".join(said.split())
    ok("report", table, "--model", model, "--time", "months", "--event", "end", "--out", page)
    facts = facts_of(page)["outcome"]
    assert facts["competing_labels"] == ["death"] and facts["competing"][-1] > facts["competing"][0] == 0
    of_incidence = ok("fit", table, *MYELOMA, "--incidence", "--out", model)
    assert "effects are on the cumulative incidence (Fine & Gray)" in " ".join(of_incidence.split())
    told = ok("report", table, "--model", model, "--time", "months", "--event", "end", "--out", page)
    assert facts_of(page)["outcome"]["when"] and "incidence" in told
    unnamed = ok("fit", table, *MYELOMA[:-2], "--out", model)
    assert "name with --competing what keeps it from coming" in " ".join(unnamed.split())


def test_matched_sets_from_look_to_page(tmp_path: Path) -> None:
    table, model, page = cut("infert", tmp_path, 300), tmp_path / "m.rci", tmp_path / "p.html"
    looked = " ".join(ok("look", table, "--target", "case").split())
    assert "fit" in looked and "--strata stratum --drop education" in looked
    said = ok("fit", table, *MATCHED, "--bootstrap", "3", "--out", model)
    assert "matched sets: stratum, 83 sets" in said
    assert "the bootstrap resamples" not in said or "matched sets" in said
    assert "of a case and a control of one set it tells which is the case" in ok("check", table, *MATCHED)
    ok("report", table, *MATCHED, "--out", page)
    assert facts_of(page)["outcome"]["sets"] == 83
    refused = error(
        3, "fit", table, "--target", "case", "--strata", "stratum", "--drop", "education", "--out", model
    )
    assert "are the same within every matched set" in refused


def test_stages_and_counts(tmp_path: Path) -> None:
    housing, quine = cut("housing", tmp_path), cut("quine", tmp_path)
    model, page = tmp_path / "m.rci", tmp_path / "p.html"
    stages = ("--target", "Sat", "--outcome", "ordinal", "--levels", "Low<Medium<High", "--drop", "Freq")
    assert "stages, from low to high: Low (24 rows) < Medium" in " ".join(
        ok("fit", housing, *stages, "--out", model).split()
    )
    ok("report", housing, "--model", model, "--target", "Sat", "--out", page)
    assert facts_of(page)["outcome"]["kind"] == "ordinal"
    counts = ("--target", "Days", "--outcome", "count", "--exposure", "Weeks")
    ok("fit", quine, *counts, "--out", model)
    ok("report", quine, "--model", model, *counts[:2], "--exposure", "Weeks", "--out", page)
    assert facts_of(page)["outcome"]["kind"] == "count"


def test_labels_in_groups_and_rules(tmp_path: Path) -> None:
    housing, tumour = cut("housing", tmp_path), cut("nwtco", tmp_path, 400)
    model, page = tmp_path / "m.rci", tmp_path / "p.html"
    grouped = ("--target", "Type", "--positive", "Tower,Atrium", "--negative", "Terrace")
    said = ok("fit", housing, *grouped, "--out", model)
    assert "18 rows with other labels (Apartment) are left out" in said
    assert "disease: Type = Tower or Atrium (36 of 54 patients)" in said
    assert "page about 54 patients" in ok(
        "report", housing, "--model", model, "--target", "Type", "--out", page
    )
    one_by_one = ("--target", "Type", "--positive", "Tower", "--positive", "Atrium", "--negative", "Terrace")
    assert "disease: Type = Tower or Atrium (36 of 54 patients)" in ok(
        "fit", housing, *one_by_one, "--out", model
    )
    rule = ok("fit", tumour, "--target", "stage", "--positive", ">=3", "--drop", "edrel,rel", "--out", model)
    assert "disease: stage = >=3" in rule


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "Sat", "--positive", "Low"), "say which of the others are the controls"),
        (
            ("--target", "Sat", "--positive", "Low,High", "--negative", "High"),
            "both --positive and --negative",
        ),
        (("--target", "Sat", "--positive", ">=1"), "is a rule for numbers, and 'Sat' holds"),
        (("--target", "Sat", "--positive", "Low", "--negative", "Best"), "--negative 'Best' is not a label"),
    ],
)
def test_groups_that_are_none_are_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    assert said in error(3, "fit", cut("housing", tmp_path), *arguments, "--out", tmp_path / "m.rci")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "status", "--start", "tstart"), "is for --time and --event, not for --target"),
        (("--target", "status", "--competing", "2"), "is for --time and --event, not for --target"),
        (("--time", "tstop", "--event", "status", "--start", "tstop"), "is the same column as --time"),
        (("--time", "tstart", "--event", "status", "--start", "tstop"), "is not before the time in rows"),
        (("--time", "tstop", "--event", "status", "--competing", "7"), "--competing '7' is not a label"),
        (("--time", "tstop", "--event", "status", "--incidence"), "tells of --competing events: name them"),
        (("--target", "status", "--incidence"), "is for --time and --event, not for --target"),
        (("--time", "tstop", "--event", "status", "--positive", "1", "--positive", "0"), "give one label"),
        (("--time", "tstop", "--event", "status", "--start", "when"), "no column 'when'"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run("fit", cut("cgd", tmp_path), *arguments, "--out", tmp_path / "m.rci")
    assert result.exit_code != 0 and said in " ".join(result.output.split())
