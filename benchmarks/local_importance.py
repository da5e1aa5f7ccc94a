"""How much faster are our forest than scikit-learn's, and its local importance than one prediction a source?

    python benchmarks/local_importance.py

All are timed in turn in one process, on the same draws, so that the ratios hold on a busy machine too; the
best of several runs counts.
"""

from __future__ import annotations

import numpy as np
from measure import best_of, machine, table
from sklearn.ensemble import RandomForestClassifier

from rootcausal.comparators.forest import Forest, grow_forest
from rootcausal.comparators.local_importance import out_of_bag_importance, plain_lost_votes

CELLS = [(1000, 9), (1000, 99), (10_000, 99)]
N_TREES = 5
RUNS = 3


def main() -> None:
    rows = [times(n, p) for n, p in CELLS]
    print(f"{machine()}; milliseconds a tree, best of {RUNS} runs of {N_TREES} trees\n")
    head = ["patients", "sources", "scikit-learn's tree", "our tree", "plain importance", "compiled"]
    print(table(head, rows))


def times(n: int, p: int) -> list[str]:
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(n, p)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=n) > 2.0).astype(np.intp)
    forest = grow_forest(X, y, N_TREES, 0)
    out_of_bag_importance(forest, X, y, 0)  # compiles
    work = (
        lambda: RandomForestClassifier(N_TREES, random_state=0).fit(X, y),
        lambda: grow_forest(X, y, N_TREES, 0),
        lambda: plain_importance(forest, X, y),
        lambda: out_of_bag_importance(forest, X, y, 0),
    )
    best, found = [np.inf] * len(work), [None] * len(work)
    for _ in range(RUNS):
        for k, call in enumerate(work):
            seconds, found[k] = best_of(1, call)
            best[k] = min(best[k], seconds)
    if not np.array_equal(found[2], found[3]):
        raise SystemExit("the compiled loop and plain predictions differ")
    return [f"{n:,}", str(p), *(f"{seconds / N_TREES * 1e3:.1f}" for seconds in best)]


def plain_importance(forest: Forest, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The same draws, and one prediction for each source."""
    lost, trees = np.zeros(X.shape, dtype=np.int64), np.zeros(len(X), dtype=np.int64)
    for number, (tree, out_of_bag) in enumerate(zip(forest.trees, forest.out_of_bag, strict=True)):
        rng = np.random.default_rng((0, number))
        circle = rng.permutation(out_of_bag)
        steps = rng.integers(1, circle.size, size=X.shape[1])
        others = np.column_stack([np.roll(X[circle, source], -step) for source, step in enumerate(steps)])
        lost[circle] += plain_lost_votes(tree, X[circle], others, y[circle])
        trees[circle] += 1
    return lost / np.maximum(trees, 1)[:, np.newaxis]


if __name__ == "__main__":
    main()
