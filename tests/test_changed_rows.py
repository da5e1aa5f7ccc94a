"""Rows that change after a fit, and labels whose rows stand in another order: noticed, never believed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rootcausal import RCI, InputError
from rootcausal.comparators import TTest
from rootcausal.data import simulate

Change = Callable[[np.ndarray], None]


def _swap_rows(X: np.ndarray) -> None:
    X[[3, 90]] = X[[90, 3]]


def _swap_columns(X: np.ndarray) -> None:
    X[:, [0, 2]] = X[:, [2, 0]]


def _last_bit(X: np.ndarray) -> None:
    X[17, 1] = np.nextafter(X[17, 1], np.inf)


def _times_two(X: np.ndarray) -> None:
    X *= 2


def _signs(X: np.ndarray) -> None:
    X *= -1


def _four_signs(X: np.ndarray) -> None:
    X[4:6, 1:3] *= -1


CHANGES = [_swap_rows, _swap_columns, _last_bit, _times_two, _signs, _four_signs]


@pytest.fixture
def cohort() -> tuple[np.ndarray, np.ndarray]:
    drawn = simulate(150, 5, random_state=2)
    return drawn.X.copy(), drawn.y.copy()


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("layout", ["C", "F", "strided", "memory map"])
def test_an_array_changed_after_the_fit_is_noticed(
    change: Change, layout: str, cohort: tuple[np.ndarray, np.ndarray], tmp_path: object
) -> None:
    X, y = cohort
    if layout == "F":
        X = np.asfortranarray(X)
    if layout == "strided":
        X = np.repeat(X, 2, axis=1)[:, ::2]
    if layout == "memory map":
        X, values = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=X.shape), X
        X[:] = values
    model = RCI(alpha=0.5).fit(X, y)
    model.bootstrap(2)
    before = X.copy()
    change(X)
    with pytest.raises(InputError, match="X was changed in place since fit: fit again before bootstrap"):
        model.bootstrap(2)
    X[:] = before
    model.bootstrap(2)


def test_rows_that_were_copied_need_no_check(
    cohort: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = cohort
    frame = pd.DataFrame(X, columns=list("abcd"), copy=True)
    single = X.astype(np.float32)
    monkeypatch.setattr("rootcausal.resampling.training_rows.checksum", None)
    for table in (frame, pl.DataFrame(X), single, X.tolist()):
        model = RCI(alpha=0.5).fit(table, y)
        expected = model.bootstrap(2).bootstrap_.models[0].attribution.coef
        if table is frame:
            frame["a"] = 0.0
        if table is single:
            single *= 2
        np.testing.assert_array_equal(model.bootstrap(2).bootstrap_.models[0].attribution.coef, expected)


def test_labels_changed_after_the_fit_change_nothing(cohort: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = cohort
    model = RCI(alpha=0.5).fit(X, y)
    expected = model.bootstrap(2).bootstrap_.models[0].attribution.coef
    y[:] = 1 - y
    np.testing.assert_array_equal(model.bootstrap(2).bootstrap_.models[0].attribution.coef, expected)


def test_an_explanation_keeps_its_measurements(cohort: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = cohort
    explanation = RCI(alpha=0.5).fit(X.copy(), y).explain(X)
    before = X.copy()
    expected = explanation.what_if(0).log_odds
    X += 1.0
    np.testing.assert_array_equal(explanation.data, before)
    np.testing.assert_array_equal(explanation.what_if(0).log_odds, expected)


def test_every_block_of_an_array_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    from rootcausal.resampling.training_rows import checksum

    monkeypatch.setattr("rootcausal.resampling.training_rows.VALUES_A_BLOCK", 12)
    X = np.random.default_rng(0).standard_normal((10, 5))
    for rows in (X.copy(), np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        before = checksum(rows)
        assert checksum(rows) == before
        for cell in np.ndindex(rows.shape):
            value = rows[cell]
            rows[cell] = np.nextafter(value, 0)
            assert checksum(rows) != before
            rows[cell] = value


def test_labels_in_another_order_are_refused(cohort: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = cohort
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"p{row}" for row in range(150)])
    labels = pd.Series(y, index=frame.index)
    model = RCI(alpha=0.5).fit(frame, labels)
    shuffled = labels.sample(frac=1, random_state=0)
    for ask in (RCI().fit, TTest().fit, model.diagnose):
        with pytest.raises(InputError, match=r"y has the index of X in another order: use y.loc\[X.index\]"):
            ask(frame, shuffled)
    for same in (shuffled.loc[frame.index], labels.to_numpy(), labels.reset_index(drop=True)):
        np.testing.assert_array_equal(RCI(alpha=0.5).fit(frame, same).coef_, model.coef_)


def test_labels_of_anndata_in_another_order_are_refused(cohort: tuple[np.ndarray, np.ndarray]) -> None:
    anndata = pytest.importorskip("anndata")
    X, y = cohort
    names = [f"p{row}" for row in range(150)]
    data = anndata.AnnData(X, obs=pd.DataFrame(index=names), var=pd.DataFrame(index=list("abcd")))
    labels = pd.Series(y, index=names)
    RCI().fit(data, labels)
    with pytest.raises(InputError, match="y has the index of X in another order"):
        RCI().fit(data, labels[::-1])


def test_labels_in_a_table_of_one_column_in_another_order_are_refused(cohort) -> None:
    X, y = cohort
    frame = pd.DataFrame(X)
    shuffled = pd.DataFrame({"d": y}).sample(frac=1.0, random_state=0)
    with pytest.raises(InputError, match="y has the index of X in another order"):
        RCI().fit(frame, shuffled)
