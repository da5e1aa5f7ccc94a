"""Was anything learned? Where all effects are shrunk to next to nothing, every patient is told the same."""

from __future__ import annotations

import numpy as np

from ..wording import plural
from .checked import Checked
from .diagnosis import Check

QUESTION = "Did the model learn anything?"


def check_learned(checked: Checked) -> tuple[Check, ...]:
    """One check, or none where something was. It looks at the model alone."""
    model, words = checked.model, checked.words
    together = float(np.sqrt((model.importance() ** 2).sum()))
    if together >= model.attribution.notable:
        return ()
    scale = f"the {words.scale}" if words.is_chance else words.happening
    n_rows, n_columns = checked.provenance["rows"], checked.provenance["columns"]
    many = f" ({n_columns:,}, for {plural(n_rows, 'patient')})" if n_columns > n_rows else ""
    return (
        Check(
            "learned",
            QUESTION,
            "broken",
            together,
            None,
            f"Nothing was learned: one standard deviation of all shocks together moves {scale} by "
            f"{together:.2g}, where {model.attribution.notable:.2g} would count. Every patient is told "
            "nearly the same.",
            f"this cohort does not show what {words.happening} depends on: leave out columns that cannot "
            f"matter{many}, or collect more patients.",
            limit=f"Do not read root causes, their ranks or {words.predictions}: the model learned nothing.",
            touches="risk",
        ),
    )
