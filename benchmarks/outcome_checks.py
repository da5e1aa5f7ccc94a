"""How often do the checks of times and numbers cry wolf, and do they name what is wrong?

    python benchmarks/outcome_checks.py --jobs 2                    # about 6,000 cohorts: half an hour
    python benchmarks/outcome_checks.py --draws 10 --out /tmp/few
    python benchmarks/outcome_checks.py --render                    # only rewrite the page from the rows

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
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from outcome_cohorts import OF_NUMBERS, OF_TIMES, Drawn, names_it, speaks
from rows_file import read_rows, write_rows

from rootcausal import RCIRegressor, RCISurvival, __version__
from rootcausal.outcomes.continuous import CONTINUOUS
from rootcausal.outcomes.survival import SURVIVAL

FOLDER = Path(__file__).parent.parent / "results" / "outcome-checks"
OUTCOMES = {"survival": (RCISurvival, OF_TIMES), "number": (RCIRegressor, OF_NUMBERS)}
SIZES = [(n, p) for n in (200, 500, 2_000) for p in (5, 10)]
# Other kinds of columns, in which all is well.
KINDS = ("binary", "nominal", "skewed", "missing")
OF_KINDS = [(200, 10), (500, 10), (2_000, 10)]
FIRST_SEED = 30_000
DRAWS = 100
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
MOST_BROKEN, MOST_DOUBTFUL = 0.02, 0.10
# What an outcome's own checks are called; the others look at columns and errors alone.
OWN = {"survival": SURVIVAL.checks, "number": CONTINUOUS.checks}
OTHERS = ("non_gaussian", "independent", "linear", "unconfounded", "logarithm", "in_range")
CHECKS = tuple(dict.fromkeys([*OWN["survival"], *OWN["number"], *OTHERS]))
Row = dict[str, object]


class Task(NamedTuple):
    """One cohort to draw, to fit and to diagnose."""

    outcome: str
    kind: str
    fault: str
    n: int
    p: int
    seed: int


def main() -> None:
    arguments = options()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        run(folder / "rows.csv", wanted(arguments.draws), arguments.jobs)
    rows = read_rows(folder / "rows.csv")
    (folder / "README.md").write_text(render(rows), encoding="utf-8")
    failed = [row for row in rows if row["failed"]]
    if failed:
        sys.exit(f"{len(failed)} of {len(rows)} cohorts could not be diagnosed: see `failed` in rows.csv")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--draws", type=int, default=DRAWS, help="clean ones of each size; half of the others"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--render", action="store_true", help="only render what is there")
    return parser.parse_args()


def wanted(draws: int) -> list[Task]:
    """Every cohort once, the first draw of every cell before the second: a run cut short has some of all."""
    tasks = []
    for outcome, (_, faults) in OUTCOMES.items():
        for fault in faults:
            count = draws if fault == "clean" else draws // 4
            tasks += cells(outcome, "numbers", fault, SIZES, count)
        for kind in KINDS:
            tasks += cells(outcome, kind, "clean", OF_KINDS, draws // 2)
    return sorted(tasks, key=lambda task: task.seed)


def cells(outcome: str, kind: str, fault: str, sizes: list[tuple[int, int]], draws: int) -> Iterator[Task]:
    for n, p in sizes:
        for place in range(draws):
            yield Task(outcome, kind, fault, n, p, FIRST_SEED + place)


def run(path: Path, tasks: list[Task], jobs: int) -> None:
    for name in ONE_THREAD:
        os.environ[name] = "1"
    done = {tuple(row[name] for name in Task._fields) for row in read_rows(path)}
    tasks = [task for task in tasks if task not in done]
    # Started afresh, so that each reads the environment before it loads what is threaded.
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for count, row in enumerate(pool.imap_unordered(diagnosed, tasks), start=1):
            write_rows(path, [row])
            if count % 500 == 0:
                print(f"{count} of {len(tasks)}", flush=True)


def diagnosed(task: Task) -> Row:
    """One row: whether the right check spoke and named the column, and each check's verdict, a letter."""
    warnings.simplefilter("ignore", UserWarning)
    row: Row = {**task._asdict(), "spoke": 0, "named": 0, "cannot_tell": 0, **dict.fromkeys(CHECKS, "")}
    row["failed"] = ""
    estimator, faults = OUTCOMES[task.outcome]
    fault = faults[task.fault]
    try:
        cohort = fault.draw(Drawn.of(task.kind, task.n, task.p, task.seed))
        model = estimator(kinds=cohort.kinds).fit(cohort.X, *cohort.known)
        checks = {check.name: check for check in model.diagnose(cohort.X, *cohort.known).checks}
    except Exception as error:  # one cohort that fails is a finding, and no reason to lose the others
        return {**row, "failed": f"{type(error).__name__}: {error}".replace("\n", " ")[:200]}
    return {
        **row,
        "spoke": int(bool(speaks(fault, checks))),
        "named": int(names_it(fault, cohort, checks)),
        "cannot_tell": int(any(checks[name].verdict == "cannot tell" for name in fault.checks)),
        **{name: checks[name].verdict[0] for name in CHECKS if name in checks},
    }


