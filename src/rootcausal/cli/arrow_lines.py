"""What ``fit`` prints of the graph: the strongest arrows, which were given, and how often resamples agree."""

from typing import TYPE_CHECKING

from ..wording import one_line, plural
from .console import say

if TYPE_CHECKING:
    from ..arrows import Arrow
    from ..rci import RCI

# Of each kind: into the disease, and among the variables.
ARROWS_SHOWN = 6


def say_arrows(model: "RCI") -> None:
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
    from ..outcome_words import words_of

    causal, resamples = model._model, model.bootstrap_
    known = None if causal.layout is None else causal.layout.precedence
    order, weakest = causal.order, causal.attribution.notable
    if not order.size or (known is None and resamples is None):
        return
    names = [one_line(model._encoding.names[variable], 40) for variable in order]
    effects = causal.direct_effects()
    among = edges_among(order, strong_edges(effects, ARROWS_SHOWN), known, resamples)
    into_outcome = arrows_to_outcome(order, causal.effects_on_outcome(), resamples, weakest)
    nominal = {place for place, k in enumerate(order) if model._encoding.variables[k].kind == "nominal"}
    if not (among or into_outcome):
        say(f"{NONE_STRONG}, nor {words_of(causal.attribution).moved_by(weakest)}")
        return
    say("direct effects of one standard deviation (SD) of the cause, all else held fixed, strongest first:")
    _say_some(into_outcome, len(into_outcome), [*names, "disease"], nominal, "log-odds")
    _say_some(among, n_strong_edges(effects), names, nominal, "SD")
    shown = [*into_outcome[:ARROWS_SHOWN], *among]
    if any(arrow.state == UNSURE for arrow in shown):
        say(f"unsure: learned, and fewer than {SURE_FROM:.0%} of the resamples have it, pointing this way")
    if any(arrow.absent for arrow in shown):
        say(f"absent: {ABSENT_MEANS}")
    if into_outcome:
        say("the order's numbers are total effects, of a shock by all ways: even their sign may differ")


def _say_some(arrows: "list[Arrow]", n: int, names: list[str], nominal: set[int], unit: str) -> None:
    some = [(arrow, f"{names[arrow.cause]} -> {names[arrow.effect]}") for arrow in arrows[:ARROWS_SHOWN]]
    width = max((len(called) for _, called in some), default=0)
    for arrow, called in some:
        # Levels without an order have no more and no less.
        signless = bool({arrow.cause, arrow.effect} & nominal)
        size = f" {abs(arrow.weight):.2f}" if signless else f"{arrow.weight:+.2f}"
        say(f"  {called:<{width}}  {size} {unit}  {arrow.said}")
    if n > len(some):
        say(f"  and {plural(n - len(some), 'weaker one')}")
