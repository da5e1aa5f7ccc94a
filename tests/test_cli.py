"""The command line: exit codes, warnings, and that it leaves nothing behind; and its small commands."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from command_line import error, in_new_process, ok, run

from rootcausal import RCI, __version__
from rootcausal.backends.choose import BACKENDS
from rootcausal.data import simulate, simulate_nonlinear

# --- bad input and outputs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "is empty"),
        ("a,d\n", "no rows"),
        ("a,a,d\n1,2,0\n", "more than one column named 'a'"),
        ("a,b,d\n1,2,0\n1,2\n", "data row 2"),
        ("a,when,d\n1,2020-01-02,0\n2,2021-03-04,1\n", "has dates in 'when': leave them out with --drop"),
        ("a,b,d\n1,,0\n2,,1\n", "column 'b' is empty"),
        ("a,b,d\n1,2,0\n,,1\n3,4,1\n5,1,0\n", "row 2 has no value in any column"),
        ("a,b,d\n1,inf,0\n2,3,1\n", "infinite"),
        ("a,b\n1,2\n", "no column 'd'"),
        ("a,d\n1,0\n2,0\n", "only one label, '0' (2 rows)"),
        ("a,d\n1,0\n2,1\n3,2\n", "3 labels"),
        ("a,d\n1,0\n2,1\n3,1\n", "d"),
        ("a,b,d\n1,5,0\n2,5,1\n3,5,1\n4,5,0\n", "b"),
        ("a,b,d\n1,3,0\n2,5,1\n3,7,1\n5,11,0\n", "a"),
    ],
)
def test_bad_cohorts_leave_nothing_behind(tmp_path: Path, content: str, expected: str) -> None:
    (tmp_path / "cohort.csv").write_text(content)
    text = error(3, "fit", tmp_path / "cohort.csv", "--target", "d", "--out", tmp_path / "model.rci")
    assert expected in text
    assert os.listdir(tmp_path) == ["cohort.csv"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--alpha", "0"], "must be above 0 and at most 1"),
        (["--alpha", "nan"], "must be above 0 and at most 1"),
        (["--variant", "fast"], "'fast'"),
        (["--backend", "abacus"], "'abacus'"),
        (["--out", "cohort.csv"], "ends in .rci"),
        (["--colour", "red"], "no such option"),
    ],
)
def test_wrong_usage(cohort: Path, options: list[str], expected: str) -> None:
    out = [] if "--out" in options else ["--out", cohort.with_name("m.rci")]
    assert expected in error(2, "fit", cohort, "--target", "d", "--id", "patient", *out, *options)
    assert os.listdir(cohort.parent) == ["cohort.csv"]


def test_outputs_are_checked_before_the_work(
    cohort: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(*_: Any, **__: Any) -> None:
        raise AssertionError("work had begun")

    monkeypatch.setattr("rootcausal.inputs.from_file.read_labelled_cohort", too_late)
    monkeypatch.setattr("rootcausal.inputs.from_file.stream_new_patients", too_late)
    nowhere = cohort.parent / "no" / "such"
    for arguments in (
        ["fit", cohort, "--target", "d", "--out", nowhere / "m.rci"],
        ["explain", model, cohort, "--out", nowhere / "s.csv"],
        ["simulate", "--out", nowhere / "c.csv"],
        ["simulate", "--out", cohort.parent / "c.csv", "--truth", nowhere / "t.csv"],
    ):
        assert f"cannot write '{nowhere}" in error(4, *arguments)
    assert sorted(os.listdir(cohort.parent)) == ["cohort.csv", "model.rci"]


def test_inputs_are_not_written_over(cohort: Path, model: Path) -> None:
    before = cohort.read_bytes()
    assert "choose another name" in error(2, "explain", model, cohort, "--out", cohort)
    assert "choose another name" in error(2, "simulate", "--out", cohort, "--truth", cohort)
    assert cohort.read_bytes() == before


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_failing_write_keeps_the_old_file(
    cohort: Path, model: Path, ending: str, failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise failure

    prepares = {"csv": "_for_spreadsheets", "parquet": "_described"}[ending]
    monkeypatch.setattr(f"rootcausal.files.writing.{prepares}", fail)
    old = cohort.with_name(f"old.{ending}")
    old.write_text("old")
    result = run("explain", model, cohort, "--out", old)
    interrupted = isinstance(failure, KeyboardInterrupt)
    assert result.exit_code == (130 if interrupted else 4)
    assert (
        "interrupted" if interrupted else f"cannot write '{old}': No space left on device."
    ) in result.stderr
    assert old.read_text() == "old"
    assert sorted(os.listdir(cohort.parent)) == sorted(["cohort.csv", "model.rci", old.name])


def test_a_failing_write_names_its_file(cohort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        Path("/nowhere/at/all").mkdir()

    monkeypatch.setattr(RCI, "save", refuse)
    arguments = ["fit", cohort, "--target", "d", "--id", "patient", "--out", cohort.with_name("m.rci")]
    assert error(4, *arguments) == "error: cannot write '/nowhere/at/all': No such file or directory."


def test_interrupted_fit_leaves_no_model(cohort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RCI, "fit", interrupt)
    arguments = ["fit", cohort, "--target", "d", "--id", "patient", "--out", cohort.with_name("m.rci")]
    assert error(130, *arguments) == "error: interrupted; unfinished files were removed."
    assert os.listdir(cohort.parent) == ["cohort.csv"]


class OfALibraryWarning(UserWarning, DeprecationWarning):
    """As pyparsing's, which an older matplotlib meets."""


