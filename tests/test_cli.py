"""The command line: what it prints, writes and answers, and that it leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from rootcausal import RCI, __version__
from rootcausal.cli import app
from rootcausal.cohort_files import read_new_patients
from rootcausal.data import load_pbc, simulate


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def ok(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def error(code: int, *arguments: object) -> str:
    """Run, expect this exit code, and return the single error that was printed."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    if code != 2:
        assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    return " ".join(result.stderr.replace("│", " ").split())


def in_new_process(*arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rootcausal", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


@pytest.fixture
def cohort(tmp_path: Path) -> Path:
    """A folder with cohort.csv (patient, x0 to x4, d), the working folder of the test."""
    drawn = simulate(n_samples=200, n_variables=6, random_state=1)
    columns = dict(zip(drawn.feature_names, drawn.X.T, strict=True))
    ids = [f"p{k:03}" for k in range(200)]
    arrow_csv.write_csv(pa.table({"patient": ids, **columns, "d": drawn.y}), tmp_path / "cohort.csv")
    return tmp_path / "cohort.csv"


@pytest.fixture
def model(cohort: Path) -> Path:
    path = cohort.parent / "model.rci"
    ok("fit", cohort, "--target", "d", "--id", "patient", "--out", path)
    return path


# --- fit --------------------------------------------------------------------------------------------


def test_fit_says_what_it_did(cohort: Path) -> None:
    printed = ok("fit", cohort, "--target", "d", "--id", "patient", "--out", cohort.parent / "m.rci")
    cases = int(arrow_csv.read_csv(cohort)["d"].to_numpy().sum())
    assert "200 rows, 5 variables" in printed
    assert f"disease: d = 1 ({cases} of 200 patients)" in printed
    fitted = RCI.load(cohort.parent / "m.rci")
    for k in fitted.causal_order_:
        assert f"{fitted.feature_names_in_[k]}  {fitted.coef_[k]:+.3f}" in printed
    assert f"model written to '{cohort.parent / 'm.rci'}'" in printed
    assert f"made by rootcausal {__version__} fit: alpha=0.2, " in printed and "variant=local_plus" in printed


def test_csv_and_parquet_give_the_same_model(cohort: Path) -> None:
    table = arrow_csv.read_csv(cohort)
    pq.write_table(table, cohort.with_suffix(".parquet"))
    models = []
    for ending in (".csv", ".parquet"):
        out = cohort.with_name(f"{ending[1:]}.rci")
        ok("fit", cohort.with_suffix(ending), "--target", "d", "--id", "patient", "--out", out)
        models.append(RCI.load(out))
    assert np.array_equal(models[0].causal_order_, models[1].causal_order_)
    X = table.drop_columns(["patient", "d"])
    assert np.array_equal(models[0].shapley_values(X), models[1].shapley_values(X))


def test_options_reach_the_estimator(cohort: Path) -> None:
    out = cohort.with_name("m.rci")
    options = ["--alpha", "1", "--variant", "plus", "--backend", "numpy", "--drop", "x0", "--drop", "x3"]
    ok("fit", cohort, "--target", "d", "--id", "patient", *options, "--out", out)
    fitted = RCI.load(out)
    assert (fitted.alpha, fitted.variant, fitted.backend) == (1.0, "plus", "numpy")
    assert list(fitted.feature_names_in_) == ["x1", "x2", "x4"]
    assert len(fitted.causal_order_) == 3


def test_drop_missing_says_how_many(cohort: Path) -> None:
    lines = cohort.read_text().splitlines()
    for k in (3, 7):
        cells = lines[k].split(",")
        lines[k] = ",".join([cells[0], "", *cells[2:]])
    cohort.write_text("\n".join(lines) + "\n")
    arguments = ["fit", cohort, "--target", "d", "--id", "patient", "--out", cohort.with_name("m.rci")]
    assert "'x0' (2). Leave out the rows concerned with --drop-missing" in error(3, *arguments)
    assert "--drop-missing left out 2 of 200 rows" in ok(*arguments, "--drop-missing")


@pytest.mark.parametrize(
    ("healthy", "disease", "options", "expected"),
    [
        ("No", "yes", [], "disease: d = yes"),
        ("FALSE", "TRUE", [], "disease: d = true"),
        ("0.0", "1.0", [], "disease: d = 1"),
        ("2", "1", ["--positive", "1"], "disease: d = 1"),
        ("zz", "ill", ["--positive", "ill"], "disease: d = ill"),
    ],
)
def test_labels(cohort: Path, healthy: str, disease: str, options: list[str], expected: str) -> None:
    table = arrow_csv.read_csv(cohort)
    sick = table["d"].to_numpy() == 1
    relabelled = table.set_column(6, "d", pa.array(np.where(sick, disease, healthy)))
    arrow_csv.write_csv(relabelled, cohort)
    out = cohort.with_name("m.rci")
    printed = ok("fit", cohort, "--target", "d", "--id", "patient", *options, "--out", out)
    assert f"{expected} ({sick.sum()} of 200 patients)" in printed
    X = table.drop_columns(["patient", "d"])
    reference = RCI().fit(X, sick.astype(int))
    assert np.array_equal(RCI.load(out).shapley_values(X), reference.shapley_values(X))


def test_labels_that_do_not_say_which_is_the_disease(cohort: Path) -> None:
    cohort.write_text("a,d\n1,ill\n2,well\n3,well\n4,ill\n")
    text = error(3, "fit", cohort, "--target", "d", "--out", cohort.with_name("m.rci"))
    assert "'ill' (2 rows) and 'well' (2 rows): say which one is the disease with --positive LABEL" in text
    assert os.listdir(cohort.parent) == ["cohort.csv"]


# --- bad input and outputs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "is empty"),
        ("a,d\n", "no rows"),
        ("a,a,d\n1,2,0\n", "more than one column named 'a'"),
        ("a,b,d\n1,2,0\n1,2\n", "data row 2"),
        ("a,ward,d\n1,n,0\n2,s,1\n", "'ward' (for example 'n' in data row 1)"),
        ("a,b,d\n1,,0\n2,3,1\n", "'b' (1)"),
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
        (["--colour", "red"], "No such option"),
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

    monkeypatch.setattr("rootcausal.cli.read_cohort", too_late)
    monkeypatch.setattr("rootcausal.cli.read_new_patients", too_late)
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
    def fail(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(f"rootcausal.cohort_files._write_{ending}", fail)
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


def test_interrupted_fit_leaves_no_model(cohort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RCI, "fit", interrupt)
    arguments = ["fit", cohort, "--target", "d", "--id", "patient", "--out", cohort.with_name("m.rci")]
    assert error(130, *arguments) == "error: interrupted; unfinished files were removed."
    assert os.listdir(cohort.parent) == ["cohort.csv"]


def test_library_warnings_are_single_lines(cohort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_fit = RCI.fit

    def fit_with_warning(self: RCI, X: Any, y: Any) -> RCI:
        warnings.warn("two\nlines \x1b[2J", UserWarning, stacklevel=1)
        return plain_fit(self, X, y)

    monkeypatch.setattr(RCI, "fit", fit_with_warning)
    result = run("fit", cohort, "--target", "d", "--id", "patient", "--out", cohort.with_name("m.rci"))
    assert result.exit_code == 0
    assert result.stderr == "warning: two lines \\x1b[2J\n"


def test_no_dependence_is_a_warning(tmp_path: Path) -> None:
    rows = "".join(f"{k % 7},{k // 2 % 2}\n{k % 7},{1 - k // 2 % 2}\n" for k in range(56))
    (tmp_path / "c.csv").write_text("a,d\n" + rows)
    result = run("fit", tmp_path / "c.csv", "--target", "d", "--out", tmp_path / "m.rci")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("warning: ") and result.stderr.count("\n") == 1
    assert "all Shapley values are zero" in result.stdout
    assert "none: no shock raises the risk" in ok("explain", tmp_path / "m.rci", tmp_path / "c.csv")


# --- explain ----------------------------------------------------------------------------------------


def python_answer(model: Path, patients: Path) -> tuple[RCI, pa.Table]:
    fitted = RCI.load(model)
    return fitted, read_new_patients(patients, list(fitted.feature_names_in_)).X


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_scores_are_those_of_the_python_interface(cohort: Path, model: Path, ending: str) -> None:
    out = cohort.with_name(f"scores.{ending}")
    printed = ok("explain", model, cohort, "--id", "patient", "--out", out)
    assert f"scores of 200 patients written to '{out}'" in printed and "it is not the prevalence" in printed
    scores = arrow_csv.read_csv(out) if ending == "csv" else pq.read_table(out)
    fitted, X = python_answer(model, cohort)
    assert scores.column_names == ["patient", "risk", "log_odds", *fitted.feature_names_in_]
    assert scores["patient"].to_pylist()[:2] == ["p000", "p001"]
    values = np.column_stack([scores[name].to_numpy() for name in fitted.feature_names_in_])
    assert np.array_equal(values, fitted.shapley_values(X))
    assert np.array_equal(scores["log_odds"].to_numpy(), fitted.decision_function(X))
    assert np.array_equal(scores["risk"].to_numpy(), fitted.predict_proba(X)[:, 1])


def test_parquet_scores_say_how_they_were_made(cohort: Path, model: Path) -> None:
    ok("explain", model, cohort, "--out", cohort.with_name("s.parquet"))
    made_by = json.loads(pq.read_schema(cohort.with_name("s.parquet")).metadata[b"rootcausal"])
    expected = {
        "version": __version__,
        "command": "explain",
        "model": "model.rci",
        "alpha": 0.2,
        "variant": "local_plus",
    }
    assert expected.items() <= made_by.items()
    assert made_by["base_value"] == RCI.load(model).intercept_


def test_new_process_gives_the_same_bits(cohort: Path, model: Path) -> None:
    first, second = cohort.with_name("first.csv"), cohort.with_name("second.csv")
    ok("explain", model, cohort, "--id", "patient", "--out", first)
    done = in_new_process("explain", model, cohort, "--id", "patient", "--out", second)
    assert done.returncode == 0, done.stderr
    assert first.read_bytes() == second.read_bytes()
    fitted, X = python_answer(model, cohort)
    scores = arrow_csv.read_csv(second)
    assert np.array_equal(np.column_stack(scores.columns[3:]), fitted.shapley_values(X))


def test_reordered_and_extra_columns(cohort: Path, model: Path) -> None:
    table = arrow_csv.read_csv(cohort)
    mixed = table.select(["x3", "patient", "x1", "x0", "x4", "x2"])
    mixed = mixed.append_column("ward", pa.array(["north"] * 200)).append_column("gap", pa.nulls(200))
    arrow_csv.write_csv(mixed, cohort.with_name("mixed.csv"))
    for source, out in ((cohort, "a.csv"), (cohort.with_name("mixed.csv"), "b.csv")):
        ok("explain", model, source, "--id", "patient", "--out", cohort.with_name(out))
    assert cohort.with_name("a.csv").read_bytes() == cohort.with_name("b.csv").read_bytes()


def test_rows_left_out_keep_their_numbers(cohort: Path, model: Path) -> None:
    lines = cohort.read_text().splitlines()
    lines[2] = '"p001",' + "NA," * 5 + "1"
    cohort.write_text("\n".join(lines) + "\n")
    out = cohort.with_name("s.csv")
    assert "(1)" in error(3, "explain", model, cohort, "--out", out)
    assert "left out 1 of 200 rows" in ok("explain", model, cohort, "--drop-missing", "--out", out)
    assert arrow_csv.read_csv(out)["row"].to_pylist()[:3] == [1, 3, 4]


def test_printed_root_causes(cohort: Path, model: Path) -> None:
    fitted, X = python_answer(model, cohort)
    printed = ok("explain", model, cohort, "--id", "patient", "--top", "1")
    explanation = fitted.explain(X)
    for row in range(10):
        line = next(line for line in printed.splitlines() if f"p{row:03}" in line)
        assert f"{explanation.log_odds[row]:+.2f}" in line
        for cause in explanation.root_causes(top=1)[row]:
            assert f"{cause.variable} {cause.shapley:+.2f}" in line
    assert "p010" not in printed
    assert "and 190 more patients; --out scores.csv writes them all" in printed
    assert "it is not the prevalence" in " ".join(printed.split())


def test_top_and_out_exclude_each_other(cohort: Path, model: Path) -> None:
    assert "--top is for the printed table" in error(
        2, "explain", model, cohort, "--top", "2", "--out", cohort.with_name("s.csv")
    )
    assert "neither .csv nor .parquet" in error(
        2, "explain", model, cohort, "--out", cohort.with_name("s.xlsx")
    )


def test_bad_models_and_bad_patients(cohort: Path, model: Path) -> None:
    assert "no model file" in error(3, "explain", cohort.with_name("no.rci"), cohort)
    cohort.with_name("bad.rci").write_bytes(model.read_bytes()[:100])
    error(3, "explain", cohort.with_name("bad.rci"), cohort)
    cohort.with_name("new.csv").write_text("X0,x1,x2,x3\n1,2,3,4\n")
    text = error(3, "explain", model, cohort.with_name("new.csv"))
    assert "lacks 2 columns that the model needs: 'x0' (is it 'X0'?), 'x4'" in text
    assert "no column 'id' (--id)" in error(3, "explain", model, cohort, "--id", "id")


def test_model_without_names(cohort: Path) -> None:
    drawn = simulate(n_samples=100, n_variables=4, random_state=0)
    RCI().fit(drawn.X, drawn.y).save(cohort.with_name("array.rci"))
    assert "fitted on columns without names" in error(3, "explain", cohort.with_name("array.rci"), cohort)


def test_variables_named_like_our_columns(tmp_path: Path) -> None:
    drawn = simulate(n_samples=100, n_variables=4, random_state=0)
    names = ["risk", "row", "log_odds"]
    arrow_csv.write_csv(
        pa.table({**dict(zip(names, drawn.X.T, strict=True)), "d": drawn.y}), tmp_path / "c.csv"
    )
    ok("fit", tmp_path / "c.csv", "--target", "d", "--out", tmp_path / "m.rci")
    printed = ok("explain", tmp_path / "m.rci", tmp_path / "c.csv", "--out", tmp_path / "s.csv")
    assert "columns: 'row_', 'risk_', 'log_odds_', then" in printed
    assert arrow_csv.read_csv(tmp_path / "s.csv").column_names == ["row_", "risk_", "log_odds_", *names]


def test_hostile_names_and_ids(tmp_path: Path) -> None:
    names = [
        "[bold]x[/bold]",
        "=cmd()",
        "<script>alert(1)</script>",
        "../../etc/passwd",
        "\u202eevil",
        "🙂 :smile:",
    ]
    names += ["\x1b[2J", "[/]", "n" * 300]
    ids = [*names, ""] + ["p"] * 190
    drawn = simulate(n_samples=200, n_variables=len(names) + 1, random_state=3)
    table = pa.table({"[id]": ids, **dict(zip(names, drawn.X.T, strict=True)), "@d": drawn.y})
    cohort, model, scores = tmp_path / "[red]c.parquet", tmp_path / "m.rci", tmp_path / "s.csv"
    pq.write_table(table, cohort)
    printed = ok("fit", cohort, "--target", "@d", "--id", "[id]", "--alpha", "1", "--out", model)
    printed += ok("explain", model, cohort, "--id", "[id]", "--top", "9")
    assert all(character.isprintable() or character == "\n" for character in printed)
    assert "[red]c.parquet" in printed and "[bold]x[/bold]" in printed and ":smile:" in printed
    ok("explain", model, cohort, "--id", "[id]", "--out", scores)
    read = arrow_csv.read_csv(
        scores, convert_options=arrow_csv.ConvertOptions(column_types={"[id]": pa.string()})
    )
    safe = ["'=cmd()" if name == "=cmd()" else name for name in names]
    assert read.column_names == ["[id]", "risk", "log_odds", *safe]
    assert read["[id]"].to_pylist() == [*safe, ""] + ["p"] * 190
    assert sorted(os.listdir(tmp_path)) == ["[red]c.parquet", "m.rci", "s.csv"]


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


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = ok("demo")
    pbc = load_pbc()
    X = pbc.to_frame().select(list(pbc.feature_names))
    explanation = RCI().fit(X, pbc.y).explain(X)
    order = np.argsort(explanation.log_odds)
    assert "disease: died = 1 (111 of 258 patients)" in printed
    for row, word in ((order[-1], "highest"), (order[129], "median"), (order[0], "lowest")):
        risk = min(explanation.probability[row], 0.99)
        shown = f"{risk:.0%}" if risk < 0.99 else "over 99%"
        assert f"Patient {pbc.ids[row]}, the {word} risk of the cohort: {shown}\n" in printed
        for place, cause in enumerate(explanation.root_causes(top=3)[row], start=1):
            assert f"root cause {place}: {cause.variable} " in printed
            assert f"{cause.shapley:+.2f}\n" in printed
    assert "it is not the prevalence" in " ".join(printed.split())
    assert os.listdir(tmp_path) == []


def test_help_and_version() -> None:
    assert ok("--version") == f"rootcausal {__version__}\n"
    assert "Exit codes: 0 done" in ok("--help")
    for command in ("fit", "explain", "simulate", "demo"):
        assert f"rootcausal {command}" in ok(command, "--help")


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


def test_ctrl_c_in_a_new_process(tmp_path: Path) -> None:
    script = "import rootcausal.data as data, rootcausal.cli as cli, time\n"
    script += "data.simulate = lambda **_: (print('begun', flush=True), time.sleep(60))\ncli.main()\n"
    command = [sys.executable, "-c", script, "simulate", "--out", str(tmp_path / "c.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == "error: interrupted; unfinished files were removed.\n"
    assert os.listdir(tmp_path) == []
