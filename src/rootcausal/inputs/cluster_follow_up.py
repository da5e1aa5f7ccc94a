"""The time to an event of cohorts on a cluster.

Different times are counted; the clock of the cohort is the sum of those of its partitions, so that times and
counts travel, and never rows. By it each partition then makes what tables keep.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice
from operator import add
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..core.table import F64
from ..errors import InputError
from ..outcomes.follow_up import Clock
from ..outcomes.survival import Survival
from .cluster_known import LABELS_AT_MOST, Ask, Column, KnownThere, Labels, is_label
from .outcomes import FollowUp, choose_event, instead_of_zero, note_missing, numbers_of, refuse_negative
from .rules import Findings

# Different times that travel. Where a cohort has more, all are rounded up to about so many quantiles: only
# ranks count, and these move by about one row in as many.
MOST_TIMES = 200_000


@dataclass(frozen=True, eq=False)
class FollowUpOnCluster:
    """Times and events, in two columns."""

    ROLES: ClassVar[Mapping[str, str]] = {"time": "the time", "event": "the event"}
    NO_VARIABLES: ClassVar[frozenset[str]] = frozenset({"time", "event"})

    target: FollowUp

    def given(self) -> dict[str, Any]:
        time, event = self.target.time, self.target.event
        if getattr(getattr(time, "dtype", None), "names", None):
            raise InputError(
                "a structured array of times and events is for rows in memory: with rows on a cluster, time "
                "and event are two columns, by name or as dask Series"
            )
        if event is None:
            raise InputError("the time of follow-up and the event come together: give both time and event")
        return {"time": time, "event": event}

    def known(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        time, event, wanted = columns["time"], columns["event"], self.target.positive
        names, findings = [time.name, event.name], Findings()
        seen: Followed = ask(names, partial(_followed, time, event, wanted))
        note_missing(seen.gone, seen.rows, f"{time.called} or {event.called}", findings)
        with findings.noting():
            refuse_negative(seen.negative, f"in {time.called}")
        with findings.noting():
            _refuse_many_labels(seen.labels, wanted, event.called)
            labels = seen.labels.in_order(event.called)
            positive, classes = choose_event(labels, wanted, event.called, event.title)
        findings.refuse()
        zero = instead_of_zero(seen.zero, seen.shortest) if seen.zero else 0.0
        read = FollowUpReading(time, event, positive, zero)
        clock = seen.clock(positive if wanted is None else True, zero)
        if not seen.exact or clock.times.size > MOST_TIMES:
            # Each row is counted again, at the time at which it will be looked for.
            clock = ask(names, partial(_clock_by, read, clock.thinned(MOST_TIMES)))
        survival, facts = self.target.by(clock, seen.rows)
        return KnownThere(FollowUpRows(read, survival), survival, classes, facts)


@dataclass(frozen=True)
class FollowUpReading:
    """How to read times (n,) and events (n,) of a partition; who was followed for no time has ``zero``."""

    time: Column
    event: Column
    positive: Any
    zero: float

    def __call__(self, partition: pd.DataFrame) -> tuple[F64, F64]:
        times, _ = numbers_of(partition[self.time.name], self.time.called, len(partition))
        events = is_label(partition[self.event.name], self.positive).astype(np.float64)
        return np.where(times == 0.0, self.zero, times), events


@dataclass(frozen=True, eq=False)
class FollowUpRows:
    """What tables keep of follow-up, by the clock of the whole cohort."""

    read: FollowUpReading
    survival: Survival

    @property
    def columns(self) -> tuple[Hashable, ...]:
        return self.read.time.name, self.read.event.name

    def rows(self, partition: pd.DataFrame) -> np.ndarray:
        times, events = self.read(partition)
        return self.survival.rows(np.column_stack([self.survival.clock.rounded_up(times), events]))


@dataclass(frozen=True, eq=False)
class Followed:
    """What some rows tell of follow-up.

    Attributes
    ----------
    rows, gone : number of rows, and of those without a time or an event.
    negative, zero : times below zero, and of zero.
    shortest : of the times above zero; infinite where there is none.
    labels : of the events.
    leaving : when patients leave, by label or, where the user says which is the event, by whether it is that.
    exact : no time was rounded.
    """

    rows: int
    gone: int
    negative: int
    zero: int
    shortest: float
    labels: Labels
    leaving: dict[Any, Clock]
    exact: bool

    def __add__(self, other: Followed) -> Followed:
        both = {key: self.leaving[key] + other.leaving[key] for key in self.leaving if key in other.leaving}
        leaving, exact = _thinned({**self.leaving, **other.leaving, **both})
        return Followed(
            self.rows + other.rows,
            self.gone + other.gone,
            self.negative + other.negative,
            self.zero + other.zero,
            min(self.shortest, other.shortest),
            self.labels + other.labels,
            leaving,
            self.exact and other.exact and exact,
        )

    def clock(self, event: Any, zero: float) -> Clock:
        """Of the cohort, where those who leave by ``event`` have it, and times of zero count as ``zero``."""
        clocks = (
            replace(clock, events=clock.leaving * float(key == event)) for key, clock in self.leaving.items()
        )
        total = reduce(add, clocks)
        return replace(total, times=np.where(total.times == 0.0, zero, total.times))


def _followed(time: Column, event: Column, wanted: Any, partition: pd.DataFrame) -> Followed:
    times, no_time = numbers_of(partition[time.name], time.called, len(partition))
    gone = no_time | partition[event.name].isna().to_numpy(dtype=bool)
    times, labels = times[~gone], partition[event.name][~gone]
    codes, keys = pd.factorize(labels if wanted is None else is_label(labels, wanted))
    clocks = (Clock.of(times[codes == code], np.zeros((codes == code).sum())) for code in range(len(keys)))
    leaving, exact = _thinned(dict(zip(keys.tolist(), clocks, strict=True)))
    return Followed(
        rows=len(partition),
        gone=int(gone.sum()),
        negative=int((times < 0.0).sum()),
        zero=int((times == 0.0).sum()),
        shortest=float(times[times > 0.0].min(initial=np.inf)),
        labels=Labels.of(labels, wanted),
        leaving=leaving,
        exact=exact,
    )


def _thinned(leaving: dict[Any, Clock]) -> tuple[dict[Any, Clock], bool]:
    """Clocks of times that are not too many, and whether they are as before. Too many labels are refused."""
    few = dict(islice(leaving.items(), LABELS_AT_MOST))
    thinned = {key: clock.thinned(MOST_TIMES) for key, clock in few.items()}
    return thinned, all(thinned[key] is few[key] for key in few)


def _refuse_many_labels(labels: Labels, wanted: Any, called: str) -> None:
    if wanted is None and len(labels.counts) == LABELS_AT_MOST:
        raise InputError(
            f"{called} holds {LABELS_AT_MOST} different labels or more: it must say of each follow-up how it "
            "ended, 1 with the event and 0 without; or say which label is the event by positive"
        )


def _clock_by(read: FollowUpReading, times: Clock, partition: pd.DataFrame) -> Clock:
    """Of a partition, by the times of another clock."""
    time, event = read(partition)
    return Clock.of(times.rounded_up(time), event)
