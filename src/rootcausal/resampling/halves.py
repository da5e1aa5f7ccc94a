"""Would another cohort say the same? Two halves of this one, each learned from anew (split-half agreement).

Halves of a small cohort disagree even where every assumption holds. So the same is done with cohorts that are
drawn from the fitted model (parametric bootstrap): errors are drawn column by column from those of the
cohort, so that they are independent of each other, as is assumed, and the outcome by what the model says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import expit

from ..backends.blas import one_blas_thread
from ..errors import InputError
from ..method.layout import Layout
from ..method.missing.completion import Completion, to_levels
from ..method.model import CausalModel
from ..method.table import F64, Index
from ..method.weighted import ClassWeights
from ..metrics import rank_biased_overlap
from ..outcomes.binary import Binary
from ..outcomes.continuous import Continuous
from ..outcomes.survival import HazardAttribution, Survival
from ..wording import plural
from .bootstrap import learn_from
from .training_rows import TrainingRows

# Cohorts that are drawn from the model, each cut once: more cohorts tell more than more cuts.
SIMULATED = 40
# Standard deviations between simulated cohorts, and at least so much, below which agreement is low.
FAR, LEAST = 2.0, 0.05
# Fits that fail, as of a half without cases, until it is given up.
MOST_FAILED = 20
NOT_DRAWN = "what happens to such patients is not drawn from a model here"


@dataclass(frozen=True)
class Halves:
    """How well two halves of a cohort agree, and how well they would if the model held.

    Attributes
    ----------
    splits, random_state : how often the cohort was cut in two, and the seed.
    same : share of patients of whom both halves name the same strongest root cause, of those of whom either
        names one; NaN where that is nobody.
    overlap : rank-biased overlap of the root causes that one half names with the ranks of the other.
    expected_same, expected_overlap : the same, on average, of cohorts drawn from the fitted model; None
        where these cannot be drawn.
    low_same : agreement below this is lower than that of nearly all such cohorts.
    simulated : how many cohorts were drawn.
    why : why none was; empty where some were.
    """

    splits: int
    random_state: int
    same: float
    overlap: float
    expected_same: float | None = None
    expected_overlap: float | None = None
    low_same: float | None = None
    simulated: int = 0
    why: str = ""

    @property
    def low(self) -> bool:
        """Whether halves agree less than they would if the model held."""
        return self.low_same is not None and self.same < self.low_same

    @property
    def statement(self) -> str:
        """What it comes to, as one sentence."""
        if self.same != self.same:
            return "two halves of this cohort name no root cause of any patient, so they cannot be compared"
        said = (
            f"two halves of this cohort name the same strongest root cause in {100 * self.same:.0f} of 100 "
            "patients"
        )
        if self.expected_same is None:
            return said
        return f"{said}; {100 * self.expected_same:.0f} would be expected if the assumptions held"

    def __str__(self) -> str:
        if self.same != self.same:
            return f"{self.statement[0].upper()}{self.statement[1:]} ({plural(self.splits, 'split')})"
        expected = "" if self.expected_overlap is None else f", {self.expected_overlap:.2f} expected"
        cohorts = f", {plural(self.simulated, 'simulated cohort')}" if self.simulated else ""
        return (
            f"{self.statement[0].upper()}{self.statement[1:]} (rank overlap {self.overlap:.2f}{expected}; "
            f"{plural(self.splits, 'split')}{cohorts})"
        )

    def to_dict(self) -> dict[str, Any]:
        """As a model file remembers it; NaN is None."""
        return {name: None if value != value else value for name, value in asdict(self).items()}

    @classmethod
    def of_dict(cls, found: Mapping[str, Any]) -> Self:
        """The same; ValueError, or what wrong types raise, where it cannot be."""
        whole, shares = ("splits", "random_state", "simulated"), ("same", "overlap")
        maybe = ("expected_same", "expected_overlap", "low_same")
        if set(found) != {*whole, *shares, *maybe, "why"}:
            raise ValueError("what it says of halves is none")
        if not all(type(found[name]) is int and found[name] >= 0 for name in whole):
            raise ValueError("a number of its halves is none")
        if not all(found[name] is None or -1.0 <= float(found[name]) <= 1.0 for name in (*shares, *maybe)):
            raise ValueError("an agreement of its halves is none")
        if type(found["why"]) is not str:
            raise ValueError("what it says of halves is none")
        numbers = {name: np.nan if found[name] is None else float(found[name]) for name in shares}
        return cls(**{**found, **numbers})


def split_half(
    cohort: TrainingRows, model: CausalModel, completion: Completion | None, splits: int, random_state: int
) -> Halves:
    """Cut a cohort in two, and cohorts drawn from its model; see :meth:`rootcausal.RCI.split_half`."""
    rng = np.random.default_rng(np.random.SeedSequence(random_state))
    with one_blas_thread():
        counted = cohort.counted
        same, overlap, between_cuts = _agreement(cohort, _scored(counted, completion), splits, rng)
        values = counted.X if completion is None else completion.draw(counted.X, 0, cohort.layout)
        draw = _Drawn.of(counted, model, values)
        if isinstance(draw, str):
            return Halves(splits, random_state, same, overlap, why=draw)
        others = (draw.cohort(rng) for _ in range(SIMULATED))
        drawn = [_agreement(other, _scored(other, completion), 1, rng) for other in others]
    of_same, of_overlap, _ = np.array(drawn).T
    told = np.isfinite(of_same)
    if not told.any():
        return Halves(splits, random_state, same, overlap, why="cohorts drawn from the model name no cause")
    expected = float(of_same[told].mean())
    # One cut of one cohort differs from another by both; the mean over cuts of this one by less.
    cohorts = max(float(of_same[told].var(ddof=1)) - between_cuts, 0.0) if told.sum() > 1 else 0.0
    spread = (cohorts + between_cuts / splits) ** 0.5
    low = max(expected - max(FAR * spread, LEAST), 0.0)
    return Halves(
        splits, random_state, same, overlap, expected, float(np.nanmean(of_overlap)), low, int(told.sum())
    )


def _scored(cohort: TrainingRows, completion: Completion | None) -> F64:
    """(n, q) values that models score: what is expected where nothing, or with error, was measured."""
    return cohort.X if completion is None else completion.fill(cohort.X)


def _agreement(
    cohort: TrainingRows, whole: F64, splits: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Mean share of patients with the same strongest root cause, and mean overlap, over some cuts; and the
    variance of the share between cuts.
    """
    found = [_compared(*halves) for halves in _halves(cohort, whole, splits, rng)]
    same, overlap = np.array(found).T
    told = np.isfinite(same)
    if not told.any():
        return np.nan, np.nan, 0.0
    between = float(same[told].var(ddof=1)) if told.sum() > 1 else 0.0
    return float(same[told].mean()), float(overlap[told].mean()), between


