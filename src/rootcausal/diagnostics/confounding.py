"""Are the errors independent of each other, in the order that was found? If not, what is behind it?

A hidden common cause is what is left where no other order, left-out column or bend explains it (see
:mod:`.dependence`): regression makes errors uncorrelated whatever is hidden, and leaves their other moments.
Variables that may share one are to be read as one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..backends.blas import one_blas_thread
from ..method.confounded_sets import Together, joined
from ..method.linear import LinearMechanism
from ..method.table import Index
from ..wording import listed, p_in_words, plural, quoted
from .dependence import MOMENTS, Dependence, Dependent, Trial, explained, moments_of
from .diagnosis import NO_TABLE_SHOWS, Check, CheckSpec, Scale, Text
from .evidence import Checked, Evidence, gather
from .power import corrected, smallest_visible

SCALE = Scale(0.04, 0.15, p_doubtful=0.02, p_broken=1e-9)
# What a hidden cause as strong as the errors leaves: silence means something where less would be seen.
HARD = 0.10
# Share of cohorts without a hidden cause in which any pair may be taken for one.
LEVEL = 0.05
# Pairs for which explanations are tried, the least probable first.
TRIED_AT_MOST = 40
OTHERS_NAMED = 3

STRENGTH = "strength of dependence, √(χ² / n)"
UNSEEN = "a dependence of less than {smallest:.2f} would not be seen in {rows}"
INDEPENDENT = CheckSpec(
    "independent",
    "Are the shocks of different variables independent of each other?",
    STRENGTH,
    {
        "fine": Text("No two of the shocks were seen to depend on each other{through} ({asked})."),
        "cannot tell": Text(
            "Only strong dependence would be seen, and none was ({asked}).",
            f"Shocks may depend on each other: {UNSEEN}.",
            "trust only ranks that stay the same when patients are resampled (fit with --bootstrap 200).",
        ),
        "doubtful": Text(
            "{together}. No curve and no other order explains it: see the check of hidden common "
            "causes.{untried}",
            advice="follow that check.",
        ),
        "doubtful, curve": Text(
            "{together}. A nonlinear relation of the two is behind it: see the check of linearity.{untried}"
        ),
        "doubtful, order": Text(
            "{together}. They are independent if {b:q} comes before {a:q}: the order of the two may be the "
            "other one.{untried}",
            "Which of {a:q} and {b:q} acts on the other is not sure: read their shocks as one.",
            "if you know which of the two comes first, say so (--causes, or {estimator}(knowledge=…)).",
        ),
    },
    SCALE,
    touches="order",
    touches_unseen="",
)
SILENT = Text(
    "No pair of shocks points to a common cause of two variables ({n_pairs:# pair} of variables, {n_rows:,} "
    f"{{row_noun}}s). {NO_TABLE_SHOWS}"
)
THINK = "think of what was not measured and moves several variables (a centre, a treatment)."
UNCONFOUNDED = CheckSpec(
    "unconfounded",
    "Is there no sign of confounding: a hidden common cause of two variables?",
    f"{STRENGTH}, that nothing measured explains",
    {
        "fine": SILENT,
        "cannot tell": replace(
            SILENT, limit=f"A hidden common cause cannot be ruled out: {UNSEEN}.", advice=THINK
        ),
        "cannot tell, no pair": Text(
            limit="A hidden common cause cannot be ruled out: there are no two numbers to show it."
        ),
        "doubtful": Text(
            "{together}, and no other order, no curve and no column that was left out explains it.{others}",
            "Read {a:q} and {b:q} together: something unmeasured may move both.",
            "look for something unmeasured that moves both {a:q} and {b:q} (a batch, a centre, a treatment, "
            "a common organ) and add it as a column. A mixture of different patients looks the "
            "same{sampling}.",
        ),
        "broken": Text(
            limit="Do not read {a:q} and {b:q} apart: something that is not in the table seems to move both."
        ),
    },
    SCALE,
    touches="variables",
    touches_unseen="",
)

SAMPLING = (
    ", and so do cases and controls that were sampled apart: if they were, say with --prevalence how common "
    "the disease is"
)
# How the earlier of two shocks goes with the later, for each of MOMENTS, and what correlates.
_IN_WORDS = (
    ("shocks of {b} are larger where those of {a} are {sign}", "one and the size of the other"),
    ("shocks of {b} are {sign} where those of {a} are far from average", "one and the size of the other"),
    ("shocks of {a} and {b} are large in {sign} patients", "their sizes"),
    ("shocks of {b} go with those of {a}, though not along a line", "one and the bounded other"),
    ("shocks of {b} go with those of {a}, though not along a line", "one and the bounded other"),
)
_SIGNS = (("high", "low"), ("high", "low"), ("the same", "different"), ("", ""), ("", ""))


def _together(a: str, b: str, pair: Dependent, n_pairs: int) -> str:
    """How two shocks go together, with the figure of what shows it best."""
    worst = int(abs(pair.correlation).argmax())
    size = float(pair.correlation[worst])
    text, which = _IN_WORDS[worst]
    said = text.format(a=quoted(a, 40), b=quoted(b, 40), sign=_SIGNS[worst][int(size < 0)])
    return (
        f"{said[0].upper()}{said[1:]} (correlation of {which} {size:+.2f}; {p_in_words(pair.p_value)} after "
        f"correction for {plural(n_pairs, 'pair')})"
    )


def visible(seen: Dependence) -> float:
    """The smallest strength of dependence that these patients would have shown."""
    return smallest_visible(seen.n_rows, len(MOMENTS), max(seen.n_pairs, 1), SCALE.p_doubtful)


def check_independence(evidence: Evidence, seen: Dependence, estimator: str) -> Check:
    """``estimator`` is the class that users call."""
    counted = [pair for pair in seen.found if pair.explanation != "left out"]
    worst = max(counted, key=lambda pair: pair.strength, default=None)
    smallest = visible(seen)
    asked = f"{plural(seen.n_pairs, 'pair')}, {seen.n_rows:,} {seen.row_noun}s"
    if worst is None or SCALE.judge(worst.p_value, worst.strength) == "fine":
        return INDEPENDENT.check(
            "fine" if smallest <= HARD else "cannot tell",
            seen.strength if worst is None else worst.strength,
            seen.p_value,
            smallest=smallest,
            asked=asked,
            rows=plural(seen.n_rows, seen.row_noun),
            through=", but through columns that the model left out" if len(counted) < len(seen.found) else "",
        )
    names = a, b = evidence.names[worst.earlier], evidence.names[worst.later]
    untried = f" Of {plural(seen.n_untried, 'further dependent pair')} nobody asked why: mend this first."
    return INDEPENDENT.check(
        # How bad a bend is, its own check says.
        SCALE.judge(worst.p_value, worst.strength) if worst.explanation == "nothing" else "doubtful",
        worst.strength,
        seen.p_value,
        case=worst.explanation,
        names=names,
        smallest=smallest,
        a=a,
        b=b,
        together=_together(a, b, worst, seen.n_pairs),
        untried=untried if seen.n_untried else "",
        estimator=estimator,
    )


def check_confounding(evidence: Evidence, seen: Dependence, may_be_sampled_apart: bool) -> Check:
    """``may_be_sampled_apart`` says that cases and controls may have been, and nobody said so."""
    smallest = visible(seen)
    pairs = [
        pair for pair in seen.explained_by("nothing") if SCALE.judge(pair.p_value, pair.strength) != "fine"
    ]
    if not pairs:
        return UNCONFOUNDED.check(
            "fine" if seen.n_pairs and smallest <= HARD else "cannot tell",
            seen.strength,
            seen.p_value,
            case="" if seen.n_pairs else "no pair",
            smallest=smallest,
            n_pairs=seen.n_pairs,
            n_rows=seen.n_rows,
            row_noun=seen.row_noun,
            rows=plural(seen.n_rows, seen.row_noun),
        )
    pairs.sort(key=lambda pair: -pair.strength)
    (a, b), *others = [(evidence.names[pair.earlier], evidence.names[pair.later]) for pair in pairs]
    more = listed([f"{quoted(one, 40)} and {quoted(other, 40)}" for one, other in others], OTHERS_NAMED)
    return UNCONFOUNDED.check(
        SCALE.judge(pairs[0].p_value, pairs[0].strength),
        pairs[0].strength,
        pairs[0].p_value,
        names=(a, b),
        smallest=smallest,
        a=a,
        b=b,
        together=_together(a, b, pairs[0], seen.n_pairs),
        others=f" The same holds for {more}." if others else "",
        sampling=SAMPLING if may_be_sampled_apart else "",
    )


def read_together(checked: Checked) -> Together:
    """The sets of variables of a model, by the patients that it was learned from, with their outcomes.

    A hidden common cause of two variables draws an arrow between them. So the question is asked of pairs that
    an arrow joins, and of these only where both matter to the outcome: elsewhere, two values read as one are
    the value of one of them. Those are few, so that the correction for many pairs takes little, and more is
    seen than by the check of all pairs.
    """
    with one_blas_thread():  # the same sets on any machine
        evidence = gather(checked, checked.score).of_population()
        pairs = _joined_by_arrows(evidence, checked.model.attribution.notable)
        if not len(pairs):
            return Together((), (), 0)
        found = moments_of(evidence.errors, pairs)
        dependent = [
            m
            for m in np.argsort(found.p_values, kind="stable").tolist()
            if corrected(float(found.p_values[m]), len(pairs)) < LEVEL and found.strength[m] >= SCALE.doubtful
        ]
        # Trials draw straight lines: where the mechanism has bends, these are out of its errors already.
        trial = Trial(evidence) if isinstance(checked.model.mechanism, LinearMechanism) else None
        kept = tuple(
            (int(evidence.owner[pairs[m, 0]]), int(evidence.owner[pairs[m, 1]]))
            for m in dependent[:TRIED_AT_MOST]
            if _apart_from_bends(evidence, trial, pairs[m], len(pairs))
        )
    return Together(kept, joined(kept), len(pairs), max(0, len(dependent) - TRIED_AT_MOST))


def _joined_by_arrows(evidence: Evidence, notable: float) -> Index:
    """(m, 2) places of numbers whose order was learned, both of which matter, and which an arrow joins."""
    earlier, later = np.triu_indices(evidence.columns.size, 1)
    may = ~evidence.with_levels & evidence.searched & (evidence.importance >= notable)
    asked = may[earlier] & may[later] & evidence.arrows[later, earlier]
    return np.column_stack([earlier[asked], later[asked]])


def _apart_from_bends(evidence: Evidence, trial: Trial | None, pair: Index, n_pairs: int) -> bool:
    """Whether the two depend on each other where they were measured, and no bend or left-out column is why.

    Where another order of the two does, which of them acts on the other is not sure: read as one, too.
    """
    found = explained(evidence, trial, pair, n_pairs, LEVEL)
    return found is not None and found.explanation in ("nothing", "order")
