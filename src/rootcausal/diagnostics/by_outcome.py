"""Which checks are made is the outcome's business: what each kind of outcome has to bring for that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Protocol

import numpy as np

from .checked import Checked
from .diagnosis import Check
from .evidence import Evidence


class OutcomeChecks(Protocol):
    """The checks of one kind of outcome; those of columns and errors alone are the same for all kinds.

    Attributes
    ----------
    kind : the name of the outcome.
    others : which checks are not made without it, as the start of a sentence.
    not_asked : what is asked of no model of this kind, for whoever reads the findings; or nothing.
    of_levels : what is not asked of columns with levels, beside straight lines and hidden causes.
    """

    kind: ClassVar[str]
    others: ClassVar[str]
    not_asked: ClassVar[str]
    of_levels: ClassVar[str]

    @staticmethod
    def why_not(known: np.ndarray | None) -> str:
        """Why its checks cannot be made of what is known of these patients; empty where they can."""
        ...

    @staticmethod
    def may_be_sampled_apart(checked: Checked) -> bool:
        """Whether patients may have been chosen by their outcome without anybody saying so."""
        ...

    @staticmethod
    def checks(checked: Checked, evidence: Evidence) -> Iterator[Check]:
        """All that are made of this outcome, in their order."""
        ...
