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
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import InputError, LabelWarning, RootCausalWarning, caller
from ..method.table import F64, Index
from ..name_hints.columns import tokens, words
from ..outcomes.follow_up import Clock, Spans, outlived, without_a_start
from ..outcomes.survival import FEWEST_EVENTS, Survival
from ..wording import listed, plain, plural, quoted
from .from_frame import as_frame, own_name
from .labels import asks_who_is_well, place_of_disease, says_ill
from .outcomes import (
    LABELS_AT_MOST,
    Ask,
    Column,
    CountedLabels,
    Known,
    KnownThere,
    Target,
    given_by,
    is_label,
    note_missing,
    numbers_of,
    refuse_missing,
)
from .rules import NAMED_AT_MOST, Findings, refuse_itself
from .target import MOST_LABELS, of_one_kind, row_labels

if TYPE_CHECKING:
    import pandas as pd

# Times of zero are taken for this share of the shortest other one: only their ranks count.
OF_THE_SHORTEST = 0.5
# Different times that travel. Where a cohort has more, all are rounded up to about so many quantiles: only
# ranks count, and these move by about one row in as many.
MOST_TIMES = 200_000
OTHERS = "all others count as the end of follow-up"
# What ends follow-up and is no event.
LOST = words("lost withdrawn withdrew dropout ltfu censored administrative")
IN_MEMORY = "fit a sample of them, or X.compute()"


@dataclass(frozen=True, eq=False)
class FollowUp(Target):
    """Times (n,) and events (n,), and which of the labels of the latter is the event.

    ``time`` may hold both, as scikit-survival's structured array, or as two columns; then ``event`` is None.
    The ``horizon`` is the time by which risks are told, or None. ``competing`` is the label, or a list of
    those, after which the event cannot come; None where nobody said whether there are such. Rows are at risk
    from a ``start`` (n,) on, and ``strata`` (n,) have baseline hazards of their own, or None. ``incidence``
    asks for effects on the cumulative incidence: after a competing event patients stay at risk.
    """

    ROLES: ClassVar[Mapping[str, str]] = {"time": "the time", "event": "the event"}
    NO_VARIABLES: ClassVar[frozenset[str]] = frozenset({"time", "event"})

    time: Any
    event: Any
    positive: Any
    horizon: float | None = None
    competing: Any = None
    start: Any = None
    strata: Any = None
    incidence: bool = False

    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        rows = self._read(X, n_rows, findings)
        time = rows.time if rows.start is not None else _above_zero(rows.time)
        labels, counts = _different(rows.labels)
        others = _competing_among(labels, self.competing)
        self._refuse_incidence(others)
        left = np.array([label not in others for label in labels.tolist()], dtype=bool)
        event, classes = event_among(labels[left], self.positive, self._title(X), others)
        if self.competing is None:
            _warn_of_others(labels, counts, event)
        events = (rows.labels == event).astype(np.float64)
        competing = np.isin(rows.labels, others).astype(np.float64) if others else None
        spans = Spans(time, events, rows.start, rows.stratum, competing)
        spans = outlived(spans) if self.incidence else spans
        survival, facts = self.by(Clock.of_spans(spans), n_rows)
        return Known(spans.known, survival, classes, facts | _facts_of(spans))

    def _refuse_incidence(self, others: list[Any]) -> None:
        """Refuse effects on the cumulative incidence where they have no meaning, or are not offered."""
        if self.incidence and not others:
            raise InputError(
                "incidence=True tells of the event beside competing ones: name these by competing=[...]"
            )
        if self.incidence and self.start is not None:
            raise InputError(
                "incidence=True is for rows at risk from the beginning, not from a start on: leave out "
                "incidence, which tells effects on the hazard"
            )

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
        if self.start is None:
            _warn_of_dates(float(clock.times.min()), clock.longest, n_rows)
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
        rows = self._read(X, n_rows, findings)
        findings.refuse()
        others = as_labels(self.competing)
        competes = np.isin(rows.labels, others) if others else np.zeros(rows.labels.size, dtype=bool)
        events = np.zeros(rows.labels.size)
        events[~competes] = _events_again(rows.labels[~competes], classes)
        competing = competes.astype(np.float64) if others else None
        spans = Spans(rows.time, events, rows.start, rows.stratum, competing)
        return outlived(spans).known if self.incidence else spans.known

    def names(self) -> list[str]:
        named = [one if isinstance(one, str) else own_name(one) for one in (self.start, self.strata)]
        return [*super().names(), *(name for name in named if name)]

    def given(self) -> dict[str, Any]:
        time, event = self.time, self.event
        asked = {"start": self.start, "strata": self.strata, "competing": as_labels(self.competing) or None}
        for name, value in asked.items():
            if value is not None:
                raise InputError(f"{name} needs the rows in memory, not on a cluster: {IN_MEMORY}")
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
            positive, classes = event_among(labels, wanted, event.title, name=event.called)
            if self.competing is None:
                counts = np.array([seen.labels.counts[label] for label in labels.tolist()])
                _warn_of_others(labels, counts, positive)
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
        return own_name(given_by(X, self._both(X)[1], "event"))

    def _read(self, X: Any, n_rows: int, findings: Findings) -> Rows:
        """What is given of each row; rows that lack a time or an event are noted, and left out."""
        time, event = self._both(X)
        times, missing = numbers_of(given_by(X, time, "time"), "time", n_rows)
        labels, unlabelled = row_labels(given_by(X, event, "event"), n_rows, "event")
        gone = missing | unlabelled
        note_missing(int(gone.sum()), n_rows, "time or event", findings)
        below = np.flatnonzero(times < 0.0)
        with findings.noting():
            _refuse_negative(below.size, _rows_named(below))
        start = stratum = None
        with findings.noting():
            if self.start is not None:
                start = _starts(given_by(X, self.start, "start"), times, n_rows)[~gone]
        with findings.noting():
            if self.strata is not None:
                from .matched import sets_of

                stratum = sets_of(self.strata, n_rows, "stratum").astype(np.float64)[~gone]
        return Rows(times[~gone], labels[~gone], start, stratum)

    def _both(self, X: Any) -> tuple[Any, Any]:
        """Times and events as they were given, also as two columns of one thing."""
        time, event = self.time, self.event
        fields = getattr(getattr(time, "dtype", None), "names", None)
        both = _fields(time, fields) if fields else _two_columns(time)
        if both is not None:
            if event is not None:
                raise InputError(
                    "time holds the events too, in a field or column of its own: leave out event"
                )
            return both
        if time is None and event is None:
            raise InputError(
                "RCISurvival requires y to be passed, but the target y is None: give both time and event, or "
                "both in one structured array as scikit-survival has it"
            )
        if event is None:
            raise InputError(
                "the time of follow-up and the event come together: give both time and event, or both in "
                "one structured array as scikit-survival has it, or in two columns, the time first"
            )
        return time, event


