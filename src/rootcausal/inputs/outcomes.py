"""What happened to the patients, as users give it, checked and as the core takes it; one class for each kind.

Labels, times and numbers are matched to the rows of X by their place.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.clock import Clock
from ..core.moments import FLAT, SMALLEST
from ..core.number import FEWEST_VALUES, Number
from ..core.outcome import Outcome
from ..core.survival import FEWEST_EVENTS, Survival
from ..core.table import F64, LARGEST
from ..core.yes_no import YesNo
from ..errors import InputError
from ..wording import listed, plain, plural, quoted
from .from_frame import own_name
from .itself import refuse_itself
from .labels import asks_who_is_well, place_of_disease
from .matrices import caller
from .patients import Patients
from .rules import NAMED_AT_MOST, Findings
from .target import MOST_LABELS, encode_known, encode_target, labels_of, of_one_kind, row_labels

# Times of zero are taken for this share of the shortest other one: only their ranks count.
OF_THE_SHORTEST = 0.5


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of the outcome of a cohort.

    Attributes
    ----------
    values : (n,) labels or numbers, or (n, 2) times and events, as ``outcome`` takes them.
    outcome : what they are like.
    classes : (2,) labels, the disease or the event second; empty for numbers.
    facts : what a model remembers of it.
    label_name : what the column of the labels of a diagnosis is called; empty where it has no name.
    """

    values: np.ndarray
    outcome: Outcome
    classes: np.ndarray
    facts: Mapping[str, Any]
    label_name: str = ""

    @property
    def rows(self) -> np.ndarray:
        """What tables keep of it."""
        return self.outcome.rows(self.values)


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Two labels, y (n,), and which one is the disease (None: see :mod:`.target`)."""

    y: Any
    positive: Any

    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        y = given(X, self.y)
        labels, classes = encode_target(y, self.positive, n_rows, findings)
        return Known(labels, YesNo.of(labels), classes, {"cases": int(labels.sum())}, own_name(y))

    def refuse_itself(self, known: Known, table: F64, names: Sequence[str]) -> None:
        """Nothing: a column that tells the diagnosis is for the checks to judge."""

    def known_again(self, X: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
        """Labels of new patients, by the classes of the model."""
        return encode_known(given(X, self.y), classes, n_rows)


@dataclass(frozen=True, eq=False)
class FollowUp:
    """Times (n,) and events (n,), and which of the labels of the latter is the event.

    ``time`` may hold both, as scikit-survival's structured array; then ``event`` is None. The ``horizon`` is
    the time by which risks are told, or None.
    """

    time: Any
    event: Any
    positive: Any
    horizon: float | None = None

    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        time, labels = self._read(X, n_rows, findings)
        time = _above_zero(time)
        event, classes = choose_event(_different(labels), self.positive, title=self._title(X))
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
        """Refuse columns that are the time again."""
        refuse_itself(known.values[:, 0], table, names, "the time of follow-up", linear=False)

    def known_again(self, X: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
        """Times and events of new patients, by the label that is the event in the model."""
        findings = Findings()
        time, labels = self._read(X, n_rows, findings)
        findings.refuse()
        return np.column_stack([time, _events_again(labels, classes)])

    def _title(self, X: Any) -> str:
        """What the events are called; fields of a structured array are what they are by type, not by name."""
        return own_name(given(X, self.event, "event"))

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
        times, missing = numbers_of(given(X, time, "time"), "time", n_rows)
        labels, unlabelled = row_labels(given(X, event, "event"), n_rows, "event")
        gone = missing | unlabelled
        note_missing(int(gone.sum()), n_rows, "time or event", findings)
        below = np.flatnonzero(times < 0.0)
        with findings.noting():
            rows = listed([str(row + 1) for row in below], NAMED_AT_MOST)
            refuse_negative(below.size, f"{'row' if below.size == 1 else 'rows'} {rows}")
        return times[~gone], labels[~gone]


@dataclass(frozen=True, eq=False)
class Amount:
    """A number for each patient, y (n,)."""

    y: Any

    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        values, missing = numbers_of(given(X, self.y), "y", n_rows)
        note_missing(int(missing.sum()), n_rows, "y", findings)
        values = values[~missing]
        different = np.unique(values)
        refuse_constant(different, "y")
        number = Number.of(values)
        refuse_flat(number, different, "y")
        return Known(values, number, np.empty(0), facts_of_number(number))

    def refuse_itself(self, known: Known, table: F64, names: Sequence[str]) -> None:
        """Refuse columns that are y again."""
        refuse_itself(known.values, table, names, "the outcome y", linear=True)

    def known_again(self, X: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
        """Numbers of new patients."""
        values, missing = numbers_of(given(X, self.y), "y", n_rows)
        _refuse_missing(int(missing.sum()), "y")
        return values


#: What a door takes for an outcome.
Target = Diagnosis | FollowUp | Amount


def given(X: Any, y: Any, name: str = "y") -> Any:
    """What y gives or, for AnnData, names; what was read from a file is as it should be."""
    return y if isinstance(X, Patients) else labels_of(X, y, name)


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


def numbers_of(values: Any, name: str, n_rows: int) -> tuple[F64, np.ndarray]:
    """(n,) each: one number a row, and where there is none."""
    values, missing = row_labels(values, n_rows, name)
    if values.dtype.kind not in "iufO":
        raise InputError(f"{name} must be numbers, not {values.dtype}")
    try:
        numbers = np.where(missing, np.nan, values).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers: {error}") from error
    if np.isinf(numbers).any() or (np.abs(numbers[~missing]) > LARGEST).any():
        raise InputError(f"{name} holds infinite values (inf), or values too large: correct these rows")
    return numbers, missing


def note_missing(gone: int, n_rows: int, name: str, findings: Findings) -> None:
    """Note the rows without an outcome; where all are, nothing else can be said of it."""
    if gone == n_rows:
        _refuse_missing(gone, name)
    with findings.noting():
        _refuse_missing(gone, name)


def _refuse_missing(gone: int, name: str) -> None:
    if gone:
        raise InputError(f"{gone} row(s) have no {name} (NaN): drop these rows")


def refuse_negative(negative: int, where: str) -> None:
    """Refuse times below zero."""
    if negative:
        raise InputError(
            f"{plural(negative, 'time')} of follow-up {'is' if negative == 1 else 'are'} negative ({where}): "
            "a time counts from the start of follow-up; correct or drop these rows"
        )


def refuse_constant(different: F64, name: str) -> None:
    """Refuse a number that has one value only, of which there is no standard deviation."""
    if different.size < 2:
        raise InputError(
            f"{name} is constant ({different[0]:g}): nothing can be said of what does not vary between "
            "patients"
        )


def refuse_flat(number: Number, different: F64, name: str) -> None:
    """Refuse a number that varies too little; ``different`` are some of its values, ascending.

    Of one with two values it is said that it may be a diagnosis.
    """
    if not number.sd > max(FLAT * abs(number.mean), SMALLEST):
        raise InputError(
            f"{name} varies too little for 64-bit numbers to hold, around {number.mean!r}: subtract a fixed "
            "number from it, or give it in another unit"
        )
    if different.size < FEWEST_VALUES:
        warnings.warn(
            f"{name} holds {different[0]:g} and {different[1]:g} only, and is taken for a number: for a "
            "diagnosis that is yes or no use RCI",
            UserWarning,
            stacklevel=caller(),
        )


def facts_of_number(number: Number) -> dict[str, Any]:
    """What a model remembers of it."""
    return {"outcome": number.name, "mean": number.mean, "sd": number.sd}


def _above_zero(times: F64) -> F64:
    """The same where nobody's time is zero: who had none is ranked before all others."""
    zero = times == 0.0
    if not zero.any():
        return times
    return np.where(zero, instead_of_zero(int(zero.sum()), times[~zero].min(initial=np.inf)), times)


def instead_of_zero(n_zero: int, shortest: float) -> float:
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


def choose_event(
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


def names_given(X: Any, target: Target) -> list[str]:
    """What the columns of an outcome are called, as far as they have names."""
    columns = [target.time, target.event] if isinstance(target, FollowUp) else [target.y]
    names = [one if isinstance(one, str) else own_name(one) for one in columns if one is not None]
    return [name for name in names if name]
