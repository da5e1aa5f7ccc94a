"""The time to an event in the columns of a file: how long, how it ended, from when on, and strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError
from ..files.cells import is_missing
from ..method.table import F64, Index
from ..outcomes.survival import FEWEST_EVENTS
from ..wording import amount, listed, one_line, pasted, plural, quoted, shown
from .labels import place_of_disease, text_of
from .outcomes import (
    ChosenOutcome,
    Labels,
    OutcomeCells,
    OutcomeColumns,
    Target,
    labels_in,
    numbers_in,
    texts_in,
    whole_numbers,
)
from .rules import NAMED_AT_MOST, Findings
from .survival import OTHERS, FollowUp, refuse_late_start
from .target import MOST_LABELS, label_key


@dataclass(frozen=True)
class FollowUpColumns(OutcomeColumns):
    """How long patients were followed, and whether the event ended that.

    Attributes
    ----------
    time, event : names of the columns.
    positive : the label that means the event; None where the labels say it. All others end follow-up.
    horizon : the time by which risks are told; None for the median time of the events.
    unit : of the times.
    start : name of the column that says from when on rows are at risk; None where all are from the beginning.
    strata : name of the column whose values have baseline hazards of their own; None where there is none.
    competing : labels of competing events, after which the event cannot come.
    incidence : whether effects are those on the cumulative incidence.
    """

    time: str
    event: str
    positive: str | None = None
    horizon: float | None = None
    unit: str | None = None
    start: str | None = None
    strata: str | None = None
    competing: tuple[str, ...] = ()
    incidence: bool = False

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        more = (("--start", self.start), ("--strata", self.strata))
        given = tuple((option, column) for option, column in more if column is not None)
        return (("--time", self.time), ("--event", self.event), *given)

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
        more: dict[str, Labels] = {}
        if self.start is not None:
            more["start"] = numbers_in(table[self.start], self.start, "--start", path)
            missing[self.start] = np.isnan(more["start"])
        if self.strata is not None:
            more["strata"] = np.array(
                texts_in(table[self.strata], self.strata, "--strata", path), dtype=np.str_
            )
            missing[self.strata] = np.array([is_missing(name) or not name for name in more["strata"]])
        return OutcomeCells(_together(times, events, **more), missing, np.zeros(times.size, dtype=bool))

    def tidied(self, values: Labels) -> Labels:
        more = {name: values[name] for name in values.dtype.names or () if name in ("start", "strata")}
        return _together(values["time"], whole_numbers(values["event"]), **more)

    def choose(self, values: Labels, rows: Index) -> ChosenFollowUp:
        findings, event, times = Findings(), None, values["time"]
        with findings.noting():
            _refuse_below_zero(times, self.time, rows)
        with findings.noting():
            event = self._event(*np.unique(values["event"], return_counts=True))
        with findings.noting():
            self._refuse_late_horizon(float(times.max()))
        with findings.noting():
            if self.start is not None:
                option = f"{quoted(self.start)} (--start)"
                refuse_late_start(values["start"], times, rows, option)
        findings.refuse()
        assert event is not None
        return ChosenFollowUp(self, event, float(times.max()), float(np.median(times)))

    def choose_counted(self, unique: Labels, counts: Index) -> ChosenFollowUp:
        return ChosenFollowUp(self, self._event(unique, counts))

    def _event(self, unique: Labels, counts: Index) -> Event:
        """The event, among the labels of which no competing event is."""
        keys = [label_key(text_of(label)) for label in unique]
        others = [label_key(text) for text in self.competing]
        for text, key in zip(self.competing, others, strict=True):
            if key not in keys:
                raise InputError(
                    f"--competing {quoted(text)} is not a label of {quoted(self.event)}, which holds "
                    f"{_counted(_rows_of(unique, counts))}."
                )
            if self.positive is not None and key == label_key(self.positive):
                raise InputError(f"{quoted(text)} is given as --positive and as --competing: it is either.")
        competes = np.array([key in others for key in keys], dtype=bool)
        if competes.all():
            raise InputError(f"all labels of {quoted(self.event)} are --competing ones: which is the event?")
        event = choose_event(unique[~competes], counts[~competes], self.event, self.positive)
        return replace(event, competing=_rows_of(unique[competes], counts[competes]), labels=unique[competes])

    def _refuse_late_horizon(self, longest: float) -> None:
        if self.horizon is not None and self.horizon > longest:
            raise InputError(
                f"--horizon {self.horizon:g} is beyond the longest follow-up, {self.in_unit(longest)}: "
                "nobody is known that long; choose an earlier time."
            )

    def in_unit(self, time: float) -> str:
        """A time in words: ``4,795 days``."""
        return amount(time) if self.unit is None else f"{amount(time)} {one_line(self.unit, 30)}"


@dataclass(frozen=True, eq=False)
class Event:
    """Which label is the event, its text, how many rows have it, and which rows have others: (text, rows).

    ``competing`` are those of competing events, likewise, and ``labels`` these labels.
    """

    label: Any
    text: str
    n_events: int
    others: Sequence[tuple[str, int]]
    competing: Sequence[tuple[str, int]] = ()
    labels: Labels = field(default_factory=lambda: np.empty(0))


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
        return {
            "positive": self.event.label,
            "horizon": self.columns.horizon,
            "competing": self.event.labels.tolist(),
            "incidence": self.columns.incidence,
        }

    @property
    def unit(self) -> str | None:
        return self.columns.unit

    def known(self, values: Any) -> Target:
        start, strata = self._more(values)
        chosen = (self.event.label, self.columns.horizon, self.event.labels.tolist())
        return FollowUp(values["time"], values["event"], *chosen, start, strata, self.columns.incidence)

    def arguments(self, values: Any) -> tuple[Any, ...]:
        return values["time"], values["event"], None, *self._more(values)

    def _more(self, values: Any) -> tuple[Any, Any]:
        start = None if self.columns.start is None else values["start"]
        return start, None if self.columns.strata is None else values["strata"]

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
        if event.competing:
            said += f"; competing events, after which it cannot come: {_counted(event.competing)}"
            if columns.incidence:
                said += "; effects are on the cumulative incidence (Fine & Gray)"
        if len(event.others) > 1:
            said += (
                f"; all other labels end the follow-up without it: {_counted(event.others)}; name with "
                "--competing what keeps it from coming"
            )
        if not event.others and not event.competing:
            said += "; nobody's follow-up ended without it"
        followed = f"time: {one_line(columns.time)}"
        if self.longest is not None:
            followed += f"; {of_what} were followed for up to {columns.in_unit(self.longest)}"
        if self.median is not None:
            followed += f", median {columns.in_unit(self.median)}"
        lines = [said, followed]
        if columns.start is not None:
            lines.append(f"start: {one_line(columns.start)}; rows are at risk from it on, to the time")
        if columns.strata is not None:
            lines.append(f"strata: {one_line(columns.strata)}; each has a baseline hazard of its own")
        return lines


def choose_event(unique: Labels, counts: Index, event: str, positive: str | None) -> Event:
    """Which label is the event; labels that do not say so themselves need ``positive``."""
    rows = _rows_of(unique, counts)
    texts = [text for text, _ in rows]
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


def _rows_of(unique: Labels, counts: Index) -> list[tuple[str, int]]:
    return [(text_of(label), int(count)) for label, count in zip(unique, counts, strict=True)]


def _counted(rows: Sequence[tuple[str, int]]) -> str:
    return listed([f"{quoted(text, 30)} ({plural(count, 'row')})" for text, count in rows], NAMED_AT_MOST)


def _times(column: Any, name: str, path: str | PathLike[str]) -> F64:
    from ..files.cells import holds_dates, holds_written_dates

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


def _together(times: F64, events: Labels, **more: Labels) -> Labels:
    """(n,) with the fields that scikit-survival has, labels as they are, and what ``more`` there is."""
    columns = {"event": events, "time": times, **more}
    both = np.empty(times.size, dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        both[name] = column
    return both
