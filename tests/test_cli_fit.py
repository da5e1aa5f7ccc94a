"""rootcausal fit: the model it writes, and what it says about it."""

import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from command_line import error, ok, run

from rootcausal import RCI, __version__
from rootcausal.cli import check
from rootcausal.progress import bars as progress


def test_fit_says_what_it_did(cohort: Path) -> None:
    printed = ok("fit", cohort, "--target", "d", "--id", "patient", "--out", cohort.parent / "m.rci")
    cases = int(arrow_csv.read_csv(cohort)["d"].to_numpy().sum())
    assert "200 rows, 5 variables" in printed
    assert f"disease: d = 1 ({cases} of 200 patients)" in printed
    fitted = RCI.load(cohort.parent / "m.rci")
    for k in fitted.causal_order_:
        assert f"{fitted.feature_names_in_[k]}  {fitted.coef_[k]:+.3f}" in printed
    assert f"model written to '{cohort.parent / 'm.rci'}'" in printed
    assert f"made by rootcausal {__version__} fit: attribution=sharp, " in printed
    assert "variant=local_plus" in printed


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
    assert "'x0' (2). Leave out the rows concerned with --drop-missing" in error(
        3, *arguments, "--missing", "refuse"
    )
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
    cohort.write_text("a,d\n1,red\n2,blue\n3,blue\n4,red\n")
    text = error(3, "fit", cohort, "--target", "d", "--out", cohort.with_name("m.rci"))
    assert "'blue' (2 rows) and 'red' (2 rows): say which one is the disease with --positive LABEL" in text
    assert os.listdir(cohort.parent) == ["cohort.csv"]


def test_a_long_search_says_how_far_it_is(cohort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = (
        "fit",
        cohort,
        "--target",
        "d",
        "--id",
        "patient",
        "--alpha",
        "1",
        "--out",
        cohort.parent / "m.rci",
    )
    assert "ordering:" not in run(*command).stderr
    monkeypatch.setattr(progress, "SECONDS_BEFORE_A_LINE", 0.0)
    first = run(*command).stderr.splitlines()[0]
    assert re.fullmatch(
        r"ordering: 1 of at most 5 columns have their place after 0 s, at most about \d+ s more", first
    )


def test_long_imputation_says_how_far_it_is(cohort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expectation-maximization of hundreds of columns takes minutes, before anything is ordered."""
    lines = cohort.read_text().splitlines()
    for k in range(3, 60, 3):
        cells = lines[k].split(",")
        lines[k] = ",".join([cells[0], "", *cells[2:]])
    cohort.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(progress, "SECONDS_BEFORE_A_LINE", 0.0)
    first = run("fit", cohort, "--target", "d", "--id", "patient", "--out", cohort.parent / "m.rci")
    assert first.stderr.startswith("missing values: round 1 of at most 100 after 0 s\n")


def test_check_does_not_repeat_a_long_search(cohort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = "check", cohort, "--target", "d", "--id", "patient"
    assert "whom the model has not seen (5 folds)" in " ".join(ok(*command).split())
    monkeypatch.setattr(check, "MOST_COMPARED", -1.0)
    assert "has not seen was not looked at: with so many columns" in " ".join(ok(*command).split())
