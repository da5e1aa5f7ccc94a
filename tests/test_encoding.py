"""From levels to numbers and back, and what changes on the way."""

from __future__ import annotations

import numpy as np
import pytest

from rootcausal.inputs.cells import Found, Texts, of_arrow, of_objects, typed
from rootcausal.inputs.encoding import Encoding
from rootcausal.inputs.kinds import Variable

AGE = Variable("age", "number")
SEX = Variable("sex", "binary", ("female", "male"))
STAGE = Variable("stage", "ordinal", (1.0, 2.0, 4.0))
WARD = Variable("ward", "nominal", ("ICU", "ER", "south"))
SITE = Variable("site", "nominal", (7.0, 3.0, 5.0))
SMOKER = Variable("smoker", "binary", (False, True))
ALL = Encoding((AGE, SEX, STAGE, WARD, SITE, SMOKER))


def test_columns() -> None:
    assert ALL.column_names == (
        "age",
        "sex",
        "stage",
        "ward = ER",
        "ward = south",
        "site = 3",
        "site = 5",
        "smoker",
    )
    assert ALL.layout.variable.tolist() == [0, 1, 2, 3, 3, 4, 4, 5]
    levels = [list(one) for one in ALL.layout.levels]
    assert levels == [[], [0, 1], [1, 2, 4], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1]]
    assert ALL.reach(np.arange(8.0)).tolist() == [0, 1, 2, np.inf, np.inf, 7]


def found(borrowed: bool = False) -> Found:
    values = np.array(
        [[50.0, 0, 4, 0, 3, 1], [60.0, 0, 1, np.nan, 7, 0], [70.0, np.nan, 2, 0, 9, np.nan]], order="F"
    )
    texts = {
        1: Texts(np.array([1, 0, -1]), ("female", "male")),
        3: Texts(np.array([0, -1, 1]), ("ER", "east")),
    }
    return Found(values, texts, borrowed=borrowed)


def test_encode() -> None:
    table, unlike = ALL.table(found())
    nan = np.nan
    np.testing.assert_array_equal(
        table, [[50, 1, 4, 1, 1, 1], [60, 0, 1, nan, 0, 0], [70, nan, 2, nan, nan, nan]]
    )
    assert unlike.unseen == {3: ["east"], 4: ["9"]} and unlike.nearest == {}
    np.testing.assert_array_equal(
        ALL.matrix(table),
        [[50, 1, 4, 1, 0, 1, 0, 1], [60, 0, 1, nan, nan, 0, 0, 0], [70, nan, 2, nan, nan, nan, nan, nan]],
    )


def test_a_users_array_is_never_written_to() -> None:
    mine = found(borrowed=True)
    before = mine.values.copy()
    table, _ = ALL.table(mine)
    assert not np.shares_memory(table, mine.values)
    np.testing.assert_array_equal(mine.values, before)


def test_numbers_are_not_copied() -> None:
    X = np.array([[1.5, 0.0], [2.5, 1.0]])
    encoding = Encoding((AGE, Variable("ill", "binary", (0.0, 1.0))))
    table, unlike = encoding.table(Found(X, borrowed=True))
    assert table is X and encoding.matrix(table) is X and unlike.unseen == {}


def test_numbers_for_texts_and_texts_for_truth() -> None:
    texts = Encoding((Variable("grade", "ordinal", ("1", "2+", "3")),))
    table, unlike = texts.table(Found(np.array([[1.0], [3.0], [2.0]])))
    assert table[:2, 0].tolist() == [0, 2] and unlike.unseen == {0: ["2"]}
    truth = Encoding((SMOKER,))
    cells = of_objects(["True", "FALSE", None, "maybe"])
    table, unlike = truth.table(Found.of({0: cells}, np.empty((4, 1))))
    assert table[:2, 0].tolist() == [1, 0] and unlike.unseen == {0: ["maybe"]}


@pytest.mark.parametrize(
    ("cells", "numbers", "said"),
    [
        ([True, None, False], [1, np.nan, 0], (False, True)),
        ([1, "2", " 3.5 ", "NA", None], [1, 2, 3.5, np.nan, np.nan], None),
        ([1.5, float("nan")], [1.5, np.nan], None),
    ],
)
def test_objects_that_are_numbers(cells: list, numbers: list[float], said: object) -> None:
    read = typed(of_objects(cells))
    np.testing.assert_array_equal(read.numbers, numbers)
    assert read.said == said


def test_objects_that_are_texts() -> None:
    read = of_objects([" a", "a ", True, 2.0, "n/a", None])
    assert read.texts is not None
    assert read.texts.levels == ("a", "true", "2")
    assert read.texts.codes.tolist() == [0, 0, 1, 2, -1, -1]


def test_arrow_takes_back_what_it_was_given() -> None:
    for cells in (["b", None, "a"], [1.5, None], [True, False]):
        read = of_objects(cells)
        again = of_arrow(read.to_arrow())
        np.testing.assert_array_equal(again.missing, read.missing)
        if read.texts is not None:
            assert again.texts is not None and again.texts.levels == read.texts.levels
        else:
            np.testing.assert_array_equal(again.numbers, read.numbers)
