"""The checks of a number, such as a score of severity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ..outcomes.continuous import FEWEST_VALUES, Continuous
from .checked import Checked
from .diagnosis import Check
from .evidence import Evidence
from .giveaway_numbers import check_giveaway_of_numbers
from .graded_influence import check_graded_influence
from .number_first import check_number_terminal
from .number_fit import check_expected, check_spread
from .plain_fit import PlainLine
from .straight import check_straight


class NumberChecks:
    """See :class:`.by_outcome.OutcomeChecks`."""

    kind: ClassVar[str] = "continuous"
    others: ClassVar[str] = (
        "shapes and independence of the errors, straight lines, hidden causes, effects of the outcome and "
        "columns that give it away, expected against observed values, an even spread, single patients who "
        "decide"
    )
    not_asked: ClassVar[str] = ""
    of_levels: ClassVar[str] = "whether they are effects of the outcome rather than causes, "

    @staticmethod
    def why_not(known: np.ndarray | None) -> str:
        if known is None:
            return "This takes the patients' values, which were not given."
        if Continuous.is_enough(known):
            return ""
        return f"This takes at least {FEWEST_VALUES} different values of the outcome."

    @staticmethod
    def may_be_sampled_apart(checked: Checked) -> bool:
        return False

    @staticmethod
    def checks(checked: Checked, evidence: Evidence) -> Iterator[Check]:
        evidence = evidence.of_strongest(evidence.n_rows).of_measured()
        fit = PlainLine.of(evidence.errors, evidence.known)
        yield check_giveaway_of_numbers(checked)  # a leak explains most of what else is found
        of_lines = (
            check_expected(checked),
            check_straight(evidence, fit, checked, evidence.n_rows),
            check_spread(evidence, checked.stated[evidence.rows], fit.left),
        )
        is_bent = any(check.verdict in ("doubtful", "broken") for check in of_lines)
        values = checked.X[np.ix_(evidence.rows, evidence.columns)]
        yield check_number_terminal(evidence, values, is_bent)
        yield from of_lines
        yield check_graded_influence(evidence, fit, checked, evidence.n_rows)