@dataclass(frozen=True, eq=False)
class Rows:
    """What is given of rows: times, labels of events, starts and strata, all (n,); None where not given."""

    time: F64
    labels: np.ndarray
    start: F64 | None
    stratum: F64 | None


def as_labels(competing: Any) -> list[Any]:
    """The labels of competing events: one, or a list of them."""
    if competing is None:
        return []
    some = competing if isinstance(competing, list | tuple | set | np.ndarray) else [competing]
    return [plain(label) for label in some]


def _competing_among(labels: np.ndarray, competing: Any) -> list[Any]:
    """The labels of competing events; refused where the event column does not have one."""
    others = as_labels(competing)
    unknown = [label for label in others if label not in labels.tolist()]
    if unknown:
        raise InputError(
            f"competing={competing!r}: {listed([repr(label) for label in unknown])} is not a label of event, "
            f"which holds {listed([repr(plain(label)) for label in labels], NAMED_AT_MOST)}"
        )
    return others


def _warn_of_others(labels: np.ndarray, counts: Index, event: Any) -> None:
    """Say which labels end follow-up like censoring, though they do not say that they are that."""
    rest = [(plain(label), int(n)) for label, n in zip(labels, counts, strict=True) if label != event]
    silent = [(label, n) for label, n in rest if not _says_censored(label, len(rest))]
    if not silent:
        return
    named = listed([f"{label!r} ({plural(n, 'row')})" for label, n in silent], NAMED_AT_MOST)
    warnings.warn(
        f"the event is {plain(event)!r}, and {named} of event {'counts' if len(silent) == 1 else 'count'} as "
        "the end of follow-up without it (censored): where it keeps the event from coming, say so by "
        "competing=[...]; competing=[] says that nothing does",
        LabelWarning,
        stacklevel=caller(),
    )


def _says_censored(label: Any, n_others: int) -> bool:
    """Whether a label is, or may well be, the mere end of follow-up, beside so many others than the event."""
    if isinstance(label, str):
        lost = not LOST.isdisjoint(tokens(label))
        return lost or says_ill(label) is False or (n_others == 1 and says_ill(label) is None)
    return n_others == 1 or not label


def _facts_of(spans: Spans) -> dict[str, int]:
    """What a model remembers of a design: competing events, rows that came late, and strata."""
    found = {}
    if spans.competing is not None:
        found["competing"] = int(spans.competing.sum())
    if spans.start is not None:
        found["late"] = int((spans.start > 0.0).sum())
    if spans.stratum is not None:
        found["strata"] = int(np.unique(spans.stratum).size)
    return found