def test_library_warnings_are_single_lines(cohort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_fit = RCI.fit

    def fit_with_warning(self: RCI, X: Any, y: Any, **given: Any) -> RCI:
        warnings.warn("two\nlines \x1b[2J", UserWarning, stacklevel=1)
        warnings.warn("'oneOf' deprecated - use 'one_of'", OfALibraryWarning, stacklevel=1)
        return plain_fit(self, X, y, **given)

    monkeypatch.setattr(RCI, "fit", fit_with_warning)
    result = run("fit", cohort, "--target", "d", "--id", "patient", "--out", cohort.with_name("m.rci"))
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: two lines \\x1b[2J\n") and "oneOf" not in result.stderr


def test_no_dependence_is_a_warning(tmp_path: Path) -> None:
    rows = "".join(f"{k % 7},{k // 2 % 2}\n{k % 7},{1 - k // 2 % 2}\n" for k in range(56))
    (tmp_path / "c.csv").write_text("a,d\n" + rows)
    screened = ["--target", "d", "--alpha", "0.2"]
    result = run("fit", tmp_path / "c.csv", *screened, "--out", tmp_path / "m.rci")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("warning: ")
    assert result.stderr.count("\n") == 1
    assert "all Shapley values are zero" in result.stdout
    # What the fit said the checks do not say once more; of a model that was fitted before, they do.
    arguments = ["--out", tmp_path / "page.html"]
    assert "learned nothing" not in run("report", tmp_path / "c.csv", *screened, *arguments).stderr
    again = run("report", tmp_path / "c.csv", "--model", tmp_path / "m.rci", *arguments)
    assert again.stderr.count("the model learned nothing") == 1
    assert "none was found that stands out" in ok("explain", tmp_path / "m.rci", tmp_path / "c.csv")


# --- simulate, demo, help ---------------------------------------------------------------------------


def test_simulate_writes_cohort_and_truth(tmp_path: Path) -> None:
    out, truth = tmp_path / "cohort.csv", tmp_path / "truth.parquet"
    printed = ok("simulate", "--rows", 50, "--variables", 5, "--seed", 7, "--out", out, "--truth", truth)
    drawn = simulate(n_samples=50, n_variables=5, random_state=7)
    table = arrow_csv.read_csv(out)
    assert table.column_names == ["x0", "x1", "x2", "x3", "d"]
    assert np.array_equal(np.column_stack(table.columns[:4]), drawn.X)
    assert np.array_equal(table["d"].to_numpy(), drawn.y)
    assert np.array_equal(np.column_stack(pq.read_table(truth).columns), drawn.true_shapley)
    made_by = json.loads(pq.read_schema(truth).metadata[b"rootcausal"])
    assert made_by == {"version": __version__, "command": "simulate", "rows": 50, "variables": 5, "seed": 7}
    assert f"disease: d = 1 ({drawn.y.sum()} of 50 patients)" in printed


def test_simulate_writes_times_and_numbers(tmp_path: Path) -> None:
    out, truth = tmp_path / "cohort.parquet", tmp_path / "truth.csv"
    asked = ("simulate", "--rows", 50, "--variables", 4, "--out", out, "--truth", truth)
    printed = ok(*asked, "--outcome", "survival", "--events", 0.35)
    drawn = simulate(n_samples=50, n_variables=4, random_state=0, outcome="survival", events=0.35)
    table = pq.read_table(out)
    assert table.column_names == ["x0", "x1", "x2", "time", "event"]
    assert np.array_equal(table["time"].to_numpy(), drawn.time)
    assert np.array_equal(table["event"].to_numpy(), drawn.y)
    assert f"event = 1 in {drawn.y.sum()} of 50 patients; the others were last seen without it" in printed
    assert "true Shapley values (log-hazard)" in printed
    assert "outcome=survival, events=0.35" in printed

    printed = ok(*asked, "--outcome", "continuous")
    drawn = simulate(n_samples=50, n_variables=4, random_state=0, outcome="continuous")
    table = pq.read_table(out)
    assert table.column_names == ["x0", "x1", "x2", "severity"]
    assert np.array_equal(table["severity"].to_numpy(), drawn.y)
    assert f"severity: mean {drawn.y.mean():.2f}, standard deviation {drawn.y.std():.2f}" in printed
    assert "true Shapley values (in the unit of severity)" in printed
    assert np.array_equal(np.column_stack(arrow_csv.read_csv(truth).columns), drawn.true_shapley)


def test_simulate_refuses_options_of_another_outcome(tmp_path: Path) -> None:
    asked = ("simulate", "--out", tmp_path / "c.csv")
    assert "it needs --outcome survival" in error(2, *asked, "--events", 0.5)
    refused = error(2, *asked, "--outcome", "continuous", "--prevalence", 0.5)
    assert "--prevalence" in refused and "only a diagnosis has it, not --outcome continuous" in refused
    assert "must be a share between 0 and 1" in error(2, *asked, "--outcome", "survival", "--events", 35)
    assert not list(tmp_path.iterdir())


def test_simulate_writes_bent_relations(tmp_path: Path) -> None:
    out, truth = tmp_path / "cohort.csv", tmp_path / "truth.csv"
    asked = (
        "simulate",
        "--mechanism",
        "nonlinear",
        "--rows",
        50,
        "--variables",
        5,
        "--seed",
        7,
        "--out",
        out,
    )
    printed = ok(*asked, "--truth", truth)
    drawn = simulate_nonlinear(50, 5, random_state=7)
    table = arrow_csv.read_csv(out)
    assert table.column_names == ["x0", "x1", "x2", "x3", "d"]
    assert np.array_equal(np.column_stack(table.columns[:4]), drawn.X)
    assert np.array_equal(table["d"].to_numpy(), drawn.y)
    assert np.array_equal(np.column_stack(arrow_csv.read_csv(truth).columns), drawn.true_shapley)
    assert "seed=7, mechanism=nonlinear" in printed and "true Shapley values (log-odds)" in printed
    for option in (("--outcome", "continuous"), ("--prevalence", 0.1)):
        refused = error(2, *asked, *option)
        assert option[0] in refused and "leave it out with --mechanism nonlinear" in refused


def test_help_and_version() -> None:
    assert ok("--version") == f"rootcausal {__version__}\n"
    assert "Exit codes: 0 done" in ok("--help")
    for command in ("fit", "explain", "report", "simulate", "demo"):
        assert f"rootcausal {command}" in ok(command, "--help")


def test_every_backend_can_be_chosen(cohort: Path) -> None:
    refused = error(2, "fit", cohort, "--target", "d", "--out", "m.rci", "--backend", "abacus")
    assert f"'abacus' is not one of {', '.join(map(repr, BACKENDS))}." in refused


def test_exit_codes_in_a_new_process(tmp_path: Path) -> None:
    out = tmp_path / "m.rci"
    for code, arguments in (
        (0, ["--version"]),
        (2, ["fit"]),
        (3, ["fit", tmp_path / "no.csv", "--target", "d", "--out", out]),
        (4, ["simulate", "--out", tmp_path / "no" / "c.csv"]),
    ):
        done = in_new_process(*arguments)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == []


def test_output_that_cannot_show_a_name(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("🙂,d\n" + "".join(f"{k * k % 17},{int(k > 9)}\n" for k in range(20)))
    options = {"env": {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}}
    done = in_new_process(
        "fit", tmp_path / "c.csv", "--target", "d", "--alpha", "1", "--out", tmp_path / "m.rci", **options
    )
    assert done.returncode == 0, done.stderr
    assert "\\U0001f642" in done.stdout


def test_help_waits_for_no_heavy_library() -> None:
    heavy = {"numpy", "scipy", "sklearn", "pandas", "narwhals", "pyarrow", "numba", "joblib", "dask"}
    code = f"import sys, rootcausal.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr
