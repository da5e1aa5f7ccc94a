"""How often do the checks cry wolf, and do they name what is broken?

    python benchmarks/diagnostics.py --jobs 16                 # about 34,000 cohorts: minutes on 16 cores
    python benchmarks/diagnostics.py --kinds binary --scenarios clean --sizes 200x5 2000x10 --draws 10
    python benchmarks/diagnostics.py --render                  # only rewrite the page from the rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped: after a change of
the checks, start with an empty folder. Thresholds were chosen on seeds below 1,000; these are 30,000 and
above.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from clean_cohorts import KINDS, unit
from diagnostics_page import CHECKS, TRIES, render
from faulty_cohorts import SCENARIOS, WITH_HALF, Cohort, cannot_tell, draw, names_it, speaks
from rows_file import read_rows, write_rows

from rootcausal import RCI, diagnostics
from rootcausal.data import simulate
from rootcausal.diagnostics.evidence import Evidence

SIZES = [(n, p) for n in (200, 500, 2_000, 20_000) for p in (5, 10, 40)]
# Where half a violation is tried, and tests on true errors.
MIDDLE = (2_000, 10)
LARGE = 20_000
FIRST_SEED = 30_000
DRAWS = 50
FOLDER = Path(__file__).parent.parent / "results" / "diagnostics"
# Between the seeds of a cohort and of the one that is tried in its place.
NEXT_TRY = 100_000
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Task(NamedTuple):
    """One cohort to draw, to fit and to diagnose."""

    kind: str
    scenario: str
    strength: float
    n: int
    p: int
    seed: int


# What a row says beside its task and the verdicts, and all of its columns.
FOUND = ("tries", "in_model", "spoke", "named", "cannot_tell")
COLUMNS = [*Task._fields, *FOUND, *CHECKS, "failed"]


def main() -> None:
    arguments = options()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        tasks = wanted(arguments)
        # A level of 5 % is told to within 1 % by 500 draws.
        whole = any(task[:5] == ("numbers", "clean", 1.0, *MIDDLE) for task in tasks)
        first = arguments.first_seed
        run(folder, tasks, range(first, first + 10 * arguments.draws * whole), arguments.jobs)
    rows = read_rows(folder / "rows.csv")
    (folder / "README.md").write_text(render(rows, read_rows(folder / "true_errors.csv")), encoding="utf-8")
    failed = [row for row in rows if row["failed"]]
    if failed:
        sys.exit(f"{len(failed)} of {len(rows)} cohorts could not be diagnosed: see `failed` in rows.csv")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--sizes", nargs="+", type=size, default=SIZES, metavar="NxP")
    parser.add_argument(
        "--draws",
        type=int,
        default=DRAWS,
        help="half as many of each violation at each size, and four times as many clean ones; of 20,000 "
        "patients a fifth and twice as many",
    )
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--render", action="store_true", help="only render what is there")
    return parser.parse_args()


def size(text: str) -> tuple[int, int]:
    n, p = text.split("x")
    return int(n), int(p)


def wanted(arguments: argparse.Namespace) -> list[Task]:
    """Every cohort once, the first draw of every cell before the second: a run cut short has some of all."""
    tasks = []
    for kind in arguments.kinds:
        for scenario in arguments.scenarios:
            if kind in SCENARIOS[scenario].not_of:
                continue
            for n, p in arguments.sizes:
                half = kind == "numbers" and scenario in WITH_HALF and (n, p) == MIDDLE
                for place in range(how_many(scenario, n, arguments.draws)):
                    seed = arguments.first_seed + place
                    tasks += [Task(kind, scenario, s, n, p, seed) for s in ((1.0, 0.5) if half else (1.0,))]
    return sorted(tasks, key=lambda task: task.seed)


def how_many(scenario: str, n: int, draws: int) -> int:
    """A share of 2 % takes more draws than one of 90 %, and large cohorts take longer and differ less."""
    if scenario == "clean":
        return draws * (2 if n >= LARGE else 4)
    return -(-draws // (5 if n >= LARGE else 2))


def run(folder: Path, tasks: list[Task], seeds: Iterable[int], jobs: int) -> None:
    """Diagnose the cohorts of the tasks, and test the true errors of those of the seeds."""
    for name in ONE_THREAD:
        os.environ[name] = "1"
    rows, levels = folder / "rows.csv", folder / "true_errors.csv"
    for path in (rows, levels):
        cut_off_half_a_line(path)
    known = read_rows(rows)
    if known and list(known[0]) != COLUMNS:
        sys.exit(f"{rows} was made by another version of this benchmark: choose an empty folder by --out")
    done = {tuple(row[name] for name in Task._fields) for row in known}
    tasks = [task for task in tasks if task not in done]
    seeds = sorted(set(seeds) - {row["seed"] for row in read_rows(levels)})
    # Started afresh, so that each reads the environment before it loads what is threaded.
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        made: Iterator[tuple[Path, dict[str, object]]] = chain(
            ((levels, row) for row in pool.imap_unordered(true_error_p_values, seeds)),
            ((rows, row) for row in pool.imap_unordered(diagnosed, tasks)),
        )
        for count, (path, row) in enumerate(made, start=1):
            write_rows(path, [row])
            if count % 1000 == 0:
                print(f"{count} of {len(seeds) + len(tasks)}", flush=True)


def cut_off_half_a_line(path: Path) -> None:
    """What a run that was stopped while it wrote may leave."""
    if path.exists() and not (text := path.read_bytes()).endswith(b"\n"):
        path.write_bytes(text[: text.rfind(b"\n") + 1])


def diagnosed(task: Task) -> dict[str, object]:
    """One row: whether the right check spoke and named the right columns, and the verdict of each check.

    Verdicts are kept by their first letters, and none for a check that was not made.
    """
    warnings.simplefilter("ignore", UserWarning)  # separated classes count like any other cohort
    row: dict[str, object] = {**task._asdict(), **dict.fromkeys(FOUND, 0), **dict.fromkeys(CHECKS, "")}
    row["failed"] = ""
    try:
        tries, cohort, model = fitted(task)
        checks = {check.name: check for check in model.diagnose(cohort.X, cohort.y).checks}
    except Exception as error:  # one cohort that fails is a finding, and no reason to lose the others
        return {**row, "failed": f"{type(error).__name__}: {error}".replace("\n", " ")[:200]}
    return {
        **row,
        "tries": tries,
        "in_model": int(holds_fault(model, cohort)),
        "spoke": int(speaks(cohort, checks)),
        "named": int(names_it(cohort, checks)),
        "cannot_tell": int(cannot_tell(cohort, checks)),
        **{name: checks[name].verdict[0] for name in CHECKS if name in checks},
    }


def fitted(task: Task) -> tuple[int, Cohort, RCI]:
    """The first cohort whose model holds the fault, or the last one tried; how many were, and the model."""
    for tries in range(1, TRIES + 1):
        seed = task.seed + (tries - 1) * NEXT_TRY
        cohort = draw(task.kind, task.scenario, task.n, task.p, seed, task.strength)
        model = RCI(kinds=cohort.kinds).fit(cohort.X, cohort.y)
        if holds_fault(model, cohort):
            break
    return tries, cohort, model


def holds_fault(model: RCI, cohort: Cohort) -> bool:
    return cohort.touches([f"x{column}" for column in model.causal_order_])


def true_error_p_values(seed: int) -> dict[str, object]:
    """P-values of the checks on true errors, which break nothing: of all columns, none screened."""
    warnings.simplefilter("ignore", UserWarning)
    cohort = simulate(*MIDDLE, random_state=[seed, 0])
    errors = unit(cohort.errors)

    def with_true_errors(*given: object) -> Evidence:
        evidence = gather(*given)
        return replace(evidence, errors=errors[:, evidence.columns])

    gather = diagnostics.gather
    model = RCI(alpha=1.0).fit(errors, cohort.y)
    with patch.object(diagnostics, "gather", with_true_errors):
        checks = model.diagnose(errors, cohort.y).checks
    p_values = {check.name: check.p_value for check in checks}
    kept = {name: "" if p_values.get(name) is None else float(p_values[name]) for name in CHECKS}
    return {"seed": seed, **kept}


if __name__ == "__main__":
    main()
