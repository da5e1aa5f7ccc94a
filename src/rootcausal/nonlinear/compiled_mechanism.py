"""A nonlinear mechanism laid out for compiled loops; apart from them, so that naming it needs no compiler."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..method.table import F64, Index


class CompiledMechanism(NamedTuple):
    """A mechanism and the predictor of an outcome, laid out for loops; k places, a arrows, b products.

    Attributes
    ----------
    knots : (k, knots) of each place, padded with infinity.
    constant : (k, 2) of what is expected, and of the logarithm of the spread.
    error_mean, error_sd : (k,) of errors before they have unit variance.
    limits : (k, 2) of the logarithm of the spread; of a place with levels, of its logit.
    range : (k, 2) of values: the predictor does not change beyond.
    heteroscedastic : (k,) whether the spread differs.
    scaled : (k,) which places add up on another scale.
    marks : (k, scores) values at scores of those.
    into : (k + 1,) arrows into each place are those from into[i] up to into[i + 1].
    cause : (a,) where they come from.
    expected, spread : (a, pieces, 4) their curves.
    expected_is_line, spread_is_line : (a,) which of these are the same line everywhere.
    products_into : (k + 1,) likewise.
    factor, other_factor, expected_product, spread_product : (b,).
    level_starts : (k + 1,) likewise.
    level_values, thresholds : one column after the other.
    acting : (m,) places that act on the outcome directly.
    risk : (k, pieces, 4) by these curves.
    risk_is_line : (k,).
    risk_factor, risk_other_factor, risk_product : (c,) products in the predictor.
    needed : places that reach the outcome, in causal order.
    within : (2, 2) of both factors of a product, beyond which it does not grow.
    risk_limits : (c, 2, 2) the same of products in the predictor, by the ranges of their factors too.
    """

    knots: F64
    constant: F64
    error_mean: F64
    error_sd: F64
    limits: F64
    range: F64
    heteroscedastic: np.ndarray
    scaled: np.ndarray
    marks: F64
    into: Index
    cause: Index
    expected: F64
    spread: F64
    expected_is_line: np.ndarray
    spread_is_line: np.ndarray
    products_into: Index
    factor: Index
    other_factor: Index
    expected_product: F64
    spread_product: F64
    level_starts: Index
    level_values: F64
    thresholds: F64
    acting: Index
    risk: F64
    risk_is_line: np.ndarray
    risk_factor: Index
    risk_other_factor: Index
    risk_product: F64
    needed: Index
    within: F64
    risk_limits: F64
