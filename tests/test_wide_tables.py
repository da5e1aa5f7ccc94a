"""Tables with very many columns: the work at the door grows with their number, not with its square."""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from rootcausal import RCI
from rootcausal.comparators import TTest
from rootcausal.inputs import from_frame as validation

COLUMNS = 400
A_COLUMN = 40  # hashes; one for each lookup, of which a dataframe library makes some of its own


class CountedName(str):
    """A column name that counts how often it is looked up."""

    hashed = 0

    def __hash__(self) -> int:
        CountedName.hashed += 1
        return super().__hash__()


@pytest.fixture
def wide() -> pd.DataFrame:
    values = np.random.default_rng(0).standard_t(4, (30, COLUMNS))
    return pd.DataFrame(
        values, columns=pd.Index([CountedName(f"g{c}") for c in range(COLUMNS)], dtype=object)
    )


y = np.arange(30) % 2


def test_names_are_looked_up_a_few_times_each(wide: pd.DataFrame) -> None:
    models = RCI(alpha=0.01).fit(wide, y), TTest().fit(wide, y)
    assert type(models[0].feature_names_in_[0]) is CountedName
    for score in (models[0].shapley_values, models[0].explain, models[1].scores):
        CountedName.hashed = 0
        score(wide.head(1))
        assert COLUMNS <= CountedName.hashed < A_COLUMN * COLUMNS


def test_names_of_a_dask_dataframe_too(wide: pd.DataFrame) -> None:
    model = RCI(alpha=0.01).fit(wide, y)
    frame = dd.from_pandas(wide, npartitions=1)
    CountedName.hashed = 0
    model.shapley_values(frame)
    assert 0 < CountedName.hashed < A_COLUMN * COLUMNS


def test_columns_of_several_types_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 9, (40, 6))
    numbers[:, [1, 4]] %= 2
    frame = pd.DataFrame(numbers, columns=list("abcdef"))
    mixed = frame.astype({"a": "int8", "b": bool, "c": "Float64", "d": "float32", "e": "boolean"})
    expected = RCI(alpha=1.0).fit(numbers, np.arange(40) % 2)
    for values_a_block in (validation.VALUES_A_BLOCK, 80):
        monkeypatch.setattr(validation, "VALUES_A_BLOCK", values_a_block)
        model = RCI(alpha=1.0).fit(mixed, np.arange(40) % 2)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        explained = model.explain(mixed[list("fedcba")]).data
        np.testing.assert_array_equal(explained, numbers)
