"""The coordinator's side of messages: ask all sites, check what they say, and add it up.

What has no answer (a root is regressed out) waits here and travels with the next request that has one, so it
costs no round. Sums are added in the order of the sites' names as they were given, whoever was first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import InputError
from ..wording import listed, one_line, quoted
from . import messages as masks
from .messages import Message, MessageError, Step, decoded, digest_of
from .requests import REQUESTS, Sizes
from .site import refuse_name

#: accept(site, answer): empty where it is the answer that was asked for, or else why it is not.
Accept = Callable[[str, bytes], str]
#: save(path): write the model to a file.
Save = Callable[[Path], None]


class SiteError(InputError):
    """A site does not answer, or refuses; the sentence names it.

    Attributes
    ----------
    site : its name.
    lost : whether the others could go on without it.
    """

    def __init__(self, site: str, sentence: str, *, lost: bool) -> None:
        super().__init__(sentence)
        self.site, self.lost = site, lost


class Transport(Protocol):
    """How messages get to sites and back; it reads none of them."""

    def begin(self, names: Sequence[str], anew: bool) -> str:
        """The session, 32 hexadecimal digits: one that can be taken up again, unless it is to begin anew."""
        ...

    def ask(self, number: int, request: bytes, names: Sequence[str], accept: Accept) -> dict[str, bytes]:
        """Answers that were accepted, by site; of sites that did not answer in time there are none."""
        ...

    def finish(self, sentence: str, save: Save | None = None) -> None:
        """Tell the sites that the session is over, and how; hand out the model, where there is one."""
        ...


class Sites:
    """All sites of a session."""

    def __init__(self, transport: Transport, names: Sequence[str], *, anew: bool = False) -> None:
        for name in names:
            refuse_name(name)
        if not names or len(set(names)) < len(names):
            raise InputError("name the sites, each once")
        self.names = list(names)
        self.rounds = 0
        # Numbers that were read, each a sum over all sites, and values that these hold.
        self.numbers, self.values = 0, 0
        self.bytes = dict.fromkeys(names, 0)
        self.masked = False
        self.sizes = Sizes()
        self.session = transport.begin(names, anew)
        self._transport = transport
        self._waiting: list[Step] = []
        self._sent: list[bytes] = []
        self._last: dict[str, list[Step]] = {}

    def keep(self, step: Step) -> None:
        """Have the sites do what has no answer, before they are asked again."""
        self._waiting.append(step)

    def ask(self, *steps: Step) -> list[Any]:
        """Of each step with an answer the sums over all sites; or where it has none, what each said."""
        answers = self._answers(steps)
        totals: list[Any] = []
        for place, step in enumerate(step for step in steps if not REQUESTS[step.do].keeps):
            said = {name: answers[name][place] for name in self.names}
            if not REQUESTS[step.do].sums:
                totals.append(said)
                continue
            total = {name: self._total(step, name, said) for name in said[self.names[0]].arrays}
            self.numbers += sum(one.size for one in total.values())
            totals.append(total)
        return totals

    def last_told(self) -> dict[str, Mapping[str, np.ndarray]]:
        """What each site said to the last step that was asked; only where sums are not masked."""
        assert not self.masked
        return {name: steps[-1].arrays for name, steps in self._last.items()}

    def _total(self, step: Step, name: str, said: Mapping[str, Step]) -> np.ndarray:
        parts = [said[site].arrays[name] for site in self.names]
        if self.masked:
            request = REQUESTS[step.do]
            if name in request.narrow:
                return request.narrow[name].total(parts, self.sizes.room)
            return masks.numbers(masks.total(parts), request.bits)
        total = parts[0].copy()
        for part in parts[1:]:
            total = total + part
        return total

    def _answers(self, steps: Sequence[Step]) -> dict[str, list[Step]]:
        """The answers of all sites, in the order of the steps."""
        every, self._waiting = [*self._waiting, *steps], []
        number = len(self._sent) + 1
        request = Message("request", self.session, number, steps=every).encoded()
        self._sent.append(request)
        self.rounds += 1
        asked = Asked(self.session, number, request, every, self)
        answers = self._transport.ask(number, request, self.names, asked.problem)
        for name in self.names:
            if name in answers and decoded(answers[name]).have is not None:
                answers[name] = self._catch_up(name, asked)
        late = [name for name in self.names if name not in answers]
        if late:
            raise SiteError(late[0], asked.why_late(late), lost=True)
        found = {}
        for name in self.names:
            message = decoded(answers[name])
            if message.kind == "refusal":
                raise SiteError(
                    name, f"site {quoted(name)} refuses: {one_line(message.why, 2_000)}", lost=False
                )
            self.bytes[name] += len(request) + len(answers[name])
            found[name] = list(message.steps)
        self._last = found
        return found

    def _catch_up(self, name: str, asked: Asked) -> bytes:
        """Send a site that was started again what it lacks, and return its answer to the last request."""
        for _ in range(len(self._sent) + 1):
            last = self._transport.ask(asked.number, asked.request, [name], asked.problem).get(name)
            if last is None:
                raise SiteError(name, asked.why_late([name]), lost=True)
            have = decoded(last).have
            if have is None or have + 1 >= asked.number:
                return last
            missing = self._sent[have]
            if not self._transport.ask(have + 1, missing, [name], lambda site, answer: ""):
                raise SiteError(name, asked.why_late([name]), lost=True)
        raise SiteError(name, f"site {quoted(name)} forgets what it was asked before", lost=True)

    def finish(self, sentence: str, save: Save | None = None) -> None:
        """Tell the sites that it is over, and hand out the model."""
        self._transport.finish(sentence, save)


class Asked:
    """A request on its way, and what was wrong with the answers so far."""

    def __init__(
        self, session: str, number: int, request: bytes, steps: Sequence[Step], sites: Sites
    ) -> None:
        self.number, self.request = number, request
        self._session, self._digest = session, digest_of(request)
        self._steps = [step for step in steps if not REQUESTS[step.do].keeps]
        self._sites = sites
        self._wrong: dict[str, str] = {}

    def problem(self, site: str, answer: bytes) -> str:
        """Why this is not the answer of the site to the request; empty where it is."""
        try:
            self._check(site, decoded(answer))
        except MessageError as error:
            self._wrong[site] = str(error)
            return str(error)
        return ""

    def why_late(self, late: Sequence[str]) -> str:
        """A sentence on sites that did not answer."""
        said = [
            quoted(name)
            + (f" (what came from it cannot be used: {self._wrong[name]})" if name in self._wrong else "")
            for name in late
        ]
        which = "site" if len(late) == 1 else "sites"
        return (
            f"no answer in time to request {self.number} from {which} {listed(said)}: see that it runs "
            "(rootcausal site serve), and start the fit again, which goes on where it stopped; or go on "
            "without it, if that is what the study allows"
        )

    def _check(self, site: str, message: Message) -> None:
        if message.site != site or message.kind == "request":
            raise MessageError(f"it is not from site {quoted(site)}")
        if message.kind == "refusal":
            if message.number != self.number and message.session:
                raise MessageError("it refuses another request")
            return
        if message.session != self._session or message.number != self.number or message.of != self._digest:
            raise MessageError("it answers another request")
        if [step.do for step in message.steps] != [step.do for step in self._steps]:
            raise MessageError("it answers other things than were asked")
        for asked, told in zip(self._steps, message.steps, strict=True):
            self._check_step(asked, told)

    def _check_step(self, asked: Step, told: Step) -> None:
        request = REQUESTS[asked.do]
        if request.answer is None:
            return  # described in fields, which the first round checks
        masked = self._sites.masked
        shapes = request.answer(asked, self._sites.sizes)
        if masked:
            shapes = {
                name: (*shape, request.narrow[name].bytes if name in request.narrow else 2)
                for name, shape in shapes.items()
            }
        if {name: one.shape for name, one in told.arrays.items()} != shapes:
            raise MessageError(f"the answer to {asked.do!r} is of another size")
        for name, one in told.arrays.items():
            kind = np.float64 if not masked else np.uint8 if name in request.narrow else np.uint64
            if one.dtype != kind or not np.isfinite(one).all():
                raise MessageError(f"the answer to {asked.do!r} holds what are no sums")
