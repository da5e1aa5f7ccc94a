"""A site: it holds rows, answers requests for sums over them, and writes down whatever it tells.

Requests come in sessions, numbered from 1. A site keeps what a session has led to (columns standardized,
roots regressed out), so each number is worked on once: the last one asked again gets the same answer again,
older ones are refused, and a number that is too far ahead is answered by how far the site has come, so that
the coordinator sends what it lacks. So nothing is lost if either of them is stopped and started again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, warn
from ..inputs.naming import namings_of
from ..wording import one_line, plural, quoted
from .disclosure import LEAST_ROWS, NUMBERS_A_VALUE, Minimum
from .drawing import drawn_rows
from .holdings import FOLLOW_UP, LABELS, NUMBER, Agreed, Holdings
from .ledger import Ledger
from .messages import KEY_BYTES, Masks, Message, MessageError, Step, decoded, digest_of
from .requests import TINY_LOGLIK, Request, request_of
from .sums import Sums

# Requests with an answer in one session; a fit of 50 columns asks about 70 times.
BUDGET = 2_000
MOST_NAME = 60
# Resamples that are held at once.
MOST_DRAWS = 64


@dataclass(frozen=True)
class Policy:
    """What a site agrees to.

    Attributes
    ----------
    minimum : no sum is over fewer rows.
    budget : how many requests are answered in one session.
    times : the unit to whose multiples times of follow-up are rounded up before they leave, such as 30 for
        months of days; 0 leaves them as they are. None refuses to tell them: a fit of follow-up then ends.
    numbers_a_value : without a key, at most so many numbers are sent for each value that the site holds.
    resamples : how many resamples of its rows it answers about, with a key.
    """

    minimum: int = LEAST_ROWS
    budget: int = BUDGET
    times: float | None = None
    numbers_a_value: float = NUMBERS_A_VALUE
    resamples: int = 0


class Site:
    """A hospital with its rows.

    Parameters
    ----------
    name : what the others call it.
    X : dataframe of any library, the outcome among its columns.
    target : the column that tells the outcome, or for a time to an event:
    time, event : the columns that do.
    labels : labels and units of columns, as :meth:`rootcausal.RCI.set_labels` takes them.
    key : what the sites of the study share, and the coordinator does not have: sums are masked with it.
    policy : what it agrees to.
    folder : where the ledger is kept; None keeps it in memory.
    rehearsal : whether it answers itself alone: then a key says by which rules, and masks nothing.
    """

    def __init__(
        self,
        name: str,
        X: Any,
        *,
        target: str | None = None,
        time: str | None = None,
        event: str | None = None,
        labels: Any = None,
        key: bytes | None = None,
        policy: Policy | None = None,
        folder: Path | None = None,
        rehearsal: bool = False,
    ) -> None:
        refuse_name(name)
        given = {"y": target, "time": time, "event": event}
        roles = {role: column for role, column in given.items() if column is not None}
        if set(roles) not in ({"y"}, {"time", "event"}):
            raise InputError(
                "a site needs the column of the outcome, target; or those of follow-up, time and event"
            )
        if key is not None and len(key) != KEY_BYTES:
            raise InputError(f"a key has {KEY_BYTES} bytes: make one with rootcausal site key")
        self.name = name
        self.policy = Policy() if policy is None else policy
        self.holdings = Holdings.of(X, roles, {} if labels is None else namings_of(labels))
        if self.holdings.left_out:
            warn(f"{plural(self.holdings.left_out, 'row')} without an outcome left out")
        self._minimum = Minimum(
            self.policy.minimum, key is not None, self.policy.numbers_a_value, self.policy.resamples
        )
        self._minimum.refuse_few_rows(self.holdings.rows)
        self._key = None if rehearsal else key
        self.ledger = Ledger(folder)
        self._fingerprint = self.holdings.fingerprint
        self._forget("", 0)

    def _forget(self, session: str, last: int) -> None:
        self._session, self._last = session, last
        self._answer = b""
        self._broken = ""
        self._masks: Masks | None = None
        self._rows: Sums | None = None
        self._whole: Sums | None = None
        self._drawn: dict[int, Sums] = {}
        self._draw = 0

    def answer(self, encoded: bytes) -> bytes:
        """The answer to a request, or a refusal with a sentence; nothing else comes out of a site."""
        try:
            message = decoded(encoded)
            if message.kind != "request":
                raise MessageError("it is no request")
            requests = [request_of(step) for step in message.steps]
        except MessageError as error:
            return self._refusal("", 1, f"the request cannot be read: {error}")
        return self._in_order(message, requests, digest_of(encoded))

    def catch_up(self, encoded: bytes) -> None:
        """Do what a request that was answered before led to, without answering it again."""
        message = decoded(encoded)
        if message.number == 1:
            self.ledger.take_up(message.session, self._fingerprint)
            self._forget(message.session, 0)
        if message.session == self._session and message.number == self._last + 1 and not self._broken:
            for step in message.steps:
                request = request_of(step)
                if request.keeps or step.do == "describe":
                    self._result(step)
                elif self._rows is not None:
                    self._rows.counted(step)
            self._last = message.number

    def _in_order(self, message: Message, requests: list[Request], digest: str) -> bytes:
        session, number = message.session, message.number
        if session == self._session and number == self._last and self._answer:
            if decoded(self._answer).of == digest:
                return self._answer
            return self._refusal(session, number, "this number of the session was another request before")
        if session != self._session:
            if number != 1:
                return self._refusal(session, number, "it is in the middle of a session", have=0)
            try:
                self.ledger.take_up(session, self._fingerprint)
            except InputError as error:
                return self._refusal(session, number, str(error))
            self._forget(session, 0)
        elif number <= self._last:
            return self._refusal(session, number, "it was answered long ago")
        elif number > self._last + 1:
            return self._refusal(session, number, "requests before it are missing", have=self._last)
        if not self._broken and self.ledger.answered(session) >= self.policy.budget:
            self._broken = (
                f"this site answers {self.policy.budget} requests of a session, and these are spent"
            )
        if not self._broken:
            try:
                self._answer = self._answered(message, requests, digest)
            except (MessageError, InputError) as error:
                self._broken = one_line(str(error), 2_000)
            except Exception as error:  # what it says may hold values of patients
                self._broken = f"the request could not be worked on ({type(error).__name__})"
        if self._broken:
            return self._refusal(session, number, self._broken)
        self._last = number
        return self._answer

    def _refusal(self, session: str, number: int, why: str, have: int | None = None) -> bytes:
        if have is None:
            self.ledger.note(session, number, "", "", False, {}, refused=why)
        return Message("refusal", session, number, self.name, why=why, have=have).encoded()

    def _answered(self, message: Message, requests: list[Request], digest: str) -> bytes:
        answers = []
        for place, (step, request) in enumerate(zip(message.steps, requests, strict=True)):
            result = self._result(step)
            if result is None:
                continue
            masks = self._masks if request.sums else None
            told = result.arrays if result.arrays else result.fields
            words = request.words if not self._draw else f"{request.words}, of resample {self._draw}"
            self.ledger.note(message.session, message.number, step.do, words, masks is not None, told)
            if masks is not None:
                room = 0 if self._rows is None else self._rows.sizes.room
                result = _masked(result, masks, request, f"{digest}|{place}", room)
            answers.append(result)
        return Message("answer", message.session, message.number, self.name, answers, of=digest).encoded()

    def _result(self, step: Step) -> Step | None:
        """What a step leads to: an answer, or None where it is only kept."""
        if step.do in self._OWN:
            return self._OWN[step.do](self, step)
        if self._rows is None:
            raise MessageError(f"{step.do!r} comes before the columns were agreed on")
        return self._rows.result(step)

    # --- the first round --------------------------------------------------------------------------------

    def _describe(self, step: Step) -> Step:
        sites = step.fields["sites"]
        if self.name not in sites or len(set(sites)) < len(sites):
            raise MessageError(f"this site, {quoted(self.name)}, is not among those of the session")
        if step.fields["outcome"] not in (LABELS, NUMBER, FOLLOW_UP):
            raise MessageError("there is no outcome of that kind")
        if self._key is not None:
            self._minimum.refuse_few_sites(len(sites))
            self._masks = Masks(self._key, sites.index(self.name), len(sites))
        about = self.holdings.described(step.fields["outcome"], step.fields["said"])
        return Step(step.do, {**about, "masked": self._key is not None})

    def _counts(self, step: Step) -> Step:
        levels, labels = step.fields["levels"], step.fields["labels"]
        if not all(isinstance(some, list) for some in levels.values()):
            raise MessageError("levels are lists")
        of_levels, of_labels = self.holdings.counted(levels, labels)
        return Step(step.do, {}, {"levels": of_levels, "labels": of_labels})

    def _outcome_sums(self, step: Step) -> Step:
        values = self.holdings.numbers("y") - float(step.arrays["shift"])
        return Step(step.do, {}, {"sums": np.array([values.size, values.sum(), values @ values])})

    def _follow_up(self, step: Step) -> Step:
        if self.policy.times is None:
            raise InputError(
                "times of follow-up leave a site only where it says so, since they show what a Kaplan-Meier "
                "curve with marks does: allow them rounded up, such as --times 30 for multiples of 30, or "
                "--times 0 as they are"
            )
        if not len(step.fields["by"]) <= 1:
            raise MessageError("one label is the event")
        if (self.holdings.numbers("time") < 0).any():
            raise InputError("some times of follow-up are negative: correct or drop these rows")
        keys, clocks = self.holdings.followed(self.policy.times, step.fields["by"])
        arrays = {f"times {at}": clock.times for at, clock in enumerate(clocks)}
        arrays |= {f"leaving {at}": clock.leaving for at, clock in enumerate(clocks)}
        return Step(step.do, {"labels": keys}, arrays)

    def _open(self, step: Step) -> None:
        agreed = Agreed.of(step.fields, step.arrays)
        rows = self.holdings.opened(agreed, self.policy.times or 0.0)
        self._minimum.refuse_open(rows)
        self._rows = self._whole = Sums(rows, self._minimum)

    def _turn_to(self, step: Step) -> None:
        """A resample, which is drawn where it is not there yet."""
        number = step.fields["number"]
        self._minimum.refuse_resample(number)
        if self._whole is None:
            raise MessageError("a resample comes before the columns were agreed on")
        if number not in self._drawn:
            if len(self._drawn) >= MOST_DRAWS:
                raise MessageError("too many resamples at once")
            labels = self._whole.labels if step.fields["by_class"] else None
            if step.fields["by_class"] and labels is None:
                raise MessageError("these rows have no classes")
            rows = drawn_rows(
                self._key or b"", self.name, step.fields["seed"], number, labels, self.holdings.rows
            )
            self._drawn[number] = self._whole.drawn(rows)
        self._rows, self._draw = self._drawn[number], number

    def _drop_draws(self, step: Step) -> None:
        self._rows, self._draw, self._drawn = self._whole, 0, {}

    _OWN: Mapping[str, Callable[[Site, Step], Step | None]] = {
        "describe": _describe,
        "counts": _counts,
        "outcome sums": _outcome_sums,
        "follow-up": _follow_up,
        "open": _open,
        "draw": _turn_to,
        "drop draws": _drop_draws,
    }


def _masked(result: Step, masks: Masks, request: Request, what: str, room: int) -> Step:
    """The same, of which only the total over all sites makes sense."""
    hidden: dict[str, np.ndarray] = {}
    for name, plain in _told_of_far_steps(result.arrays, masks, request, room).items():
        if name in request.narrow:
            hidden[name] = masks.hide_narrow(plain, what, name, request.narrow[name], room)
        else:
            hidden[name] = masks.hide(plain, what, name, request.bits)
    return replace(result, arrays=hidden)


def _told_of_far_steps(
    arrays: Mapping[str, np.ndarray], masks: Masks, request: Request, room: int
) -> dict[str, np.ndarray]:
    """Sums as they are; of a likelihood whose derivatives are too large to be masked, that it is tiny.

    Expected events grow with the exponential of the coefficients. Where they come to hundreds for each row
    the step that led there was too long, and is made shorter, as it is where all rows are in one place.
    """
    plain = {name: np.asarray(values, dtype=np.float64) for name, values in arrays.items()}
    if "loglik" not in plain or any(np.isnan(plain[name]).any() for name in request.narrow):
        return plain  # of which the second is refused
    if not all(one.fits(plain[name], room, masks.n_sites) for name, one in request.narrow.items()):
        return {**{name: np.zeros_like(one) for name, one in plain.items()}, "loglik": np.array(TINY_LOGLIK)}
    return plain


def refuse_name(name: str) -> None:
    """Refuse what would be no name of a site: it is one of a folder, too."""
    fine = isinstance(name, str) and 0 < len(name) <= MOST_NAME and name[:1].isalnum()
    if not fine or not all(letter.isalnum() or letter in "-_" for letter in name) or not name.isascii():
        raise InputError(
            f"a site cannot be called {quoted(str(name), 40)}: use letters, digits, - and _, "
            f"at most {MOST_NAME}"
        )
