"""The picture of a causal graph: nodes one below the other, arcs between them, tiers as bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..explaining.graph import GIVEN, SURE_FROM, UNSURE, Arrow, Graph
from .style import HARMFUL, INK, PROTECTIVE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Share of resamples are written beside the arrows where these are few.
ARROWS_WITH_SHARES = 16
GREY, BAND = "#777777", "#f0f0f0"
MARKS = {GIVEN: "■", UNSURE: "?"}
# What is left to an arc of the place between two nodes, so that its head does not lie under a node.
GAP = 0.02
# How far out the longest arc goes, and how far from a node, of the place between two, arcs begin and end.
FARTHEST, NEAREST_END, FARTHEST_END, BETWEEN_ENDS = 0.8, 0.08, 0.34, 0.09


def draw_graph(ax: Axes, graph: Graph, names: Sequence[str], unordered: set[int], adjusted_for: str) -> None:
    """Draw a graph whose nodes have these names, that of the outcome last where there is one.

    ``unordered`` are the places of variables whose levels have no order, ``adjusted_for`` names the
    covariates; empty where there are none.
    """
    n = len(names)
    for number, band in enumerate(graph.bands):
        ax.axhspan(band.first - 0.5, band.last + 0.5, color=BAND if number % 2 == 0 else "white", zorder=0)
        ax.text(1.0, band.first - 0.42, band.name, ha="right", va="top", style="italic", color="#444444")
    widest = max((arrow.effect - arrow.cause for arrow in graph.arrows), default=1)
    few = len(graph.arrows) <= ARROWS_WITH_SHARES
    starts, ends = arc_ends(graph.arrows)
    outcome = [] if graph.into_outcome is None else [n - 1]
    for arrow, start, end in zip(graph.arrows, starts, ends, strict=True):
        bulge = FARTHEST * (arrow.effect - arrow.cause) / widest
        _draw_arrow(ax, arrow, bulge, (start, end), unordered, few, arrow.effect in outcome)
    if graph.bands and outcome:  # it belongs to no tier
        ax.axhline(n - 1.5, color=GREY, linewidth=0.6, zorder=0)
    ax.scatter([0.0] * (n - len(outcome)), range(n - len(outcome)), color=INK, zorder=3)
    ax.scatter([0.0] * len(outcome), outcome, color="white", edgecolor=INK, marker="s", s=60, zorder=3)
    for place, name in enumerate(names):
        ax.annotate(name, (0, place), xytext=(-8, 0), textcoords="offset points", ha="right", va="center")
    ax.set_xlim(-0.6, 1.0)
    ax.set_ylim(max(n, 1) - 0.5, -0.5)
    ax.set_axis_off()
    _explain(ax, graph, names[-1] if names else "", unordered, adjusted_for)


def arc_ends(arrows: Sequence[Arrow]) -> tuple[list[float], list[float]]:
    """Where arcs begin below their causes and end above their effects: those of one node beside each other.

    Of all that begin at a node the longest is the outermost, so it begins nearest to it, lest they cross.
    """
    starts, ends = [0.0] * len(arrows), [0.0] * len(arrows)
    leaving, arriving = dict[int, list[int]](), dict[int, list[int]]()
    for number in sorted(range(len(arrows)), key=lambda n: arrows[n].cause - arrows[n].effect):
        leaving.setdefault(arrows[number].cause, []).append(number)
        arriving.setdefault(arrows[number].effect, []).append(number)
    for places, side, found in ((leaving, 1, starts), (arriving, -1, ends)):
        for node, numbers in places.items():
            step = min(BETWEEN_ENDS, (FARTHEST_END - NEAREST_END) / max(1, len(numbers) - 1))
            for rank, number in enumerate(numbers):
                found[number] = node + side * (NEAREST_END + rank * step)
    return starts, ends


def _arrow_colour(arrow: Arrow, into_outcome: bool) -> str:
    if into_outcome:
        return HARMFUL if arrow.weight > 0 else PROTECTIVE
    return INK if arrow.weight > 0 else GREY


def _draw_arrow(
    ax: Axes,
    arrow: Arrow,
    bulge: float,
    ends: tuple[float, float],
    unordered: set[int],
    few: bool,
    into_outcome: bool,
) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    start, end = ends
    # A Bezier curve goes out three quarters of the way to the points that pull it.
    pull = GAP + bulge * 4 / 3
    bend = [(GAP, start), (pull, start), (pull, end), (GAP, end)]
    ax.add_patch(
        FancyArrowPatch(
            path=Path(bend, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]),
            arrowstyle="->" if arrow.state == UNSURE else "-|>",
            mutation_scale=10,
            linewidth=0.6 + 3 * min(arrow.strength, 1.0),
            linestyle=_line(arrow, unordered),
            color=_arrow_colour(arrow, into_outcome),
        )
    )
    words = [MARKS[arrow.state]] if arrow.state in MARKS else []
    if few and arrow.resamples is not None:
        # Rounded down: 159 of 200 are under 80 %, and 199 are not all.
        words.append(f"{100 * arrow.times // arrow.resamples}%")
    if words:
        text = ax.text(
            GAP + bulge,
            (start + end) / 2,
            " ".join(words),
            ha="center",
            va="center",
            fontsize="small",
            zorder=4,
        )
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "boxstyle": "round,pad=0.1"})


def _line(arrow: Arrow, unordered: set[int]) -> Any:
    return ":" if {arrow.cause, arrow.effect} & unordered else "-" if arrow.weight > 0 else (0, (3, 2))


def _explain(ax: Axes, graph: Graph, outcome: str, unordered: set[int], adjusted_for: str) -> None:
    """Say in words below the picture what the lines and marks in it mean."""
    from matplotlib.lines import Line2D

    lines = {_line(arrow, unordered) for arrow in graph.edges}
    meaning: dict[Any, str] = {
        "-": "more of the cause, more of the effect",
        (0, (3, 2)): "more of the cause, less of the effect",
        ":": "levels without an order",
    }
    said = [
        Line2D([], [], color=GREY if style == (0, (3, 2)) else "black", linestyle=style, label=words)
        for style, words in meaning.items()
        if style in lines
    ]
    ways = {arrow.weight > 0 for arrow in graph.into_outcome or ()}
    if True in ways:
        said.append(Line2D([], [], color=HARMFUL, linestyle="-", label=f"raises {outcome}"))
    if False in ways:
        said.append(Line2D([], [], color=PROTECTIVE, linestyle=(0, (3, 2)), label=f"lowers {outcome}"))
    states = {arrow.state for arrow in graph.arrows}
    if GIVEN in states:
        said.append(_mark(MARKS[GIVEN], "direction given, not learned"))
    if UNSURE in states:
        said.append(_mark(MARKS[UNSURE], f"unsure: in under {SURE_FROM:.0%} of {graph.resamples} resamples"))
    if graph.resamples is not None and len(graph.arrows) <= ARROWS_WITH_SHARES and graph.arrows:
        said.append(_mark("%", f"of {graph.resamples} resamples have it, pointing this way"))
    if not graph.arrows:
        said.append(Line2D([], [], linestyle="none", label="no direct effect is strong enough to draw"))
    title = f"adjusted for: {adjusted_for}" if adjusted_for else None
    if said or title:
        ax.legend(
            handles=said,
            title=title,
            frameon=False,
            fontsize="small",
            ncols=2,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
        )


def _mark(mark: str, label: str) -> Any:
    from matplotlib.lines import Line2D

    # Between dollar signs matplotlib sets a text as a marker.
    shape = {"■": "s", "?": r"$?$", "%": r"$\%$"}[mark]
    return Line2D([], [], color="black", marker=shape, linestyle="none", markersize=6, label=label)
