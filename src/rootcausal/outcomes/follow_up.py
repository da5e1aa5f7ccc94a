"""Follow-up of a cohort, read by its events: only the ranks of times count, as in Cox's regression.

Time runs in steps, one at each time of an event: there the null hazard jumps by the number of events over the
number of patients at risk (Nelson-Aalen). The jumps are gathered in :data:`MOST_INTERVALS` intervals at most,
of which the first and the last hold few events. Within an interval the hazard of a model runs in proportion
to the null one, and only its total is learned: where every time of an event has an interval of its own this
is Cox's partial likelihood, and with a hundred of them hardly another one, yet a sum over rows.

Where d events share a time, at which n are at risk, they are taken to come one after the other, in any order
(Efron 1977): the l-th finds n − l + 1 at risk, and of those who have the event then, a share has left. So the
null score of the likelihood is that of Cox's regression with Efron's ties, whatever the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..method.table import EVENT, F64, INTERVAL, PART, SCORE, Index

MOST_INTERVALS = 100


@dataclass(frozen=True, eq=False)
class Clock:
    """The times of a cohort that count, and how many patients leave at each.

    Attributes
    ----------
    times : (m,) different times, ascending.
    events : (m,) events at each.
    leaving : (m,) patients who are followed until then, with an event or without.
    """

    times: F64
    events: F64
    leaving: F64

    @classmethod
    def of(cls, time: F64, event: F64) -> Clock:
        """Of times (n,) and events (n,), 0 or 1."""
        times, place = np.unique(time, return_inverse=True)
        events = np.bincount(place, weights=event, minlength=times.size)
        leaving = np.bincount(place, minlength=times.size)
        return cls(times, events.astype(np.float64), leaving.astype(np.float64))

    def __add__(self, other: Clock) -> Clock:
        """That of both cohorts together: also a clock is a sum over rows."""
        times, place = np.unique(np.concatenate([self.times, other.times]), return_inverse=True)
        events, leaving = (
            np.bincount(place, weights=np.concatenate(both), minlength=times.size).astype(np.float64)
            for both in ((self.events, other.events), (self.leaving, other.leaving))
        )
        return Clock(times, events, leaving)

    def thinned(self, most: int) -> Clock:
        """With at most so many times: all are rounded up to quantiles of when patients leave."""
        if self.times.size <= most:
            return self
        share = np.ceil(np.cumsum(self.leaving) * (most / self.leaving.sum()) - 1e-9)
        last = np.flatnonzero(np.append(share[1:] != share[:-1], True))
        first = np.append(0, last[:-1] + 1)
        return Clock(
            self.times[last], np.add.reduceat(self.events, first), np.add.reduceat(self.leaving, first)
        )

    def rounded_up(self, time: F64) -> F64:
        """(n,) the first time of the clock that is not before each of some, none of which is after all."""
        return self.times[np.searchsorted(self.times, time)]

    @cached_property
    def _of_events(self) -> Index:
        """Which times have events; the steps of the clock."""
        return np.flatnonzero(self.events)

    @cached_property
    def _jumps(self) -> F64:
        """(2, e) of the null hazard at each step: of those who go on, and of those who have the event."""
        at_risk = np.cumsum(self.leaving[::-1])[::-1][self._of_events]
        d = self.events[self._of_events]
        first = np.cumsum(d) - d
        count = d.astype(np.intp)
        gone = np.arange(int(d.sum())) - np.repeat(first, count)
        jump = 1.0 / (np.repeat(at_risk, count) - gone)
        still = jump * (1.0 - gone / np.repeat(d, count))
        return np.stack([np.add.reduceat(of, first.astype(np.intp)) for of in (jump, still)])

    @cached_property
    def _last_steps(self) -> Index:
        """(G,) the last step of each interval: all steps, where these are few."""
        d = self.events[self._of_events]
        if d.size <= MOST_INTERVALS:
            return np.arange(d.size)
        last = np.zeros(d.size, dtype=bool)
        last[-1] = True
        events, hazard = np.cumsum(d), np.cumsum(self._jumps[0])
        share = np.arange(MOST_INTERVALS // 3) / (MOST_INTERVALS // 3)
        # A third of them by the events. A third by the hazard: late events are few, and weigh much, since few
        # are left at risk. And a third by ever more events: the first ones are those of patients whose hazard
        # is many times that of others, and their order says how many times.
        for total, ends in (
            (events, share * events[-1]),
            (hazard, share * hazard[-1]),
            (events, events[-1] ** share),
        ):
            last[np.searchsorted(total, ends)] = True
        return np.flatnonzero(last)

    @cached_property
    def _reached(self) -> F64:
        """(G + 1,) the null hazard at the start of the first interval, and at the end of each."""
        return np.append(0.0, np.cumsum(self._jumps[0])[self._last_steps])

    @property
    def null_hazards(self) -> F64:
        """(G,) of a cohort in which nothing has an effect, cumulated over each interval."""
        return np.diff(self._reached)

    @property
    def edges(self) -> F64:
        """(G + 1,) times at which intervals end; the first starts at zero."""
        return np.append(0.0, self.times[self._of_events][self._last_steps])

    @property
    def longest(self) -> float:
        """How long anybody was followed."""
        return float(self.times[-1])

    @property
    def has_an_order(self) -> bool:
        """Whether anybody was followed for longer than it took to an event, or as long without one."""
        first = int(self._of_events[0]) if self._of_events.size else self.times.size
        return bool(self.leaving[first:].sum() > self.events[first : first + 1].sum())

    @property
    def middle(self) -> float:
        """The median time of the events."""
        return float(self.times[np.searchsorted(np.cumsum(self.events), 0.5 * self.events.sum())])

    def rows(self, time: F64, event: F64) -> F64:
        """(n, 4) of patients of this cohort: null score, event, interval, and the part of it that they saw.

        The null score is the martingale residual, of unit variance: events, less those that the null hazard
        expected until then.
        """
        steps = self.times[self._of_events]
        step = np.searchsorted(steps, time, side="right")  # how many steps each patient saw
        whole, met = self._jumps
        reached = np.append(0.0, np.cumsum(whole))[step]
        own = step[event > 0] - 1
        reached[event > 0] -= whole[own] - met[own]
        interval = np.searchsorted(self._last_steps, np.maximum(step - 1, 0))
        start = self._reached[interval]
        rows = np.empty((time.size, 4))
        rows[:, EVENT] = event
        rows[:, INTERVAL] = interval
        rows[:, PART] = np.clip((reached - start) / self.null_hazards[interval], 0.0, 1.0)
        score = event - reached
        rows[:, SCORE] = score / self._score_sd
        return rows

    @cached_property
    def _score_sd(self) -> float:
        """Of the martingale residuals of the whole cohort, whose mean is zero."""
        hazard, less = np.zeros((2, self.times.size))
        hazard[self._of_events], less[self._of_events] = self._jumps[0], self._jumps[0] - self._jumps[1]
        reached = np.cumsum(hazard)
        squares = self.events @ (1.0 - reached + less) ** 2 + (self.leaving - self.events) @ reached**2
        return float(np.sqrt(squares / max(self.leaving.sum() - 1.0, 1.0)))
