"""How long do the checks take beside the fit? Both in one process, best of several runs.

python benchmarks/diagnose_speed.py
python benchmarks/diagnose_speed.py --before ../other-checkout/src    # beside those of another checkout
python benchmarks/diagnose_speed.py --cells wide PBC --runs 5
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from measure import best_of, machine, table
from older import older

import rootcausal
from rootcausal.data import load_pbc, simulate

# The checks may take so many times as long as the fit.
TIMES_THE_FIT = 3.0


class Cell(NamedTuple):
    """A cohort.

    Attributes
    ----------
    draw : what fit takes.
    model : the class of the package that fits it, and its parameters.
    goal : seconds that the checks may take.
    """

    draw: Callable[[], tuple[Any, ...]]
    model: Callable[[ModuleType], Any] = lambda package: package.RCI()
    goal: float | None = None


def yes_no(n: int, columns: int) -> tuple[Any, ...]:
    drawn = simulate(n, columns + 1, random_state=0)
    return drawn.X, drawn.y


def survival(n: int, columns: int) -> tuple[Any, ...]:
    drawn = simulate(n, columns + 1, random_state=0, outcome="survival")
    return drawn.X, drawn.time, drawn.event


def number(n: int, columns: int) -> tuple[Any, ...]:
    drawn = simulate(n, columns + 1, random_state=0, outcome="continuous")
    return drawn.X, drawn.y


def pbc() -> tuple[Any, ...]:
    cohort = load_pbc()
    return cohort.X, cohort.y


def with_levels_and_holes(n: int, columns: int) -> tuple[Any, ...]:
    """A third of the columns are of two values, and a twentieth of all values is missing."""
    X, y = yes_no(n, columns)
    X = np.array(X)
    X[:, ::3] = X[:, ::3] > np.median(X[:, ::3], axis=0)
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    return X, y


CELLS = {
    "PBC": Cell(pbc),
    "1,000 × 20": Cell(lambda: yes_no(1_000, 20)),
    "20,000 × 100": Cell(lambda: yes_no(20_000, 100), goal=3.0),
    # "plus" keeps columns that the t-test would drop.
    "20,000 × 100, plus": Cell(
        lambda: yes_no(20_000, 100), lambda package: package.RCI(variant="plus"), goal=3.0
    ),
    "2,000 × 1,000, wide": Cell(lambda: yes_no(2_000, 1_000)),
    "20,000 × 50, survival": Cell(lambda: survival(20_000, 50), lambda package: package.RCISurvival()),
    "20,000 × 50, number": Cell(lambda: number(20_000, 50), lambda package: package.RCIRegressor()),
    "5,000 × 30, levels and holes": Cell(lambda: with_levels_and_holes(5_000, 30)),
}


def row(name: str, cell: Cell, runs: int, before: ModuleType | None) -> list[str]:
    drawn = cell.draw()

    def times(package: ModuleType) -> tuple[float, float, Any]:
        model = cell.model(package).fit(*drawn)
        model.diagnose(*drawn)  # compiles what is left to compile
        fit, model = best_of(runs, lambda: cell.model(package).fit(*drawn))
        checks, _ = best_of(runs, lambda: model.diagnose(*drawn))
        return fit, checks, model

    fit, checks, model = times(rootcausal)
    limit = min(TIMES_THE_FIT * fit, np.inf if cell.goal is None else cell.goal)
    line = [name, str(len(model.causal_order_)), _ms(fit), _ms(checks), f"{checks / fit:.1f} ×"]
    line.append(f"≤ {_ms(limit)}: {'met' if checks <= limit else 'missed'}")
    if before is not None:
        fit_before, checks_before, _ = times(before)
        line += [_ms(fit_before), _ms(checks_before), f"{checks_before / checks:.1f} ×"]
    return line


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--before", metavar="SRC", help="the folder src of another checkout")
    parser.add_argument("--cells", nargs="+", default=[""], help="parts of the names of cells; default: all")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    before = None if arguments.before is None else older(arguments.before)
    print(f"{machine()}; best of {arguments.runs}; goal: {TIMES_THE_FIT:g} × the fit, or less\n")
    header = ["cohort", "in the model", "fit", "checks", "checks / fit", "goal"]
    if before is not None:
        header += ["fit before", "checks before", "checks before / now"]
    chosen = {name: cell for name, cell in CELLS.items() if any(part in name for part in arguments.cells)}
    rows = [row(name, cell, arguments.runs, before) for name, cell in chosen.items()]
    print(table(header, rows))


if __name__ == "__main__":
    main()
