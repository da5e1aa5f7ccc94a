"""Which data sets, methods and tables make each experiment. To add one: a function, and a line at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import paper
from . import tables as nonlinear_tables
from . import tables as paper_tables
from .methods import METHODS, families
from .rows import Row
from .runner import Accuracy, Task, Timing
from .sources import CohortSource, Resampled, Synthetic
from .tables import ResultTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATA_SETS, RESAMPLES = 100, 1_000
# Overlaps scatter most with few patients, where a data set costs least: there we draw more than the paper.
ACCURACY_DATA_SETS = {100: 300}
QUICK_DATA_SETS, QUICK_RESAMPLES = 3, 20
BENT_DATA_SETS = 30


@dataclass(frozen=True)
class Scope:
    """How much is run.

    Attributes
    ----------
    reps : data sets a cell, or bootstrap samples; None for as many as the paper has, or more.
    methods : names; None for all that the paper has.
    quick : few data sets, to see everything in minutes.
    framingham : path of the Framingham table; None for the cached one, or else a download.
    seed : of everything.
    """

    reps: int | None = None
    methods: tuple[str, ...] | None = None
    quick: bool = False
    framingham: str | None = None
    seed: int = 0

    def data_sets(self, count: int = DATA_SETS) -> range:
        return range(self.reps or (QUICK_DATA_SETS if self.quick else count))

    def resamples(self) -> range:
        return range(self.reps or (QUICK_RESAMPLES if self.quick else RESAMPLES))

    def has_place_in(self, experiment: Experiment) -> bool:
        """Whether the experiment shows any of the methods asked for; one that times variants shows none."""
        return self.methods is None or bool(experiment.methods and self.of_paper(experiment.methods))

    def of_paper(self, names: Sequence[str]) -> tuple[str, ...]:
        """The methods asked for, less those of the paper that have no place among ``names``."""
        return tuple(name for name in self.methods or names if name in names or name not in METHODS)


@dataclass(frozen=True)
class Shown:
    """What an experiment shows: tables and figures, by the names of their files."""

    tables: dict[str, ResultTable]
    figures: dict[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """What to run, and how to show it.

    Attributes
    ----------
    methods : those of the paper that it shows; None where it times variants.
    tasks : all that it needs; experiments share rows.
    show : from the rows of these tasks.
    """

    methods: tuple[str, ...] | None
    tasks: Callable[[Scope], list[Task]]
    show: Callable[[Scope, Sequence[Row]], Shown]


def _synthetic(scope: Scope) -> list[Task]:
    return _cells(scope, scope.of_paper((*paper.OVERLAP_METHODS, "RCI original")))


def _squared_error(scope: Scope) -> list[Task]:
    return _cells(scope, scope.of_paper(paper.ERROR_METHODS))


def _variants(scope: Scope) -> list[Task]:
    return [
        Timing(Synthetic(n, p), number, paper.VARIANTS, scope.seed)
        for n, p in paper.CELLS
        for number in scope.data_sets()
    ]


def _scaling(scope: Scope) -> list[Task]:
    return [
        Timing(Synthetic(n, p), number, ("local_plus",), scope.seed)
        for n, p in paper.SCALING_CELLS
        for number in scope.data_sets()
    ]


def _cohort(name: str) -> Callable[[Scope], list[Task]]:
    def tasks(scope: Scope) -> list[Task]:
        source = Resampled(name, scope.framingham if name == "fhs" else None)
        names = scope.of_paper(paper.OVERLAP_METHODS)
        timed = [Timing(source, number, paper.VARIANTS, scope.seed) for number in scope.resamples()]
        return [*_accuracy(source, scope.resamples(), names, scope.seed), *timed]

    return tasks


def _bent(scope: Scope) -> list[Task]:
    """Nonlinear relations for all three mechanisms; linear ones to see what choosing costs there."""
    numbers = scope.data_sets(BENT_DATA_SETS)
    bent = [goal.source for goal in nonlinear_tables.GOALS]
    straight = [Synthetic(n, p) for n, p in paper.CELLS]
    return [
        task
        for sources, methods in ((bent, nonlinear_tables.METHODS), (straight, nonlinear_tables.ON_LINES))
        for source in sources
        for task in _accuracy(source, numbers, scope.of_paper(methods), scope.seed)
    ]


def _cells(scope: Scope, names: Sequence[str]) -> list[Task]:
    return [
        task
        for n, p in paper.CELLS
        for task in _accuracy(
            Synthetic(n, p), scope.data_sets(ACCURACY_DATA_SETS.get(n, DATA_SETS)), names, scope.seed
        )
    ]


def _accuracy(source: CohortSource, numbers: range, names: Sequence[str], seed: int) -> list[Task]:
    return [Accuracy(source, number, family, seed) for number in numbers for family in families(names)]


def _show_overlap(scope: Scope, rows: Sequence[Row]) -> Shown:
    from .figures import accuracy_figure

    methods = scope.of_paper(paper.OVERLAP_METHODS)
    shown = {"rbo": paper_tables.overlap_table(rows, methods)}
    figures = {"rbo": accuracy_figure(rows, methods, "overlap", "rank-biased overlap")}
    pair = ("RCI", "RCI original")
    if all(name in scope.of_paper(pair) for name in pair):
        shown["inset"] = paper_tables.inset_table([row for row in rows if row.method in pair])
        figures["inset"] = accuracy_figure(rows, pair, "overlap", "rank-biased overlap")
    return Shown(shown, figures)


def _show_squared_error(scope: Scope, rows: Sequence[Row]) -> Shown:
    from .figures import accuracy_figure

    methods = scope.of_paper(paper.ERROR_METHODS)
    figure = accuracy_figure(rows, methods, "mse", "mean squared error")
    return Shown({"mse": paper_tables.error_table(rows, methods)}, {"mse": figure})


def _show_speed_up(scope: Scope, rows: Sequence[Row]) -> Shown:
    from .figures import speed_up_figure

    return Shown({"speedup": paper_tables.speed_up_table(rows)}, {"speedup": speed_up_figure(rows)})


def _show_scaling(scope: Scope, rows: Sequence[Row]) -> Shown:
    from .figures import scaling_figure

    return Shown({"scaling": paper_tables.scaling_table(rows)}, {"scaling": scaling_figure(rows)})


def _show_cohort(name: str) -> Callable[[Scope, Sequence[Row]], Shown]:
    def show(scope: Scope, rows: Sequence[Row]) -> Shown:
        from .figures import cohort_figure

        methods = scope.of_paper(paper.OVERLAP_METHODS)
        times = [row for row in rows if row.method in paper.VARIANTS]
        accuracy = [row for row in rows if row.method not in paper.VARIANTS]
        found = {
            name: paper_tables.cohort_table(accuracy, methods, name),
            f"{name}-times": paper_tables.cohort_times_table(times, name),
        }
        return Shown(found, {name: cohort_figure(accuracy, times, methods)})

    return show


def _show_bent(scope: Scope, rows: Sequence[Row]) -> Shown:
    tables = {"nonlinear": nonlinear_tables.gain_table(rows, scope.of_paper(nonlinear_tables.METHODS))}
    if all(name in scope.of_paper(nonlinear_tables.ON_LINES) for name in nonlinear_tables.ON_LINES):
        tables["nonlinear-on-lines"] = nonlinear_tables.lines_table(rows)
    return Shown(tables)


EXPERIMENTS = {
    "rbo": Experiment(paper.OVERLAP_METHODS, _synthetic, _show_overlap),
    "mse": Experiment(paper.ERROR_METHODS, _squared_error, _show_squared_error),
    "speedup": Experiment(None, _variants, _show_speed_up),
    "scaling": Experiment(None, _scaling, _show_scaling),
    "pbc": Experiment(paper.OVERLAP_METHODS, _cohort("pbc"), _show_cohort("pbc")),
    "fhs": Experiment(paper.OVERLAP_METHODS, _cohort("fhs"), _show_cohort("fhs")),
    "nonlinear": Experiment(nonlinear_tables.METHODS, _bent, _show_bent),
}
