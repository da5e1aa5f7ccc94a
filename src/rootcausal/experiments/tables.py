"""The tables of the experiments, each number beside the paper's own, and how they are written."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from . import paper
from .methods import TREES
from .rows import Row
from .sources import Bent, Synthetic
from .summary import Difference, Mean, cell_rows, mean_of, paired, ratio_of_means, summarise, values

# A table of results, written as Markdown or LaTeX.

LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}

MARKDOWN_SPECIAL = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    **{character: f"\\{character}" for character in "|_*`["},
}


@dataclass(frozen=True)
class Text:
    """A cell: what it says, and whether it is among the best of its row."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class ResultTable:
    """A table with a title, a header, rows of cells, and what must be said beside it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Text]]
    notes: Sequence[str] = field(default=())

    def to_markdown(self) -> str:
        lines = [[_markdown(name) for name in self.header], ["---"] * len(self.header)]
        lines += [
            [f"**{_markdown(cell.text)}**" if cell.bold else _markdown(cell.text) for cell in row]
            for row in self.rows
        ]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        notes = "\n".join(f"- {_markdown(note)}" for note in self.notes)
        return f"**{_markdown(self.title)}**\n\n{table}\n" + (f"\n{notes}\n" if notes else "")

    def to_latex(self) -> str:
        lines = [
            " & ".join(f"\\textbf{{{_latex(cell.text)}}}" if cell.bold else _latex(cell.text) for cell in row)
            for row in self.rows
        ]
        body = "".join(f"  {line} \\\\\n" for line in lines)
        notes = "".join(f"\\par\\footnotesize {_latex(note)}\n" for note in self.notes)
        return (
            f"\\begin{{table}}\n\\centering\n"
            f"\\begin{{tabular}}{{{'r' * len(self.header)}}}\n  \\hline\n"
            f"  {' & '.join(_latex(name) for name in self.header)} \\\\ \\hline\n"
            f"{body}  \\hline\n\\end{{tabular}}\n\\caption{{{_latex(self.title)}}}\n{notes}\\end{{table}}\n"
        )


def _markdown(text: str) -> str:
    # Names of methods and their errors come from the user: none may open a tag, a column or bold type.
    return "".join(MARKDOWN_SPECIAL.get(character, character) for character in " ".join(text.split()))


def _latex(text: str) -> str:
    return "".join(LATEX_SPECIAL.get(character, character) for character in " ".join(text.split()))


# The paper's tables from rows, each number beside the paper's own.

# A squared error this many times the median of its cell comes from a fit that diverged.
DIVERGENT = 100.0
# Means further from the paper's than this are named beside the table.
FAR_FROM_PAPER = 0.1

METHOD_NOTES = {
    "ICA": f"ICA: forests of {TREES} trees, the default of R's randomForest (the paper names no number), "
    "out-of-bag permutation importance case by case. With 100 trees overlap on synthetic data is up to 0.08 "
    "lower (results/comparators).",
    "CO": "CO: how much the graph is pruned decides how many variables pass for ancestors of D. Ours is "
    "pruned by the adaptive lasso with BIC; without pruning overlap is about 0.1 lower, and the paper's "
    "means mostly lie between (results/comparators).",
    "MS": "MS gives one score a variable, the same for every patient. The authors' code recycles that "
    "vector over the matrix of patients, which scrambles patients, and averages its MSE with a counter that "
    "runs on across cells; so the paper's MS column cannot be reproduced from the paper's text, and ours is "
    "higher in overlap. Recycled in that way, ours falls to or below the paper's (results/comparators).",
}

SMALL_DATA_NOTE = (
    "With a compiled kernel a pair of short columns costs less than deciding whether to compare it: on small "
    "tables the variants that prune gain less than in the paper, or lose."
)


def overlap_table(rows: Sequence[Row], methods: Sequence[str]) -> ResultTable:
    """Rank-biased overlap (Table 1a)."""
    published = {
        cell: dict(zip(paper.OVERLAP_METHODS, row, strict=True)) for cell, row in paper.OVERLAP.items()
    }
    lines, far = [], []
    for n, p in _cells(rows, paper.CELLS):
        found = summarise(cell_rows(rows, n, p), methods, "overlap", larger_is_better=True)
        lines.append([*_cell_names(n, p, found), *_cells_beside(found, published[n, p], "{:.3f}")])
        far += [
            f"{method} at n = {n:,}, p = {p}: {found[method].mean - theirs:+.3f}"
            for method, theirs in published[n, p].items()
            if method in found and abs(found[method].mean - theirs) > FAR_FROM_PAPER
        ]
    if far:
        far = [f"More than {FAR_FROM_PAPER} from the paper's mean: {'; '.join(far)}."]
    notes = [
        "Mean ± standard error over data sets, the paper's mean in brackets. Higher is better. Bold: the "
        "best mean, and those that a paired t-test at 0.05/6 does not tell from it.",
        "The paper has 100 data sets a cell. By default we draw 300 where n = 100, where means scatter most.",
        *_method_notes(methods),
        *far,
        *failures(rows),
    ]
    return ResultTable("Rank-biased overlap, synthetic data", ["n", "p", "sets", *methods], lines, notes)


def error_table(rows: Sequence[Row], methods: Sequence[str]) -> ResultTable:
    """Mean squared error of Shapley values (Table 1b)."""
    published = {
        cell: dict(zip(paper.ERROR_METHODS, row, strict=True)) for cell, row in paper.SQUARED_ERROR.items()
    }
    lines, divergent = [], []
    for n, p in _cells(rows, paper.CELLS):
        here = cell_rows(rows, n, p)
        found = summarise(here, methods, "mse", larger_is_better=False)
        lines.append([*_cell_names(n, p, found), *_cells_beside(found, published[n, p], "{:.2e}")])
        divergent += [
            note for method in methods if (note := _divergent(values(here, method, "mse"), n, p, method))
        ]
    notes = [
        "Mean ± standard error over data sets, the paper's mean in brackets. Lower is better. Bold as for "
        "overlap. Variables that a method leaves unranked count as 0.",
        *_method_notes(methods),
        *divergent,
        *failures(rows),
    ]
    title = "Mean squared error of Shapley values, synthetic data"
    return ResultTable(title, ["n", "p", "sets", *methods], lines, notes)


def inset_table(rows: Sequence[Row]) -> ResultTable:
    """RCI on Local Plus and on the original Direct LiNGAM (the inset of Table 1d)."""
    methods = ("RCI", "RCI original")
    lines = []
    for n, p in _cells(rows, paper.CELLS):
        here = cell_rows(rows, n, p)
        found = summarise(here, methods, "overlap", larger_is_better=True)
        gain = paired(values(here, "RCI", "overlap"), values(here, "RCI original", "overlap"))
        lines.append(
            [
                *_cell_names(n, p, found),
                *(Text(_number(found[method], "{:.3f}"), found[method].best) for method in methods),
                Text(f"{gain.mean:+.3f} ± {gain.standard_error:.3f}"),
            ]
        )
    return ResultTable(
        "Rank-biased overlap of RCI on Local Plus and on the original Direct LiNGAM",
        ["n", "p", "sets", "Local Plus", "original", "difference"],
        lines,
        [
            "The paper shows this as a figure only and says that Local Plus is slightly more accurate.",
            *failures(rows),
        ],
    )


def speed_up_table(rows: Sequence[Row]) -> ResultTable:
    """Time of the original Direct LiNGAM over that of each variant (Table 1c)."""
    lines = []
    for n, p in _cells(rows, paper.CELLS):
        here = cell_rows(rows, n, p)
        seconds = {variant: values(here, variant, "seconds") for variant in paper.VARIANTS}
        found = summarise(here, paper.VARIANTS, "seconds", larger_is_better=False)
        line = _cell_names(n, p, found)
        for variant, published in zip(paper.VARIANTS, paper.SPEED_UP[n, p], strict=True):
            ratio, error = ratio_of_means(seconds["original"], seconds[variant])
            text = f"{ratio:.1f} ± {error:.1f} ({published:.1f})" if variant != "original" else "1"
            line.append(Text(text if not math.isnan(ratio) else "failed", found[variant].best))
        lines.append([*line, Text(f"{_number(found['original'], '{:.3g}')} s")])
    notes = [
        "Mean time of the original over mean time of the variant ± standard error, the paper's in brackets; "
        "all four on the same data, with the same kernel, on one thread, taking turns; the shortest of three "
        "runs, or of one where a turn of all four takes more than a second.",
        SMALL_DATA_NOTE,
        *failures(rows),
    ]
    header = ["n", "p", "sets", "Local Plus", "Local", "Plus", "original", "original takes"]
    return ResultTable("Speed-up over the original Direct LiNGAM", header, lines, notes)


def scaling_table(rows: Sequence[Row]) -> ResultTable:
    """Seconds of Local Plus up to p = 1,000 (Table 2)."""
    lines = []
    for n, p in _cells(rows, paper.SCALING_CELLS):
        found = summarise(cell_rows(rows, n, p), ("local_plus",), "seconds", larger_is_better=False)
        ours, published = found["local_plus"], paper.LOCAL_PLUS_SECONDS[n, p]
        lines.append(
            [
                *_cell_names(n, p, found),
                Text(_number(ours, "{:.2g}")),
                Text(f"{published:.4g}"),
                Text(f"{published / ours.mean:.0f} ×" if ours.count else ""),
            ]
        )
    return ResultTable(
        "Seconds for Local Plus",
        ["n", "p", "sets", "ours", "paper", "paper / ours"],
        lines,
        ["One thread here; the paper's machine is not named.", *failures(rows)],
    )


def cohort_table(rows: Sequence[Row], methods: Sequence[str], name: str) -> ResultTable:
    """Overlap with the known causes over bootstrap samples, best first (Figures 2a and 2c)."""
    found = summarise(rows, methods, "overlap", larger_is_better=True)
    reference = values(rows, "RCI", "overlap")
    lines = []
    for method in sorted(methods, key=lambda method: -_or_last(found[method].mean)):
        less = paired(values(rows, method, "overlap"), reference)
        told = f"{less.mean:+.4f} ± {less.standard_error:.4f}" if method != "RCI" and reference else ""
        lines.append(
            [
                Text(method, found[method].best),
                Text(_number(found[method], "{:.4f}"), found[method].best),
                Text(told),
                Text(f"{less.p_value:.1e}" if told else ""),
                Text(str(found[method].count)),
            ]
        )
    notes = [
        "Unweighted overlap; mean ± standard error over bootstrap samples, and the difference from RCI with "
        "the p-value of a paired t-test. Columns are in random order in each sample.",
        paper.COHORT_WORDS[name],
        *_method_notes(methods),
        *failures(rows),
    ]
    return ResultTable(
        f"Rank-biased overlap, {name.upper()}",
        ["method", "overlap", "less RCI", "p", "samples"],
        lines,
        notes,
    )


def cohort_times_table(rows: Sequence[Row], name: str) -> ResultTable:
    """Time of the four variants over bootstrap samples (Figures 2b and 2d)."""
    seconds = {variant: values(rows, variant, "seconds") for variant in paper.VARIANTS}
    found = summarise(rows, paper.VARIANTS, "seconds", larger_is_better=False)
    lines = []
    for variant in paper.VARIANTS:
        ratio, error = ratio_of_means(seconds["original"], seconds[variant])
        times = found[variant]
        lines.append(
            [
                Text(variant, times.best),
                Text(
                    f"{1e3 * times.mean:.3g} ± {1e3 * times.standard_error:.1g}" if times.count else "failed",
                    times.best,
                ),
                Text("1" if variant == "original" else f"{ratio:.2f} ± {error:.2f}" if times.count else ""),
            ]
        )
    return ResultTable(
        f"Time to order the columns, {name.upper()}",
        ["variant", "milliseconds", "speed-up"],
        lines,
        [
            paper.COHORT_WORDS[name],
            "One thread, the shortest of three runs a sample, the variants taking turns.",
            SMALL_DATA_NOTE,
            *failures(rows),
        ],
    )


def _cells(rows: Sequence[Row], wanted: Sequence[paper.Cell]) -> list[paper.Cell]:
    there = {(row.n, row.p) for row in rows}
    return [cell for cell in wanted if cell in there]


def _cell_names(n: int, p: int, found: Mapping[str, Mean]) -> list[Text]:
    counts = sorted({mean.count for mean in found.values()})
    sets = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return [Text(f"{n:,}"), Text(f"{p:,}"), Text(sets)]


def _cells_beside(found: Mapping[str, Mean], published: Mapping[str, float], form: str) -> list[Text]:
    return [
        Text(
            _number(mean, form) + (f" ({form.format(published[method])})" if method in published else ""),
            mean.best,
        )
        for method, mean in found.items()
    ]


def _number(mean: Mean, form: str) -> str:
    if not mean.count:
        return "failed" if mean.failed else ""
    error = "" if math.isnan(mean.standard_error) else f" ± {form.format(mean.standard_error)}"
    failed = f", {mean.failed} failed" if mean.failed else ""
    return form.format(mean.mean) + error + failed


def _or_last(mean: float) -> float:
    return -math.inf if math.isnan(mean) else mean


def _method_notes(methods: Sequence[str]) -> list[str]:
    return [note for name, note in METHOD_NOTES.items() if name in methods]


def _divergent(found: Mapping[int, float], n: int, p: int, method: str) -> str | None:
    errors = np.array(list(found.values()))
    if not errors.size:
        return None
    far = errors > DIVERGENT * np.median(errors)
    if not far.any():
        return None
    return (
        f"{method} at n = {n:,}, p = {p}: {far.sum()} of {errors.size} fits have more than {DIVERGENT:.0f} "
        f"times the median error of their cell (largest {errors.max():.2g}); the mean of the others is "
        f"{errors[~far].mean():.2e}."
    )


def failures(rows: Sequence[Row]) -> list[str]:
    """How many cells failed, and why: each method and error once."""
    why = Counter(f"{row.method} on {row.source}: {row.error}" for row in rows if row.error is not None)
    if not why:
        return []
    return [
        f"{why.total()} of {len(rows)} cells failed, and are in no mean.",
        *(f"{count} × {text}" for text, count in why.most_common()),
    ]


# Tables of what nonlinear mechanisms gain where relations are, and lose where they are not, beside goals.

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
