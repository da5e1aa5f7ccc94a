"""The time to an event: how long each patient was followed, and whether the event ended that.

On a cluster different times are counted; the clock of the cohort is the sum of those of its partitions, so
that times and counts travel, and never rows. By it each partition then makes what tables keep.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice
from operator import add
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import InputError, caller
from ..method.table import F64, Index
from ..outcomes.follow_up import Clock
from ..outcomes.survival import FEWEST_EVENTS, Survival
from ..wording import amount, listed, one_line, pasted, plain, plural, quoted, shown
from .from_frame import own_name
from .labels import asks_who_is_well, place_of_disease, text_of
from .outcomes import (
    LABELS_AT_MOST,
    Ask,
    ChosenOutcome,
    Column,
    CountedLabels,
    Known,
    KnownThere,
    Labels,
    OutcomeCells,
    OutcomeColumns,
    Target,
    given_by,
    is_label,
    labels_in,
    note_missing,
    numbers_in,
    numbers_of,
    whole_numbers,
)
from .rules import NAMED_AT_MOST, Findings, refuse_itself
from .target import MOST_LABELS, label_key, of_one_kind, row_labels

if TYPE_CHECKING:
    import pandas as pd

# Times of zero are taken for this share of the shortest other one: only their ranks count.
OF_THE_SHORTEST = 0.5
# Different times that travel. Where a cohort has more, all are rounded up to about so many quantiles: only
# ranks count, and these move by about one row in as many.
MOST_TIMES = 200_000
OTHERS = "all others count as the end of follow-up"


@dataclass(frozen=True, eq=False)
class FollowUp(Target):
    """Times (n,) and events (n,), and which of the labels of the latter is the event.

    ``time`` may hold both, as scikit-survival's structured array; then ``event`` is None. The ``horizon`` is
    the time by which risks are told, or None.
    """

    ROLES: ClassVar[Mapping[str, str]] = {"time": "the time", "event": "the event"}
    NO_VARIABLES: ClassVar[frozenset[str]] = frozenset({"time", "event"})

    time: Any
    event: Any
    positive: Any
    horizon: float | None = None

    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        time, labels = self._read(X, n_rows, findings)
        time = _above_zero(time)
        event, classes = event_among(_different(labels), self.positive, title=self._title(X))
        events = (labels == event).astype(np.float64)
        survival, facts = self.by(Clock.of(time, events), n_rows)
        return Known(np.column_stack([time, events]), survival, classes, facts)

    def by(self, clock: Clock, n_rows: int) -> tuple[Survival, dict[str, Any]]:
        """What the follow-up of n rows is like, and what a model remembers of it."""
        if self.horizon is not None and self.horizon > clock.longest:
            raise InputError(
                f"horizon={self.horizon!r} is beyond the longest follow-up, {clock.longest:g}: nobody is "
                "known that long; choose an earlier one"
            )
        events = int(clock.events.sum())
        if events < FEWEST_EVENTS:
            raise InputError(
                f"{plural(events, 'event')} in {n_rows} rows: at least {FEWEST_EVENTS} are needed to say "
                "what makes it come sooner; is another label the event?"
            )
        if not clock.has_an_order:
            raise InputError(
                f"all events are at the same time, {clock.longest:g}, and nobody was followed as long "
                "without one: nothing tells what makes the event come sooner; give the times more exactly"
            )
        survival = Survival.by(clock, self.horizon)
        facts = {
            "outcome": survival.name,
            "events": events,
            "horizon": survival.horizon,
            "longest_follow_up": clock.longest,
        }
        return survival, facts

    def refuse_itself(self, known: Known, table: F64, names: Sequence[str]) -> None:
        times = known.values[:, 0]  # noqa: PD011
        refuse_itself(times, table, names, "the time of follow-up", linear=False)

    def known_again(self, X: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
        findings = Findings()
        time, labels = self._read(X, n_rows, findings)
        findings.refuse()
        return np.column_stack([time, _events_again(labels, classes)])

    def given(self) -> dict[str, Any]:
        time, event = self.time, self.event
        if getattr(getattr(time, "dtype", None), "names", None):
            raise InputError(
                "a structured array of times and events is for rows in memory: with rows on a cluster, time "
                "and event are two columns, by name or as dask Series"
            )
        if event is None:
            raise InputError("the time of follow-up and the event come together: give both time and event")
        return super().given()

    def known_there(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        time, event, wanted = columns["time"], columns["event"], self.positive
        names, findings = [time.name, event.name], Findings()
        seen: Followed = ask(names, partial(_followed, time, event, wanted))
        note_missing(seen.gone, seen.rows, f"{time.called} or {event.called}", findings)
        with findings.noting():
            _refuse_negative(seen.negative, f"in {time.called}")
        with findings.noting():
            _refuse_many_labels(seen.labels, wanted, event.called)
            labels = seen.labels.in_order(event.called)
            positive, classes = event_among(labels, wanted, event.called, event.title)
        findings.refuse()
        zero = _instead_of_zero(seen.zero, seen.shortest) if seen.zero else 0.0
        read = FollowUpReading(time, event, positive, zero)
        clock = seen.clock(positive if wanted is None else True, zero)
        if not seen.exact or clock.times.size > MOST_TIMES:
            # Each row is counted again, at the time at which it will be looked for.
            clock = ask(names, partial(_clock_by, read, clock.thinned(MOST_TIMES)))
        survival, facts = self.by(clock, seen.rows)
        return KnownThere(FollowUpRows(read, survival), survival, classes, facts)

    def _title(self, X: Any) -> str:
        """What the events are called; fields of a structured array are what they are by type, not by name."""
        return own_name(given_by(X, self.event, "event"))

    def _read(self, X: Any, n_rows: int, findings: Findings) -> tuple[F64, np.ndarray]:
        """Times, and how each ended; rows that lack one are noted, and left out."""
        time, event = self.time, self.event
        fields = getattr(getattr(time, "dtype", None), "names", None)
        if fields:
            if event is not None:
                raise InputError("time holds the events too, in a field of its own: leave event out")
            time, event = _fields(time, fields)
        elif event is None:
            raise InputError(
                "the time of follow-up and the event come together: give both time and event, or both in "
                "one structured array as scikit-survival has it"
            )
        times, missing = numbers_of(given_by(X, time, "time"), "time", n_rows)
        labels, unlabelled = row_labels(given_by(X, event, "event"), n_rows, "event")
        gone = missing | unlabelled
        note_missing(int(gone.sum()), n_rows, "time or event", findings)
        below = np.flatnonzero(times < 0.0)
        with findings.noting():
            rows = listed([str(row + 1) for row in below], NAMED_AT_MOST)
            _refuse_negative(below.size, f"{'row' if below.size == 1 else 'rows'} {rows}")
        return times[~gone], labels[~gone]


def _fields(both: np.ndarray, fields: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The times and the events of a structured array: the field of truth values is the event."""
    truth = [name for name in fields if both.dtype[name].kind == "b"]
    numbers = [name for name in fields if both.dtype[name].kind in "iuf"]
    if len(fields) != 2 or len(truth) != 1 or len(numbers) != 1:
        raise InputError(
            "a structured array of follow-up needs two fields, a truth value (the event) and a number (the "
            f"time); it has {listed([f'{name} ({both.dtype[name]})' for name in fields])}"
        )
    return both[numbers[0]], both[truth[0]]


