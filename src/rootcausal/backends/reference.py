"""The plain NumPy table: the oracle that every faster table is tested against."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from ..method.loops import PLAIN
from ..method.moments import regressed_correlations, residual_scale
from ..method.ordering.pair_score import block_penalties
from ..method.table import (
    CASE,
    COUNT,
    EVENT,
    EXPOSURE,
    F64,
    FIRST,
    INTERVAL,
    LARGEST_EXACT_SET,
    LARGEST_LOG_HAZARD,
    LARGEST_PREDICTOR,
    OVER,
    PART,
    SCORE,
    SET,
    STAGE,
    ColumnMoments,
    Index,
    KnownEntropies,
    LevelSums,
    LossSums,
    classes_of,
)


class ReferenceRaw:
    """Rows of X (n, p), with what is known of their outcome, or None: see
    :func:`rootcausal.method.table.classes_of`.
    """

    backend = "numpy"

    def __init__(self, X: F64, y: np.ndarray | None) -> None:
        self._X = X
        self._y = y

    @property
    def shape(self) -> tuple[int, int]:
        return self._X.shape[0], self._X.shape[1]

    def column_moments(self, shift: F64) -> ColumnMoments:
        parts = [self._X[mask] - shift for mask in classes_of(self._y, self.shape[0])]
        score = None
        if self._y is not None and self._y.ndim == 2:
            s = self._y[:, SCORE]
            score = np.stack([s @ parts[0], np.full(shift.size, s.sum()), np.full(shift.size, s @ s)])
        return ColumnMoments(
            np.array([float(len(z)) for z in parts]),
            np.stack([z.sum(axis=0) for z in parts]),
            np.stack([(z * z).sum(axis=0) for z in parts]),
            score=score,
        )

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        return self.standardize(cols, mean, sd).gram()

    def by_class(self) -> tuple[ReferenceRaw, ReferenceRaw]:
        assert self._y is not None
        controls, cases = (ReferenceRaw(self._X[m], self._y[m]) for m in classes_of(self._y, self.shape[0]))
        return controls, cases

    def standardize(self, cols: Index, mean: F64, sd: F64) -> ReferenceTable:
        return ReferenceTable((self._X[:, cols] - mean) / sd, self._y)


class ReferenceTable:
    """Standardized columns Z (n, k)."""

    pairs_per_call = 1

    def own_search(self) -> None:
        return None

    loops = PLAIN

    def __init__(
        self,
        Z: F64,
        y: np.ndarray | None,
        r: F64 | None = None,
        logits: dict[int, CumulativeLogit] | None = None,
    ) -> None:
        """``logits`` of the discrete columns, by column."""
        self._Z = Z
        self._y = y
        self._r = np.empty((0, 0)) if r is None else r
        self._logits = {} if logits is None else logits

    @property
    def shape(self) -> tuple[int, int]:
        return self._Z.shape[0], self._Z.shape[1]

    @property
    def columns(self) -> F64:
        """(k, n): the current residuals, one row of the array a column."""
        return self._Z.T

    def with_columns(self, Z: F64) -> ReferenceTable:
        """Other columns (k, n) of the same rows."""
        return ReferenceTable(Z.T, self._y)

    def gram(self) -> F64:
        return np.stack([self._Z[m].T @ self._Z[m] for m in classes_of(self._y, self.shape[0])])

    def column_sums(self) -> F64:
        return entropy_sums(self._Z)

    def with_correlations(self, r: F64) -> ReferenceTable:
        return ReferenceTable(self._Z, self._y, r.copy(), self._logits)

    def correlations(self, columns: int | Index) -> F64:
        return self._r[columns].copy()

    def pair_sums(self, i: Index, j: Index) -> F64:
        z_i, z_j, r = self._Z[:, i], self._Z[:, j], np.where(i == j, 0.0, self._r[i, j])
        scale = residual_scale(r)
        i_given_j, j_given_i = (z_i - r * z_j) * scale, (z_j - r * z_i) * scale
        return np.stack([entropy_sums(i_given_j), entropy_sums(j_given_i)], axis=1)

    def leading_pair_sums(self, cols: Index, q: int) -> F64:
        out = np.empty((2, 2, q, len(cols)))
        for a in range(q):
            sums = self.pair_sums(np.full(len(cols), cols[a]), cols)
            out[:, :, a] = np.moveaxis(sums, 0, -1)
        return out

    def block_penalties(
        self, sums: F64, own: F64, n_rows: int, known: KnownEntropies | None = None
    ) -> tuple[F64, F64, F64]:
        return block_penalties(sums, own, n_rows, known)

    def to_host(self, array: Any) -> F64:
        return np.asarray(array)

    def regress_out(self, root: int, cols: Index) -> ReferenceTable:
        Z, r = self._Z.copy(), self._r.copy()
        with_root = r[cols, root]
        Z[:, cols] = (Z[:, cols] - with_root * Z[:, [root]]) * residual_scale(with_root)
        regressed_correlations(r, root, cols)
        return ReferenceTable(Z, self._y, r, self._logits)

    def logit_sums(self, cols: Index, beta: F64) -> LossSums:
        assert self._y is not None
        design = np.column_stack([self._Z[:, cols], np.ones(self.shape[0])])
        eta = design @ beta
        chance = expit(eta)
        return LossSums(
            float(log_expit(np.where(self._y == 1, eta, -eta)).sum()),
            design.T @ (self._y - chance),
            (design.T * (chance * (1.0 - chance))) @ design,
        )

    def square_sums(self, cols: Index, beta: F64) -> LossSums:
        assert self._y is not None
        design = np.column_stack([self._Z[:, cols], np.ones(self.shape[0])])
        left = self._y[:, SCORE] - design @ beta
        return LossSums(-0.5 * float(left @ left), design.T @ left, design.T @ design)

    def hazard_sums(self, cols: Index, beta: F64) -> LossSums:
        assert self._y is not None
        Z, k = self._Z[:, cols], len(cols)
        alpha = np.minimum(beta[k:], LARGEST_LOG_HAZARD)
        event, part = self._y[:, EVENT], self._y[:, PART]
        interval = self._y[:, INTERVAL].astype(np.intp)
        intervals = np.arange(alpha.size)
        seen = np.where(intervals == interval[:, None], part[:, None], 1.0 * (intervals < interval[:, None]))
        if self._y.shape[1] > FIRST:
            first, over = self._y[:, FIRST].astype(np.intp)[:, None], self._y[:, OVER][:, None]
            seen = seen - np.where(intervals == first, over, 1.0 * (intervals < first))
        eta = np.minimum(Z @ beta[:k], LARGEST_LOG_HAZARD)
        # (n, G): the events that were expected of each row in each interval.
        expected = np.exp(eta)[:, None] * seen * np.exp(alpha)
        total = expected.sum(axis=1)
        happened = (intervals == interval[:, None]) * event[:, None]
        with_baseline = Z.T @ expected
        return LossSums(
            float(event @ (beta[k:][interval] + eta) - total.sum()),
            np.append(Z.T @ (event - total), (happened - expected).sum(axis=0)),
            np.block([[(Z.T * total) @ Z, with_baseline], [with_baseline.T, np.diag(expected.sum(axis=0))]]),
        )

    def stage_sums(self, cols: Index, beta: F64) -> LossSums:
        assert self._y is not None
        Z, k = self._Z[:, cols], len(cols)
        thresholds = beta[k:]
        if not (np.diff(thresholds) > 0.0).all():
            return LossSums(-np.inf, np.zeros(beta.size), np.zeros((beta.size, beta.size)))
        stage, eta = self._y[:, STAGE].astype(np.intp), Z @ beta[:k]
        logit = CumulativeLogit(
            np.append(thresholds, np.inf)[stage], np.append(-np.inf, thresholds)[stage], eta
        )
        at_above, at_below = expit(logit.upper - eta), expit(logit.lower - eta)
        apart = logit.upper - logit.lower
        gap = np.exp(-apart) / (1.0 - np.exp(-apart))
        # (n, b): whether a threshold is the one above a row's stage, and the one below it.
        above, below = (1.0 * (np.arange(thresholds.size) == stage[:, None] - part) for part in (0, 1))
        dense_above, dense_below = at_above * (1.0 - at_above), at_below * (1.0 - at_below)
        s, v = logit.derivatives()
        own = (above.T * (dense_above + gap + gap**2)) @ above
        own += (below.T * (dense_below + gap + gap**2)) @ below
        both = (above.T * (gap + gap**2)) @ below
        cross = -Z.T @ (above * dense_above[:, None] + below * dense_below[:, None])
        return LossSums(
            float((logit.loglik() + np.log1p(-np.exp(-apart))).sum()),
            np.append(Z.T @ s, (1.0 - at_above + gap) @ above - (at_below + gap) @ below),
            np.block([[(Z.T * v) @ Z, cross], [cross.T, own - both - both.T]]),
        )

    def count_sums(self, cols: Index, beta: F64, dispersion: float) -> LossSums:
        assert self._y is not None
        design = np.column_stack([self._Z[:, cols], np.ones(self.shape[0])])
        count, eta = self._y[:, COUNT], np.minimum(design @ beta, LARGEST_LOG_HAZARD)
        expected = self._y[:, EXPOSURE] * np.exp(eta)
        wider = 1.0 + dispersion * expected
        loss = np.log(wider) * (count + 1.0 / dispersion) if dispersion else expected
        weight = expected * (1.0 + dispersion * count) / wider**2
        return LossSums(
            float((count * eta - loss).sum()),
            design.T @ ((count - expected) / wider),
            (design.T * weight) @ design,
        )

    def set_sums(self, cols: Index, beta: F64) -> LossSums:
        assert self._y is not None
        Z, k = self._Z[:, cols], len(cols)
        total = LossSums(0.0, np.zeros(k), np.zeros((k, k)))
        for member in np.unique(self._y[:, SET]):
            rows = self._y[:, SET] == member
            total = total + set_loss(Z[rows], self._y[rows, CASE] > 0.0, beta)
        return total

    def level_counts(self, cols: Index, edges: F64) -> F64:
        levels = np.arange(edges.shape[1] + 1)
        codes = [_codes(self._Z[:, c], between) for c, between in zip(cols, edges, strict=True)]
        return np.array([(code[:, None] == levels).sum(axis=0) for code in codes], dtype=np.float64)

    def with_levels(self, cols: Index, edges: F64, thresholds: F64) -> ReferenceTable:
        logits = {}
        for c, between, theta in zip(cols.tolist(), edges, thresholds, strict=True):
            codes = _codes(self._Z[:, c], between)
            logits[c] = CumulativeLogit(theta[codes + 1], theta[codes], np.zeros(self.shape[0]))
        return ReferenceTable(self._Z, self._y, self._r, logits)

    def level_sums(self, discrete: Index, cols: Index) -> LevelSums:
        w = self._Z[:, cols]
        derivatives = [self._logits[c].derivatives() for c in discrete.tolist()]
        return LevelSums(
            np.array([s.sum() for s, _ in derivatives]),
            np.array([v.sum() for _, v in derivatives]),
            np.array([s @ w for s, _ in derivatives]),
            np.array([v @ w for _, v in derivatives]),
            np.array([v @ w**2 for _, v in derivatives]),
        )

    def level_pair_sums(self, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        out = np.zeros((discrete.size, 6))
        for place, (c, a, b) in enumerate(zip(discrete.tolist(), intercept, slope, strict=True)):
            w = self._Z[:, cols[place]]
            logit = self._logits[c].shifted(a + b * w)
            s, v = logit.derivatives()
            out[place] = logit.loglik().sum(), s.sum(), v.sum(), s @ w, v @ w, v @ w**2
        return out

    def shift_levels(self, root: int, discrete: Index, intercept: F64, slope: F64) -> ReferenceTable:
        logits = {
            c: self._logits[c].shifted(a + b * self._Z[:, root])
            for c, a, b in zip(discrete.tolist(), intercept, slope, strict=True)
        }
        return ReferenceTable(self._Z, self._y, self._r, logits)


@dataclass(frozen=True)
class CumulativeLogit:
    """P(x at most at level c) = F(θ_c − η): the thresholds of each row's level, and its η, (n,) each."""

    upper: F64
    lower: F64
    predictor: F64

    def derivatives(self) -> tuple[F64, F64]:
        """Of a row's log-likelihood in η: the first, and minus the second."""
        above, below = self.upper - self.predictor, self.lower - self.predictor
        return (
            expit(above) + expit(below) - 1.0,
            expit(above) * expit(-above) + expit(below) * expit(-below),
        )

    def loglik(self) -> F64:
        """Of a row, less what η does not change: F(a) − F(b) = F(a) F(−b) (1 − exp(b − a))."""
        return log_expit(self.upper - self.predictor) + log_expit(self.predictor - self.lower)

    def shifted(self, step: F64) -> CumulativeLogit:
        predictor = np.clip(self.predictor + step, -LARGEST_PREDICTOR, LARGEST_PREDICTOR)
        return replace(self, predictor=predictor)


