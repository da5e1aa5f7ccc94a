"""causRCA: a vertical lathe, with faults on its digital twin (Fraunhofer IWU)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..errors import InputError
from ..method.table import F64
from ..wording import shown
from .files import files_in, json_at, table_at, varying
from .trial import Trial

# Events are read as states at every such second; this many, evenly, of the normal operation.
STEP = 1.0
MOST_REFERENCE = 1000
FEWEST_ROWS = 5


class CausRCA:
    """Incidents, one a run: its states until the diagnosis."""

    name: ClassVar[str] = "causrca"
    about: ClassVar[str] = (
        "causRCA (Fraunhofer IWU, doi:10.5281/zenodo.15876410): events (time_s, node, value) of a lathe in "
        "real_op/, and of faults in dig_twin/exp_*/.../run_*/ with what was manipulated. Events are read as "
        "states once a second until the diagnosis; texts are numbered in the order of their first use."
    )

    def trials(self, folder: Path, seed: int) -> Iterator[Trial]:
        numbers: dict[tuple[str, str], float] = {}
        normal = [_events(path, numbers) for path in files_in(folder, "**/real_op/**/*.csv", "real_op/*.csv")]
        nodes = tuple(sorted({node for events in normal for node in events}))
        states = np.vstack([_states(events, nodes, None) for events in normal])
        every = np.unique(np.linspace(0, len(states) - 1, MOST_REFERENCE).astype(np.intp))
        reference = states[every]
        known = np.asarray(~np.isnan(reference).any(axis=0))
        known[known] = varying(reference[:, known])
        columns = tuple(np.array(nodes)[known].tolist())
        for told in files_in(folder, "**/dig_twin/**/*_description.json", "dig_twin/**/*_description.json"):
            answers = frozenset(_manipulated(told)) & frozenset(columns)
            for run in sorted(told.parent.glob("run_*/causes.json")) if answers else []:
                rows = _rows_of_run(run, columns, numbers, reference[:, known])
                if rows is not None:
                    yield Trial(
                        columns=columns,
                        reference=reference[:, known],
                        rows=rows,
                        unit=np.zeros(len(rows), dtype=np.intp),
                        answers=(answers,),
                        faults=(told.parent.name,),
                        nodes=columns,
                        cases=rows,
                        fresh=reference[:0, known],
                    )


def _manipulated(path: Path) -> list[str]:
    told = json_at(path)
    found = told.get("manipulatedVars") if isinstance(told, dict) else None
    if not isinstance(found, list):
        raise InputError(f"{shown(path)} does not say what was manipulated (manipulatedVars)")
    return [str(name) for name in found]


def _rows_of_run(
    told: Path, columns: tuple[str, ...], numbers: dict[tuple[str, str], float], reference: F64
) -> F64 | None:
    """States of a run until its diagnosis; what was never told is as in the middle of the reference."""
    paths = sorted(told.parent.glob("*.csv"))
    if not paths:
        return None
    until = json_at(told).get("diagnosis_at")
    rows = _states(_events(paths[0], numbers), columns, None if until is None else float(until))
    rows = np.where(np.isnan(rows), np.median(reference, axis=0), rows)
    return rows if len(rows) >= FEWEST_ROWS else None


def _events(path: Path, numbers: dict[tuple[str, str], float]) -> dict[str, tuple[F64, F64]]:
    """Times and values of each node, in the order of time."""
    table = table_at(path)
    lacking = {"time_s", "node", "value"} - set(table)
    if lacking:
        raise InputError(f"{shown(path)} lacks the column {min(lacking)!r}: it is no table of causRCA")
    order = np.argsort(table["time_s"], kind="stable")
    times, nodes = np.asarray(table["time_s"], dtype=np.float64)[order], table["node"][order].tolist()
    values = [_number(node, value, numbers) for node, value in zip(nodes, table["value"][order], strict=True)]
    found: dict[str, tuple[list[float], list[float]]] = {}
    for node, time, value in zip(nodes, times.tolist(), values, strict=True):
        at = found.setdefault(node, ([], []))
        at[0].append(time)
        at[1].append(value)
    return {node: (np.array(when), np.array(what)) for node, (when, what) in found.items()}


def _number(node: str, value: object, numbers: dict[tuple[str, str], float]) -> float:
    text = str(value)
    try:
        return float(text)
    except ValueError:
        known = sum(1 for other, _ in numbers if other == node)
        return numbers.setdefault((node, text), float(known))


def _states(events: dict[str, tuple[F64, F64]], nodes: Sequence[str], until: float | None) -> F64:
    """(n, p): the last value of each node at every step; NaN before its first."""
    last = max(when[-1] for when, _ in events.values()) if until is None else until
    first = min(when[0] for when, _ in events.values())
    grid = np.arange(first, last + STEP, STEP)
    states = np.full((grid.size, len(nodes)), np.nan)
    for column, node in enumerate(nodes):
        if node in events:
            when, what = events[node]
            at = np.searchsorted(when, grid, side="right") - 1
            states[:, column] = np.where(at >= 0, what[np.maximum(at, 0)], np.nan)
    return states
