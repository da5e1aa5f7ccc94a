"""How long the attribution of a cohort takes once its columns are ordered, and what the parts of it take.

python benchmarks/attribution_speed.py                            # this checkout
python benchmarks/attribution_speed.py --before ../older/src      # beside another one, in this process
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from measure import best_of, machine, table
from older import module_of, older

import rootcausal
from rootcausal.data import load_pbc, simulate

# At least so many runs of each part, and as many more as take about a second.
RUNS = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", help="src of another checkout, to time as well")
    arguments = parser.parse_args()
    packages = [rootcausal] if arguments.before is None else [older(arguments.before), rootcausal]
    pbc = load_pbc()
    cohorts = {"PBC, 258 × 10": (pbc.X, pbc.y)}
    for p in (50, 999):
        drawn = simulate(1000, p, random_state=1)
        cohorts[f"simulated, 1,000 × {p - 1}"] = (drawn.X, drawn.y)
    rows = []
    for name, (X, y) in cohorts.items():
        timed = [times(package, X, y) for package in packages]
        for part in timed[0]:
            seconds = [one[part] for one in timed]
            cells = [f"{1e3 * one:.3g}" for one in seconds]
            ratio = [f"{seconds[0] / seconds[1]:.1f} ×"] if len(seconds) > 1 else []
            rows.append([name, part, *cells, *ratio])
    header = ["cohort", "part", *(["before, ms"] if arguments.before else []), "now, ms"]
    print(f"{machine()}; best of {RUNS} or more; load average {os.getloadavg()[0]:.1f}\n")
    print(table(header + (["speed-up"] if arguments.before else []), rows))


def times(package: ModuleType, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Seconds of each part, with the package's own ordering of the cohort."""
    pipeline, regression = module_of(package, "core.pipeline"), module_of(package, "core.spike_slab")
    causes = module_of(package, "core.direct_causes")
    ordering, n_columns, outcome = asked(package, pipeline, X, y)
    loss = outcome.loss(ordering.table, ordering.table_cols)
    k = len(ordering.mixing)
    prior = regression.Prior.nothing_known(k, 3.0, n_columns, outcome.variance)
    search = causes._Search(loss, 0, ordering.mixing)
    quadratic = search.quadratic(search.stand(np.zeros(k), loss.start))
    start = regression.Posterior.before(prior)
    parts: dict[str, Callable[[], Any]] = {
        "sums over rows": lambda: loss.sums(np.append(np.zeros(k), loss.start)),
        "infer": lambda: loss.loops.infer(quadratic.curvature, quadratic.slope, prior, start, True),
        "find_direct_causes": lambda: causes.find_direct_causes(loss, ordering.mixing, prior, loss.start),
    }
    for method in ("sharp", "paper"):
        attribute = pipeline.ATTRIBUTIONS[method].attribute
        parts[f'attribution, "{method}"'] = lambda ask=attribute: ask(ordering, n_columns, outcome)
        if k < 50:
            parts[f'whole fit, "{method}"'] = lambda name=method: package.RCI(attribution=name).fit(X, y)
    return {f"{name}, {k} columns": best(work) for name, work in parts.items()}


def asked(package: ModuleType, pipeline: Any, X: np.ndarray, y: np.ndarray) -> tuple[Any, int, Any]:
    """What a fit asks of the default attribution."""
    kept: list[tuple[Any, int, Any]] = []
    method = pipeline.ATTRIBUTIONS["sharp"]

    def keep(*question: Any) -> Any:
        kept.append(question)
        return method.attribute(*question)

    pipeline.ATTRIBUTIONS["sharp"] = replace(method, attribute=keep)
    package.RCI().fit(X, y)
    pipeline.ATTRIBUTIONS["sharp"] = method
    return kept[0]


def best(work: Callable[[], Any]) -> float:
    work()  # whatever is compiled or read once
    once, _ = best_of(2, work)
    return best_of(max(RUNS, min(500, int(1.0 / once))), work)[0]


if __name__ == "__main__":
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    main()
