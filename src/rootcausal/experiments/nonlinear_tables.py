"""Tables of what nonlinear mechanisms gain where relations are, and lose where they are not, beside goals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from . import paper
from .paper_tables import failures
from .rows import Row
from .sources import Bent, Synthetic
from .summary import Difference, mean_of, paired, summarise, values
from .table_text import ResultTable, Text

LINEAR, NONLINEAR, AUTO = "RCI linear", "RCI nonlinear", "RCI auto"
METHODS = (LINEAR, NONLINEAR, AUTO)
ON_LINES = (LINEAR, AUTO)
# On straight relations, choosing by itself may cost so much overlap.
WITHIN = 0.01


@dataclass(frozen=True)
class Goal:
    """What was aimed at in a cell: an overlap of the bent mechanism, and a gain over the linear one."""

    source: Bent
    overlap: float
    gain: float


GOALS = (
    Goal(Bent(500, 10, heteroscedastic=True), overlap=0.80, gain=0.08),
    Goal(Bent(500, 20, heteroscedastic=True), overlap=0.74, gain=0.08),
    Goal(Bent(2_000, 10, heteroscedastic=True), overlap=0.87, gain=0.12),
    Goal(Bent(2_000, 20, heteroscedastic=True), overlap=0.84, gain=0.12),
    Goal(Bent(500, 10, heteroscedastic=False), overlap=0.79, gain=0.08),
    Goal(Bent(500, 20, heteroscedastic=False), overlap=0.72, gain=0.08),
)


def gain_table(rows: Sequence[Row], methods: Sequence[str]) -> ResultTable:
    """Overlap on bent relations, and the paired gains over the linear default."""
    lines = []
    for goal in GOALS:
        here = [row for row in rows if row.source == goal.source.name]
        if not here:
            continue
        found = summarise(here, methods, "overlap", larger_is_better=True)
        overlap = {name: values(here, name, "overlap") for name in METHODS}
        gain = paired(overlap[NONLINEAR], overlap[LINEAR])
        by_auto = paired(overlap[AUTO], overlap[LINEAR])
        lines.append(
            [
                Text("uneven" if goal.source.heteroscedastic else "even"),
                Text(f"{goal.source.n:,}"),
                Text(str(goal.source.p)),
                Text(str(max(mean.count + mean.failed for mean in found.values()))),
                *(Text(_mean(here, name), found[name].best) for name in methods),
                Text(_verdict(mean_of(list(overlap[NONLINEAR].values()))[0], goal.overlap)),
                Text(_difference(gain)),
                Text(_verdict(gain.mean, goal.gain)),
                Text(_difference(by_auto)),
                Text(_taken(here)),
            ]
        )
    header = [
        *("spread", "n", "p", "sets", *methods, "overlap goal", "gain", "gain goal"),
        *("gain of auto", "auto took nonlinear"),
    ]
    notes = [
        "Rank-biased overlap with the true Shapley values (log-odds) of those with the diagnosis, mean ± "
        "standard error over data sets of rootcausal.data.simulate_nonlinear. Higher is better. Bold: the "
        "best mean, and those that a paired t-test at 0.05/6 does not tell from it.",
        "RCI linear, RCI nonlinear and RCI auto are RCI(mechanism=...), auto the default. Spread: whether "
        "that of an error depends on the parents (uneven, heteroscedastic) or not (even).",
        "Gain: RCI nonlinear less RCI linear, data set by data set, ± standard error. A goal is met where "
        "the mean reaches it, whatever its standard error. Data sets of a cell differ more than methods do: "
        "the gain says more than the overlap.",
        *failures(rows),
    ]
    return ResultTable("Rank-biased overlap where relations bend", header, lines, notes)


def lines_table(rows: Sequence[Row]) -> ResultTable:
    """What choosing the mechanism by itself costs on the paper's straight relations."""
    lines = []
    for n, p in paper.CELLS:
        here = [row for row in rows if row.source == Synthetic(n, p).name]
        if not here:
            continue
        overlap = {name: values(here, name, "overlap") for name in ON_LINES}
        less = paired(overlap[AUTO], overlap[LINEAR])
        lines.append(
            [
                Text(f"{n:,}"),
                Text(str(p)),
                Text(str(len(overlap[AUTO]))),
                *(Text(_mean(here, name)) for name in ON_LINES),
                Text(_difference(less)),
                Text(_verdict(less.mean, -WITHIN)),
                Text(_taken(here)),
            ]
        )
    return ResultTable(
        "Rank-biased overlap where relations are straight (the paper's data)",
        ["n", "p", "sets", *ON_LINES, "difference", "goal", "auto took nonlinear"],
        lines,
        ["Of all patients. Difference: RCI auto less RCI linear, data set by data set, ± standard error."],
    )


def _mean(rows: Sequence[Row], method: str) -> str:
    mean, error = mean_of(list(values(rows, method, "overlap").values()))
    return "failed" if math.isnan(mean) else f"{mean:.3f} ± {error:.3f}"


def _difference(found: Difference) -> str:
    return "" if math.isnan(found.mean) else f"{found.mean:+.3f} ± {found.standard_error:.3f}"


def _verdict(found: float, goal: float) -> str:
    if math.isnan(found):
        return ""
    return f"{'met' if found >= goal else 'missed'} (≥ {goal:.2f})"


def _taken(rows: Sequence[Row]) -> str:
    chosen = [row.mechanism for row in rows if row.method == AUTO and row.mechanism is not None]
    return f"{chosen.count('nonlinear')} of {len(chosen)}" if chosen else ""
