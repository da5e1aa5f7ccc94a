"""Are the errors independent of each other, in the order that was found?"""

from __future__ import annotations

from ..wording import plural, quoted
from .dependence import Dependence, Dependent
from .diagnosis import Check, Scale, Verdict, in_words
from .evidence import Evidence
from .moments import MOMENTS
from .visible import smallest_visible

QUESTION = "Are the shocks of different variables independent of each other?"
SCALE = Scale(0.04, 0.15, p_doubtful=0.02, p_broken=1e-9)
# What a hidden cause as strong as the errors leaves: silence means something where less would be seen.
HARD = 0.10

# How the earlier of two shocks goes with the later, for each of MOMENTS, and what correlates.
_IN_WORDS = (
    ("shocks of {b} are larger where those of {a} are {sign}", "one and the size of the other"),
    ("shocks of {b} are {sign} where those of {a} are far from average", "one and the size of the other"),
    ("shocks of {a} and {b} are large in {sign} patients", "their sizes"),
    ("shocks of {b} go with those of {a}, though not along a line", "one and the bounded other"),
    ("shocks of {b} go with those of {a}, though not along a line", "one and the bounded other"),
)
_SIGNS = (("high", "low"), ("high", "low"), ("the same", "different"), ("", ""), ("", ""))


def together(evidence: Evidence, pair: Dependent, n_pairs: int) -> str:
    """How two shocks go together, with the figure of what shows it best."""
    worst = int(abs(pair.correlation).argmax())
    size = float(pair.correlation[worst])
    text, which = _IN_WORDS[worst]
    said = text.format(
        a=quoted(evidence.names[pair.earlier]),
        b=quoted(evidence.names[pair.later]),
        sign=_SIGNS[worst][int(size < 0)],
    )
    return (
        f"{said[0].upper()}{said[1:]} (correlation of {which} {size:+.2f}; {in_words(pair.p_value)} "
        f"after correction for {plural(n_pairs, 'pair')})"
    )


def visible(seen: Dependence) -> float:
    """The smallest strength of dependence that these patients would have shown."""
    return smallest_visible(seen.n_rows, len(MOMENTS), max(seen.n_pairs, 1), SCALE.p_doubtful)


def unseen_below(smallest: float, seen: Dependence) -> str:
    """What these patients cannot show, where silence means nothing."""
    rows = plural(seen.n_rows, seen.row_noun)
    return f"a dependence of less than {smallest:.2f} would not be seen in {rows}"


def check_independence(evidence: Evidence, seen: Dependence, estimator: str) -> Check:
    """``estimator`` is the class that users call."""
    counted = [pair for pair in seen.found if pair.explanation != "left out"]
    worst = max(counted, key=lambda pair: pair.strength, default=None)
    smallest = visible(seen)
    verdict: Verdict = "fine" if smallest <= HARD else "cannot tell"
    through = ", but through columns that the model left out" if len(counted) < len(seen.found) else ""
    statement = f"No two of the shocks were seen to depend on each other{through} ({_asked(seen)})."
    advice, limit = "", ""
    if worst is not None and SCALE.judge(worst.p_value, worst.strength) != "fine":
        verdict = SCALE.judge(worst.p_value, worst.strength)
        # How bad a bend is, its own check says.
        verdict = verdict if worst.explanation == "nothing" else "doubtful"
        statement = f"{together(evidence, worst, seen.n_pairs)}. {_why(evidence, worst)}{_untried(seen)}"
        advice, limit = _what_to_do(evidence, worst, estimator)
    elif verdict == "cannot tell":
        statement = f"Only strong dependence would be seen, and none was ({_asked(seen)})."
        limit = f"Shocks may depend on each other: {unseen_below(smallest, seen)}."
        advice = "trust only ranks that stay the same when patients are resampled (fit with --bootstrap 200)."
    return Check(
        "independent",
        QUESTION,
        verdict,
        seen.strength if worst is None else worst.strength,
        seen.p_value,
        statement,
        advice,
        () if worst is None or verdict in ("fine", "cannot tell") else _named(evidence, worst),
        limit,
        "order" if verdict == "doubtful" and limit else "",
        smallest,
    )


def _untried(seen: Dependence) -> str:
    if not seen.n_untried:
        return ""
    return f" Of {plural(seen.n_untried, 'further dependent pair')} nobody asked why: mend this first."


def _asked(seen: Dependence) -> str:
    return f"{plural(seen.n_pairs, 'pair')}, {seen.n_rows:,} {seen.row_noun}s"


def _named(evidence: Evidence, pair: Dependent) -> tuple[str, ...]:
    return (evidence.names[pair.earlier], evidence.names[pair.later])


def _why(evidence: Evidence, pair: Dependent) -> str:
    if pair.explanation == "order":
        a, b = map(quoted, _named(evidence, pair))
        return f"They are independent if {b} comes before {a}: the order of the two may be the other one."
    if pair.explanation == "bent":
        return "A bend between the two is behind it: see the check of straight lines."
    return "No bend and no other order explains it: see the check of hidden common causes."


def _what_to_do(evidence: Evidence, pair: Dependent, estimator: str) -> tuple[str, str]:
    """Advice, and the limit, where no other check has it."""
    if pair.explanation != "order":
        return "follow that check.", ""
    a, b = map(quoted, _named(evidence, pair))
    return (
        f"if you know which of the two comes first, say so (--causes, or {estimator}(knowledge=…)).",
        f"Which of {a} and {b} acts on the other is not sure: read their shocks as one.",
    )
