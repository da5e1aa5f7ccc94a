"""Several fits at once over the same sites: what they ask travels in the same rounds.

Each runs in a thread of its own, and waits whenever it asks, until all that still run have asked. So messages
are the same whichever thread was first, and a fit that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from .asking import Sites
from .messages import Step
from .requests import REQUESTS

T = TypeVar("T")


class Turn:
    """The sites, as one of several fits sees them; its steps come after one that says whose they are."""

    def __init__(self, sites: Sites, first: Step, said: SimpleQueue[Any]) -> None:
        self.names, self.masked, self.sizes = sites.names, sites.masked, sites.sizes
        self.answers: SimpleQueue[Any] = SimpleQueue()
        self._said, self._waiting, self._first = said, [first], first

    def keep(self, step: Step) -> None:
        self._waiting.append(step)

    def ask(self, *steps: Step) -> list[Any]:
        every, self._waiting = [*self._waiting, *steps], [self._first]
        self._said.put((self, every, None))
        told = self.answers.get()
        if isinstance(told, BaseException):
            raise told
        return list(told)


def together(sites: Sites, firsts: Sequence[Step], fit: Callable[[Turn, int], T]) -> list[T]:
    """What ``fit`` returns of each turn and its place."""
    said: SimpleQueue[Any] = SimpleQueue()
    turns = [Turn(sites, first, said) for first in firsts]
    results: dict[int, Any] = {}

    def work(place: int) -> None:
        try:
            results[place] = fit(turns[place], place)
        except BaseException as error:  # is raised where all come together
            results[place] = error
        said.put((turns[place], None, results[place]))

    threads = [Thread(target=work, args=(place,), daemon=True) for place in range(len(turns))]
    for thread in threads:
        thread.start()
    asking: dict[Turn, list[Step]] = {}
    live, wrong = set(turns), None
    while live:
        turn, steps, _ = said.get()
        if steps is None:
            live.remove(turn)
        else:
            asking[turn] = steps
        if live and len(asking) == len(live):
            wrong = _one_round(sites, [turn for turn in turns if turn in asking], asking) or wrong
            asking = {}
    found = [results[place] for place in range(len(turns))]
    for one in [wrong, *found]:
        if isinstance(one, BaseException):
            raise one
    return found


def _one_round(sites: Sites, turns: Sequence[Turn], asking: dict[Turn, list[Step]]) -> Exception | None:
    tables = {handle: width for turn in turns for handle, width in turn.sizes.tables.items()}
    sites.sizes = replace(sites.sizes, tables={**sites.sizes.tables, **tables})
    try:
        told = iter(sites.ask(*(step for turn in turns for step in asking[turn])))
    except Exception as error:
        for turn in turns:
            turn.answers.put(error)
        return error
    for turn in turns:
        turn.answers.put([next(told) for step in asking[turn] if not REQUESTS[step.do].keeps])
    return None
