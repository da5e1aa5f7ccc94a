"""Which learner each mechanism has, by the name that users choose it by."""

from __future__ import annotations

from ..method.layout import Layout
from ..method.missing.sums import IncompleteRaw
from ..method.moments import Columns
from ..method.ordering.ordering import OnRound
from ..method.outcome import Outcome
from ..method.pipeline import LINEAR_LEARNER, Learned, Learner, Settings, learn
from ..method.table import RawTable

LINEAR, NONLINEAR = "linear", "nonlinear"


def learn_mechanism(
    raw: RawTable | IncompleteRaw,
    columns: Columns,
    settings: Settings,
    on_round: OnRound | None = None,
    layout: Layout | None = None,
    outcome: Outcome | None = None,
) -> Learned:
    """Learn a model by the mechanism that the settings name; see :func:`rootcausal.method.pipeline.learn`."""
    learner: Learner = LINEAR_LEARNER
    if settings.mechanism != LINEAR:
        from .learning import NONLINEAR_LEARNER

        learner = NONLINEAR_LEARNER
    return learn(raw, columns, settings, on_round, layout, outcome, learner)
