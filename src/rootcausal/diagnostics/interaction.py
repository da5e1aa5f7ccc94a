"""Interaction (effect modification): do variables respond to each other alike in cases and controls?

The paper's first limitation: it considers changes of the errors, not of the functions. If the slope between
two variables differs between cases and controls, the log-odds of D contain their product, by Bayes' theorem;
with equal slopes they are a sum. So products of errors are tested in the logistic model, where conditioning
on D, which distorts slopes within the classes, does no harm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from ..method.table import F64, Index
from .dependence import in_blocks
from .diagnosis import Check, CheckSpec, Scale, Text
from .evidence import Evidence
from .power import smallest_of_many, smallest_visible
from .regressions import PlainLogit

# Log-odds by which the effect of one shock differs between patients with the other one standard deviation
# above and below what is expected.
SCALE = Scale(0.4, 1.0, p_doubtful=0.001, p_broken=0.0001)
# A few extreme patients must not make a product.
CLIP = 3.0
# Products grow with the square of the columns: those that matter most to the disease.
COLUMNS_AT_MOST = 40
# A product of which the errors themselves say all but this part is none of its own.
LEAST_OF_ITS_OWN = 0.05
# Products of so many patients are multiplied with the errors at once.
VALUES_AT_ONCE = 1 << 18
# Excess kurtosis beyond which a score is not nearly normal: a few of a rare kind decide, such as five cases.
LARGEST_KURTOSIS = 0.2

FOUND = (
    "A response that differs between cases and controls shows as an effect that depends on another variable. "
    "The largest difference: the effect of a shock of {one:name} on the log-odds is {number:.2f} "
    "{larger:larger|smaller} in patients with {other:name} one standard deviation above what is expected "
    "than in those one below ({p:p} after correction for {n_pairs:# pair} among the {n_columns:# column} "
    "that matter most{seen})."
)
ONE_COLUMN = "The model has no two columns whose shocks could act together."
SPEC = CheckSpec(
    "same_mechanism",
    "Is there no effect modification: do variables respond to each other in the same way in cases and "
    "controls?",
    "log-odds by which one shock's effect differs with another",
    {
        "fine": Text(FOUND),
        "fine, one column": Text(ONE_COLUMN),
        "cannot tell": Text(
            FOUND,
            "Underpowered to detect effect modification: a response that the disease has changed would not "
            "be seen among these patients.",
            "more patients of the rarer kind, cases or controls, would show it.",
        ),
        "cannot tell, one column": Text(ONE_COLUMN),
        "cannot tell, no pair": Text(
            "Not to be seen: no two shocks vary together in enough cases and controls."
        ),
        "cannot tell, separated": Text(
            "Not to be seen: the shocks tell cases and controls apart without a single exception, and then "
            "any further difference between them fits."
        ),
        "doubtful": Text(
            FOUND,
            "Values of {one:q} and {other:q} may be too large in some patients and too small in others.",
            "compare {one:name} with {other:name} in cases and in controls, one picture each: if the slopes "
            "differ, the response may itself be what is ill, and values, which describe shocks only, cannot "
            "show that.",
        ),
        "broken": Text(
            limit="Do not read the values and ranks of {one:q} and {other:q}: what one does to the other, or "
            "to the risk, is not the same in all patients."
        ),
    },
    SCALE,
    touches="variables",
)


class Products(NamedTuple):
    """The products that could be judged.

    Attributes
    ----------
    p_values : (m,).
    difference : (m,) log-odds by which the effect of one error differs between patients with the other one
        standard deviation above and below zero, after one Newton step.
    standard_error : (m,) of the difference.
    pairs : (m, 2).
    """

    p_values: F64
    difference: F64
    standard_error: F64
    pairs: Index


def product_tests(errors: F64, y: np.ndarray, fit: PlainLogit, owner: Index | None = None) -> Products:
    """Rao's score test of each product of two errors in the logistic model ``fit`` of them all.

    ``owner`` (k,) is the variable of each column, where some have several: no patient has two levels of one.
    """
    k = errors.shape[1]
    owner = np.arange(k) if owner is None else owner
    clipped = np.ascontiguousarray(np.clip(errors, -CLIP, CLIP).T)
    one, other = np.triu_indices(k, 1)
    found = np.zeros((4, one.size))

    def work(some: slice) -> None:
        found[:, some] = _sums_of(clipped[one[some]] * clipped[other[some]], y, fit)

    in_blocks(work, one.size, len(y), VALUES_AT_ONCE)
    score, left, information, fourth = found
    judged = (left > LEAST_OF_ITS_OWN * information) & (fourth <= LARGEST_KURTOSIS * information**2)
    judged &= owner[one] != owner[other]
    score, left = score[judged], left[judged]
    pairs = np.column_stack([one, other])[judged]
    error = 1.0 / np.sqrt(left)
    return Products(2.0 * ndtr(-np.abs(score * error)), 2.0 * score / left, 2.0 * error, pairs)


def _sums_of(products: F64, y: np.ndarray, fit: PlainLogit) -> F64:
    """(4, m) of products (m, n): score, information beside the regressors, all of it, fourth cumulant."""
    weight = fit.weight
    products -= products.mean(axis=1, keepdims=True)
    score = products @ fit.residual
    squares = products * products
    information = squares @ weight
    squares *= squares
    fourth = squares @ (weight * (1.0 - 6.0 * weight))
    products *= weight
    cross = products @ fit.centred
    left = information - products.sum(axis=1) ** 2 / weight.sum()
    left -= ((cross @ fit.covariance) * cross).sum(axis=1)
    return np.stack([score, left, information, fourth])


def check_interaction(evidence: Evidence, fit: PlainLogit) -> Check:
    strongest = np.sort(np.argsort(-evidence.importance, kind="stable")[:COLUMNS_AT_MOST])
    looked_at = strongest[:0] if fit.separated else strongest
    found = product_tests(evidence.errors[:, looked_at], evidence.known, fit, evidence.owner[looked_at])
    if not found.p_values.size:
        return _without_products(fit, strongest.size)
    p_value, worst = smallest_of_many(found.p_values), int(found.p_values.argmin())
    difference = float(found.difference[worst])
    # What would be seen of a product like most of them.
    needed = smallest_visible(1, 1, found.p_values.size, SCALE.p_doubtful)
    smallest = needed * float(np.median(found.standard_error))
    verdict = SCALE.judge(p_value, abs(difference), smallest)
    one, other = (evidence.names[place] for place in strongest[found.pairs[worst]])
    return SPEC.check(
        verdict,
        abs(difference),
        p_value,
        names=(one, other) if verdict in ("doubtful", "broken") else (),
        smallest=smallest if np.isfinite(smallest) else None,
        one=one,
        other=other,
        larger=difference > 0,
        n_pairs=len(found.pairs),
        n_columns=strongest.size,
        seen="" if verdict in ("doubtful", "broken") else f"; it would be seen from about {smallest:.2g} on",
    )


def _without_products(fit: PlainLogit, n_columns: int) -> Check:
    """Nothing to judge: fine only where a second column, had there been one, would have shown it."""
    smallest, case = float("inf"), "separated" if fit.separated else "no pair"
    if not fit.separated and n_columns <= 1:
        information = float(fit.weight.sum())
        smallest = smallest_visible(1, 1, 1, SCALE.p_doubtful) * 2.0 / np.sqrt(information)
        case = "one column"
    verdict = SCALE.judge(1.0, 0.0, smallest)
    return SPEC.check(verdict, 0.0, case=case, smallest=smallest if np.isfinite(smallest) else None)
