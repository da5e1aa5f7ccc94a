"""Is there a sign of a hidden common cause?

Regression makes errors uncorrelated whatever is hidden. But a hidden variable that moves two columns leaves
its mark in their other moments (see :mod:`.moments`), and no other order, left-out column or bend between the
two explains it (see :mod:`.dependence`).
"""

from __future__ import annotations

from ..wording import plural, quoted
from .dependence import Dependence, Dependent
from .diagnosis import NO_TABLE_SHOWS, Check, Verdict
from .evidence import Evidence
from .independence import HARD, SCALE, together, unseen_below, visible

QUESTION = "Is there no sign of a hidden common cause of two variables?"
SAMPLING = (
    ", and so do cases and controls that were sampled apart: if they were, say with --prevalence how common "
    "the disease is"
)


def check_confounding(evidence: Evidence, seen: Dependence, may_be_sampled_apart: bool) -> Check:
    """``may_be_sampled_apart`` says that cases and controls may have been, and nobody said so."""
    pairs = [
        pair for pair in seen.explained_by("nothing") if SCALE.judge(pair.p_value, pair.strength) != "fine"
    ]
    pairs.sort(key=lambda pair: -pair.strength)
    smallest = visible(seen)
    if not pairs:
        return _silent(seen, smallest)
    worst = pairs[0]
    verdict = SCALE.judge(worst.p_value, worst.strength)
    a, b = (quoted(evidence.names[place]) for place in (worst.earlier, worst.later))
    return Check(
        "unconfounded",
        QUESTION,
        verdict,
        worst.strength,
        worst.p_value,
        f"{together(evidence, worst, seen.n_pairs)}, and no other order, no bend and no column that was left "
        f"out explains it.{_others(evidence, pairs[1:])}",
        f"look for something unmeasured that moves both {a} and {b} (a batch, a centre, a treatment, a "
        "common organ) and add it as a column. A mixture of different patients looks the same"
        f"{SAMPLING if may_be_sampled_apart else ''}.",
        (evidence.names[worst.earlier], evidence.names[worst.later]),
        _limit(a, b, verdict),
        "variables",
        smallest,
    )


def _limit(a: str, b: str, verdict: Verdict) -> str:
    if verdict == "broken":
        return f"Do not read {a} and {b} apart: something that is not in the table seems to move both."
    return f"Read {a} and {b} together: something unmeasured may move both."


def _silent(seen: Dependence, smallest: float) -> Check:
    verdict: Verdict = "fine" if seen.n_pairs and smallest <= HARD else "cannot tell"
    told = f"{plural(seen.n_pairs, 'pair')} of variables, {seen.n_rows:,} {seen.row_noun}s"
    statement = f"No pair of shocks points to a common cause of two variables ({told}). {NO_TABLE_SHOWS}"
    advice = limit = ""
    if verdict == "cannot tell":
        why = unseen_below(smallest, seen) if seen.n_pairs else "there are no two numbers to show it"
        advice = "think of what was not measured and moves several variables (a centre, a treatment)."
        limit = f"A hidden common cause cannot be ruled out: {why}."
    return Check(
        "unconfounded",
        QUESTION,
        verdict,
        seen.strength,
        seen.p_value,
        statement,
        advice,
        (),
        limit,
        "",
        smallest,
    )


def _others(evidence: Evidence, pairs: list[Dependent]) -> str:
    if not pairs:
        return ""
    named = ", ".join(
        f"{quoted(evidence.names[pair.earlier])} and {quoted(evidence.names[pair.later])}"
        for pair in pairs[:3]
    )
    return f" The same holds for {named}{f' and {len(pairs) - 3} more' if len(pairs) > 3 else ''}."
