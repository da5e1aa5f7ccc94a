"""How long do the checks take beside the fit? Both in one process, best of several runs.

python benchmarks/diagnose_speed.py
"""

from __future__ import annotations

import argparse
import warnings

from measure import best_of, machine, table

from rootcausal import RCI
from rootcausal.data import simulate

# Patients, columns beside D, and the variant: "plus" keeps columns that the t-test would drop. The seconds
# that the checks may take.
CELLS = {(1_000, 20, "local_plus"): None, (20_000, 100, "local_plus"): 3.0, (20_000, 100, "plus"): 3.0}


def row(n: int, columns: int, variant: str, goal: float | None, runs: int) -> list[str]:
    drawn = simulate(n, columns + 1, random_state=0)
    model = RCI(variant=variant).fit(drawn.X, drawn.y)
    model.diagnose(drawn.X, drawn.y)  # compiles what is left to compile
    fit, model = best_of(runs, lambda: RCI(variant=variant).fit(drawn.X, drawn.y))
    checks, _ = best_of(runs, lambda: model.diagnose(drawn.X, drawn.y))
    met = "" if goal is None else f"≤ {goal:g} s: {'met' if checks <= goal else 'missed'}"
    held = str(len(model.causal_order_))
    return [f"{n:,}", f"{columns:,}", held, f"{fit:.2f} s", f"{checks:.2f} s", f"{checks / fit:.1f} ×", met]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    print(f"{machine()}; best of {arguments.runs}\n")
    header = ["n", "columns", "in the model", "fit", "checks", "checks / fit", "goal"]
    print(table(header, [row(*cell, goal, arguments.runs) for cell, goal in CELLS.items()]))


if __name__ == "__main__":
    main()
