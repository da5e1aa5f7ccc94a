"""The core's learning, for rows that have labels where no other outcome is given."""

from __future__ import annotations

from typing import Any

from rootcausal.method import pipeline
from rootcausal.method.ordering import ordering
from rootcausal.outcomes.binary import Binary


def learn(raw, columns, settings, on_round=None, layout=None, outcome=None) -> pipeline.Learned:
    return pipeline.learn(
        raw, columns, settings, on_round, layout, outcome or Binary.of_moments(columns.moments)
    )


def order_columns(raw, columns, variant, alpha, on_round=None, layout=None) -> ordering.Ordering:
    outcome: Any = Binary.of_moments(columns.moments) if variant.local else None
    return ordering.order_columns(raw, columns, variant, alpha, on_round, layout, outcome)
