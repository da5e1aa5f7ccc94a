"""Who is of the reference group: everybody, or those that y says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError
from ..wording import plain
from .from_frame import own_name
from .outcomes import Ask, Column, Known, KnownThere, Target, given_by
from .rules import Findings
from .target import encode_known, encode_target, row_labels

IN_MEMORY = (
    "a reference group is learned from rows in memory, not on a cluster: give a sample of them, as with "
    "X.sample(...).compute()"
)


@dataclass(frozen=True, eq=False)
class Membership(Target):
    """Two labels, y (n,), and which one is that of the cases; None where all rows are of the reference group.

    What distinguishes cases is no outcome: columns that tell it are what is looked for.
    """

    ROLES: ClassVar[Mapping[str, str]] = {"y": "the group"}

    y: Any
    positive: Any

    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        if self.y is None:
            return Known(np.zeros(n_rows, dtype=np.intp), None, np.empty(0), {"cases": 0})
        y = given_by(X, self.y)
        _refuse_one_label(y, n_rows)
        labels, classes = encode_target(y, self.positive, n_rows, findings)
        return Known(labels, None, classes, {"cases": int(labels.sum())}, own_name(y))

    def known_again(self, X: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
        return encode_known(given_by(X, self.y), classes, n_rows)

    def known_there(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        raise InputError(IN_MEMORY)


def _refuse_one_label(y: Any, n_rows: int) -> None:
    labels, missing = row_labels(y, n_rows)
    found = set(labels[~missing].tolist())
    if len(found) == 1:
        raise InputError(
            f"y holds only one label, {plain(found.pop())!r}: where all rows are of the reference group, "
            "leave y out"
        )
