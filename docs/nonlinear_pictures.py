"""Draws pictures of "Nonlinear relations": python docs/nonlinear_pictures.py [framingham.csv]."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("svg")

from matplotlib.figure import Figure

from rootcausal import RCI, plots
from rootcausal.data import load_framingham, load_pbc

if TYPE_CHECKING:
    from rootcausal.data import RealCohort

IMAGES = Path(__file__).parent / "img"
PBC = {"bili": "mg/dl", "copper": "µg/day", "chol": "mg/dl", "platelet": "per ml/1000", "albumin": "g/dl"}


def save(figure: Figure, name: str) -> None:
    # Fixed names inside the file, and no date: the same cohort draws the same picture.
    matplotlib.rcParams["svg.hashsalt"] = name
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})


def side_by_side(name: str, cohort: RealCohort) -> RCI:
    """The graph of linear equations beside that of nonlinear ones."""
    table = cohort.to_frame().select(list(cohort.feature_names))
    figure = Figure(figsize=(13, 0.42 * len(cohort.feature_names) + 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    linear = RCI(knowledge=cohort.knowledge, mechanism="linear").fit(table, cohort.y)
    nonlinear = RCI(knowledge=cohort.knowledge, mechanism="nonlinear").fit(table, cohort.y)
    plots.graph(linear, ax=left).set_title("linear", loc="left")
    plots.graph(nonlinear, ax=right).set_title("nonlinear", loc="left")
    save(figure, f"graph-nonlinear-{name}")
    return nonlinear


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else None
    model = side_by_side("pbc", load_pbc())
    figure = Figure(figsize=(12, 6.4), layout="constrained")
    arrows = [
        ("bili", "copper"),
        ("bili", "chol"),
        ("bili", "platelet"),
        ("bili", "albumin"),
        ("bili", None),
        ("age", None),
    ]
    for ax, (cause, effect) in zip(figure.subplots(2, 3).ravel(), arrows, strict=True):
        plots.mechanism(model, cause, effect, units=PBC, ax=ax)
    save(figure, "mechanism-pbc")
    framingham = side_by_side("framingham", load_framingham(path, download=path is None))
    figure = Figure(figsize=(12, 3.3), layout="constrained")
    arrows = [("GLUCOSE_1", "GLUCOSE_2"), ("TOTCHOL_1", "TOTCHOL_2"), ("DIABP_1", None)]
    for ax, (cause, effect) in zip(figure.subplots(1, 3).ravel(), arrows, strict=True):
        plots.mechanism(framingham, cause, effect, ax=ax)
    save(figure, "mechanism-framingham")


if __name__ == "__main__":
    main()
