"""What intervals are, computed anew: percentiles of what each resample answers, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from rootcausal.explaining.explanation import Explanation
from rootcausal.explaining.what_if import WhatIf
from rootcausal.inputs.levels import TableInWords, columns_of_level, place_of


def percentiles(draws: Any) -> np.ndarray:
    """(2, ...): ends of 95 % percentile intervals over the first axis."""
    return np.quantile(np.asarray(draws), (0.025, 0.975), axis=0)


def assert_same(found: Any, expected: np.ndarray) -> None:
    size = np.abs(expected).max(initial=1.0, where=np.isfinite(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * size)


def assert_intervals_of_resamples(explanation: Explanation) -> None:
    """Of values and predictions; what was not measured leaves a doubt around the value, or next to it."""
    X, resamples = explanation._cells.columns, explanation._resamples
    draws = np.stack([one.shapley(X) for one in resamples])
    lower, upper = percentiles(draws)
    sd = np.zeros_like(lower) if explanation.imputation_sd is None else explanation.imputation_sd
    middle = np.clip(explanation.values, lower, upper)
    lower = middle - np.hypot(middle - lower, 1.96 * sd)
    upper = middle + np.hypot(upper - middle, 1.96 * sd)
    told = explanation.scored
    assert_same(explanation.lower[told], lower[told])
    assert_same(explanation.upper[told], upper[told])
    assert (explanation.lower <= explanation.upper)[told].all()
    sure = told[:, None] & (sd == 0)
    share = (draws > 0).mean(axis=0)
    np.testing.assert_allclose(explanation.frequency[sure], share[sure])
    # All resamples on one side: so is the interval.
    assert (explanation.lower[sure & (share == 1)] > 0).all()
    assert (explanation.upper[sure & (share == 0)] <= 0).all()
    predicted = percentiles([one.predicted(X) for one in resamples])
    assert_same(explanation.predicted_interval[:, told], predicted[:, told])
    assert np.isnan(explanation.predicted_interval[:, ~told]).all()


def assert_answers_of_resamples(explanation: Explanation, answer: WhatIf, place: int, asked: Any) -> None:
    """The same of what if; ``asked`` of the variable at a place is a shock, or one of its levels."""
    cells, variable = explanation._cells, explanation.variables[place]
    predictor, predicted, data = [], [], []
    for one in explanation._resamples:
        if variable.levels:
            wanted = columns_of_level(variable, place_of(variable, asked))
            told, then = one.with_level(cells.columns, place, wanted)
        else:
            told, then = one.with_shock(cells.columns, place, asked)
        predictor.append(told)
        predicted.append(one.attribution.predicted(told))
        data.append(TableInWords(cells.variables, one.layout, then).numbers())
    scored = explanation.scored
    assert_same(answer.predictor_interval[:, scored], percentiles(predictor)[:, scored])
    assert_same(answer.predicted_interval[:, scored], percentiles(predicted)[:, scored])
    low, high = answer.data_interval
    assert np.array_equal(np.isnan(low), np.isnan(high))
    for c, of_column in enumerate(explanation.variables):
        if of_column.kind == "nominal":
            assert np.isnan(low[:, c]).all()
            continue
        # On a log scale percentiles are those of the logarithms.
        scale = (np.log, np.exp) if of_column.log else (np.asarray, np.asarray)
        expected = scale[1](percentiles(scale[0](np.stack(data)[:, scored, c])))
        assert_same(answer.data_interval[:, scored, c], expected)
        assert (low[:, c] <= high[:, c])[~np.isnan(low[:, c])].all()
