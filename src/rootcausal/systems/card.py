"""The card: every method on every trial of a source, in one process, and what came of it as a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import MissingExtraError
from ..experiments.tables import ResultTable, Text
from ..method.table import F64, Index
from .methods import quietly
from .trial import Method, Source, Trial

DEEPEST = 5
LEVELS = (0.01, 0.05)
RESAMPLES = 1000
# Methods this close to the best are among the best.
NEAR = 0.005

#: Told what is being done.
OnStep = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Result:
    """What one method did on the trials of a source.

    Attributes
    ----------
    method : its name.
    told : what it was told.
    faults : (u,) of each unit of all trials and seeds.
    ranks : (u,) place of the first right node, from 1.
    alarms : shares of fresh reference rows that it says depart, at each of :data:`LEVELS`; None where it says
        no such thing.
    fit_seconds : a trial's, on average.
    seconds_per_1000 : of explaining 1,000 rows.
    missing : what has to be installed for it; empty where it ran.
    """

    method: str
    told: str
    faults: tuple[str, ...]
    ranks: Index
    alarms: tuple[float, ...] | None
    fit_seconds: float
    seconds_per_1000: float
    missing: str = ""

    def within(self, k: int) -> float:
        """AC@k: the share of units whose right node is among the first k."""
        return float((self.ranks <= k).mean())

    @property
    def average(self) -> float:
        """Avg@5: the mean of AC@1 to AC@5."""
        return float(np.mean([self.within(k) for k in range(1, DEEPEST + 1)]))

    def worst(self) -> tuple[str, float]:
        """The fault whose units it names least often, and how often."""
        names = np.array(self.faults)
        shares = {name: float((self.ranks[names == name] == 1).mean()) for name in dict.fromkeys(self.faults)}
        name = min(shares, key=lambda one: shares[one])
        return name, shares[name]

    def interval(self) -> tuple[float, float]:
        """95 % of AC@1 over resampled faults: the units of a fault are no independent draws."""
        names = np.array(self.faults)
        of_fault = [self.ranks[names == name] == 1 for name in dict.fromkeys(self.faults)]
        hits, sizes = (np.array([f(one) for one in of_fault]) for f in (np.sum, np.size))
        drawn = np.random.default_rng(0).integers(0, len(of_fault), (RESAMPLES, len(of_fault)))
        shares = hits[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
        low, high = np.quantile(shares, [0.025, 0.975])
        return float(low), float(high)


def run_source(
    source: Source,
    folder: Path,
    methods: Sequence[type[Method]],
    seeds: Sequence[int],
    on_step: OnStep = lambda what: None,
) -> list[Result]:
    """Every method that applies, on the same trials."""
    done: dict[str, list[_Once]] = {}
    lacking: dict[str, tuple[str, str]] = {}
    for seed in seeds:
        for number, trial in enumerate(source.trials(folder, seed), start=1):
            for method in methods:
                if method.name in lacking or not method().applies(trial):
                    continue
                on_step(f"{source.name}, seed {seed}, trial {number}: {method.name}")
                try:
                    done.setdefault(method.name, []).append(_once(method(), trial))
                except MissingExtraError as error:
                    lacking[method.name] = method.told, str(error)
    return [
        _together(method, done[method.name])
        if method.name not in lacking
        else Result(
            method.name, method.told, (), np.empty(0, dtype=np.intp), None, 0.0, 0.0, lacking[method.name][1]
        )
        for method in methods
        if method.name in done or method.name in lacking
    ]


@dataclass(frozen=True, eq=False)
class _Once:
    faults: tuple[str, ...]
    ranks: Index
    p_values: F64 | None
    fit: float
    explain: float


def _once(method: Method, trial: Trial) -> _Once:
    with quietly():
        begin = time.perf_counter()
        method.fit(trial)
        fitted = time.perf_counter()
        scores = method.scores(trial)
        explained = time.perf_counter()
        p_values = method.p_values(trial.fresh) if len(trial.fresh) else None
    seconds = (explained - fitted) * 1000.0 / len(trial.rows)
    return _Once(trial.faults, ranks_of(scores, trial), p_values, fitted - begin, seconds)


def ranks_of(scores: F64, trial: Trial) -> Index:
    """(u,) place of the first right node; a node scores what its best column does, and ties go to the
    earlier node.
    """
    nodes = list(dict.fromkeys(trial.nodes))
    best = np.full((len(scores), len(nodes)), -np.inf)
    for column, node in enumerate(trial.nodes):
        at = nodes.index(node)
        best[:, at] = np.maximum(
            best[:, at], np.where(np.isnan(scores[:, column]), -np.inf, scores[:, column])
        )
    order = np.argsort(-best, axis=1, kind="stable")
    ranks = np.empty(len(scores), dtype=np.intp)
    for unit, (some, right) in enumerate(zip(order, trial.answers, strict=True)):
        ranks[unit] = next(
            (place for place, at in enumerate(some, start=1) if nodes[at] in right), len(nodes) + 1
        )
    return ranks


def _together(method: type[Method], parts: Sequence[_Once]) -> Result:
    p_values = [part.p_values for part in parts if part.p_values is not None]
    alarms = None
    if p_values:
        every = np.concatenate(p_values)
        alarms = tuple(float((every <= level).mean()) for level in LEVELS)
    return Result(
        method.name,
        method.told,
        tuple(fault for part in parts for fault in part.faults),
        np.concatenate([part.ranks for part in parts]),
        alarms,
        float(np.mean([part.fit for part in parts])),
        float(np.mean([part.explain for part in parts])),
    )


def table_of(source: Source, results: Sequence[Result], seeds: Sequence[int]) -> ResultTable:
    """The card of one source."""
    ran = [result for result in results if not result.missing]
    best = {k: max((result.within(k) for result in ran), default=0.0) for k in (1, 3)}
    best_average = max((result.average for result in ran), default=0.0)
    rows = []
    for result in results:
        if result.missing:
            rows.append([Text(result.method), Text(result.told), *[Text("-")] * 7])
            continue
        low, high = result.interval()
        name, share = result.worst()
        alarms = "-" if result.alarms is None else " / ".join(f"{100 * one:.1f} %" for one in result.alarms)
        rows.append(
            [
                Text(result.method),
                Text(result.told),
                Text(f"{result.within(1):.3f} ({low:.2f} to {high:.2f})", result.within(1) >= best[1] - NEAR),
                Text(f"{result.within(3):.3f}", result.within(3) >= best[3] - NEAR),
                Text(f"{result.average:.3f}", result.average >= best_average - NEAR),
                Text(f"{name} {share:.2f}"),
                Text(alarms),
                Text(f"{result.fit_seconds:.2f}"),
                Text(f"{1000 * result.seconds_per_1000:.0f}"),
            ]
        )
    units = len(ran[0].ranks) if ran else 0
    notes = [
        source.about,
        f"seeds {', '.join(map(str, seeds))}; {units} units in all; 95 % intervals of AC@1 over resampled "
        f"faults; bold: within {NEAR} of the best; the worst fault is by AC@1; false alarms at 1 % / 5 %, "
        "of other reference rows; ms are those of 1,000 rows, and both times those of one process.",
        *(f"{result.method} did not run: {result.missing}" for result in results if result.missing),
    ]
    header = ["method", "told", "AC@1", "AC@3", "Avg@5", "worst fault", "false alarms", "fit, s", "ms"]
    return ResultTable(source.name, header, rows, notes)