def set_loss(Z: F64, case: np.ndarray, beta: F64) -> LossSums:
    """The conditional log-likelihood of the cases of one matched set."""
    eta = Z @ beta
    n, m = case.size, int(case.sum())
    weight = np.exp(eta - eta.max())
    if n > LARGEST_EXACT_SET and 1 < m < n - 1:
        drawn, pairs, log_total = np.zeros(n), np.zeros((n, n)), m * float(eta.max())
        for gone in range(m):
            chance = weight * np.where(case, 1.0 - gone / m, 1.0)
            log_total += float(np.log(chance.sum()))
            chance = chance / chance.sum()
            drawn += chance
            pairs += np.diag(chance) - np.outer(chance, chance)
    else:
        total = _symmetric(weight, m)
        log_total = m * float(eta.max()) + float(np.log(total))
        drawn = np.array([weight[i] * _symmetric(np.delete(weight, i), m - 1) for i in range(n)]) / total
        pairs = np.diag(drawn) - np.outer(drawn, drawn)
        for i in range(n):
            for j in set(range(n)) - {i}:
                both = weight[i] * weight[j] * _symmetric(np.delete(weight, [i, j]), m - 2)
                pairs[i, j] += both / total
    return LossSums(float(eta[case].sum()) - log_total, Z.T @ (case - drawn), Z.T @ pairs @ Z)


def _symmetric(weight: F64, m: int) -> float:
    """The elementary symmetric polynomial: Σ over subsets of m of the product of their weights."""
    if not 0 <= m <= weight.size:
        return 0.0
    terms = np.ones(1)
    for one in weight:
        terms = np.convolve(terms, [1.0, one])
    return float(terms[m])


def _codes(z: F64, edges: F64) -> Index:
    """(n,) above how many edges each value is."""
    return (z[:, None] > edges).sum(axis=1)


def table_of(Z: F64, y: np.ndarray) -> ReferenceTable:
    """Standardized columns (k, n) and labels as a table."""
    return ReferenceTable(Z.T, y)


def entropy_sums(u: F64) -> F64:
    """(k, 2): Σ log cosh u and Σ u·exp(−u²/2) of each column of u."""
    magnitude = np.abs(u)
    log_cosh = magnitude - np.log(2.0) + np.log1p(np.exp(-2.0 * magnitude))
    return np.stack([log_cosh.sum(axis=0), (u * np.exp(-0.5 * u * u)).sum(axis=0)], axis=1)
