"""How sure: the fit over sites again, of resampled patients, which sites draw themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..errors import InputError
from ..inputs.patients import Cohort
from ..method.moments import describe_columns
from ..method.pipeline import Settings, learn
from ..outcomes.binary import Binary
from ..resampling.bootstrap import MOST_SEEDS, Bootstrap, Resampled
from ..wording import listed, quoted
from .asking import Sites
from .messages import Step
from .sums import MOST_TABLES
from .tables import FederatedIncomplete, FederatedRaw, Rows, described_rows
from .together import Turn, together

# So many are learned in the same rounds; a site holds as many tables.
AT_ONCE = 16


@dataclass(frozen=True)
class Resampling:
    """What all resamples of a fit have in common."""

    cohort: Cohort
    settings: Settings
    rows: Rows
    seed: int

    def draw(self, number: int) -> Step:
        """Whose turn it is; numbers begin with 1."""
        by_class = self.settings.prevalence is not None
        return Step("draw", {"number": number, "seed": self.seed, "by_class": by_class})

    def learned(self, first: int, turn: Turn, place: int) -> Resampled:
        """The model of one resample."""
        number = first + place
        rows = described_rows(turn, self.rows.units, self.rows.by_class)
        rows.n_tables = MOST_TABLES * number
        raw = FederatedIncomplete(rows) if rows.incomplete else FederatedRaw(rows, rows.units)
        columns = describe_columns(raw, self.settings.prevalence)
        if columns.flat.size:
            names = [quoted(self.cohort.encoding.column_names[place]) for place in columns.flat.tolist()]
            raise InputError(
                f"resample {number} has nobody who differs in {listed(names)}: group rare levels, or leave "
                "the column out"
            )
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number - 1,)))
        seeds = [int(seed) for seed in rng.integers(MOST_SEEDS, size=2)]
        settings = replace(self.settings, mechanism="linear", imputation_seed=seeds[0], effect_seed=seeds[1])
        outcome = Binary(float(rows.count[1] / rows.n))
        learned = learn(raw, columns, settings, None, self.cohort.encoding.layout, outcome)
        settled = learned.converged and (learned.imputation is None or learned.imputation.converged)
        return Resampled(learned.model, settled)


def resampled(
    sites: Sites, cohort: Cohort, settings: Settings, rows: Rows, n: int, random_state: int
) -> Bootstrap:
    """Models of n resamples."""
    if not sites.masked:
        raise InputError("resamples are many sums of the same rows: let all sites mask them with a key")
    if not isinstance(cohort.outcome, Binary):
        raise InputError("sites draw resamples for a diagnosis only: fit without them")
    of_all = Resampling(cohort, settings, rows, random_state)
    found: list[Resampled] = []
    for first in range(1, n + 1, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, n + 1))
        found += together(sites, [of_all.draw(number) for number in numbers], partial(of_all.learned, first))
        sites.keep(Step("drop draws"))
    unsettled = sum(not one.converged for one in found)
    return Bootstrap(tuple(one.model for one in found), random_state, unsettled)
