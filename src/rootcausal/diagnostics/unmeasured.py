"""What would a hidden common cause of a variable and of the outcome have to be like?

No data can show whether there is one, so nothing is ever fine here: what can be said is what it would take
(see :mod:`rootcausal.likelihood.sensitivity`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..wording import percent, quoted
from .diagnosis import NEVER, Check, CheckSpec, Text
from .evidence import Checked

ADVICE = (
    "think of what was not measured and acts on {causes:3} and on {of_what}; compare it with what was "
    "measured: the column 'as strong as' of model.summary(), or of the page."
)
SPEC = CheckSpec(
    "unmeasured",
    "How strong would a hidden common cause of a variable and of the outcome have to be?",
    "smallest robustness value of a named cause: share of what is left of both that it would have to explain",
    {
        "cannot tell": Text(
            "No data can show whether something hidden acts on a variable and on {of_what}. To bring p of a "
            "shock to 0.05 it would have to explain, of what is left of both: {needed}.{weak}",
            "A hidden common cause of a variable and of {of_what} cannot be ruled out: one that explains "
            "{number:.0%} of what is left of both would do for {first:q}.",
            ADVICE,
        ),
        "cannot tell, none sure": Text(
            "No data can show whether something hidden acts on a variable and on {of_what}; and of what is "
            "named, no effect is significant without a prior (p < 0.05) to begin with: {causes}.",
            "A hidden common cause of a variable and of {of_what} cannot be ruled out, however weak.",
        ),
        "cannot tell, not known": Text(
            "No data can show whether something hidden acts on a variable and on {of_what}; how strong it "
            "would have to be is not known, since there are no effects without a prior.",
            "A hidden common cause of a variable and of {of_what} cannot be ruled out, and nobody worked out "
            "how strong it would have to be.",
            "think of what was not measured and acts on variables and on {of_what}.",
        ),
    },
    doubtful_from=NEVER,
    broken_from=NEVER,
)
NAMED = 5


def check_unmeasured(checked: Checked) -> Iterator[Check]:
    """One check, or none where the model names no cause."""
    of_what = checked.words.of_what
    if not (checked.model.importance() >= checked.model.attribution.notable).any():
        return
    needed = sorted(checked.needed or (), key=lambda one: (one.to_p, one.to_zero))
    if not needed:
        yield SPEC.check("cannot tell", case="not known", of_what=of_what)
        return
    sure = [one for one in needed if one.to_p > 0.0]
    if not sure:
        names = tuple(one.column for one in needed)
        yield SPEC.check("cannot tell", 0.0, case="none sure", causes=names, of_what=of_what)
        return
    least = sure[:NAMED]
    weak = len(needed) - len(sure)
    yield SPEC.check(
        "cannot tell",
        least[0].to_p,
        causes=tuple(one.column for one in least),
        of_what=of_what,
        first=least[0].column,
        needed=", ".join(f"{percent(one.to_p)} for {quoted(one.column, 40)}" for one in least),
        weak=f" Of {weak} more that are named, p is above 0.05 without any." if weak else "",
    )
