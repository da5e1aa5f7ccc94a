"""How much faster is a search that knows tiers? Both sides in one process, best of several runs.

python benchmarks/knowledge_speed.py
python benchmarks/knowledge_speed.py --backend cupy
"""

from __future__ import annotations

import argparse
from graphlib import TopologicalSorter

import numpy as np
from measure import best_of, machine, table

from rootcausal.backends.choose import choose_table
from rootcausal.data import simulate
from rootcausal.method.layout import Layout
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering.ordering import VARIANTS, Ordering, order_columns
from rootcausal.method.ordering.precedence import FIRST, Precedence
from rootcausal.outcomes.binary import Binary

TIERS = 5
CELLS = [(199, 1000), (499, 2000), (999, 10_000)]


def true_tiers(adjacency: np.ndarray) -> np.ndarray:
    """(p,) the tier of each column: a causal order of the graph, cut into equal parts."""
    p = len(adjacency)
    order = list(TopologicalSorter({c: np.flatnonzero(adjacency[c]) for c in range(p)}).static_order())
    tier = np.empty(p, dtype=np.intp)
    tier[order] = FIRST + 1 + np.arange(p) * TIERS // p
    return tier


def row(p: int, n: int, variant: str, backend: str, runs: int) -> list[str]:
    drawn = simulate(n, p + 1, random_state=0)
    raw = choose_table(backend, drawn.X, drawn.y)
    columns = describe_columns(raw)
    outcome = Binary.of_moments(columns.moments)
    known = Layout.numbers(p).knowing(Precedence.of(true_tiers(drawn.adjacency)))

    def order(layout: Layout) -> Ordering:
        return order_columns(raw, columns, VARIANTS[variant], 0.2, layout=layout, outcome=outcome)

    order(known)  # compiles
    with_tiers, found = best_of(runs, lambda: order(known))
    without, learned = best_of(runs, lambda: order(Layout.numbers(p)))
    return [
        variant,
        f"{p:,}",
        f"{n:,}",
        f"{without:.2f} s",
        f"{with_tiers:.2f} s",
        f"{without / with_tiers:.1f} ×",
        f"{learned.n_pairs / found.n_pairs:.1f} ×",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--backend", default="numba", choices=["numba", "cupy"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--variants", nargs="+", default=["plus", "local_plus"])
    arguments = parser.parse_args()
    print(f"{machine()}; backend {arguments.backend}, best of {arguments.runs}; {TIERS} tiers")
    header = ["variant", "p", "n", "nothing known", "tiers known", "faster", "fewer pairs"]
    rows = [
        row(p, n, variant, arguments.backend, arguments.runs)
        for variant in arguments.variants
        for p, n in CELLS
    ]
    print(table(header, rows))


if __name__ == "__main__":
    main()
