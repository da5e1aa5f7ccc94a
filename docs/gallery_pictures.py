"""Draws the figures of the gallery: python docs/gallery_pictures.py; ``--png FOLDER`` to look at."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("agg")
import pandas as pd
from long_names import MEASUREMENTS

from rootcausal import RCI, RCISurvival, plots
from rootcausal.data import load_pbc, simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rootcausal import Explanation

IMAGES = Path(__file__).parent / "img" / "gallery"
RESAMPLES = 200
LABELS = {
    "age": "Age",
    "bili": "Bilirubin",
    "chol": "Cholesterol",
    "albumin": "Albumin",
    "copper": "Urine copper",
    "alk.phos": "Alkaline phosphatase",
    "ast": "Aspartate aminotransferase",
    "trig": "Triglycerides",
    "platelet": "Platelets",
    "protime": "Prothrombin time",
}


def pbc() -> dict[str, Axes]:
    cohort = load_pbc()
    X = pd.DataFrame(cohort.X, columns=cohort.feature_names)
    model = RCI(knowledge=cohort.knowledge, mechanism="linear").fit(X, cohort.y).bootstrap(RESAMPLES)
    words = {"labels": LABELS, "units": cohort.units, "target": "death"}
    explanation = model.explain(X, ids=cohort.ids)
    return figures(model, explanation, 10, words) | {
        "tutorial-waterfall": plots.waterfall(explanation, 10, units=cohort.units, target="death"),
        "survival": times(words),
        "shap": by_shap(explanation),
    }


def by_shap(explanation: Explanation) -> Axes:
    """The same patient by shap's own waterfall."""
    import shap

    return shap.plots.waterfall(explanation.to_shap()[explanation.ids.index(10)], show=False)


def times(words: dict[str, object]) -> Axes:
    cohort = load_pbc(follow_up=True)
    X = pd.DataFrame(cohort.X, columns=cohort.feature_names)
    model = RCISurvival(horizon=5, knowledge=cohort.knowledge, mechanism="linear").fit(
        X, cohort.years, cohort.y
    )
    explanation = model.bootstrap(RESAMPLES).explain(X, ids=cohort.ids)
    return plots.survival(explanation, 10, **words | {"units": cohort.units | {"time": "years"}})


def long_names() -> dict[str, Axes]:
    """30 variables whose names are as long as those of a laboratory, some of them alike but for one word."""
    cohort = simulate(n_samples=1000, n_variables=len(MEASUREMENTS) + 1, random_state=9)
    units, means, deviations = zip(*MEASUREMENTS.values(), strict=True)
    values = cohort.X / cohort.X.std(axis=0) * deviations + means
    X = pd.DataFrame(values, columns=list(MEASUREMENTS))
    model = RCI().fit(X, cohort.y).bootstrap(RESAMPLES)
    explanation = model.explain(X, ids=[f"patient-{row:04d}" for row in range(len(X))])
    words = {"units": dict(zip(X.columns, units, strict=True)), "target": "readmission within 30 days"}
    return figures(model, explanation, "patient-0042", words) | {
        "whole": plots.graph(RCI(alpha=1.0).fit(X, cohort.y), top=30, **words)
    }


def figures(
    model: RCI, explanation: Explanation, patient: object, words: dict[str, object]
) -> dict[str, Axes]:
    return {
        "waterfall": plots.waterfall(explanation, patient, **words),
        "beeswarm": plots.beeswarm(explanation, **words),
        "prevalence": plots.prevalence(explanation, **words),
        "heatmap": plots.heatmap(explanation, **words),
        "graph": plots.graph(model, **words),
        "forest": plots.forest(model, **words),
    }


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--png", type=Path, metavar="FOLDER")
    folder = arguments.parse_args().png
    kind, out = ("svg", IMAGES) if folder is None else ("png", folder)
    out.mkdir(parents=True, exist_ok=True)
    for name, drawn in (("pbc", pbc()), ("long", long_names())):
        for figure, ax in drawn.items():
            path = out / f"{name}-{figure}.{kind}"
            # Fixed names inside the file, and no date: the same cohort draws the same picture.
            matplotlib.rcParams["svg.hashsalt"] = path.stem
            metadata, dpi = ({"Date": None}, 200) if kind == "svg" else (None, 110)
            tight = "tight" if figure == "shap" else None  # it lays out nothing itself
            ax.figure.savefig(path, dpi=dpi, metadata=metadata, bbox_inches=tight)
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