def _starts(values: Any, times: F64, n_rows: int) -> F64:
    """(n,) from when on rows are at risk; refused where that is not before the end."""
    start, missing = numbers_of(values, "start", n_rows)
    refuse_missing(int(missing.sum()), "start")
    refuse_late_start(start, times, np.arange(1, n_rows + 1))
    return start


def refuse_late_start(start: F64, times: F64, rows: Index, option: str = "start") -> None:
    """Refuse rows, which stand at these places, that end before they start, or start before zero."""
    below, late = rows[start < 0.0], rows[start >= times]
    if below.size:
        raise InputError(
            f"{option} is below 0 in {_rows_at(below)}: count the times of {option} and end from the same "
            "zero, which is before all of them"
        )
    if late.size:
        raise InputError(
            f"{option} is not before the time in {_rows_at(late)}, never at risk: correct, or leave out, "
            "such rows"
        )


def _rows_at(rows: Index) -> str:
    return f"{'row' if rows.size == 1 else 'rows'} {listed([str(row) for row in rows], NAMED_AT_MOST)}"


def _rows_named(places: Index) -> str:
    return _rows_at(places + 1)


def _two_columns(both: Any) -> tuple[Any, Any] | None:
    """Times and events where they are the two columns of an array or a frame; None where they are not."""
    frame = as_frame(both)
    if frame is not None:
        if len(frame.columns) != 2:
            return None
        first, second = (frame.get_column(name) for name in frame.columns)
        # Truth values are the event, wherever they stand.
        swapped = str(first.dtype) == "Boolean" and str(second.dtype) != "Boolean"
        return (second, first) if swapped else (first, second)
    if isinstance(both, np.ndarray) and both.ndim == 2 and both.shape[1] == 2:
        return both[:, 0], both[:, 1]
    return None


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


def _warn_of_dates(shortest: float, longest: float, n_rows: int) -> None:
    """Say that times may be those of a calendar: then patients were not followed from zero on."""
    if without_a_start(shortest, longest, n_rows):
        warnings.warn(
            f"times of follow-up are from {shortest:,g} to {longest:,g}, as of dates, or of ages: a time "
            "has to count from each patient's start, which the model takes for zero; subtract the start, or "
            "name it by start= (--start)",
            RootCausalWarning,
            stacklevel=caller(),
        )


def _instead_of_zero(n_zero: int, shortest: float) -> float:
    """What times of zero count as, of which there are some, beside the shortest of all others."""
    if shortest == np.inf:
        raise InputError("all times of follow-up are zero: time must say how long each patient was followed")
    warnings.warn(
        f"{plural(n_zero, 'time')} of follow-up {'is' if n_zero == 1 else 'are'} zero: such a patient counts "
        "as the first to leave follow-up",
        RootCausalWarning,
        stacklevel=caller(),
    )
    return OF_THE_SHORTEST * shortest


def event_among(
    found: np.ndarray,
    positive: Any,
    title: str = "",
    competing: Sequence[Any] = (),
    name: str = "event",
) -> tuple[Any, np.ndarray]:
    """Which of the different labels that were found is the event; and what ends follow-up otherwise, and it.

    That is ``positive`` or, without it, the one that says so itself under the ``title`` of its column, if it
    has one; ``name`` is what messages call the column. Labels of ``competing`` events are not among them.
    """
    if positive is not None and positive in competing:
        raise InputError(f"{positive!r} is the event by positive, and a competing one: it is either")
    if not found.size:
        raise InputError(f"all labels of {name} are those of competing events: which is the event?")
    known = found.tolist()
    if positive is None:
        positive = _says_itself(found, name, title)
    elif positive not in known and not (known == [0] and positive == 1):
        raise InputError(
            f"positive={positive!r} is not a label of {name}, which holds "
            f"{listed([repr(plain(label)) for label in found], NAMED_AT_MOST)}"
        )
    if found.size == 2 and not competing:
        place = known.index(positive)
        return positive, found[[1 - place, place]]
    if found.size == 1 and positive == 1 and not competing:
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
    unknown = [label for label in _different(labels)[0].tolist() if label not in (other, event)]
    # Beside an event of which only that is known, any other label is the end of follow-up.
    if unknown and other != f"not {event}":
        raise InputError(
            f"event holds {listed([repr(label) for label in unknown], NAMED_AT_MOST)}: the model knows "
            f"{other!r} and {event!r}, which is the event"
        )
    return (labels == event).astype(np.float64)


def _different(labels: np.ndarray) -> tuple[np.ndarray, Index]:
    """Each label once, in order, and how many rows have it."""
    try:
        found = np.unique(of_one_kind(labels), return_counts=True)
        return found[0], found[1]
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
