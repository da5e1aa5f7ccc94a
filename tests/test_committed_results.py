"""Rows in results/paper, results/nonlinear and results/outcomes are what the code gives: cells, run again."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from rootcausal.experiments.outputs import rows_of
from rootcausal.experiments.rows import Row, read_rows
from rootcausal.experiments.runner import Accuracy, Timing
from rootcausal.experiments.sources import Bent, CohortSource, Resampled, Synthetic
from rootcausal.experiments.spec import EXPERIMENTS, Scope

ROOT = Path(__file__).parent.parent
ROWS = ROOT / "results" / "paper" / "rows"
BENT = ROOT / "results" / "nonlinear"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_full_run_is_there_without_a_failure(name: str) -> None:
    scope = Scope()
    wanted = EXPERIMENTS[name].tasks(scope)
    rows = rows_of(wanted, BENT / "rows" if name == "nonlinear" else ROWS, scope.seed)
    cells = {(task.file, task.number, method) for task in wanted for method in task.methods}
    assert len(rows) == len(cells)
    assert [row for row in rows if row.error] == []


def same(row: Row, committed: Row) -> None:
    """Equal but for the time, and for last digits on another processor."""
    assert row.overlap == pytest.approx(committed.overlap, abs=1e-6)
    assert (row.mse or 0.0) == pytest.approx(committed.mse or 0.0, rel=1e-6)  # cohorts have none
    blank = {"overlap": None, "mse": None, "seconds": None, "version": ""}
    assert replace(row, **blank) == replace(committed, **blank)


# ICA is left out: FastICA turns last digits, which differ between processors, into other sources.
@pytest.mark.parametrize("method", ["RCI", "HPC", "TT", "LR", "CO", "MS"])
@pytest.mark.parametrize(
    ("source", "number"), [(Synthetic(100, 10), 299), (Synthetic(1_000, 50), 7), (Resampled("pbc"), 999)]
)
def test_a_cell_run_again_gives_the_same_row(source: CohortSource, number: int, method: str) -> None:
    committed = {(row.number, row.method): row for row in read_rows(ROWS / f"{source.name}.parquet")}
    (row,) = Accuracy(source, number, (method,), seed=0).run()
    same(row, committed[number, method])


def test_timed_variants_compare_the_same_pairs() -> None:
    source = Synthetic(100, 50)
    committed = {(row.number, row.method): row for row in read_rows(ROWS / f"times-{source.name}.parquet")}
    for row in Timing(source, 3, ("local_plus", "original"), seed=0).run():
        assert row.pairs == committed[3, row.method].pairs


def made(source: CohortSource, number: int) -> dict[str, Row]:
    rows = read_rows(BENT / "rows" / f"{source.name}.parquet")
    return {row.method: row for row in rows if row.number == number}


@pytest.mark.parametrize(
    "source",
    [Bent(500, 10, heteroscedastic=True), Bent(500, 20, heteroscedastic=True), Synthetic(1_000, 50)],
)
def test_a_cell_of_bent_relations_run_again_gives_the_same_rows(source: CohortSource) -> None:
    committed = made(source, 29)
    for row in Accuracy(source, 29, tuple(committed), seed=0).run():
        same(row, committed[row.method])


def test_the_page_of_bent_relations_is_what_its_rows_say() -> None:
    scope, experiment = Scope(), EXPERIMENTS["nonlinear"]
    shown = experiment.show(scope, rows_of(experiment.tasks(scope), BENT / "rows", scope.seed))
    page = (BENT / "README.md").read_text(encoding="utf-8")
    assert len(shown.tables) == 2
    for table in shown.tables.values():
        assert table.to_markdown() in page


# --- outcomes -----------------------------------------------------------------------------------------------


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark that made results/outcomes."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("outcomes")


def test_every_cohort_of_the_outcomes_is_there_and_the_page_is_what_they_say(outcomes: ModuleType) -> None:
    rows, timed = (outcomes.read_rows(outcomes.FOLDER / f"{name}.csv") for name in ("rows", "times"))
    seeds = {
        cell: range(outcomes.FIRST_SEED, outcomes.FIRST_SEED + outcomes.COHORTS) for cell in outcomes.CELLS
    }
    wanted = {(*cell, seed) for cell in outcomes.CELLS for seed in seeds[cell]}
    assert sorted(map(outcomes.place, rows)) == sorted(wanted)
    page = (outcomes.FOLDER / "README.md").read_text(encoding="utf-8")
    (version,) = re.findall(r"with rootcausal (\S+), seeds", page)
    assert page == outcomes.render(rows, timed, version)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "cell", [("survival", 0.35, 300, 10), ("survival", 0.62, 1000, 50), ("number", "", 300, 30)]
)
def test_a_cohort_of_the_outcomes_run_again_gives_the_same_row(
    outcomes: ModuleType, cell: tuple[object, ...]
) -> None:
    seed = outcomes.FIRST_SEED + 7
    (committed,) = (
        row
        for row in outcomes.read_rows(outcomes.FOLDER / "rows.csv")
        if outcomes.place(row) == (*cell, seed)
    )
    again = outcomes.evaluate(*cell, seed)
    assert list(again) == list(committed)
    for name, value in again.items():
        assert committed[name] == (value if isinstance(value, str) else pytest.approx(value, abs=1e-5)), name
