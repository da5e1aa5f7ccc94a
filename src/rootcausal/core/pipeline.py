"""The whole method on one cohort: screen and order, errors, attribution (paper, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .logistic import fit_logit, separates
from .model import CausalModel
from .moments import Columns
from .ordering import OnRound, Ordering, order_columns
from .sharp import attribute
from .table import F64, RawTable

ATTRIBUTIONS = ("sharp", "paper")


@dataclass(frozen=True)
class Settings:
    """What there is to choose: the variant and level of the ordering, and one of ATTRIBUTIONS."""

    variant: str
    alpha: float
    attribution: str


@dataclass(frozen=True)
class Learned:
    """A model and how it came about.

    Attributes
    ----------
    model : scores patients.
    ordering : what the search found.
    separated : whether the errors decide for all patients, or for some, so that only a prior keeps
        coefficients finite.
    converged : whether every iteration came to rest before its limit.
    ancestor_probability : (p,) zero for columns that were dropped; None with the paper's attribution,
        which takes every survivor for an ancestor.
    """

    model: CausalModel
    ordering: Ordering
    separated: bool
    converged: bool
    ancestor_probability: F64 | None


def learn(raw: RawTable, columns: Columns, settings: Settings, on_round: OnRound | None = None) -> Learned:
    """Learn a model from labelled rows; no column may be constant."""
    n, p = raw.shape
    ordering = order_columns(raw, columns, settings.variant, settings.alpha, on_round)
    case_rate = float(columns.moments.count[1]) / n
    probability = None
    if settings.attribution == "paper":
        logit = fit_logit(ordering.table, ordering.table_cols, case_rate)
        separated = logit.separated
    else:
        ancestry = attribute(ordering.table, ordering.table_cols, ordering.mixing, p, case_rate)
        logit = ancestry.logit
        separated = separates(ordering.table, ordering.table_cols, logit)
        probability = np.zeros(p)
        probability[ordering.order] = ancestry.probability
    model = CausalModel(
        n_columns=p,
        order=ordering.order,
        mean=ordering.mean,
        sd=ordering.sd,
        mixing=ordering.mixing,
        unmixing=ordering.unmixing,
        coef=logit.coef,
        intercept=logit.intercept,
    )
    return Learned(model, ordering, separated, logit.converged, probability)
