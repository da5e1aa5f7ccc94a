"""The paper's figures from rows, with 95 % intervals; markers and lightness differ, so that grey will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import paper
from .methods import METHODS
from .rows import Row
from .summary import cell_rows, half_width, ratio_of_means, summarise, values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "osD^vP*X<>hd"
COLOURS = ("#c2500a", "#3b6ea5", "#7a9e3d", "#8b5fa8", "#2a2a2a", "#d1a11f", "#6f9fc8", "#a33b5c")
OURS, PAPER = "#c2500a", "#8a8a8a"


def accuracy_figure(rows: Sequence[Row], methods: Sequence[str], metric: str, label: str) -> Figure:
    """One panel a dimension: the metric of each method against the number of patients."""
    figure, panels = _panels([f"p = {p}" for p in paper.DIMENSIONS])
    for p, panel in zip(paper.DIMENSIONS, panels, strict=True):
        for method in methods:
            found = [
                (n, summarise(here, [method], metric, larger_is_better=True)[method])
                for n in paper.SIZES
                if (here := cell_rows(rows, n, p))
            ]
            _line(
                panel,
                [(n, mean.mean, mean.half_width) for n, mean in found if mean.count],
                method,
                _place(method, methods),
            )
        panel.set(xscale="log", xlabel="patients (n)")
    panels[0].set_ylabel(label)
    if metric == "mse":
        panels[0].set_yscale("log")
    return _with_legend(figure, panels[0])


def speed_up_figure(rows: Sequence[Row]) -> Figure:
    """One panel a number of patients: speed-up of each variant against the number of variables."""
    figure, panels = _panels([f"n = {n:,}" for n in paper.SIZES])
    for n, panel in zip(paper.SIZES, panels, strict=True):
        for place, variant in enumerate(paper.VARIANTS[:-1]):
            points = []
            for p in paper.DIMENSIONS:
                here = cell_rows(rows, n, p)
                original, faster = (values(here, name, "seconds") for name in ("original", variant))
                if common := original.keys() & faster.keys():
                    ratio, error = ratio_of_means(original, faster)
                    points.append((p, ratio, half_width(error, len(common))))
            _line(panel, points, variant, place)
            published = [paper.SPEED_UP[n, p][place] for p in paper.DIMENSIONS]
            panel.plot(
                paper.DIMENSIONS, published, color=COLOURS[place], linestyle=":", label=f"{variant}, paper"
            )
        panel.axhline(1.0, color="black", linewidth=0.6)
        panel.set(xlabel="variables (p)", yscale="log")
    panels[0].set_ylabel("times faster than the original")
    return _with_legend(figure, panels[0])


def scaling_figure(rows: Sequence[Row]) -> Figure:
    """Seconds of Local Plus against the number of variables, with the paper's."""
    figure, (panel,) = _panels(["Local Plus"], width=5.5)
    for place, n in enumerate(paper.SIZES):
        points = []
        for p in sorted({p for _, p in paper.SCALING_CELLS}):
            found = summarise(cell_rows(rows, n, p), ["local_plus"], "seconds", larger_is_better=False)
            mean = found["local_plus"]
            if mean.count:
                points.append((p, mean.mean, mean.half_width))
        _line(panel, points, f"n = {n:,}", place)
        published = [(p, seconds) for (m, p), seconds in paper.LOCAL_PLUS_SECONDS.items() if m == n]
        panel.plot(
            *zip(*published, strict=True), color=COLOURS[place], linestyle=":", label=f"n = {n:,}, paper"
        )
    panel.set(xscale="log", yscale="log", xlabel="variables (p)", ylabel="seconds")
    return _with_legend(figure, panel)


def cohort_figure(rows: Sequence[Row], times: Sequence[Row], methods: Sequence[str]) -> Figure:
    """Accuracy of the methods and speed of the variants, best first."""
    figure, (accuracy, timing) = _panels(["accuracy", "speed"], shared=False)
    overlap = summarise(rows, methods, "overlap", larger_is_better=True)
    bars = sorted((mean.mean, mean.half_width, method) for method, mean in overlap.items() if mean.count)
    _bars(accuracy, bars[::-1])
    accuracy.set_ylabel("rank-biased overlap")
    original = values(times, "original", "seconds")
    speeds = []
    for variant in paper.VARIANTS:
        seconds = values(times, variant, "seconds")
        if common := original.keys() & seconds.keys():
            ratio, error = ratio_of_means(original, seconds)
            speeds.append((ratio, half_width(error, len(common)), variant))
    _bars(timing, sorted(speeds, reverse=True))
    timing.set_ylabel("times faster than the original")
    return figure


def _place(method: str, methods: Sequence[str]) -> int:
    """Which colour and marker: a method of the paper looks the same in every figure."""
    known = list(METHODS)
    return known.index(method) if method in known else len(known) + methods.index(method)


def _panels(titles: Sequence[str], *, width: float = 3.6, shared: bool = True) -> tuple[Figure, list[Axes]]:
    # Without pyplot: nothing is left open, and no display is needed.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * len(titles), 3.6), layout="constrained")
    panels = figure.subplots(1, len(titles), sharey=shared, squeeze=False)[0]
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title, fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, list(panels)


def _line(panel: Axes, points: Sequence[tuple[float, float, float]], label: str, place: int) -> None:
    if points:
        x, y, half = zip(*points, strict=True)
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        panel.errorbar(
            x, y, yerr=half, label=label, color=colour, marker=marker, markersize=4, capsize=2, linewidth=1.2
        )


def _bars(panel: Axes, bars: Sequence[tuple[float, float, str]]) -> None:
    heights, half, names = zip(*bars, strict=True) if bars else ((), (), ())
    colours = [OURS if name in ("RCI", "local_plus") else PAPER for name in names]
    panel.bar(names, heights, yerr=half, color=colours, edgecolor="black", linewidth=0.6, capsize=3)
    panel.tick_params(axis="x", labelrotation=45)


def _with_legend(figure: Figure, panel: Axes) -> Figure:
    figure.legend(*panel.get_legend_handles_labels(), loc="outside right upper", fontsize=8, frameon=False)
    return figure