def _refuse_negative(negative: int, where: str) -> None:
    """Refuse times below zero."""
    if negative:
        raise InputError(
            f"{plural(negative, 'time')} of follow-up {'is' if negative == 1 else 'are'} negative ({where}): "
            "a time counts from the start of follow-up; correct or drop these rows"
        )


def _above_zero(times: F64) -> F64:
    """The same where nobody's time is zero: who had none is ranked before all others."""
    zero = times == 0.0
    if not zero.any():
        return times
    return np.where(zero, _instead_of_zero(int(zero.sum()), times[~zero].min(initial=np.inf)), times)


def _instead_of_zero(n_zero: int, shortest: float) -> float:
    """What times of zero count as, of which there are some, beside the shortest of all others."""
    if shortest == np.inf:
        raise InputError("all times of follow-up are zero: time must say how long each patient was followed")
    warnings.warn(
        f"{plural(n_zero, 'time')} of follow-up {'is' if n_zero == 1 else 'are'} zero: such a patient counts "
        "as followed for less time than anybody else",
        UserWarning,
        stacklevel=caller(),
    )
    return OF_THE_SHORTEST * shortest


def event_among(
    found: np.ndarray, positive: Any, name: str = "event", title: str = ""
) -> tuple[Any, np.ndarray]:
    """Which of the different labels that were found is the event; and what ends follow-up otherwise, and it.

    That is ``positive`` or, without it, the one that says so itself under the ``title`` of its column, if it
    has one; ``name`` is what messages call the column.
    """
    known = found.tolist()
    if positive is None:
        positive = _says_itself(found, name, title)
    elif positive not in known and not (known == [0] and positive == 1):
        raise InputError(
            f"positive={positive!r} is not a label of {name}, which holds "
            f"{listed([repr(plain(label)) for label in found], NAMED_AT_MOST)}"
        )
    if found.size == 2:
        place = known.index(positive)
        return positive, found[[1 - place, place]]
    if found.size == 1 and positive == 1:
        return positive, np.array([0, 1]).astype(found.dtype)
    return positive, np.array([f"not {positive}", plain(positive)], dtype=object)


