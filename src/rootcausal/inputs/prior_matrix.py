"""The matrix by which lingam is told what is known, as pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..wording import quoted
from .known_fields import items_of, names_of

PATH, NO_PATH, NOT_KNOWN = 1, 0, -1


def paths_of(matrix: Any, names: Sequence[str | int]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Pairs (cause, effect) between which there is a path, and those between which there is none.

    ``matrix`` is (p, p), [effect, cause]; its diagonal does not count.
    """
    given = items_of("names", names, '["age", "sex"]')
    called = names_of("names", given)
    p = len(called)
    if p < len(given):
        raise InputError(
            f"names gives {len(given)} names, of which {p} are different: each column needs its own"
        )
    try:
        values = np.asarray(matrix)
    except ValueError:  # rows of different lengths
        raise InputError(f"the matrix is none: it must be {p} x {p}, [effect, cause]") from None
    if values.shape != (p, p):
        raise InputError(
            f"the matrix is {' x '.join(map(str, values.shape)) or 'a number'}, and there are {p} names: it "
            f"must be {p} x {p}, [effect, cause]"
        )
    beside = ~np.eye(p, dtype=bool)
    numbers = values.dtype.kind in "iuf"
    fine = np.isin(values, (PATH, NO_PATH, NOT_KNOWN)) if numbers else np.zeros((p, p), dtype=bool)
    strange = np.argwhere(~fine & beside)
    if len(strange):
        effect, cause = strange[0].tolist()
        raise InputError(
            f"the matrix holds {quoted(values[effect, cause])} for the effect of {quoted(called[cause])} on "
            f"{quoted(called[effect])}: it may hold 1 (a path), 0 (no path) and -1 (not known)"
        )

    def pairs(value: int) -> list[tuple[str, str]]:
        found = np.argwhere((values == value) & beside).tolist()
        return [(called[cause], called[effect]) for effect, cause in found]

    return pairs(PATH), pairs(NO_PATH)
