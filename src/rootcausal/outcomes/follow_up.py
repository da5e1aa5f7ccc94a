"""Follow-up of a cohort, read by its events: only the ranks of times count, as in Cox's regression.

Time runs in steps, one at each time of an event: there the null hazard jumps by the number of events over the
number of patients at risk (Nelson-Aalen). The jumps are gathered in :data:`MOST_INTERVALS` intervals at most,
of which the first and the last hold few events. Within an interval the hazard of a model runs in proportion
to the null one, and only its total is learned: where every time of an event has an interval of its own this
is Cox's partial likelihood, and with a hundred of them hardly another one, yet a sum over rows.

Where d events share a time, at which n are at risk, they are taken to come one after the other, in any order
(Efron 1977): the l-th finds n − l + 1 at risk, and of those who have the event then, a share has left. So the
null score of the likelihood is that of Cox's regression with Efron's ties, whatever the intervals.

A row may be at risk from a start on only (left truncation, the counting process of Andersen & Gill 1982), and
strata may have baseline hazards of their own. Both are one thing here: the times of the strata lie one after
the other, as if on one clock, and who is at risk from a start on did not meet the hazard before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..method.table import EVENT, F64, FIRST, INTERVAL, OVER, PART, SCORE, Index

MOST_INTERVALS = 100
# A small stratum has so many, and the baseline of all strata together is kept at so many times.
FEWEST_INTERVALS = 3
# Of so many patients, some are followed for less than this share of the longest time: else these are dates.
ROWS_TO_DOUBT, OF_THE_LONGEST = 20, 0.5
MOST_EDGES_OF_STRATA = 400
# By whose multiples numbers between zero and one are spread as evenly as can be: of the golden ratio.
GOLDEN = 0.5 * (5.0**0.5 - 1.0)


def without_a_start(shortest: float, longest: float, n_rows: int) -> bool:
    """Whether times from one to the other are more likely dates than how long patients were followed."""
    return n_rows >= ROWS_TO_DOUBT and longest > shortest > OF_THE_LONGEST * longest


@dataclass(frozen=True, eq=False)
class Spans:
    """When rows were at risk, and how that ended; all (n,).

    Attributes
    ----------
    time : until when.
    event : whether the event ended it, 1 or 0.
    start : from when on; None where all are at risk from the beginning.
    stratum : whose baseline hazard it is, from 0 on; None where there is one for all.
    competing : whether another event ended it, after which the event cannot come, 1 or 0; None where nobody
        said so.
    stays : until when rows count as at risk whom a competing event came to; None where that is until it came.
    """

    time: F64
    event: F64
    start: F64 | None = None
    stratum: F64 | None = None
    competing: F64 | None = None
    stays: F64 | None = None

    @classmethod
    def of(cls, known: np.ndarray) -> Spans:
        """Of what outcomes know (n, 2), or more as :attr:`known` makes it; NaN is what nobody said."""
        time, event = known[:, 0], known[:, 1]
        if known.shape[1] == 2:
            return cls(time, event)
        return cls(time, event, *(None if np.isnan(one).all() else one for one in known.T[2:]))

    @property
    def known(self) -> F64:
        """As rows that can be chosen from: (n, 2) of times and events, or (n, 6)."""
        more = (self.start, self.stratum, self.competing, self.stays)
        if all(one is None for one in more):
            return np.column_stack([self.time, self.event])
        nothing = np.full(self.time.size, np.nan)
        return np.column_stack([self.time, self.event, *(nothing if one is None else one for one in more)])

    @property
    def in_the_way(self) -> F64 | None:
        """(n,) competing events after which rows are no longer at risk."""
        return self.competing if self.stays is None else None

    @property
    def until(self) -> F64:
        """(n,) the time until which rows are at risk."""
        return self.time if self.stays is None else self.stays

    @property
    def from_start(self) -> F64:
        """(n,) from when on, zero where that is the beginning."""
        return np.zeros(self.time.size) if self.start is None else self.start

    @property
    def are_plain(self) -> bool:
        """Whether all are at risk from the beginning, by one baseline hazard."""
        return self.start is None and self.stratum is None

    def taken(self, rows: Index | np.ndarray) -> Spans:
        """The same of some rows."""
        return Spans.of(self.known[rows])


def outlived(spans: Spans) -> Spans:
    """The same as Fine and Gray (1999) count it: whom a competing event came to stays at risk.

    That is until follow-up would have ended. When that is, nobody knows after the event: it is spread evenly
    over the ends that others had (Kaplan-Meier), of those after the event, which stands for the
    weights of Fine and Gray as draws of such ends do (Ruan & Gray 2008), and is the same each time.
    """
    assert spans.competing is not None
    stays = spans.time.copy()
    strata = np.zeros(stays.size) if spans.stratum is None else spans.stratum
    for one in np.unique(strata):  # each of which may have been followed for another while (Zhou et al. 2011)
        some = strata == one
        stays[some] = _stays(spans.time[some], spans.event[some], spans.competing[some])
    return replace(spans, stays=stays)


def _stays(time: F64, event: F64, competing: F64) -> F64:
    ended = (event + competing) > 0
    times, place = np.unique(time, return_inverse=True)
    ends, events = (np.bincount(place, weights=of, minlength=times.size) for of in (~ended, ended))
    # Events come before ends of follow-up at the same time.
    at_risk = np.cumsum((ends + events)[::-1])[::-1] - events
    followed = np.cumprod(1.0 - ends / np.maximum(at_risk, 1.0))
    who = np.flatnonzero(competing > 0)
    who = who[np.argsort(time[who], kind="stable")]
    share = (np.arange(1, who.size + 1) * GOLDEN) % 1.0
    until = np.searchsorted(-followed, -share * followed[place[who]])
    stays = time.copy()
    stays[who] = np.append(times, times[-1])[until]
    return stays


def moments(time: F64, stratum: F64 | None) -> np.ndarray:
    """(n,) places on the one clock of all strata, which sort by stratum, and by time within."""
    return time if stratum is None else stratum + 1j * time  # complex numbers sort by their real part first


@dataclass(frozen=True, eq=False)
class Clock:
    """The times of a cohort that count, and how many patients leave at each.

    Attributes
    ----------
    times : (m,) different times, ascending; of each stratum its own.
    events : (m,) events at each.
    leaving : (m,) patients who are followed until then, with an event or without.
    entering : (m,) patients who are followed from then on; None where all are from the beginning.
    stratum : (m,) of each time, ascending; None where there is one baseline hazard.
    spread : of the martingale residuals, where the clock alone does not tell it.
    competing : (m,) competing events at each; None where there are none.
    """

    times: F64
    events: F64
    leaving: F64
    entering: F64 | None = None
    stratum: F64 | None = None
    spread: float | None = None
    competing: F64 | None = None

    @classmethod
    def of(cls, time: F64, event: F64) -> Clock:
        """Of times (n,) and events (n,), 0 or 1."""
        times, place = np.unique(time, return_inverse=True)
        events = np.bincount(place, weights=event, minlength=times.size)
        leaving = np.bincount(place, minlength=times.size)
        return cls(times, events.astype(np.float64), leaving.astype(np.float64))

    @classmethod
    def of_spans(cls, spans: Spans) -> Clock:
        """The same of rows that need not be at risk from the beginning, or of strata."""
        if spans.are_plain:
            clock = cls.of(spans.until, spans.event)
            return clock if spans.in_the_way is None else replace(clock, competing=clock._counted(spans))
        n = spans.time.size
        stop, start = (moments(of, spans.stratum) for of in (spans.until, spans.from_start))
        both, place = np.unique(np.concatenate([stop, start]), return_inverse=True)
        counts = (
            np.bincount(where, weights=of, minlength=both.size).astype(np.float64)
            for where, of in ((place[:n], spans.event), (place[:n], np.ones(n)), (place[n:], np.ones(n)))
        )
        stratum = None if spans.stratum is None else both.real
        events, leaving, entering = counts
        clock = cls(both if stratum is None else both.imag, events, leaving, entering, stratum)
        score = spans.event - clock._met(spans)[0]
        competing = None if spans.in_the_way is None else clock._counted(spans)
        return replace(clock, spread=float(np.sqrt(score @ score / max(n - 1.0, 1.0))), competing=competing)

    def _counted(self, spans: Spans) -> F64:
        """(m,) competing events at each time."""
        assert spans.in_the_way is not None
        place = np.searchsorted(moments(self.times, self.stratum), moments(spans.time, spans.stratum))
        return np.bincount(place, weights=spans.in_the_way, minlength=self.times.size).astype(np.float64)

    def competing_until(self, times: F64) -> F64:
        """(g,) the hazard of competing events until each of some times, zero first (Nelson & Aalen)."""
        if self.competing is None:
            return np.zeros(times.size)
        order = np.argsort(self.times, kind="stable")
        place = np.searchsorted(times, self.times[order])
        n_times = times.size
        # Of strata together, as for their baseline.
        at_risk = self._at_risk_together[order]
        jumps = np.divide(self.competing[order], at_risk, out=np.zeros(order.size), where=at_risk > 0.0)
        return np.cumsum(np.bincount(np.minimum(place, n_times - 1), weights=jumps, minlength=n_times))

    @property
    def _at_risk_together(self) -> F64:
        """(m,) how many of all strata are at risk at each time."""
        if self.stratum is None:
            return self.at_risk
        assert self.entering is not None
        order = np.argsort(self.times, kind="stable")
        sorted_times, net = self.times[order], (self.leaving - self.entering)[order]
        after: F64 = np.cumsum(net[::-1])[::-1]
        return after[np.searchsorted(sorted_times, self.times)]

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
    def at_risk(self) -> F64:
        """(m,) how many are at risk at each time."""
        net = self.leaving if self.entering is None else self.leaving - self.entering
        return np.cumsum(net[::-1])[::-1]

    @cached_property
    def _jumps(self) -> F64:
        """(2, e) of the null hazard at each step: of those who go on, and of those who have the event."""
        at_risk = self.at_risk[self._of_events]
        d = self.events[self._of_events]
        first = np.cumsum(d) - d
        count = d.astype(np.intp)
        gone = np.arange(int(d.sum())) - np.repeat(first, count)
        jump = 1.0 / (np.repeat(at_risk, count) - gone)
        still = jump * (1.0 - gone / np.repeat(d, count))
        return np.stack([np.add.reduceat(of, first.astype(np.intp)) for of in (jump, still)])

    @cached_property
    def strata(self) -> list[tuple[float, Index, slice]]:
        """Each stratum that has events: its number, its steps, and its intervals."""
        steps = np.arange(self._of_events.size)
        if self.stratum is None:
            return [(0.0, steps, slice(0, self._last_steps.size))]
        member, first = self.stratum[self._of_events], 0
        found = list[tuple[float, Index, slice]]()
        for one in np.unique(member).tolist():
            own = np.flatnonzero(member == one)
            n = int(np.isin(self._last_steps, own).sum())
            found.append((one, own, slice(first, first + n)))
            first += n
        return found

    @cached_property
    def _last_steps(self) -> Index:
        """(G,) the last step of each interval: all steps, where these are few; none reaches over strata."""
        d = self.events[self._of_events]
        if d.size <= MOST_INTERVALS:
            return np.arange(d.size)
        if self.stratum is None:
            return _ends_of_intervals(d, self._jumps[0], MOST_INTERVALS)
        member, found = self.stratum[self._of_events], list[Index]()
        for one in np.unique(member).tolist():
            own = np.flatnonzero(member == one)
            most = max(int(MOST_INTERVALS * d[own].sum() / d.sum()), FEWEST_INTERVALS)
            ends = np.arange(own.size)
            if own.size > most:
                ends = _ends_of_intervals(d[own], self._jumps[0][own], most)
            found.append(own[ends])
        return np.concatenate(found)

    @cached_property
    def _reached(self) -> F64:
        """(G + 1,) the null hazard at the start of the first interval, and at the end of each."""
        return np.append(0.0, np.cumsum(self._jumps[0])[self._last_steps])

    @property
    def null_hazards(self) -> F64:
        """(G,) of a cohort in which nothing has an effect, cumulated over each interval."""
        return np.diff(self._reached)

    @property
    def ends(self) -> F64:
        """(G,) times at which intervals end."""
        return self.times[self._of_events][self._last_steps]

    @property
    def edges(self) -> F64:
        """(G + 1,) the same, and before them zero, where the first one starts."""
        return np.append(0.0, self.ends)

    @property
    def longest(self) -> float:
        """How long anybody was followed."""
        return float(self.times.max())

    @property
    def has_an_order(self) -> bool:
        """Whether anybody was at risk at an event who did not have it then."""
        return bool((self.at_risk > self.events)[self._of_events].any())

    @property
    def middle(self) -> float:
        """The median time of the events."""
        order = np.argsort(self.times, kind="stable")
        reached = np.cumsum(self.events[order])
        return float(self.times[order][np.searchsorted(reached, 0.5 * self.events.sum())])

    def baseline(self, hazards: F64) -> tuple[F64, F64]:
        """Times from zero on, and the hazard until each, given that of each interval (G,).

        That of strata together is their mean at each time, by how many of each are at risk.
        """
        if self.stratum is None:
            return self.edges, np.append(0.0, np.cumsum(hazards))
        grid = np.unique(self.edges)
        if grid.size > MOST_EDGES_OF_STRATA:
            grid = grid[np.linspace(0, grid.size - 1, MOST_EDGES_OF_STRATA).astype(np.intp)]
        moved, weight = np.zeros((2, grid.size - 1))
        for one, _, intervals in self.strata:
            ends = np.append(0.0, self.ends[intervals])
            until = np.interp(grid, ends, np.append(0.0, np.cumsum(hazards[intervals])))
            own = self.stratum == one
            # At risk within each piece of the grid: at the first of its times that is not before its start.
            place = np.searchsorted(self.times[own], grid[1:])
            there = np.append(self.at_risk[own], 0.0)[place]
            moved += there * np.diff(until)
            weight += there
        return grid, np.append(0.0, np.cumsum(moved / np.maximum(weight, 1.0)))

    @cached_property
    def _cumulative(self) -> F64:
        """(e + 1,) the null hazard before the first step, and after each."""
        return np.append(0.0, np.cumsum(self._jumps[0]))

    def _met(self, spans: Spans) -> tuple[F64, Index, Index]:
        """(n,) each: the null hazard that rows met while at risk, steps until then, and until the start."""
        stratum = None if self.stratum is None else self.stratum[self._of_events]
        steps = moments(self.times[self._of_events], stratum)
        step = np.searchsorted(steps, moments(spans.until, spans.stratum), side="right")
        before = np.zeros(step.size, dtype=np.intp)
        if not spans.are_plain:
            before = np.searchsorted(steps, moments(spans.from_start, spans.stratum), side="right")
        met = self._cumulative[step] - self._cumulative[before]
        whole, less = self._jumps
        own = step[spans.event > 0] - 1
        met[spans.event > 0] -= whole[own] - less[own]
        return met, step, before

    def rows(self, time: F64, event: F64) -> F64:
        """The rows of :meth:`rows_of`, of patients who are at risk from the beginning."""
        return self.rows_of(Spans(time, event))

    def rows_of(self, spans: Spans) -> F64:
        """(n, 4) of patients of this cohort: null score, event, interval, and the part of it that they saw.

        The null score is the martingale residual, of unit variance: events, less those that the null hazard
        expected until then. Where rows start later, (n, 6): also the interval in which each starts, and which
        part of that was over by then.
        """
        met, step, before = self._met(spans)
        gone = self._cumulative[before]
        rows = np.empty((met.size, 4 if spans.are_plain else 6))
        rows[:, EVENT] = spans.event
        rows[:, INTERVAL], rows[:, PART] = self._place(met + gone, step)
        if not spans.are_plain:
            rows[:, FIRST], rows[:, OVER] = self._place(gone, before)
        rows[:, SCORE] = (spans.event - met) / self._score_sd
        return rows

    def _place(self, reached: F64, step: Index) -> tuple[Index, F64]:
        """(n,) each: the interval in which so many steps end, and the part of it that is then over."""
        interval = np.searchsorted(self._last_steps, np.maximum(step - 1, 0))
        part = (reached - self._reached[interval]) / self.null_hazards[interval]
        return interval, np.clip(part, 0.0, 1.0)

    @cached_property
    def _score_sd(self) -> float:
        """Of the martingale residuals of the whole cohort, whose mean is zero."""
        if self.spread is not None:
            return self.spread
        hazard, less = np.zeros((2, self.times.size))
        hazard[self._of_events], less[self._of_events] = self._jumps[0], self._jumps[0] - self._jumps[1]
        reached = np.cumsum(hazard)
        squares = self.events @ (1.0 - reached + less) ** 2 + (self.leaving - self.events) @ reached**2
        return float(np.sqrt(squares / max(self.leaving.sum() - 1.0, 1.0)))


def _ends_of_intervals(d: F64, jumps: F64, most: int) -> Index:
    """The steps at which intervals end, given events and null hazard of each step.

    A third of them by the events. A third by the hazard: late events are few, and weigh much, since few are
    left at risk. And a third by ever more events: the first ones are those of patients whose hazard is many
    times that of others, and their order says how many times.
    """
    last = np.zeros(d.size, dtype=bool)
    last[-1] = True
    events, hazard = np.cumsum(d), np.cumsum(jumps)
    share = np.arange(most // 3) / (most // 3)
    for total, ends in (
        (events, share * events[-1]),
        (hazard, share * hazard[-1]),
        (events, events[-1] ** share),
    ):
        last[np.searchsorted(total, ends)] = True
    return np.flatnonzero(last)