def _says_itself(found: np.ndarray, name: str, title: str) -> Any:
    """The label, among all that there are, that says itself that it is the event."""
    if found.size == 1 and found.tolist() in ([0], [1]):
        return 1
    place = place_of_disease(found, title) if found.size == 2 else None
    if place is not None:
        return found.tolist()[place]
    if found.size > MOST_LABELS and found.dtype.kind in "iuf":
        raise InputError(
            f"{name} holds {found.size} different numbers, from {found[0]:g} to {found[-1]:g}: it must say "
            "of each follow-up how it ended, 1 with the event and 0 without; if these are times, call "
            "fit(X, time, event)"
        )
    doubt, usual = "", [found[-1]]
    if asks_who_is_well(title):
        doubt, usual = f", and by the name {quoted(title)} it may say who is well", list(found[-2:])
    raise InputError(
        f"{name} holds {listed([repr(plain(label)) for label in found], NAMED_AT_MOST)}{doubt}: say which is "
        f"the event by {' or '.join(f'positive={plain(label)!r}' for label in usual)}; all others count as "
        "the end of follow-up"
    )


def _events_again(labels: np.ndarray, classes: np.ndarray) -> F64:
    """Events (n,) of new patients, none of whom need have had one."""
    other, event = classes.tolist()
    unknown = [label for label in _different(labels).tolist() if label not in (other, event)]
    # Beside an event of which only that is known, any other label is the end of follow-up.
    if unknown and other != f"not {event}":
        raise InputError(
            f"event holds {listed([repr(label) for label in unknown], NAMED_AT_MOST)}: the model knows "
            f"{other!r} and {event!r}, which is the event"
        )
    return (labels == event).astype(np.float64)


def _different(labels: np.ndarray) -> np.ndarray:
    """Each label once, in order."""
    try:
        return np.unique(of_one_kind(labels))
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise InputError(
            f"event holds labels of different types ({listed(kinds)}): give all of them as numbers, as "
            "texts, or as truth values"
        ) from None


# --- on a cluster -------------------------------------------------------------------------------------------


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
    labels: CountedLabels
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
    import pandas as pd

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
        labels=CountedLabels.of(labels, wanted),
        leaving=leaving,
        exact=exact,
    )


def _thinned(leaving: dict[Any, Clock]) -> tuple[dict[Any, Clock], bool]:
    """Clocks of times that are not too many, and whether they are as before. Too many labels are refused."""
    few = dict(islice(leaving.items(), LABELS_AT_MOST))
    thinned = {key: clock.thinned(MOST_TIMES) for key, clock in few.items()}
    return thinned, all(thinned[key] is few[key] for key in few)


def _refuse_many_labels(labels: CountedLabels, wanted: Any, called: str) -> None:
    if wanted is None and len(labels.counts) == LABELS_AT_MOST:
        raise InputError(
            f"{called} holds {LABELS_AT_MOST} different labels or more: it must say of each follow-up how it "
            "ended, 1 with the event and 0 without; or say which label is the event by positive"
        )


def _clock_by(read: FollowUpReading, times: Clock, partition: pd.DataFrame) -> Clock:
    """Of a partition, by the times of another clock."""
    time, event = read(partition)
    return Clock.of(times.rounded_up(time), event)


