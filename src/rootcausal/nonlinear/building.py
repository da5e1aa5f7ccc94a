"""From a graph and its fitted columns to a mechanism in causal order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..method.table import F64, Index
from .curves import PIECES, Splines
from .fitting import POST_NONLINEAR, Fitted
from .mechanism import NonlinearMechanism
from .memory_rows import expected_level
from .rows import TERMS_A_CAUSE, Designs, NonlinearRows


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that mechanisms were fitted to.

    Attributes
    ----------
    column : (c,) which columns of the cohort they are.
    mean, sd : (c,) of them.
    splines : of them.
    level_values : of each, in standard units; empty for a number.
    """

    column: Index
    mean: F64
    sd: F64
    splines: Splines
    level_values: tuple[F64, ...]


def build(
    columns: Columns, order: Sequence[int], fitted: Sequence[Fitted], rows: NonlinearRows, n_columns: int
) -> NonlinearMechanism:
    """The mechanism of columns in this causal order; ``fitted`` of each, in the order of ``columns``."""
    place = np.empty(len(order), dtype=np.intp)
    place[list(order)] = np.arange(len(order))
    chosen = [fitted[column] for column in order]
    arrows, products = [], []
    for effect, (column, one) in enumerate(zip(order, chosen, strict=True)):
        curves, multiplied = parts_of(one, columns.splines)
        strength = strengths(one, columns.level_values[column])
        arrows += [(effect, int(place[cause]), strength[cause], *both) for cause, both in curves.items()]
        products += [(effect, int(place[a]), int(place[b]), *both) for a, b, *both in multiplied]
    arrows.sort(key=lambda arrow: arrow[:2])
    levels = [columns.level_values[column] for column in order]
    at = np.array(order, dtype=np.intp)
    return NonlinearMechanism(
        n_columns=n_columns,
        order=at,
        mean=columns.mean[at],
        sd=columns.sd[at],
        knots=columns.splines.knots[at],
        constant=np.array(
            [[one.beta[0], 0.0 if one.gamma is None else one.gamma[0]] for one in chosen]
        ).reshape(-1, 2),
        error_mean=np.array([one.mean for one in chosen]),
        error_sd=np.array([one.sd for one in chosen]),
        log_spread=_limits(order, chosen, rows),
        form=np.array([one.form for one in chosen], dtype=np.intp),
        marks=columns.splines.marks[at[[one.form == POST_NONLINEAR for one in chosen]]],
        cause=np.array([arrow[1] for arrow in arrows], dtype=np.intp),
        effect=np.array([arrow[0] for arrow in arrows], dtype=np.intp),
        expected=np.array([arrow[3] for arrow in arrows]).reshape(-1, PIECES, 4),
        spread=np.array([arrow[4] for arrow in arrows]).reshape(-1, PIECES, 4),
        strength=np.array([arrow[2] for arrow in arrows], dtype=np.float64),
        factor=np.array([product[1] for product in products], dtype=np.intp),
        other_factor=np.array([product[2] for product in products], dtype=np.intp),
        product_effect=np.array([product[0] for product in products], dtype=np.intp),
        expected_product=np.array([product[3] for product in products], dtype=np.float64),
        spread_product=np.array([product[4] for product in products], dtype=np.float64),
        n_levels=np.array([some.size for some in levels], dtype=np.intp),
        level_values=np.concatenate([np.empty(0), *levels]),
        thresholds=np.concatenate(
            [
                np.empty(0),
                *(np.append(one.thresholds, np.inf) for one in chosen if one.thresholds is not None),
            ]
        ),
    )


def _limits(order: Sequence[int], fitted: Sequence[Fitted], rows: NonlinearRows) -> F64:
    """(k, 2) lowest and highest logarithm of each spread in the cohort; of levels, their logit."""
    limits = np.zeros((len(order), 2))
    for place, (column, one) in enumerate(zip(order, fitted, strict=True)):
        told = one.gamma if one.thresholds is None else one.beta
        if told is not None:
            limits[place] = rows.spread_limits(Designs.of([column], [one.terms]), told[None])[0]
    return limits


def parts_of(
    fitted: Fitted, splines: Splines
) -> tuple[dict[int, tuple[F64, F64]], list[tuple[int, int, float, float]]]:
    """Curves (expected, spread) by the column of the cause, and products (a, b, expected, spread)."""
    gamma = np.zeros_like(fitted.beta) if fitted.gamma is None else fitted.gamma
    curves: dict[int, tuple[F64, F64]] = {}
    products = []
    for (first, second), b, g in zip(fitted.terms, fitted.beta[1:], gamma[1:], strict=True):
        cause, term = divmod(first, TERMS_A_CAUSE)
        if second >= 0:
            products.append((cause, second // TERMS_A_CAUSE, float(b), float(g)))
            continue
        expected, spread = curves.setdefault(cause, (np.zeros((PIECES, 4)), np.zeros((PIECES, 4))))
        expected += b * splines.curves[cause, term]
        spread += g * splines.curves[cause, term]
    return curves, products


def strengths(fitted: Fitted, level_values: F64) -> dict[int, float]:
    """By the column of each cause: how many standard deviations the effect varies by with it.

    Splines of a column are uncorrelated and of unit variance, so that squares of coefficients add up. What
    differs with a cause is what is expected, and the spread around it; the sign is that of the line.
    A product counts for half with either cause.
    """
    gamma = np.zeros_like(fitted.beta) if fitted.gamma is None else fitted.gamma
    size = np.exp(gamma[0]) * fitted.sd
    # What a unit of the predictor does to a level that is expected.
    per_unit = 1.0
    if fitted.thresholds is not None:
        mean, _ = expected_level(np.array([-0.5, 0.5]), fitted.thresholds, level_values)
        per_unit = float(mean[1] - mean[0])
    squares: dict[int, float] = {}
    signs: dict[int, float] = {}
    for (first, second), b, g in zip(fitted.terms, fitted.beta[1:], gamma[1:], strict=True):
        square = (per_unit * b) ** 2 + (size * g) ** 2
        cause, term = divmod(first, TERMS_A_CAUSE)
        if second < 0 and term == 0:
            signs[cause] = -1.0 if b < 0 else 1.0
        share = 1.0 if second < 0 else 0.5
        for one in (cause,) if second < 0 else (cause, second // TERMS_A_CAUSE):
            squares[one] = squares.get(one, 0.0) + share * square
    return {cause: signs.get(cause, 1.0) * float(np.sqrt(square)) for cause, square in squares.items()}
