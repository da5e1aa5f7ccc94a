"""The checks of a diagnosis, yes or no."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ..core.moments import ROWS_PER_CLASS
from .checked import Checked
from .diagnosis import Check
from .equal_responses import check_mechanism
from .evidence import Evidence, decided_by, deciding_levels, fit_plain
from .giveaway import check_giveaway
from .link import check_link
from .patients import check_influence
from .terminal import check_terminal


class YesNoChecks:
    """See :class:`.by_outcome.OutcomeChecks`."""

    kind: ClassVar[str] = "binary"
    others: ClassVar[str] = (
        "shapes and independence of the errors, straight lines, hidden causes, equal responses in cases and "
        "controls, effects of the diagnosis and columns that give it away, stated against observed risk, "
        "single patients who decide"
    )
    not_asked: ClassVar[str] = ""
    of_levels: ClassVar[str] = "whether they are effects of the diagnosis rather than causes, "

    @staticmethod
    def why_not(known: np.ndarray | None) -> str:
        if known is None:
            return "This takes the patients' diagnoses, which were not given."
        cases = int(known.sum())
        if min(cases, known.size - cases) >= ROWS_PER_CLASS:
            return ""
        return (
            f"This takes at least {ROWS_PER_CLASS} patients with the disease and {ROWS_PER_CLASS} "
            f"without; here {cases} of {known.size} have it."
        )

    @staticmethod
    def may_be_sampled_apart(checked: Checked) -> bool:
        return checked.prevalence is None

    @staticmethod
    def checks(checked: Checked, evidence: Evidence) -> Iterator[Check]:
        y = checked.known
        assert y is not None
        yield check_giveaway(checked, y)  # a leak explains most of what else is found
        # Logistic regression does not mind that cases and controls were sampled apart: all patients count.
        evidence = evidence.of_strongest(evidence.n_rows)
        deciding = deciding_levels(evidence, evidence.known)
        beside = decided_by(evidence, deciding)
        evidence = evidence.of_columns(~deciding)
        fit = fit_plain(evidence.errors, evidence.known)
        values = checked.X[np.ix_(evidence.rows, evidence.columns)]
        yield check_terminal(evidence, fit, values, evidence.rest_on_measurements, checked.bent)
        yield check_link(checked.stated, y, checked.prevalence, checked.of_fit)
        for check in (check_mechanism(evidence, fit), check_influence(evidence, fit, checked)):
            yield check.saying(beside)
