"""What would change if some columns were on a log scale: both fits of its own, on the same patients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backends.choose import choose_table
from ..core.arrows import arrows_among
from ..core.layout import Layout
from ..core.model import CausalModel
from ..core.moments import describe_columns
from ..core.ordering import VARIANTS
from ..core.outcome import Outcome
from ..core.pipeline import ATTRIBUTIONS, Settings, learn
from ..core.table import F64
from ..outcomes.binary import Binary
from ..wording import listed, one_line

ARROWS_NAMED = 3
VARIABLES_NAMED = 3
NOBODY = -1


@dataclass(frozen=True)
class Change:
    """What differs between two models of the same patients.

    Attributes
    ----------
    n_arrows : arrows of the first.
    turned : those that point the other way in the second, as (from, to) in the first; the strongest first.
    new_top : share of the patients whose strongest root cause is another one.
    most_often : (before, after, share) of the most frequent such change; None where there is none.
    entered, left : variables of one causal order only.
    """

    n_arrows: int
    turned: tuple[tuple[int, int], ...]
    new_top: float
    most_often: tuple[int, int, float] | None
    entered: tuple[int, ...]
    left: tuple[int, ...]

    def in_words(self, names: Sequence[str]) -> str:
        """One sentence; ``names`` of the variables."""

        def named(variable: int) -> str:
            return one_line(names[variable], 40) if variable != NOBODY else "none"

        if self.turned:
            some = [f"{named(a)} → {named(b)}" for a, b in self.turned]
            said = [f"{len(some)} of {self.n_arrows} arrows would turn round ({listed(some, ARROWS_NAMED)})"]
        else:
            said = ["no arrow would turn round"]
        top = f"the strongest root cause would be another one in {self.new_top:.0%} of the patients"
        if self.most_often is not None:
            before, after, share = self.most_often
            top += f" (most often {named(after)} instead of {named(before)}: {share:.0%})"
        said.append(top)
        for verb, variables in (("enter", self.entered), ("leave", self.left)):
            if variables:
                some = [named(variable) for variable in variables]
                said.append(f"{listed(some, VARIABLES_NAMED)} would {verb} the model")
        return f"{', '.join(said[:-1])} and {said[-1]}"


def settings_of(parameters: Mapping[str, Any]) -> Settings | None:
    """How the model was fitted; None where its file does not say, or says what this version does not know."""
    variant = VARIANTS.get(str(parameters.get("variant")))
    attribution = ATTRIBUTIONS.get(str(parameters.get("attribution")))
    alpha = parameters.get("alpha")
    if variant is None or attribution is None or "alpha" not in parameters:
        return None
    return Settings(
        variant, None if alpha is None else float(alpha), attribution, parameters.get("prevalence")
    )


def what_changes(
    before: F64,
    after: F64,
    known: np.ndarray,
    layout: Layout,
    settings: Settings,
    kind: type[Outcome] = Binary,
) -> Change:
    """``before`` and ``after`` (n, q) are the same patients, on two scales; no column may be constant.

    ``known`` is what is known of their outcome, which is of this ``kind``.
    """
    outcome = kind.of(known)
    models = [_fitted(values, known, layout, settings, outcome) for values in (before, after)]
    variables = np.arange(layout.n_variables)
    arrows, arrows_after = (arrows_among(model, variables) for model in models)
    strength = _strengths(models[0])
    turned = np.argwhere(arrows & arrows_after.T)
    turned = turned[np.argsort(-strength[turned[:, 0], turned[:, 1]], kind="stable")]
    tops = [_top_cause(model, values) for model, values in zip(models, (before, after), strict=True)]
    changed = np.flatnonzero(tops[0] != tops[1])
    most = Counter(zip(tops[0][changed].tolist(), tops[1][changed].tolist(), strict=True)).most_common(1)
    ordered, ordered_after = (set(model.order.tolist()) for model in models)
    return Change(
        int(arrows.sum()),
        tuple((int(cause), int(effect)) for effect, cause in turned),
        changed.size / len(known),
        (*most[0][0], most[0][1] / len(known)) if most else None,
        tuple(sorted(ordered_after - ordered)),
        tuple(sorted(ordered - ordered_after)),
    )


def _fitted(
    values: F64, known: np.ndarray, layout: Layout, settings: Settings, outcome: Outcome
) -> CausalModel:
    raw = choose_table("auto", values, outcome.rows(known))
    return learn(raw, describe_columns(raw, settings.prevalence), settings, None, layout, outcome).model


def _strengths(model: CausalModel) -> F64:
    """(p, p), ``[i, j]``: the size of what variable j does to i."""
    found = np.zeros((model.n_variables, model.n_variables))
    found[np.ix_(model.order, model.order)] = np.abs(model.direct_effects())
    return found


def _top_cause(model: CausalModel, values: F64) -> np.ndarray:
    """(n,) the variable whose shock adds most to each patient's predictor; NOBODY where none adds any."""
    shapley = model.shapley(values)
    if not shapley.shape[1]:
        return np.full(len(values), NOBODY)
    return np.where(shapley.max(axis=1) > 0.0, shapley.argmax(axis=1), NOBODY)
