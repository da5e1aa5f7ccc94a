"""What ``fit`` prints of the graph: the strongest arrows, which were given, and how often resamples agree."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..wording import plural, short_names
from .console import say

if TYPE_CHECKING:
    from ..arrows import Arrow
    from ..estimator import Estimator
    from .outcome_lines import OutcomeLines

# Of each kind: into the outcome, and among the variables.
ARROWS_SHOWN = 6


def say_arrows(model: "Estimator", lines: "OutcomeLines") -> None:
    """Print the strongest arrows, where anything is known of their direction or of how sure they are."""
    from ..arrows import (
        ABSENT_MEANS,
        NONE_STRONG,
        SURE_FROM,
        UNSURE,
        arrows_to_outcome,
        edges_among,
        n_strong_edges,
        strong_edges,
    )

    causal, resamples = model._model, model.bootstrap_
    known = None if causal.layout is None else causal.layout.precedence
    order = causal.order
    if not order.size or (known is None and resamples is None):
        return
    called = short_names(model._encoding.shown_names)
    names = [called[variable] for variable in order]
    effects = causal.direct_effects()
    among = edges_among(order, strong_edges(effects, ARROWS_SHOWN), known, resamples)
    weakest = causal.attribution.notable
    into_outcome = arrows_to_outcome(order, causal.effects_on_outcome(), resamples, weakest)
    nominal = {place for place, k in enumerate(order) if model._encoding.variables[k].kind == "nominal"}
    if not (among or into_outcome):
        say(f"{NONE_STRONG}, nor {lines.words.moved_by(weakest)}")
        return
    say("direct effects of one standard deviation (SD) of the cause, all else held fixed, strongest first:")
    _say_some(into_outcome, len(into_outcome), [*names, lines.node], nominal, lines.direct)
    _say_some(among, n_strong_edges(effects), names, nominal, _in_sd)
    shown = [*into_outcome[:ARROWS_SHOWN], *among]
    if any(arrow.state == UNSURE for arrow in shown):
        say(f"unsure: learned, and fewer than {SURE_FROM:.0%} of the resamples have it, pointing this way")
    if any(arrow.absent for arrow in shown):
        say(f"absent: {ABSENT_MEANS}")
    if into_outcome:
        say("the order's numbers are total effects, of a shock by all ways: even their sign may differ")


def _in_sd(weight: float, signless: bool) -> str:
    return f" {abs(weight):.2f} SD" if signless else f"{weight:+.2f} SD"


def _say_some(
    arrows: "list[Arrow]",
    n: int,
    names: list[str],
    nominal: set[int],
    in_words: Callable[[float, bool], str],
) -> None:
    some = [(arrow, f"{names[arrow.cause]} -> {names[arrow.effect]}") for arrow in arrows[:ARROWS_SHOWN]]
    width = max((len(called) for _, called in some), default=0)
    for arrow, called in some:
        # Levels without an order have no more and no less.
        signless = bool({arrow.cause, arrow.effect} & nominal)
        say(f"  {called:<{width}}  {in_words(arrow.weight, signless)}  {arrow.said}")
    if n > len(some):
        say(f"  and {plural(n - len(some), 'weaker one')}")
