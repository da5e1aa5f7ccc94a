"""How much faster is the compiled local importance than one prediction for each source?

    python benchmarks/local_importance.py

Both are timed in turn in one process, on the same trees and permutations, so that the ratio holds on a
busy machine too; the best of several runs counts.
"""

from __future__ import annotations

import numpy as np
from measure import best_of, machine, table
from sklearn.ensemble import RandomForestClassifier

from rootcausal.comparators.local_importance import lost_votes, plain_lost_votes

CELLS = [(1000, 9), (1000, 99), (10_000, 99)]
N_TREES = 5
RUNS = 3


def main() -> None:
    rows = [ratio(n, p) for n, p in CELLS]
    print(f"{machine()}; {N_TREES} trees, best of {RUNS} runs\n")
    print(table(["patients", "sources", "plain", "compiled", "ratio"], rows))


def ratio(n: int, p: int) -> list[str]:
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(n, p)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=n) > 2.0).astype(np.intp)
    trees = RandomForestClassifier(N_TREES, random_state=0).fit(X, y).estimators_
    others = rng.permuted(X, axis=0)
    lost_votes(trees[0], X, others, y)  # compiles
    fast = slow = np.inf
    for _ in range(RUNS):
        once, ours = best_of(1, lambda: [lost_votes(tree, X, others, y) for tree in trees])
        fast = min(fast, once)
        once, oracle = best_of(1, lambda: [plain_lost_votes(tree, X, others, y) for tree in trees])
        slow = min(slow, once)
    if not np.array_equal(ours, oracle):
        raise SystemExit("the compiled loop and scikit-learn's predictions differ")
    return [f"{n:,}", str(p), f"{slow * 1e3:.1f} ms", f"{fast * 1e3:.1f} ms", f"{slow / fast:.0f} ×"]


if __name__ == "__main__":
    main()
