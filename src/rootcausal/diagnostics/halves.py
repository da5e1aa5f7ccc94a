"""Do two halves of the cohort say the same, as far as cohorts of this size do where all assumptions hold?

The halves are learned from where somebody asks for it (:meth:`rootcausal.RCI.split_half`); a model keeps what
was found, and this check reads it.
"""

from __future__ import annotations

from collections.abc import Iterator

from .diagnosis import NEVER, Check, CheckSpec, Text, Verdict
from .evidence import Checked

SAID = "Two halves of this cohort name the same strongest root cause in {same:.0f} of 100 patients"
SPEC = CheckSpec(
    "halves",
    "Do two halves of the cohort name the same strongest root causes?",
    "share of patients of whom both halves name the same one (asked with --halves)",
    {
        "fine": Text(f"{SAID}; {{expected:.0f}} would be expected if the assumptions held."),
        "doubtful": Text(
            f"{SAID}; {{expected:.0f}} would be expected if the assumptions held, and less than {{low:.0f}} "
            "is rare then.",
            f"{SAID}, where {{expected:.0f}} would be expected if the assumptions held: ranks and grades are "
            "less sure than they look.",
            "mend what other checks find, and read as firm only what another cohort bears out.",
        ),
        "cannot tell": Text(
            f"{SAID}; what would be expected is not known: {{why}}.",
            f"{SAID}, and what would be expected if the assumptions held is not known.",
            "compare it with halves of other cohorts of this size.",
        ),
    },
    doubtful_from="below nearly all cohorts drawn from the model",
    broken_from=NEVER,
)


def check_halves(checked: Checked) -> Iterator[Check]:
    """One check, or none where nobody asked, or halves name no causes."""
    found = checked.provenance.get("halves")
    if not found or found["same"] is None:
        return
    same, expected, low = (found[name] for name in ("same", "expected_same", "low_same"))
    if expected is None or low is None:
        yield SPEC.check("cannot tell", same, same=100.0 * same, why=found["why"])
        return
    verdict: Verdict = "doubtful" if same < low else "fine"
    yield SPEC.check(verdict, same, same=100.0 * same, expected=100.0 * expected, low=100.0 * low)
