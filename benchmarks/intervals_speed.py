"""How long do intervals, a what-if and the page of many patients take? Best of several runs, in one process.

    python benchmarks/intervals_speed.py --before ../older/src

With another checkout, both answer about the same patients by the same model file, and have to agree.
"""

from __future__ import annotations

import argparse
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from measure import best_of, machine, table
from older import older

import rootcausal

AGREE = 1e-12


def write_model(X: np.ndarray, y: np.ndarray, resamples: int, path: Path) -> None:
    rootcausal.RCI(variant="plus").fit(X, y).bootstrap(resamples, n_jobs=-1).save(path)


def asked(package: ModuleType, path: Path, X: np.ndarray, page: Path) -> dict[str, Callable[[], Any]]:
    model = package.load(path)
    explanation = model.explain(X)
    return {
        "explain": lambda: model.explain(X),
        "what_if": lambda: explanation.what_if(0),
        "page": lambda: model.report(X, page, target="died"),
    }


def farthest(one: Any, other: Any) -> float:
    """The largest difference of any number of two answers."""
    mine, theirs = (
        {k: v for k, v in vars(each).items() if isinstance(v, np.ndarray)} for each in (one, other)
    )
    assert mine.keys() == theirs.keys()
    differences = [np.abs(mine[name] - theirs[name]).max() for name in mine if mine[name].dtype == np.float64]
    return float(max(differences))


def held(ask: Callable[[], Any]) -> float:
    """MB at the height of a question, beyond its answer."""
    tracemalloc.start()
    answer = ask()
    left, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del answer
    return (peak - left) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--variables", type=int, default=100)
    parser.add_argument("--bootstrap", type=int, default=200)
    parser.add_argument("--learned-from", type=int, default=500, help="rows that model and resamples see")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--before", help="folder src of another checkout, to compare with")
    options = parser.parse_args()
    random = np.random.default_rng(0)
    X = random.laplace(size=(options.rows, options.variables))
    for column in range(1, options.variables):
        X[:, column] += 0.4 * X[:, column - 1]
    y = (X[:, :5].sum(axis=1) + random.logistic(size=options.rows) > 0).astype(int)
    packages = {"now": rootcausal} | ({} if options.before is None else {"before": older(options.before)})
    print(
        f"{machine()}; {X.shape[0]:,} × {X.shape[1]}, {options.bootstrap} resamples; best of {options.runs}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.rci"
        write_model(X[: options.learned_from], y[: options.learned_from], options.bootstrap, path)
        questions = {
            when: asked(package, path, X, Path(folder) / "page.html") for when, package in packages.items()
        }
        rows = []
        for name in questions["now"]:
            found = {when: best_of(options.runs, ask[name]) for when, ask in questions.items()}
            seconds = {when: took for when, (took, _) in found.items()}
            ratio = ""
            if options.before is not None:
                ratio = f"{seconds['before'] / seconds['now']:.1f} ×"
                if name != "page":
                    apart = farthest(found["now"][1], found["before"][1])
                    assert apart <= AGREE, f"{name}: the answers are {apart:.1e} apart"
            beyond = f"{held(questions['now'][name]):.0f} MB"
            rows.append([name, *(f"{took:.2f} s" for took in seconds.values()), ratio, beyond])
    print(table(["", *packages, "faster", "held beyond the answer, now"], rows))


if __name__ == "__main__":
    main()