# --- in files -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FollowUpColumns(OutcomeColumns):
    """How long patients were followed, and whether the event ended that.

    Attributes
    ----------
    time, event : names of the columns.
    positive : the label that means the event; None where the labels say it. All others end follow-up.
    horizon : the time by which risks are told; None for the median time of the events.
    unit : of the times.
    """

    time: str
    event: str
    positive: str | None = None
    horizon: float | None = None
    unit: str | None = None

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        return (("--time", self.time), ("--event", self.event))

    @property
    def of_labels(self) -> str:
        return self.event

    def read(self, table: Any, path: str | PathLike[str]) -> OutcomeCells:
        findings = Findings()
        times = events = no_event = None
        with findings.noting():
            times = _times(table[self.time], self.time, path)
        with findings.noting():
            events, no_event = labels_in(table[self.event], self.event, "--event", path)
        findings.refuse()
        assert times is not None and events is not None and no_event is not None
        missing = {self.time: np.isnan(times), self.event: no_event}
        return OutcomeCells(_together(times, events), missing, np.zeros(times.size, dtype=bool))

    def tidied(self, values: Labels) -> Labels:
        return _together(values["time"], whole_numbers(values["event"]))

    def choose(self, values: Labels, rows: Index) -> ChosenFollowUp:
        findings, event, times = Findings(), None, values["time"]
        with findings.noting():
            _refuse_below_zero(times, self.time, rows)
        with findings.noting():
            event = choose_event(*np.unique(values["event"], return_counts=True), self.event, self.positive)
        with findings.noting():
            self._refuse_late_horizon(float(times.max()))
        findings.refuse()
        assert event is not None
        return ChosenFollowUp(self, event, float(times.max()), float(np.median(times)))

    def choose_counted(self, unique: Labels, counts: Index) -> ChosenFollowUp:
        return ChosenFollowUp(self, choose_event(unique, counts, self.event, self.positive))

    def _refuse_late_horizon(self, longest: float) -> None:
        if self.horizon is not None and self.horizon > longest:
            raise InputError(
                f"--horizon {self.horizon:g} is beyond the longest follow-up, {self.in_unit(longest)}: "
                "nobody is known that long; choose an earlier time."
            )

    def in_unit(self, time: float) -> str:
        """A time in words: ``4,795 days``."""
        return amount(time) if self.unit is None else f"{amount(time)} {one_line(self.unit, 30)}"


@dataclass(frozen=True)
class Event:
    """Which label is the event, its text, how many rows have it, and which rows have others: (text, rows)."""

    label: Any
    text: str
    n_events: int
    others: Sequence[tuple[str, int]]


@dataclass(frozen=True)
class ChosenFollowUp(ChosenOutcome):
    """Times, and which label is the event; the longest and, of rows at hand, the median one."""

    kind: ClassVar[str] = "survival"

    columns: FollowUpColumns
    event: Event
    longest: float | None = None
    median: float | None = None

    @property
    def called(self) -> str:
        # 1, true and yes add nothing to a name such as died; 2 says which label of a status it is.
        if self.event.text in ("1", "true", "yes", "y"):
            return self.columns.event
        return f"{self.columns.event} = {self.event.text}"

    @property
    def parameters(self) -> dict[str, Any]:
        return {"positive": self.event.label, "horizon": self.columns.horizon}

    @property
    def unit(self) -> str | None:
        return self.columns.unit

    def known(self, values: Any) -> Target:
        return FollowUp(values["time"], values["event"], self.event.label, self.columns.horizon)

    def arguments(self, values: Any) -> tuple[Any, ...]:
        return values["time"], values["event"]

    def refuse_few(self, values: Labels) -> None:
        if self.event.n_events < FEWEST_EVENTS:
            raise InputError(
                f"{plural(self.event.n_events, 'event')} in {plural(values.size, 'row')}: at least "
                f"{FEWEST_EVENTS} are needed to say what makes it come sooner; is another label the event?"
            )

    def counted(self, made: Mapping[str, Any]) -> ChosenFollowUp:
        return replace(self, longest=made["longest_follow_up"])

    def lines(self, n_rows: int, of_what: str = "patients") -> list[str]:
        event, columns = self.event, self.columns
        said = f"event: {one_line(columns.event)} = {one_line(event.text)} "
        said += f"({plural(event.n_events, 'event')} in {n_rows} {of_what})"
        if len(event.others) > 1:
            said += f"; all other labels end the follow-up without it: {_counted(event.others)}"
        if not event.others:
            said += "; nobody's follow-up ended without it"
        followed = f"time: {one_line(columns.time)}"
        if self.longest is not None:
            followed += f"; {of_what} were followed for up to {columns.in_unit(self.longest)}"
        if self.median is not None:
            followed += f", median {columns.in_unit(self.median)}"
        return [said, followed]