def _halves(
    cohort: TrainingRows, whole: F64, splits: int, rng: np.random.Generator
) -> Iterator[tuple[F64, F64, float, bool]]:
    """Shapley values (n, p) by models of either half, what is notable, and whether both directions count."""
    failed = 0
    for _ in range(splits):
        while True:
            parts = _cut(cohort, rng)
            if all(cohort.outcome_of_all.is_enough(cohort.y[rows]) for rows in parts):
                break
            failed += 1
            if failed > MOST_FAILED:
                raise InputError("halves of this cohort have too few patients with the outcome to learn from")
        models = [_model_of(cohort, rows) for rows in parts]
        notable, both_ways = models[0].attribution.notable, isinstance(cohort.outcome_of_all, Continuous)
        yield models[0].shapley(whole), models[1].shapley(whole), notable, both_ways


def _cut(cohort: TrainingRows, rng: np.random.Generator) -> list[Index]:
    """Rows of either half: patients at random, each with all of their rows."""
    groups = np.arange(len(cohort.X)) if cohort.groups is None else cohort.groups
    n = int(groups.max()) + 1
    first = np.zeros(n, dtype=bool)
    first[rng.permutation(n)[: n // 2]] = True
    return [np.flatnonzero(first[groups]), np.flatnonzero(~first[groups])]


def _model_of(cohort: TrainingRows, rows: Index) -> CausalModel:
    """A model of some rows, of all columns of the table."""
    learned, varies, _ = learn_from(cohort, rows, cohort.settings)
    return replace(learned.model.on_columns(varies, cohort.X.shape[1]), layout=cohort.layout)


def _compared(one: F64, other: F64, notable: float, both_ways: bool) -> tuple[float, float]:
    """Share of patients with the same strongest root cause, and overlap, where either names one."""
    sizes = [np.abs(values) if both_ways else values for values in (one, other)]
    named = [size.max(axis=1, initial=0.0) >= notable for size in sizes]
    either = named[0] | named[1]
    if not either.any():
        return np.nan, np.nan
    strongest = [
        np.where(name, size.argmax(axis=1), -1)[either] for name, size in zip(named, sizes, strict=True)
    ]
    a, b = (size[either] for size in sizes)
    overlap = 0.5 * (rank_biased_overlap(a, b) + rank_biased_overlap(b, a))
    return float((strongest[0] == strongest[1]).mean()), overlap


@dataclass(frozen=True, eq=False)
class _Drawn:
    """How patients like those of a cohort are drawn from its model.

    Attributes
    ----------
    cohort_of : whose rows are drawn.
    model, whole : the model, and values (n, q) of all columns.
    errors : (n, k) of these.
    blocks : which errors are drawn together.
    left : (n,) of a number, what the model leaves.
    """

    cohort_of: TrainingRows
    model: CausalModel
    whole: F64
    errors: F64
    blocks: tuple[Index, ...]
    left: F64 | None

    @classmethod
    def of(cls, cohort: TrainingRows, model: CausalModel, whole: F64) -> _Drawn | str:
        """Or why they are not."""
        outcome, attribution = cohort.outcome_of_all, model.attribution
        plain = isinstance(outcome, Survival) and cohort.y.shape[1] == 2
        hazard = isinstance(attribution, HazardAttribution) and not attribution.competes
        if not (isinstance(outcome, Binary | Continuous) or (plain and hazard)):
            return NOT_DRAWN
        if cohort.groups is not None:
            return "patients with several rows are not drawn from a model here"
        order, layout = model.column_order, cohort.layout or Layout.numbers(cohort.X.shape[1])
        if not order.size:
            return "the model names no cause"
        errors = model.mechanism.errors(whole, np.arange(order.size))
        # Columns that come first go together as they do, and dummies of one variable are one.
        owner = np.where(layout.kept[order], -1, layout.variable[order])
        blocks = tuple(np.flatnonzero(owner == one) for one in np.unique(owner))
        left = cohort.y - model.predictor(whole) if isinstance(outcome, Continuous) else None
        return cls(cohort, model, whole, errors, blocks, left)

    def cohort(self, rng: np.random.Generator) -> TrainingRows:
        """A cohort of as many patients, measured as they were."""
        rows, n, order = self.cohort_of, len(self.whole), self.model.column_order
        layout = rows.layout or Layout.numbers(rows.X.shape[1])
        errors = np.empty_like(self.errors)
        for block in self.blocks:
            errors[:, block] = self.errors[rng.integers(n, size=n)][:, block]
        patients = rng.integers(n, size=n)  # columns without an error stay as they are, together
        X = self.whole[patients]
        X[:, order] = self.model.mechanism.values(errors)
        ordered = np.zeros(X.shape, dtype=bool)
        ordered[:, order] = True
        to_levels(X, ordered, layout)
        y = self._outcomes(self.model.predictor(X), patients, rng)
        seen = X.copy()
        if layout.noise is not None:
            seen += rng.standard_normal(X.shape) * layout.noise
        if layout.limits is not None:
            seen = np.clip(seen, *layout.limits)
        seen[np.isnan(rows.X[patients])] = np.nan
        outcome = rows.outcome_of_all.again(y)
        return replace(rows, X=np.asfortranarray(seen), y=y, seal=None, outcome=outcome)

    def _outcomes(self, predictor: F64, patients: Index, rng: np.random.Generator) -> np.ndarray:
        y, n = self.cohort_of.y, predictor.size
        if self.left is not None:
            return predictor + self.left[rng.integers(n, size=n)]
        attribution = self.model.attribution
        if not isinstance(attribution, HazardAttribution):
            counts = np.bincount(y, minlength=2).astype(np.float64)
            sampled = ClassWeights.of(self.cohort_of.settings.prevalence, counts).log_odds
            return (rng.random(n) < expit(predictor - sampled)).astype(y.dtype)
        # Where the cumulative hazard reaches an exponential number, or never.
        reached = rng.exponential(size=n) * np.exp(-predictor)
        event = np.interp(reached, attribution.cumulative, attribution.edges, right=np.inf)
        end = _times_of_leaving(y[:, 0], y[:, 1], rng, n)
        known = np.column_stack([np.minimum(event, end), event <= end]).astype(np.float64)
        known[:, 0] = np.maximum(known[:, 0], np.finfo(float).tiny)
        return known


def _times_of_leaving(time: F64, event: F64, rng: np.random.Generator, n: int) -> F64:
    """Times until patients leave, by Kaplan and Meier's estimate where leaving is the event."""
    order = np.argsort(time)
    at_risk = len(time) - np.arange(len(time))
    staying = np.cumprod(1.0 - (event[order] == 0) / at_risk)
    place = np.searchsorted(-staying, -rng.random(n), side="left")
    return np.append(time[order], time.max())[place]
