"""Rules for the order of columns that cannot all hold: where they clash, and which of them go round.

A rule is a pair (earlier, later) of columns. Circles are looked for among rules of one stage only: stages
have an order themselves, so a circle through several has a rule against them, which is said by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ..errors import InputError, warn
from ..method.ordering.precedence import FIRST
from ..method.table import Index
from ..wording import listed, quoted
from .rules import NAMED_AT_MOST

# Contradictions of which one error speaks: more are one mistake, many times.
SAID_AT_MOST = 100
# Circles that are looked for, one after the other.
CIRCLES_AT_MOST = 20
# Columns of a circle that are named; longer ones are no slip of the hand.
NAMED_OF_A_CIRCLE = 50

# Earlier, later, and by which words of the user.
Rule = tuple[str, str, str]


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
            if earlier in unplaced and stage[later] > FIRST:
                mend = f"put {a} into a tier"
            yield (
                f"{words} puts {a} before {b}, but {b} is {where[later]}, and {a} is {where[earlier]}: {mend}"
            )


def circles(rules: Sequence[Rule]) -> Iterator[str]:
    """What to say of the circles that rules make; no two of them share a rule."""
    words: dict[tuple[str, str], str] = {}
    for earlier, later, said in rules:
        words.setdefault((earlier, later), said)
    pairs, columns = list(words), _columns(list(words))
    ends = _ends(pairs, columns)
    left = _together(ends, len(columns))
    for _ in range(CIRCLES_AT_MOST):
        if not left.size:
            return
        at = _one_circle(ends[:, left], len(columns))
        yield _circle_in_words([(*pairs[k], words[pairs[k]]) for k in left[at]])
        left = np.delete(left, at)
        left = left[_together(ends[:, left], len(columns))]
    if left.size:
        yield f"{left.size} more rules go round in circles"


def _circle_in_words(circle: Sequence[Rule]) -> str:
    if len(circle) == 2 and all(words == "not_causes" for _, _, words in circle):
        one, other, _ = circle[0]
        return (
            f"not_causes says that neither of {quoted(one)} and {quoted(other)} causes the other, but an "
            "order has to put one of them first, so that it cannot hold both: leave one pair out, or leave "
            "out both and make one of these columns a covariate"
        )
    steps = [f"{quoted(a)} before {quoted(b)} ({words})" for a, b, words in circle]
    return f"these go round in a circle: {listed(steps, NAMED_OF_A_CIRCLE)}; leave one of them out"


def going_round(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs (earlier, later) that lie on some circle of them."""
    columns = _columns(pairs)
    return [pairs[place] for place in _together(_ends(pairs, columns), len(columns)).tolist()]


def _columns(pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    """A number for each column."""
    return {column: place for place, column in enumerate(dict.fromkeys(chain.from_iterable(pairs)))}


def _ends(pairs: Sequence[tuple[str, str]], columns: Mapping[str, int]) -> Index:
    """(2, m) the numbers of the columns of each pair."""
    numbers = np.fromiter((columns[one] for one in chain.from_iterable(pairs)), np.intp, 2 * len(pairs))
    return numbers.reshape(-1, 2).T


def _graph(ends: Index, size: int) -> csr_array:
    return csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(size, size))


def _together(ends: Index, size: int) -> Index:
    """Which of the pairs (2, m) lie on a circle."""
    if not ends.size:
        return np.empty(0, dtype=np.intp)
    _, component = connected_components(_graph(ends, size), directed=True, connection="strong")
    return np.flatnonzero(component[ends[0]] == component[ends[1]])


def _one_circle(ends: Index, size: int) -> list[int]:
    """Which of the pairs (2, m), all on circles, are a shortest one through the first column, in order."""
    start = ends[0, 0]
    reached, came_from = breadth_first_order(_graph(ends, size), start)
    place = np.full(size, size)
    place[reached] = np.arange(reached.size)
    back = ends[0, ends[1] == start]
    path = [int(start), int(back[place[back].argmin()])]
    while path[-1] != start:
        path.append(int(came_from[path[-1]]))
    return [int(np.argmax((ends[0] == a) & (ends[1] == b))) for a, b in pairwise(path[::-1])]


def without_circles(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs (a, b), a no cause of b, without those that go round; a warning says which these are."""
    round_ = set(going_round(pairs))
    if round_:
        unordered = list(dict.fromkeys(tuple(sorted(pair)) for pair in pairs if pair in round_))
        shown = listed([f"{quoted(a)} and {quoted(b)}" for a, b in unordered], NAMED_AT_MOST)
        warn(
            "what is no cause of what goes round in a circle, and an order has to put one first, so these "
            f"pairs are not used: {shown}; columns that nothing else causes can be given as first"
        )
    return [pair for pair in pairs if pair not in round_]


def refuse_all(sentences: Iterable[str]) -> None:
    """Raise one InputError with all sentences, if any; of very many the first, and how many more."""
    said, more = list[str](), 0
    for sentence in sentences:
        if len(said) < SAID_AT_MOST:
            said.append(sentence)
        else:
            more += 1
    if more:
        said.append(f"and {more} more contradictions of these kinds")
    if said:
        raise InputError(*said)