def choose_event(unique: Labels, counts: Index, event: str, positive: str | None) -> Event:
    """Which label is the event; labels that do not say so themselves need ``positive``."""
    texts = [text_of(label) for label in unique]
    rows = list(zip(texts, map(int, counts), strict=True))
    column = f"the event column {quoted(event)}"
    if len(texts) > MOST_LABELS and unique.dtype.kind in "iuf":
        raise InputError(
            f"{column} holds {len(texts)} different numbers, from {texts[0]} to {texts[-1]}, and it has to "
            "say whether the event happened, 1 or 0: is it the time? Then name it with --time."
        )
    place = _place_of_event(unique, texts, event, positive)
    if place is None and positive is not None:
        raise InputError(
            f"--positive {quoted(positive)} is not a label of {quoted(event)}, which holds {_counted(rows)}."
        )
    if place is None and texts in (["0"], ["false"]):
        raise InputError(
            f"nobody had the event: {column} holds {_counted(rows)} and nothing else, which is the end of "
            "follow-up without it; at least two events are needed."
        )
    if place is None:
        # Of codes the last is mostly the worst; of several texts it is the user's to choose.
        known = unique.dtype.kind in "iuf" or len(texts) == 1
        example = pasted(texts[-1]) if known else "LABEL"
        hint = f" if {quoted(texts[-1], 30)} is it" if known else ""
        raise InputError(
            f"{column} holds {_counted(rows)}, which {'does' if len(rows) == 1 else 'do'} not say which "
            f"label is the event: add --positive {example}{hint}; {OTHERS}."
        )
    others = [pair for k, pair in enumerate(rows) if k != place]
    return Event(unique[place].item(), texts[place], rows[place][1], others)


def _place_of_event(unique: Labels, texts: list[str], event: str, positive: str | None) -> int | None:
    if positive is not None:
        keys = [label_key(text) for text in texts]
        return keys.index(label_key(positive)) if label_key(positive) in keys else None
    if texts in (["1"], ["true"]):
        return 0  # there is no censoring
    return place_of_disease(unique, event) if len(texts) == 2 else None


def _counted(rows: Sequence[tuple[str, int]]) -> str:
    return listed([f"{quoted(text, 30)} ({plural(count, 'row')})" for text, count in rows], NAMED_AT_MOST)


def _times(column: Any, name: str, path: str | PathLike[str]) -> F64:
    from ..files.cells import holds_dates
    from ..files.written_dates import holds_written_dates

    if holds_dates(column) or holds_written_dates(column):
        example = next((cell for cell in column.to_pylist() if cell is not None), "")
        raise InputError(
            f"column {quoted(name)} (--time) of {shown(path)} holds dates, such as {quoted(example, 30)}, "
            "and a time of follow-up is a number: make a column of the days from its start to its end."
        )
    return numbers_in(column, name, "--time", path)


def _refuse_below_zero(times: F64, name: str, rows: Index) -> None:
    below = np.flatnonzero(times < 0.0)
    if below.size:
        cells = [f"{times[k]:g} in row {rows[k]}" for k in below[:NAMED_AT_MOST]]
        more = f" and {plural(below.size - len(cells), 'more row')}" if below.size > len(cells) else ""
        raise InputError(
            f"{quoted(name)} (--time) has times below 0: {', '.join(cells)}{more}. A time counts from the "
            "start of follow-up: correct these rows, or leave them out of the file."
        )


def _together(times: F64, events: Labels) -> Labels:
    """(n,) with the fields that scikit-survival has, and labels as they are."""
    both = np.empty(times.size, dtype=[("event", events.dtype), ("time", np.float64)])
    both["event"], both["time"] = events, times
    return both
