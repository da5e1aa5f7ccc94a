"""PetShop: a shop of microservices in a cloud, with issues that were injected."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..errors import InputError
from ..method.table import F64
from ..wording import shown
from .files import files_in, json_at
from .trial import Trial

HEADER_ROWS = 4
# Columns that lack more of their values are left out, of the reference or of an issue.
MOST_MISSING = 0.2


class PetShop:
    """Incidents of all scenarios; the metric that was hurt is looked at in every service."""

    name: ClassVar[str] = "petshop"
    about: ClassVar[str] = (
        "PetShop (amazon-science/petshop-root-cause-analysis): folders of scenarios with noissue/metrics.csv "
        "and train|test/issue_*/metrics.csv and target.json. Of each issue the metric and the statistic that "
        "were hurt, in every service; the service is to be named. Missing values are filled with the "
        "reference's means."
    )

    def trials(self, folder: Path, seed: int) -> Iterator[Trial]:
        for normal in files_in(folder, "**/noissue/metrics.csv", "noissue/metrics.csv"):
            scenario = normal.parent.parent
            usual = _metrics(normal)
            for target in sorted(scenario.glob("*/issue_*/target.json")):
                yield from _trial(usual, target, scenario.name)


def _trial(usual: dict[tuple[str, str, str], F64], target: Path, scenario: str) -> Iterator[Trial]:
    told, issue = json_at(target), _metrics(target.with_name("metrics.csv"))
    try:
        metric, statistic, node = told["target"]["metric"], told["target"]["agg"], told["root_cause"]["node"]
    except (KeyError, TypeError) as error:
        raise InputError(f"{shown(target)} does not say what was hurt and why: fetch it anew") from error
    services = []
    for name, of_metric, of_statistic in usual:
        key = (name, of_metric, of_statistic)
        if (of_metric, of_statistic) == (metric, statistic) and key in issue:
            before, after = usual[key], issue[key]
            whole = max(np.isnan(before).mean(), np.isnan(after).mean()) <= MOST_MISSING
            if whole and np.nanmax(before) > np.nanmin(before):
                services.append(name)
    if node not in services:
        return  # its own metric was not recorded: nobody could name it
    keys = [(name, metric, statistic) for name in services]
    reference, rows = (np.column_stack([table[key] for key in keys]) for table in (usual, issue))
    mean = np.nanmean(reference, axis=0)
    reference, rows = (np.where(np.isnan(table), mean, table) for table in (reference, rows))
    yield Trial(
        columns=tuple(services),
        reference=reference,
        rows=rows,
        unit=np.zeros(len(rows), dtype=np.intp),
        answers=(frozenset([node]),),
        faults=(f"{scenario} {node}",),
        nodes=tuple(services),
        cases=rows,
        fresh=reference[:0],
    )


def _metrics(path: Path) -> dict[tuple[str, str, str], F64]:
    """Columns by service, metric and statistic, which the first three rows name."""
    try:
        with open(path, encoding="utf-8", newline="") as handle:
            lines = list(csv.reader(handle))
    except OSError as error:
        raise InputError(f"{shown(path)} cannot be read: fetch it anew") from error
    if len(lines) <= HEADER_ROWS or any(len(line) != len(lines[0]) for line in lines):
        raise InputError(f"{shown(path)} is no table of PetShop: it has three rows of names, then times")
    names = list(zip(*(line[1:] for line in lines[:3]), strict=True))
    try:
        values = np.array([[float(cell or "nan") for cell in line[1:]] for line in lines[HEADER_ROWS:]])
    except ValueError as error:
        raise InputError(f"{shown(path)} holds what is no number") from error
    return {(a, b, c): values[:, at] for at, (a, b, c) in enumerate(names)}
