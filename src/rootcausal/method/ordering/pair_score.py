"""The pair score C_ij (paper, Section 5.1): entropies of numbers, likelihood ratios of discrete columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..layout import Layout
from ..moments import EXHAUSTED
from ..table import F64, Index, KnownEntropies, LevelSums, Table

# The entropy approximation and the pair score C_ij (paper, Section 5.1; Hyvärinen & Smith 2013).
#
# Entropy is that of a Gaussian less the negentropy, which two sums over rows approximate. The score is the
# pairwise likelihood ratio: the mean log-likelihood of i → j less that of j → i.

K1 = 79.047
K2 = 7.4129
GAMMA = 0.37457
# Entropy of the standard normal distribution.
GAUSSIAN = 0.5 * (1.0 + math.log(2.0 * math.pi))


def entropy(log_cosh_sum: F64, gauss_sum: F64, n_rows: int) -> F64:
    """H of unit-variance columns from Σ log cosh z and Σ z·exp(−z²/2)."""
    log_cosh = log_cosh_sum / n_rows - GAMMA
    gauss = gauss_sum / n_rows
    return GAUSSIAN - K1 * log_cosh * log_cosh - K2 * gauss * gauss


def pair_score(h_i: F64, h_j: F64, h_i_given_j: F64, h_j_given_i: F64) -> F64:
    """C_ij: above zero when i looks like a cause of j; C_ji = −C_ij."""
    # Grouped so that swapping i and j flips the sign exactly.
    return (h_j - h_i) + (h_i_given_j - h_j_given_i)


def block_penalties(
    sums: F64, own: F64, n_rows: int, known: KnownEntropies | None = None
) -> tuple[F64, F64, F64]:
    """What the pairs of a block cost their members.

    Parameters
    ----------
    sums : (2, 2, q, m) as :meth:`Table.leading_pair_sums` gives them.
    own : (m,) entropies of the columns.
    known : entropies that are not to be taken from sums.

    Returns
    -------
    row_penalty : (q,) Σ_b min(0, C_ab)².
    column_penalty : (m,) Σ_a min(0, C_ba)² over the rows.
    given : (2, q, m) entropies of rows given columns, and of columns given rows.
    """
    given = entropy(sums[:, 0], sums[:, 1], n_rows)
    if known is not None:
        q = given.shape[1]
        leading = known.places < q
        given[0, known.places[leading]] = known.given[leading]
        given[1][:, known.places] = known.given[:, :q].T
    score = pair_score(own[: len(given[0]), None], own[None, :], given[0], given[1])
    return (np.minimum(score, 0.0) ** 2).sum(axis=1), (np.maximum(score, 0.0) ** 2).sum(axis=0), given


# Discrete columns in the search: a likelihood ratio in place of entropies that they do not have.
#
# Between a number i, with the residual w of unit variance, and a discrete column j the pair score is
#
#     C_ij = H(w_i | x_j) − H(w_i) + ½ log(1 − r²) + g_ij,
#
# the mean log-likelihood of i → j less that of j → i: above zero, the number comes first. H(w_i | x_j) is
# the entropy of i's residual given j, and g what a row gains in log-likelihood when w_i joins the logit of
# j (the cumulative logit, where j has more levels than two) beside the roots so far. Two discrete columns
# score zero.
#
# It is the pair score of two numbers, where a discrete column has the entropy 0, and −½ log(1 − r²) − g_ij
# given a number. So no search needs to know of levels: it is told these entropies.
#
# To second order the gain is that of one Newton step, a score test: g = U² / (2 n I), with U and I the
# score of w and its information once the intercept is fitted. This is too little where w decides much;
# there, the likelihood at the end of the step is summed, and only what a second step would add is taken to
# second order. When a column becomes a root, one such step adds it to the linear predictor of each discrete
# column left.

# Less information than this share of a row's at even odds says that the column is decided already.
DECIDED = 1e-6
# Up to this gain a row, the second order is as good as the likelihood itself.
WEAK = 0.01


@dataclass(frozen=True)
class LevelEntropies:
    """What stands for the entropies of discrete columns given others, in one round.

    Attributes
    ----------
    row : (k,) where ``given`` has a discrete candidate; −1 for all other columns.
    column : (k,) where it has a number; −1 for all other columns.
    given : (d, m) of each discrete candidate given each number.
    """

    row: Index
    column: Index
    given: F64

    def of(self, i: Index, j: Index) -> F64:
        """Entropies of discrete columns i given j, of shapes that broadcast; zero given another discrete."""
        column = self.column[j]
        return np.where(column >= 0, self.given[self.row[i], column], 0.0)

    def correct(self, a: Index, b: Index, given: F64) -> None:
        """Overwrite ``given`` (m, 2), entropies of a given b and of b given a, where they are discrete."""
        for side, (i, j) in enumerate(((a, b), (b, a))):
            discrete = np.flatnonzero(self.row[i] >= 0)
            given[discrete, side] = self.of(i[discrete], j[discrete])

    def within(self, cols: Index) -> KnownEntropies:
        """Those of a block of columns."""
        places = np.flatnonzero(self.row[cols] >= 0)
        return KnownEntropies(places, self.of(cols[places, None], cols))


class Levels:
    """The discrete columns of a table, from round to round.

    Attributes
    ----------
    discrete : (k,) which columns they are.
    """

    def __init__(self, discrete: np.ndarray, n_rows: int) -> None:
        self.discrete = discrete
        self._n_rows = n_rows
        self._asked: Index = np.empty(0, dtype=np.intp)  # whose sums these are, and with which columns
        self._beside: Index = self._asked
        self._sums: LevelSums | None = None

    def entropies(self, table: Table, candidates: Index) -> LevelEntropies | None:
        """What a search among the candidates is told; None where all are of one kind."""
        discrete = self.discrete[candidates]
        asked, beside = candidates[discrete], candidates[~discrete]
        if not (asked.size and beside.size):
            return None
        sums = table.level_sums(asked, beside)
        self._asked, self._beside, self._sums = asked, beside, sums
        gain = gains(sums, self._n_rows)
        self._correct_strong(table, gain)
        unexplained = np.maximum(1.0 - table.correlations(asked)[:, beside] ** 2, EXHAUSTED)
        row, column = (np.full(self.discrete.size, -1) for _ in range(2))
        row[asked], column[beside] = np.arange(asked.size), np.arange(beside.size)
        return LevelEntropies(row, column, -0.5 * np.log(unexplained) - gain)

    def _correct_strong(self, table: Table, gain: F64) -> None:
        """Overwrite gains that the second order is too coarse for; one more call for all of them."""
        j, i = np.nonzero(gain > WEAK)
        if not j.size or self._sums is None:
            return
        intercept, slope = (part[j, i] for part in newton_step(self._sums, self._n_rows))
        alone, of_pair = np.unique(
            j, return_inverse=True
        )  # what an intercept gains by itself is no gain of w
        by_itself = self._sums.score[alone] / _at_least(self._sums.curvature[alone], self._n_rows)
        sums = table.level_pair_sums(
            self._asked[np.concatenate([j, alone])],
            self._beside[np.concatenate([i, np.zeros_like(alone)])],
            np.concatenate([intercept, by_itself]),
            np.concatenate([slope, np.zeros(alone.size)]),
        )
        loglik, further = sums[:, 0] / self._n_rows, further_gains(sums, self._n_rows)
        with_w, without = loglik[: j.size], loglik[j.size :][of_pair]
        reached = with_w + further[: j.size, 1] - without - further[j.size :, 0][of_pair]
        # No log-likelihood is above zero; and a step that went too far tells nothing.
        gain[j, i] = np.where(with_w > without, np.minimum(reached, -without), gain[j, i])

    def take_in(self, table: Table, root: int, candidates: Index) -> Table:
        """Let the root join the logits of the discrete candidates, while there are numbers to compare."""
        discrete = self.discrete[candidates]
        asked = candidates[discrete]
        if not asked.size or discrete.all():
            return table
        intercept, slope = newton_step(self._with(table, root, asked), self._n_rows)
        self._sums = None  # of rows that are about to change
        return table.shift_levels(root, asked, intercept[:, 0], slope[:, 0])

    def _with(self, table: Table, root: int, asked: Index) -> LevelSums:
        """The sums with one column: at hand after a search, if it is a number and all were part of it."""
        place = np.flatnonzero(self._beside == root)
        if self._sums is None or not place.size or not np.isin(asked, self._asked).all():
            return table.level_sums(asked, np.array([root]))
        rows = np.searchsorted(self._asked, asked)
        sums = self._sums
        pair = np.ix_(rows, place)
        return LevelSums(
            sums.score[rows],
            sums.curvature[rows],
            sums.score_with[pair],
            sums.curvature_with[pair],
            sums.curvature_square[pair],
        )


def with_levels(table: Table, layout: Layout, mean: F64, sd: F64) -> tuple[Table, Levels | None]:
    """Tell a table of standardized columns (mean and sd (k,)) which of them are discrete; None: none is."""
    discrete = layout.discrete
    cols = np.flatnonzero(discrete)
    if not cols.size:
        return table, None
    most = max(layout.levels[c].size for c in cols)
    edges = np.full((cols.size, most - 1), np.inf)
    for place, c in enumerate(cols):
        levels = layout.levels[c]
        edges[place, : levels.size - 1] = (0.5 * (levels[1:] + levels[:-1]) - mean[c]) / sd[c]
    thresholds = starting_thresholds(table.level_counts(cols, edges))
    return table.with_levels(cols, edges, thresholds), Levels(discrete, table.shape[0])


def starting_thresholds(counts: F64) -> F64:
    """(d, m + 2) from −∞ to ∞: the log-odds to be at most at each of m + 1 levels, so frequent."""
    thresholds = np.full((len(counts), counts.shape[1] + 1), np.inf)
    thresholds[:, 0] = -np.inf
    at_most = np.cumsum(counts, axis=1)[:, :-1]
    more = np.cumsum(counts[:, ::-1], axis=1)[:, -2::-1]
    with np.errstate(divide="ignore"):  # levels that nobody has
        thresholds[:, 1:-1] = np.log(at_most) - np.log(more)
    return thresholds


def gains(sums: LevelSums, n_rows: int) -> F64:
    """(d, m): g, what a row gains in log-likelihood by one Newton step in an intercept and a slope.

    What the intercept alone gains is left out.
    """
    score, information = _slope_alone(sums, n_rows)
    return 0.5 * score * score / (n_rows * information)


def further_gains(pair_sums: F64, n_rows: int) -> F64:
    """(m, 2): to second order, what a row gains by a further step in the intercept alone, and in both."""
    sums = LevelSums(pair_sums[:, 1], pair_sums[:, 2], *(pair_sums[:, [c]] for c in (3, 4, 5)))
    intercept = 0.5 * sums.score**2 / (n_rows * _at_least(sums.curvature, n_rows))
    return np.column_stack([intercept, intercept + gains(sums, n_rows)[:, 0]])


def newton_step(sums: LevelSums, n_rows: int) -> tuple[F64, F64]:
    """(d, m) each: the intercept and the slope of that step."""
    score, information = _slope_alone(sums, n_rows)
    slope = score / information
    curvature = _at_least(sums.curvature, n_rows)
    return (sums.score[:, None] - slope * sums.curvature_with) / curvature[:, None], slope


def _slope_alone(sums: LevelSums, n_rows: int) -> tuple[F64, F64]:
    """The score of a slope and its information, each less what an intercept explains of it."""
    on_intercept = sums.curvature_with / _at_least(sums.curvature, n_rows)[:, None]
    score = sums.score_with - on_intercept * sums.score[:, None]
    information = sums.curvature_square - on_intercept * sums.curvature_with
    decided = information <= DECIDED * n_rows
    return np.where(decided, 0.0, score), np.where(decided, n_rows, information)


def _at_least(curvature: F64, n_rows: int) -> F64:
    return np.maximum(curvature, DECIDED * n_rows)
