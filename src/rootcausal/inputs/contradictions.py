"""Rules for the order of columns that cannot all hold: where they clash, and which of them go round.

A rule is a pair (earlier, later) of columns. Circles are looked for among rules of one stage only: stages
have an order themselves, so a circle through several has a rule against them, which is said by itself.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ..errors import InputError
from ..wording import listed, quoted
from .rules import NAMED_AT_MOST, Findings

# Contradictions of which one error speaks: more are one mistake, many times.
SAID_AT_MOST = 100
# Columns of a circle that are named; longer ones are no slip of the hand.
NAMED_OF_A_CIRCLE = 50

# Earlier, later, and by which words of the user.
Rule = tuple[str, str, str]
Column = TypeVar("Column", bound=Hashable)


def stages_broken(
    rules: Sequence[Rule], stage: Mapping[str, int], where: Mapping[str, str], unplaced: Collection[str]
) -> Iterator[str]:
    """What to say of each rule against the ``stage`` of its columns.

    ``where`` says how columns came by their stage; those ``unplaced`` could have another.
    """
    for earlier, later, words in rules:
        if stage[earlier] > stage[later]:
            a, b = quoted(earlier), quoted(later)
            mend = "leave that pair out, or move one of them"
            if earlier in unplaced:
                mend = f"put {a} into a tier"
            yield (
                f"{words} puts {a} before {b}, but {b} is {where[later]}, and {a} is {where[earlier]}: {mend}"
            )


def circles(rules: Sequence[Rule], most: int) -> Iterator[str]:
    """What to say of the circles that rules make, at most so many; no two of them share a rule."""
    words = {(earlier, later): said for earlier, later, said in reversed(rules)}
    left = dict.fromkeys(words)
    for _ in range(most):
        left = dict.fromkeys(going_round(list(left)))
        if not left:
            return
        circle = _one_circle(list(left))
        for pair in circle:
            del left[pair]
        steps = [f"{quoted(a)} before {quoted(b)} ({words[a, b]})" for a, b in circle]
        yield f"these go round in a circle: {listed(steps, NAMED_OF_A_CIRCLE)}; leave one of them out"


def going_round(pairs: Sequence[tuple[Column, Column]]) -> list[tuple[Column, Column]]:
    """The pairs (earlier, later) that lie on some circle of them."""
    places = {column: place for place, column in enumerate(dict.fromkeys(c for pair in pairs for c in pair))}
    if not places:
        return []
    ends = np.array([(places[a], places[b]) for a, b in pairs], dtype=np.intp).T
    graph = csr_array((np.ones(len(pairs), dtype=np.int8), tuple(ends)), shape=(len(places), len(places)))
    _, component = connected_components(graph, directed=True, connection="strong")
    together = component[ends[0]] == component[ends[1]]
    return [pairs[place] for place in np.flatnonzero(together).tolist()]


def _one_circle(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """A shortest circle through the first column of pairs that all lie on circles."""
    followers: dict[str, list[str]] = {}
    for earlier, later in pairs:
        followers.setdefault(earlier, []).append(later)
    start = pairs[0][0]
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while start not in came_from:
        column = waiting.popleft()
        for later in followers[column]:
            if later not in came_from:
                came_from[later] = column
                waiting.append(later)
    circle = [(came_from[start], start)]
    while circle[-1][0] != start:
        column = circle[-1][0]
        circle.append((came_from[column], column))
    return circle[::-1]


def without_circles(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs (a, b), a no cause of b, without those that go round; a warning says which these are."""
    round_ = set(going_round(pairs))
    if round_:
        unordered = list(dict.fromkeys(tuple(sorted(pair)) for pair in pairs if pair in round_))
        shown = listed([f"{quoted(a)} and {quoted(b)}" for a, b in unordered], NAMED_AT_MOST)
        warnings.warn(
            "what is no cause of what goes round in a circle, and an order has to put one first, so these "
            f"pairs are not used: {shown}; columns that nothing else causes can be given as first",
            UserWarning,
            stacklevel=3,
        )
    return [pair for pair in pairs if pair not in round_]


class Saying:
    """Sentences for one error; of very many only the first, and how many more there are."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._count = 0

    @property
    def left(self) -> int:
        return max(1, SAID_AT_MOST - self._count)

    def note(self, sentence: str) -> None:
        self._count += 1
        if self._count <= SAID_AT_MOST:
            with self._findings.noting():
                raise InputError(sentence)

    def refuse(self) -> None:
        if self._count > SAID_AT_MOST:
            with self._findings.noting():
                raise InputError(f"and {self._count - SAID_AT_MOST} more contradictions of these kinds")
        self._findings.refuse()
