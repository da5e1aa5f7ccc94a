"""The compiled loops over resamples say what plain NumPy says, ties and doubts included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from rootcausal import RCI
from rootcausal.backends.cpu.compiler import one_thread
from rootcausal.backends.cpu.interval_kernels import CELLS_A_TILE, edges_of, settle_patients
from rootcausal.data import simulate
from rootcausal.resampling.intervals import SHARES, interval, ranks


def plain_shares(draws: np.ndarray, rank: np.ndarray, doubt: np.ndarray | None) -> np.ndarray:
    """(2, n, m): the twin of what is counted, by sorting."""
    above = (draws > 0).astype(float)
    if doubt is not None:
        above = np.where(doubt > 0, ndtr(draws / np.where(doubt > 0, doubt, 1.0)), above)
    as_high = np.stack([ranks(draw) <= rank for draw in draws])
    return np.stack([above.mean(axis=0), (above * as_high).mean(axis=0)])


def numbers(random: np.random.Generator, shape: tuple[int, ...], tied: bool) -> np.ndarray:
    return random.integers(-2, 3, shape) / 2.0 if tied else random.standard_normal(shape)


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 2**32), st.integers(1, 90), st.integers(0, 2 * CELLS_A_TILE + 3), st.booleans())
def test_ends_are_quantiles_to_the_last_digit(seed: int, b: int, cells: int, tied: bool) -> None:
    random = np.random.default_rng(seed)
    draws = numbers(random, (b, cells), tied)
    ends = np.full((2, cells), np.nan)
    middle = cells // 3
    edges_of(draws, SHARES, ends, 0, middle)
    edges_of(draws, SHARES, ends, middle, cells)
    assert np.array_equal(ends, interval(draws))


@settings(deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 30),
    st.integers(1, 4),
    st.integers(1, 9),
    st.booleans(),
    st.booleans(),
)
def test_patients_are_settled_as_by_sorting(
    seed: int, b: int, n: int, m: int, tied: bool, doubted: bool
) -> None:
    random = np.random.default_rng(seed)
    draws, stated = numbers(random, (b, n, m), tied), numbers(random, (n, m), tied)
    doubt = np.maximum(0.0, random.standard_normal((n, m))) if doubted else None
    # Ranks of a table with more columns, some of which no resample knows.
    rank = ranks(np.concatenate([stated, numbers(random, (n, 3), tied)], axis=1))[:, :m]
    ends, counted = np.full((2, n, m), np.nan), np.full((2, n, m), np.nan)
    settle_patients(draws, rank, doubt, SHARES, ends, counted, 0, n)
    assert np.array_equal(ends, interval(draws))
    assert counted == pytest.approx(plain_shares(draws, rank, doubt), rel=1e-13, abs=1e-15)


def test_the_number_of_threads_changes_no_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    cohort = simulate(300, 6, random_state=0)
    model = RCI().fit(cohort.X, cohort.y).bootstrap(12)
    monkeypatch.setattr("rootcausal.backends.cpu.compiler.WORTH_A_THREAD", 1)

    def said() -> list[np.ndarray]:
        explanation = model.explain(cohort.X)
        answer = explanation.what_if(int(model.causal_order_[0]), error=1.0)
        found = [*vars(explanation).values(), explanation.predicted_interval, *vars(answer).values()]
        return [array for array in found if isinstance(array, np.ndarray)]

    several = said()
    with one_thread():
        alone = said()
    assert len(several) == len(alone) >= 10
    for one, other in zip(several, alone, strict=True):
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
