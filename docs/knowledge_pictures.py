"""Draws the graphs of the page "What you know": python docs/knowledge_pictures.py [framingham.csv]."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("svg")

from rootcausal import RCI, plots
from rootcausal.data import load_framingham, load_pbc

if TYPE_CHECKING:
    from rootcausal.data import RealCohort

IMAGES = Path(__file__).parent / "img"
RESAMPLES = 200


def draw(name: str, cohort: RealCohort, knows: bool) -> None:
    table = cohort.to_frame().select(list(cohort.feature_names))
    model = RCI(knowledge=cohort.knowledge if knows else None, mechanism="linear").fit(table, cohort.y)
    # Fixed names inside the file, and no date: the same cohort draws the same picture.
    matplotlib.rcParams["svg.hashsalt"] = name
    figure = plots.graph(model.bootstrap(RESAMPLES, n_jobs=2)).figure
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else None
    framingham = load_framingham(path, download=path is None)
    draw("knowledge-pbc-before", load_pbc(), knows=False)
    draw("knowledge-pbc-after", load_pbc(), knows=True)
    draw("knowledge-framingham-before", framingham, knows=False)
    draw("knowledge-framingham-after", framingham, knows=True)


if __name__ == "__main__":
    main()
