"""Which learner each mechanism has, by the name that users choose it by."""

from __future__ import annotations

from .core.holes import HoledRaw
from .core.layout import Layout
from .core.moments import Columns
from .core.ordering import OnRound
from .core.outcome import Outcome
from .core.pipeline import LINEAR_LEARNER, Learned, Learner, Settings, learn
from .core.table import RawTable

LINEAR, NONLINEAR = "linear", "nonlinear"


def learn_mechanism(
    raw: RawTable | HoledRaw,
    columns: Columns,
    settings: Settings,
    on_round: OnRound | None = None,
    layout: Layout | None = None,
    outcome: Outcome | None = None,
) -> Learned:
    """Learn a model by the mechanism that the settings name; see :func:`rootcausal.core.pipeline.learn`."""
    learner: Learner = LINEAR_LEARNER
    if settings.mechanism != LINEAR:
        from .nonlinear.learning import NONLINEAR_LEARNER

        learner = NONLINEAR_LEARNER
    return learn(raw, columns, settings, on_round, layout, outcome, learner)
