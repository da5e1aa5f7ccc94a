"""All checks with their questions and limits, from the constants by which they judge: the guide's tables."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ..outcomes.words import fold
from ..screening.leakage import LIMITS, Limit
from . import (
    censoring,
    confounding,
    equal_responses,
    few_events,
    gaussianity,
    giveaway,
    independence,
    learned,
    linearity,
    link,
    logarithms,
    names,
    number_first,
    number_fit,
    patients,
    proportional,
    straight,
    straighter,
    terminal,
)
from .diagnosis import Scale

NEVER = "never"


@dataclass(frozen=True)
class Described:
    """A check: its number in words, and from which on it is doubtful and broken."""

    name: str
    question: str
    number: str
    doubtful: str
    broken: str


def described(kind: str) -> tuple[Described, ...]:
    """The checks of an outcome, ``binary``, ``survival`` or ``continuous``; of ``any``, those of all."""
    of = {"any": _of_any, "binary": _of_binary, "survival": _of_survival, "continuous": _of_continuous}
    return of[kind]()


def as_markdown(kind: str) -> str:
    """The same as a table."""
    rows = [
        ("check", "question", "its number", "doubtful from", "broken from"),
        ("---",) * 5,
        *((f"`{one.name}`", one.question, one.number, one.doubtful, one.broken) for one in described(kind)),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _by(scale: Scale, name: str, question: str, number: str, percent: bool = False) -> Described:
    """A check that judges by a size and a p-value."""
    doubtful = _limit(scale.doubtful, scale.p_doubtful, percent)
    return Described(name, question, number, doubtful, _limit(scale.broken, scale.p_broken, percent))


def _limit(size: float, p_value: float, percent: bool = False) -> str:
    if not isfinite(size):
        return NEVER
    return f"{f'{100 * size:g} %' if percent else f'{size:g}'} (p < {p_value:g})"


def _of_any() -> tuple[Described, ...]:
    strength = "strength of dependence, √(χ² / n)"
    return (
        Described(
            "learned",
            learned.QUESTION,
            "what one standard deviation of all shocks together adds to the outcome's scale",
            NEVER,
            "less than what is named as a root cause",
        ),
        Described(
            "non_gaussian",
            gaussianity.QUESTION,
            f"arrows whose two ends both look Gaussian (p ≥ {gaussianity.LEVEL:g})",
            "one",
            f"{100 * gaussianity.BROKEN_SHARE:.0f} % of them",
        ),
        _by(independence.SCALE, "independent", independence.QUESTION, strength),
        _by(
            linearity.SCALE,
            "linear",
            linearity.QUESTION,
            "share of what a line leaves that a curve explains",
            percent=True,
        ),
        _by(
            independence.SCALE,
            "unconfounded",
            confounding.QUESTION,
            f"{strength}, that nothing measured explains",
        ),
        Described(
            "logarithm",
            logarithms.QUESTION,
            "nats a patient by which it explains more",
            f"{straighter.STRAIGHTER:g} ({straighter.STANDARD_ERRORS:g} standard errors)",
            NEVER,
        ),
        Described(
            "in_range",
            patients.RANGE_QUESTION,
            f"largest share of patients beyond {patients.FAR:g} standard deviations",
            f"{100 * patients.DOUBTFUL_SHARE:g} %",
            f"{100 * patients.BROKEN_SHARE:g} %",
        ),
        Described("as_named", names.QUESTION, "columns behind what cannot come before them", "one", NEVER),
    )


def _influence() -> Described:
    return Described(
        "influence",
        patients.INFLUENCE_QUESTION,
        "standard errors by which one patient moves a coefficient (how a column goes with the outcome)",
        f"{patients.DOUBTFUL_INFLUENCE:g} ({patients.DOUBTFUL_CHANGE:g})",
        f"{patients.BROKEN_INFLUENCE:g} ({patients.BROKEN_CHANGE:g})",
    )


def _calibrated(scale: Scale, question: str, unit: str, times: float) -> Described:
    doubtful, broken = f"{times * scale.doubtful:g}", f"{times * scale.broken:g}"
    return Described(
        "calibrated",
        question,
        f"mean difference over groups of patients, in {unit}",
        f"{doubtful}, or {broken} in a group (p < {scale.p_doubtful:g})",
        f"{broken} (p < {scale.p_broken:g})",
    )


def _leak(question: str, number: str, plain: Limit, *others: tuple[str, Limit]) -> Described:
    all_of = [("", plain), *others]
    doubtful = "; ".join(f"{what}{_limit(scale.doubtful, scale.p_doubtful)}" for what, scale in all_of)
    broken = "; ".join(f"{what}{_limit(scale.broken, scale.p_broken)}" for what, scale in all_of)
    return Described("gives_away", question, number, doubtful, broken)


def _of_binary() -> tuple[Described, ...]:
    return (
        _leak(
            giveaway.question(giveaway.HAPPENING),
            "share of pairs that one column tells apart (absence: difference of shares)",
            LIMITS["number"],
            ("levels ", LIMITS["levels"]),
            ("names of an end ", LIMITS["name of an end"]),
            ("absence ", LIMITS["absence"]),
        ),
        _by(
            terminal.EFFECT,
            "terminal",
            terminal.QUESTION,
            "nats a patient by which an effect is likelier than a cause",
        ),
        _calibrated(link.SCALE, link.QUESTION, "percentage points", 100.0),
        _by(
            equal_responses.SCALE,
            "same_mechanism",
            equal_responses.QUESTION,
            "log-odds by which one shock's effect differs with another",
        ),
        _influence(),
    )


def _of_survival() -> tuple[Described, ...]:
    leaving = censoring.SCALE
    return (
        _leak(
            giveaway.question("the event"),
            "share of pairs that one column ranks as the times do",
            LIMITS["number"],
            ("correlation with the time of follow-up ", LIMITS["follow-up"]),
            ("names of an end ", LIMITS["name of an end"]),
        ),
        _calibrated(link.SCALE, link.QUESTION, "percentage points of the risk by the horizon", 100.0),
        _by(
            proportional.SCALE,
            "proportional_hazards",
            proportional.QUESTION,
            "log-hazard by which an effect differs between early and late events",
        ),
        _by(
            straight.SCALE,
            "straight",
            straight.asking("the log-hazard"),
            "what curves add, √(χ² / events)",
        ),
        Described(
            "follow_up",
            censoring.QUESTION,
            "log-hazard of leaving, for a standard deviation of a column on which the hazard depends",
            f"{_limit(leaving.doubtful, leaving.p_doubtful)}: {fold(leaving.doubtful)} times as soon or late",
            NEVER,
        ),
        Described(
            "few_events",
            few_events.QUESTION,
            "events for each variable",
            f"fewer than {few_events.ENOUGH:g}",
            NEVER,
        ),
        _influence(),
    )


def _of_continuous() -> tuple[Described, ...]:
    return (
        _leak(
            giveaway.question("the outcome"),
            "correlation of one column with the number (absence: share of pairs)",
            LIMITS["correlation"],
            ("names of an end ", LIMITS["name of an end, correlation"]),
            ("absence ", LIMITS["absence, pairs"]),
        ),
        _by(
            number_first.EFFECT,
            "terminal",
            number_first.QUESTION,
            "nats a patient by which an effect is likelier than a cause",
        ),
        _calibrated(number_fit.SCALE, number_fit.QUESTION, "standard deviations", 1.0),
        _by(straight.SCALE, "straight", straight.asking("the outcome"), "what curves add, √(χ² / n)"),
        _by(
            number_fit.UNEVEN,
            "even_spread",
            number_fit.SPREAD_QUESTION,
            "times as far from what is expected, in one third of the patients as in another",
        ),
        _influence(),
    )
