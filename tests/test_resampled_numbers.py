"""Resamples share what they have in common; their numbers are those of copied rows, learned one by one."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from zoo import ZOO
from zoo_fits import documented_warnings

from rootcausal import RCI, RCIRegressor, RCISurvival
from rootcausal.backends.choose import choose_table
from rootcausal.data import load_pbc, simulate
from rootcausal.method.arrows import arrows_among
from rootcausal.method.model_parts import flattened
from rootcausal.method.moments import describe_columns
from rootcausal.method.pipeline import Settings, learn
from rootcausal.method.table import Index
from rootcausal.outcomes.binary import Binary
from rootcausal.resampling import bootstrap as resample_module
from rootcausal.resampling.bootstrap import LearnedFrom, learn_from
from rootcausal.resampling.training_rows import TrainingRows

SEED, RESAMPLES = 11, 4
# No two ways of summing agree to the last bit.
CLOSE = {"rtol": 1e-11, "atol": 1e-12}
ANIMALS = {
    animal.name: animal
    for animal in ZOO
    if animal.name
    in (
        "pbc_resample",
        "four_cases",
        "yes_and_no",
        "visits",
        "tiny_and_huge_units",
        "offset_beyond_float64",
        "rare_3_percent_cauchy",
        "wards",
        "all_kinds_with_holes",
    )
}


def plainly(cohort: TrainingRows, rows: Index, settings: Settings) -> LearnedFrom:
    """What :func:`learn_from` does, from a copy of the rows that knows nothing of the cohort."""
    X, y = cohort.X[rows], cohort.y[rows]
    outcome = (Binary.of(cohort.y) if cohort.outcome is None else cohort.outcome).again(y)
    varies = np.flatnonzero(np.fmin.reduce(X) < np.fmax.reduce(X))
    raw = choose_table(cohort.backend, X[:, varies], outcome.rows(y))
    layout = None if cohort.layout is None else cohort.layout.take(varies)
    learned = learn(raw, describe_columns(raw, settings.prevalence), settings, None, layout, outcome)
    return LearnedFrom(learned, varies, outcome)


def numbers(model: Any) -> list[dict[str, np.ndarray]]:
    return [
        flattened([half], all_of_it=True)
        for one in model.bootstrap_.models
        for half in (one.mechanism, one.attribution)
    ]


def check(model: Any, monkeypatch: pytest.MonkeyPatch, n: int = RESAMPLES) -> None:
    found = numbers(model.bootstrap(n, random_state=SEED))
    with monkeypatch.context() as patch:
        patch.setattr(resample_module, "learn_from", plainly)
        expected = numbers(model.bootstrap(n, random_state=SEED))
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        for name, values in other.items():
            np.testing.assert_allclose(one[name], values, **CLOSE, err_msg=name)


@pytest.mark.parametrize("name", ANIMALS)
def test_an_index_does_for_a_copy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    animal = ANIMALS[name]
    with documented_warnings(animal):
        check(RCI(mechanism="linear").fit(animal.X, animal.y), monkeypatch)


@pytest.mark.parametrize(
    "options",
    [
        {"prevalence": 0.1},
        {"variant": "original", "attribution": "paper"},
        {"backend": "numpy"},
        {"knowledge": {"covariates": ["x0"], "first": ["x3"]}},
    ],
    ids=str,
)
def test_whatever_was_chosen(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    cohort = load_pbc()
    check(RCI(mechanism="linear", **options).fit(cohort.X, cohort.y), monkeypatch)
    check(
        RCI(mechanism="linear", **options).fit(cohort.X, cohort.y, groups=np.arange(len(cohort.y)) // 2),
        monkeypatch,
    )


def test_times_and_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, rng = simulate(300, 6, random_state=1), np.random.default_rng(1)
    time = rng.exponential(size=300) * np.exp(-drawn.X[:, 2])
    check(RCISurvival().fit(drawn.X, time, rng.random(300) < 0.7), monkeypatch)
    check(RCIRegressor().fit(drawn.X, drawn.X[:, 2] + rng.laplace(size=300)), monkeypatch)


def test_one_value_far_from_all_others_does_not_cost_the_rest_their_digits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = simulate(200, 4, random_state=0)
    X = drawn.X.copy()
    X[17, 0] = 1e14  # most resamples of this row are a third of all
    with pytest.warns(UserWarning, match="decide for some patients"):  # it does for this one
        model = RCI(mechanism="linear").fit(X, drawn.y)
    check(model, monkeypatch, 8)


def test_folds_read_by_an_index_too() -> None:
    cohort = load_pbc()
    rows = RCI(mechanism="linear").fit(cohort.X, cohort.y)._cohort
    assert rows is not None
    outside = np.flatnonzero(np.arange(len(cohort.y)) % 3 > 0)
    found, expected = (learner(rows, outside, rows.settings) for learner in (learn_from, plainly))
    patients = cohort.X[::3]
    np.testing.assert_allclose(
        found.learned.model.predictor(patients), expected.learned.model.predictor(patients), rtol=1e-11
    )
    np.testing.assert_allclose(
        found.learned.completion.covariance, expected.learned.completion.covariance, rtol=1e-11
    )


def test_arrows_are_counted_as_one_by_one() -> None:
    animal = ANIMALS["wards"]
    resamples = RCI(variant="plus").fit(animal.X, animal.y).bootstrap(6).bootstrap_
    for some in (np.arange(animal.X.shape[1]), np.array([3, 0])):
        one_by_one = sum(arrows_among(model, some).astype(int) for model in resamples.models)
        np.testing.assert_array_equal(resamples.edge_counts(some), one_by_one)


@pytest.mark.parametrize(("seconds", "left", "begun"), [(0.001, 30, False), (0.4, 30, True)])
def test_workers_are_started_where_they_save_more_than_their_start(
    seconds: float, left: int, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[range] = []

    def slow(cohort: Any, random_state: int, number: int, alone: bool) -> int:
        time.sleep(seconds)
        return number

    def in_workers(tasks: Any, n_jobs: int, **options: Any) -> Any:
        for _, arguments, _ in tasks:
            sent.append(arguments[-1])
            yield list(arguments[-1])

    monkeypatch.setattr(resample_module, "resample", slow)
    monkeypatch.setattr(resample_module, "in_workers", in_workers)
    numbers_of = list(resample_module._models(None, range(5, 5 + left), 0, 2))  # type: ignore[arg-type]
    assert numbers_of == list(range(5, 5 + left))
    assert bool(sent) == begun
    if begun:
        assert sent[0][0] == 5 + resample_module.TRIED_HERE
        assert len(sent) >= 2 * resample_module.TASKS_A_JOB
