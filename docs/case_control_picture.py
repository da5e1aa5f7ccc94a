"""Draws img/case-control.svg of the guide: python docs/case_control_picture.py, after the benchmark."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

ROWS = Path(__file__).parent.parent / "results" / "case-control" / "rows.csv"
OUT = Path(__file__).parent / "img" / "case-control.svg"
LINES = {
    "default": ("nothing said of the prevalence", "#777777", "s", "--"),
    "given": ("with the prevalence", "#b3470e", "o", "-"),
}


def main() -> None:
    overlap = defaultdict(list)
    with ROWS.open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            if row["effects"] == "1.5":
                for name in LINES:
                    key = (name, float(row["prevalence"]), int(row["m"]))
                    overlap[key].append(float(row[f"{name}_overlap"]))
    prevalences = sorted({prevalence for _, prevalence, _ in overlap})
    sizes = sorted({m for _, _, m in overlap})
    # Fixed names inside the file, and no date: the same rows draw the same picture.
    pyplot.rcParams["svg.hashsalt"] = "case-control"
    figure, panels = pyplot.subplots(1, len(prevalences), figsize=(8, 3.4), sharey=True, layout="constrained")
    for panel, prevalence in zip(panels, prevalences, strict=True):
        for name, (label, colour, marker, style) in LINES.items():
            means = [sum(overlap[name, prevalence, m]) / len(overlap[name, prevalence, m]) for m in sizes]
            panel.plot(range(len(sizes)), means, style, color=colour, marker=marker, label=label)
        panel.set_title(f"{prevalence:.0%} have the disease", fontsize=10)
        panel.set_xticks(range(len(sizes)), [f"{m:,}" for m in sizes])
        panel.set_xlabel("cases, and as many controls")
        panel.set_ylim(top=1.0)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", linewidth=0.4)
    panels[0].set_ylabel("overlap with the true root causes")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(OUT, metadata={"Date": None})


if __name__ == "__main__":
    main()
