"""The conditional log-likelihood of cases among their matched sets, by NumPy, wherever the rows are.

Of a set with m cases the likelihood is the chance that these are its cases, given that it has m. With one
case, or one control, that is a softmax over the set. With more of both it is exact in sets of up to
:data:`rootcausal.method.table.LARGEST_EXACT_SET` rows, by a recursion over the subsets of m rows (Gail, Lubin
& Rubinstein 1981), and Efron's approximation beyond. The plain twin is in ``reference.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..method.table import CASE, F64, LARGEST_EXACT_SET, SET, Index, LossSums

# Worked on at once.
VALUES_A_STRIP = 1 << 21


@dataclass(frozen=True, eq=False)
class Sets:
    """Which rows make up which set; sets without a case, or without a control, tell nothing and are none.

    Attributes
    ----------
    single : (n1,) rows of sets with one case or one control, set by set.
    starts : (s1,) where each of these begins among them.
    sign : (s1,) 1 where the one is a case, -1 where it is a control.
    exact : by number of cases, (s, size) rows of sets of one size, which is counted exactly.
    large : (size,) rows of each other set.
    """

    single: Index
    starts: Index
    sign: F64
    exact: tuple[tuple[int, Index], ...]
    large: tuple[Index, ...]

    @classmethod
    def of(cls, case: F64, member: F64) -> Sets:
        """Of cases (n,), 1 or 0, and the set of each row (n,)."""
        order = np.argsort(member, kind="stable")
        in_order = member[order]
        first = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1])) if order.size else order
        size = np.diff(np.append(first, order.size))
        cases = np.add.reduceat(case[order], first).astype(np.intp) if order.size else size
        fewer = np.minimum(cases, size - cases)
        single, exact = list[Index](), dict[tuple[int, int], list[Index]]()
        sign, large = list[float](), list[Index]()
        for start, n, m, few in zip(
            first.tolist(), size.tolist(), cases.tolist(), fewer.tolist(), strict=True
        ):
            rows = order[start : start + n]
            if few == 1:
                single.append(rows)
                sign.append(1.0 if m == 1 else -1.0)
            elif few > 1 and n <= LARGEST_EXACT_SET:
                exact.setdefault((m, n), []).append(rows)
            elif few > 1:
                large.append(rows)
        sizes = np.array([rows.size for rows in single], dtype=np.intp)
        return cls(
            np.concatenate(single) if single else np.empty(0, dtype=np.intp),
            np.cumsum(sizes) - sizes,
            np.array(sign),
            tuple((m, np.stack(rows)) for (m, _), rows in exact.items()),
            tuple(large),
        )

    def sums(self, errors: F64, case: F64, beta: F64) -> LossSums:
        """In errors (k, n), at these coefficients (k,)."""
        k = beta.size
        total = LossSums(0.0, np.zeros(k), np.zeros((k, k)))
        parts = [self._singles(errors, case, beta)] if self.starts.size else []
        parts += [_exact(errors, case, beta, m, rows) for m, sets in self.exact for rows in _strips(sets)]
        parts += [_efron(errors[:, rows].T, case[rows], beta) for rows in self.large]
        for part in parts:
            total = total + part
        return total

    def _singles(self, errors: F64, case: F64, beta: F64) -> LossSums:
        Z = errors[:, self.single].T
        size = np.diff(np.append(self.starts, self.single.size))
        sign = np.repeat(self.sign, size)
        eta = sign * (Z @ beta)
        chosen = case[self.single] == (sign > 0.0)
        highest = np.maximum.reduceat(eta, self.starts)
        chance = np.exp(eta - np.repeat(highest, size))
        of_set = np.add.reduceat(chance, self.starts)
        chance /= np.repeat(of_set, size)
        mean = np.add.reduceat(Z * chance[:, None], self.starts, axis=0)
        return LossSums(
            float(eta[chosen].sum() - (highest + np.log(of_set)).sum()),
            Z.T @ (sign * (chosen - chance)),
            (Z * chance[:, None]).T @ Z - mean.T @ mean,
        )


def _strips(sets: Index) -> Iterator[Index]:
    """Some sets (s, size) at a time."""
    height = max(1, VALUES_A_STRIP // (sets.shape[1] ** 3))
    for start in range(0, len(sets), height):
        yield sets[start : start + height]


def _exact(errors: F64, case: F64, beta: F64, m: int, rows: Index) -> LossSums:
    """Of sets (s, size) with m cases each."""
    Z = np.moveaxis(errors[:, rows], 0, -1)
    eta = Z @ beta
    total, mean, pairs = subsets(eta, m)
    spread = pairs - mean[:, :, None] * mean[:, None, :]
    k = beta.size
    return LossSums(
        float((case[rows] * eta).sum() - total.sum()),
        Z.reshape(-1, k).T @ (case[rows] - mean).ravel(),
        Z.reshape(-1, k).T @ (spread @ Z).reshape(-1, k),
    )


def subsets(eta: F64, m: int) -> tuple[F64, F64, F64]:
    """Of s sets (s, size), from which m rows are drawn, each subset in proportion to exp of its Σ η.

    Returns the logarithm (s,) of what these add up to over all subsets, the chance (s, size) that a row is
    drawn, and that (s, size, size) that two are. Rows are taken in one after the other: with the next one,
    a subset of j rows holds it, and j − 1 of those before, or it does not.
    """
    s, size = eta.shape
    total = np.full((m + 1, s), -np.inf)
    total[0] = 0.0
    mean, pairs = np.zeros((m + 1, s, size)), np.zeros((m + 1, s, size, size))
    for row in range(size):
        for j in range(min(m, row + 1), 0, -1):
            with_row = total[j - 1] + eta[:, row]
            total[j] = np.logaddexp(total[j], with_row)
            holds = np.exp(with_row - total[j])[:, None]
            pairs[j] += holds[:, :, None] * (pairs[j - 1] - pairs[j])
            pairs[j, :, row, :] += holds * mean[j - 1]
            pairs[j, :, :, row] += holds * mean[j - 1]
            pairs[j, :, row, row] += holds[:, 0]
            mean[j] += holds * (mean[j - 1] - mean[j])
            mean[j, :, row] += holds[:, 0]
    return total[m], mean[m], pairs[m]


def _efron(Z: F64, case: F64, beta: F64) -> LossSums:
    """Of one set: its cases are taken to be drawn one after the other, in any order (Efron 1977)."""
    eta = Z @ beta
    highest = float(eta.max())
    weight = np.exp(eta - highest)
    m, k = int(case.sum()), beta.size
    gone = np.arange(m) / m
    left = weight.sum() - gone * float(weight @ case)
    # How often a row is expected to be drawn: of the cases, a share has left.
    drawn = weight * ((1.0 / left).sum() - case * (gone / left).sum())
    of_all, of_cases = weight @ Z, (weight * case) @ Z
    mean = (of_all - gone[:, None] * of_cases) / left[:, None]
    assert mean.shape == (m, k)
    return LossSums(
        float(case @ eta - m * highest - np.log(left).sum()),
        Z.T @ (case - drawn),
        (Z * drawn[:, None]).T @ Z - mean.T @ mean,
    )


def sets_of(y: F64) -> Sets:
    """Of the outcome of matched sets, as tables keep it."""
    return Sets.of(y[:, CASE], y[:, SET])