def render(rows: list[Row]) -> str:
    fine = [row for row in rows if not row["failed"]]
    failed = len(rows) - len(fine)
    lines = [
        "# What the checks of times and numbers see",
        "",
        f"Made by `python benchmarks/outcome_checks.py` with rootcausal {__version__} on {len(rows):,} "
        "simulated cohorts of n patients and p variables (the outcome among them), seeds 30,000 and above; "
        "half of the patients have the event. `rows.csv` has one line a cohort, with each check's verdict by "
        "its first letter: fine, cannot tell, doubtful, broken."
        + (f" **{failed} cohorts could not be diagnosed** and are left out." if failed else ""),
        "",
        *clean_section(fine),
        *kinds_section(fine),
        *fault_section(fine),
        "## What is drawn",
        "",
        "Columns, graph and errors are those of `results/diagnostics`. The weighted sum of the direct causes "
        "is the log-hazard of a time that runs evenly, ever faster or ever more slowly; patients come in one "
        "after the other, are followed until one date, and some leave early at random. Or an error of one of "
        "the three laws is added to it, and that is the number.",
        "",
    ]
    for outcome, (_, faults) in OUTCOMES.items():
        lines += [f"- *{outcome}, {name}*: {fault.meaning}." for name, fault in faults.items()]
    return "\n".join(lines) + "\n"


def clean_section(rows: list[Row]) -> list[str]:
    lines = [
        "## Where nothing is wrong",
        "",
        f"Share of cohorts in which a check says doubtful | broken. Wanted are at most {MOST_DOUBTFUL:.0%} "
        f"and {MOST_BROKEN:.0%} of each check; more is bold. `few_events` is no alarm, but a count: it is "
        "doubtful where there are fewer than ten events for each variable that was kept.",
    ]
    clean = [row for row in rows if row["fault"] == "clean" and row["kind"] == "numbers"]
    for outcome, own in OWN.items():
        of_outcome = [row for row in clean if row["outcome"] == outcome]
        names = [*own, "the others"]
        lines += [
            "",
            f"| {outcome}: n, p | cohorts | " + " | ".join(f"`{name}`" for name in own) + " | the others |",
        ]
        lines += ["|---" * (len(names) + 2) + "|"]
        for n, p in SIZES:
            cell = [row for row in of_outcome if (row["n"], row["p"]) == (n, p)]
            shares = [alarm(cell, (name,)) for name in own] + [alarm(cell, OTHERS)]
            lines.append(f"| {n:,}, {p} | {len(cell)} | " + " | ".join(shares) + " |")
    return [*lines, ""]


def kinds_section(rows: list[Row]) -> list[str]:
    lines = [
        "## Other kinds of columns, in which nothing is wrong",
        "",
        f"The same over n = 200, 500 and 2,000, p = {OF_KINDS[0][1]}: yes-or-no columns, levels without an "
        "order, lognormal errors, and a tenth of the values missing.",
    ]
    for outcome, own in OWN.items():
        lines += [
            "",
            f"| {outcome} | cohorts | " + " | ".join(f"`{name}`" for name in own) + " | the others |",
        ]
        lines += ["|---" * (len(own) + 3) + "|"]
        for kind in KINDS:
            cell = [row for row in rows if (row["outcome"], row["kind"]) == (outcome, kind)]
            shares = [alarm(cell, (name,)) for name in own] + [alarm(cell, OTHERS)]
            lines.append(f"| {kind} | {len(cell)} | " + " | ".join(shares) + " |")
    return [*lines, ""]


def alarm(cell: list[Row], checks: Iterable[str]) -> str:
    """Doubtful and broken, bold where that is more than wanted."""
    doubtful, broken = (share(cell, lambda row, v=v: any(row[name] == v for name in checks)) for v in "db")
    counts = "few_events" not in checks
    said = f"{doubtful:.1%} \\| {broken:.1%}"
    return f"**{said}**" if counts and (doubtful > MOST_DOUBTFUL or broken > MOST_BROKEN) else said


def fault_section(rows: list[Row]) -> list[str]:
    sizes = sorted({n for n, _ in SIZES})
    lines = [
        "## Where one thing is wrong",
        "",
        "Share of cohorts in which the right check says doubtful or broken and names the column (of an "
        "uneven spread, an exponential and a misprinted outcome there is none to name). After the bar: of "
        "those in which it does not, how many “cannot tell”.",
        "",
        "| outcome | what is wrong | right check | " + " | ".join(f"n = {n:,}" for n in sizes) + " |",
        "|---" * (3 + len(sizes)) + "|",
    ]
    for outcome, (_, faults) in OUTCOMES.items():
        for name, fault in faults.items():
            if name == "clean":
                continue
            cells = []
            for n in sizes:
                cell = [row for row in rows if (row["outcome"], row["fault"], row["n"]) == (outcome, name, n)]
                missed = [row for row in cell if not row["named"]]
                untold = (
                    f" \\| {sum(bool(row['cannot_tell']) for row in missed)} of {len(missed)}"
                    if missed
                    else ""
                )
                cells.append(f"{share(cell, lambda row: row['named']):.0%} of {len(cell)}{untold}")
            lines.append(f"| {outcome} | {name} | {' or '.join(fault.checks)} | {' | '.join(cells)} |")
    return [*lines, ""]


def share(rows: list[Row], counts: Callable[[Row], object]) -> float:
    return sum(bool(counts(row)) for row in rows) / len(rows) if rows else 0.0


if __name__ == "__main__":
    main()
