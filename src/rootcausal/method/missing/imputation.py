"""Missing values of a cohort, filled in several times at random given all that was measured, and D.

The columns that matter, and D, are taken for jointly Gaussian. Expectation-maximization (EM; Dempster, Laird
& Rubin 1977) finds that Gaussian from incomplete rows; each such row is then drawn from it five times
(multiple imputation), and all sums are over the copies, which together count once. A draw has to see D: else
it would dilute what D depends on. One that is the same each time must not: hence the noise.

No p × p matrix of everything: a column that shows no sign of depending on D is in no order, and has little
to tell about those that are. Which columns those are is for the search to say: a t-test sees no curve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..layout import Layout
from ..linear import LinearMechanism
from ..moments import Columns, columns_about
from ..outcome import Outcome
from ..table import F64, Index
from .completion import Completion, shrunken
from .gaussian import JointGaussian
from .measurement import less_noise, with_measurements
from .pooled import PooledRaw, RawPart
from .sums import DRAWS, Imputer, IncompleteRaw, JointSums, View
from .tails import Redrawn, Structure

# Columns whose test with D gives less than this matter, and those below twice alpha.
LEVEL = 0.4
# At most so many columns of a local variant: those with the smallest p-values.
MOST_COLUMNS = 500
# Nonlinear relations are looked for among so many.
MOST_NONLINEAR = 200
MAX_ROUNDS = 100
# By how much a round may still change means, in standard deviations, and correlations.
TOLERANCE = 1e-3

IMPUTING = "missing values"
#: Told after each round of :data:`IMPUTING`: how many there were, and how many more there may be.
OnPass = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class Imputation:
    """What was filled in, and how far the answer leans on it.

    Attributes
    ----------
    missing : (q,) values of each column that were missing.
    columns : (m,) those that were filled in; the others show no sign of depending on D.
    rows : patients who lacked some value.
    draws : how often each was filled in.
    rounds : of EM.
    converged : whether EM came to rest before its limit.
    unknown : (q,) share of each column's variance that was neither measured nor could be told from the rest.
    level : columns were looked at whose available values gave a smaller p-value, by which D depends on them;
        below alpha where more than :data:`MOST_COLUMNS` would have passed; 1 where all were.
    """

    missing: F64
    columns: Index
    rows: int
    draws: int
    rounds: int
    converged: bool
    unknown: F64
    level: float


@dataclass(frozen=True, eq=False)
class Imputed:
    """A cohort without missing values.

    Attributes
    ----------
    raw : its columns that matter.
    columns : what these are like.
    layout : what they stand for.
    chosen : (m,) which columns of the whole table they are, ascending.
    view, joint : how its rows are seen, and which Gaussian they were drawn from.
    completion : how to fill in new patients.
    imputation : what was done.
    """

    raw: PooledRaw
    columns: Columns
    layout: Layout
    chosen: Index
    view: View
    joint: JointGaussian
    completion: Completion
    imputation: Imputation

    def again(self, mechanism: LinearMechanism, turn: int) -> Imputed:
        """The same with values beyond limits of detection drawn anew, by a mechanism learned of it."""
        structure = Structure.of(mechanism, self.joint, self.view)
        counts = self._sums(lambda copies: copies.error_counts(structure))
        if counts is None:
            return self
        laws = counts.laws()
        raw = PooledRaw(
            [
                replace(part, raw=part.raw.redrawn(structure, laws, turn))
                if isinstance(part.raw, Redrawn)
                else part
                for part in self.raw.parts
            ]
        )
        about, plain = raw.column_moments(self.view.mean), replace(self.completion, tails=None)
        columns = columns_about(self.view.mean, about, self.columns.weights, raw.shape[0])
        drawn = replace(self, raw=raw, columns=columns)
        sums = drawn._sums(lambda copies: copies.tail_sums(plain.fill))
        return replace(drawn, completion=plain.with_tails(sums))

    def _sums(self, ask: Callable[[Redrawn], Any]) -> Any:
        """What is asked of copies that can be drawn anew, added up; None where there are none."""
        asked = (part.patients * ask(part.raw) for part in self.raw.parts if isinstance(part.raw, Redrawn))
        found = None
        for sums in asked:
            found = sums if found is None else found + sums
        return found


class Scored(Protocol):
    """What is asked of an outcome here: what stands for it among the columns."""

    def scores(self, columns: Columns) -> F64 | None:
        """As :meth:`rootcausal.method.outcome.Outcome.scores`."""
        ...


def most_dependent(
    p_values: F64, layout: Layout, level: float, always: Index | None = None, most: int | None = None
) -> tuple[Index, float]:
    """Columns (m,) on which D depends most by its test, ascending, and the p-value that they had to be below.

    That is ``level``, or less where more than ``most`` (:data:`MOST_COLUMNS`) would pass. All dummies of a
    variable are in if one is; ``always`` are in any case.
    """
    most = MOST_COLUMNS if most is None else most
    smallest = np.full(layout.n_variables, np.inf)
    np.minimum.at(smallest, layout.variable, p_values)
    if always is not None:
        smallest[layout.variable[always]] = -1.0
    ranked = np.argsort(smallest, kind="stable")
    width = np.bincount(layout.variable, minlength=layout.n_variables)
    fits = (np.cumsum(width[ranked]) <= most) | (smallest[ranked] < 0.0)
    left_out = smallest[ranked[~fits]]
    taken = np.zeros(layout.n_variables, dtype=bool)
    taken[ranked[fits & (smallest[ranked] < level)]] = True
    reached = min(level, float(left_out[0])) if left_out.size else level
    return np.flatnonzero(taken[layout.variable]), reached


def worth_filling(
    columns: Columns, layout: Layout, alpha: float, local: bool, outcome: Outcome
) -> tuple[Index, float]:
    """Columns (m,) to fill in for a linear search, and the p-value that they had to be below.

    ``local`` says that the search leaves out columns on which D does not depend at the level ``alpha``; here
    those are left out that are far from it, and that the search does not keep in any case. Else all matter.
    """
    if not local:
        return np.arange(layout.n_columns), 1.0
    level = max(LEVEL, 2.0 * alpha)
    return most_dependent(outcome.p_values(columns.moments), layout, level, np.flatnonzero(layout.kept))


def impute(
    raw: IncompleteRaw,
    columns: Columns,
    layout: Layout,
    to_fill: tuple[Index, float],
    seed: int,
    outcome: Scored,
    on_round: OnPass | None = None,
) -> Imputed:
    """Fill in a cohort whose columns were described by what was measured of them.

    ``to_fill`` are the columns that matter, as :func:`worth_filling` has them: whoever searches knows which.
    """
    n = raw.shape[0]
    chosen, level = to_fill
    taken = layout.take(chosen)
    view = view_of(columns, taken, chosen, outcome)
    measured_joint, sums, rounds, converged = expectation_maximization(raw, view, n, on_round)
    joint = true_values(measured_joint, view)
    filling = imputer(view, joint, seed, chosen, taken)
    complete, copies = raw.filled(filling)
    pooled = PooledRaw([RawPart(complete, 1.0), RawPart(copies, 1.0 / DRAWS, DRAWS)])
    about = pooled.column_moments(view.mean)
    measured = columns.moments.values.sum(axis=0)
    unknown = 1.0 - np.broadcast_to(measured, columns.mean.shape) / n
    unknown[chosen] = sums.unknown[:-1] / n / np.diagonal(joint.covariance)[:-1]
    done = Imputation(
        missing=n - measured,
        columns=chosen,
        rows=raw.incomplete_rows(),
        draws=DRAWS,
        rounds=rounds,
        converged=converged,
        unknown=unknown,
        level=level,
    )
    completion = Completion.of(columns, chosen, joint, view.noise, view.limits)
    described = columns_about(view.mean, about, columns.weights, n)
    return Imputed(pooled, described, filling.layout, chosen, view, joint, completion, done)


def view_of(columns: Columns, layout: Layout, chosen: Index, outcome: Scored) -> View:
    """Standardized columns, and the outcome with mean zero and unit variance in the population.

    ``layout`` is that of the ``chosen`` columns.
    """
    scores, sd = outcome.scores(columns), columns.sd[chosen]
    noise = None if layout.noise is None else (layout.noise / sd) ** 2
    return View(chosen, columns.mean[chosen], sd, scores, columns.weights, noise, layout.limits)


def true_values(measured: JointGaussian, view: View) -> JointGaussian:
    """The Gaussian of true values, given that of what was measured, and of D."""
    return measured if view.noise_of_all is None else less_noise(measured, view.noise_of_all)


def imputer(view: View, joint: JointGaussian, seed: int, ids: Index, layout: Layout) -> Imputer:
    """How to fill in columns, and D, that are distributed as ``joint``."""
    if view.noise_of_all is not None:
        joint = with_measurements(joint, view.noise_of_all)
    return Imputer(view, joint, seed, ids, layout)


def expectation_maximization(
    raw: IncompleteRaw, view: View, n: int, on_round: OnPass | None = None
) -> tuple[JointGaussian, JointSums, int, bool]:
    """The Gaussian, the last sums, the rounds that it took, and whether it came to rest."""
    measured = raw.measured_sums(view)
    limits = view.limits_of_all
    joint = JointGaussian(np.zeros(view.size), np.eye(view.size), limits)
    for rounds in range(1, MAX_ROUNDS + 1):
        sums = measured + raw.expected_sums(view, joint)
        mean = sums.total / n
        following = JointGaussian(mean, shrunken(sums.product - n * np.outer(mean, mean), n), limits)
        moved = max(_change(following.mean, joint.mean), _change(following.covariance, joint.covariance))
        joint = following
        if on_round is not None:
            on_round(rounds, MAX_ROUNDS - rounds, IMPUTING)
        if moved < TOLERANCE:
            return joint, sums, rounds, True
    return joint, sums, MAX_ROUNDS, False


def _change(new: F64, old: F64) -> float:
    return float(np.abs(new - old).max())
