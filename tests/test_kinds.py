"""What a column is: guessed from its values, said by its type, or set by the user."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from pyarrow import csv as arrow_csv

from rootcausal import InputError
from rootcausal.files.cells import WORDS_FOR_MISSING
from rootcausal.inputs.cells import Found, Texts
from rootcausal.inputs.infer_types import infer_types
from rootcausal.inputs.kinds import (
    MOST_LEVELS,
    Variable,
    columns_with_few_values,
    few_values,
    variable_of_counts,
    variable_of_numbers,
)
from rootcausal.inputs.rules import IN_PYTHON, Findings


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        ([1, 2, 2, 1], "binary", (1.0, 2.0)),
        ([0, np.nan, 1], "binary", (0.0, 1.0)),
        ([1, 2, 3] * 5, "ordinal", (1.0, 2.0, 3.0)),
        ([1, 2, 3] * 4, "number", ()),  # too few rows of each to be sure
        (list(range(7)) * 5, "ordinal", tuple(map(float, range(7)))),
        (list(range(8)) * 50, "number", ()),
        ([5.0, 5.0, np.inf], "number", ()),
        ([np.nan, np.nan], "number", ()),
    ],
)
def test_numbers(values: list[float], kind: str, levels: tuple[float, ...]) -> None:
    assert variable_of_numbers("x", np.array(values, dtype=float)) == Variable("x", kind, levels)


def test_a_value_far_down_is_seen() -> None:
    values = np.tile([0.0, 1.0], 100_000)
    assert variable_of_numbers("x", values).kind == "binary"
    values[-1] = 9.0
    assert variable_of_numbers("x", values).levels == (0.0, 1.0, 9.0)
    values[150_000:150_010] = np.arange(10)
    assert variable_of_numbers("x", values).kind == "number"


def test_few_values_are_counted() -> None:
    values = np.r_[np.nan, np.tile([3.0, 1.0, 3.0], 50_000)]
    different, counts = few_values(values, 2)
    assert (different.tolist(), counts.tolist()) == ([1.0, 3.0], [50_000, 100_000])
    assert few_values(values, 1) is None


def test_columns_that_may_have_levels() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.standard_normal(500), rng.integers(0, 7, 500), np.full(500, np.nan), np.ones(500)]
    )
    assert columns_with_few_values(X) == [1, 2, 3]


@pytest.mark.parametrize(
    ("texts", "said", "kind", "levels"),
    [
        (["male", "female", None], {}, "binary", ("female", "male")),
        (["yes", "no", "no"], {}, "binary", ("no", "yes")),
        (["Yes", "No"], {}, "binary", ("No", "Yes")),
        (["ER", "ICU", "ICU", "ward", "ICU", "ER"], {}, "nominal", ("ICU", "ER", "ward")),
        (["a", "b", "b"], {"kind": "nominal"}, "binary", ("a", "b")),
        (["III", "I", "II", "IV"], {"kind": "ordinal"}, "ordinal", ("I", "II", "III", "IV")),
        (
            ["grade 2", "grade 10", "grade 1"],
            {"kind": "ordinal"},
            "ordinal",
            ("grade 1", "grade 2", "grade 10"),
        ),
        (["mid", "High", "low"], {"kind": "ordinal"}, "ordinal", ("low", "mid", "High")),
        (["mid", "low", "high"], {"order": ["low", "mid", "high"]}, "ordinal", ("low", "mid", "high")),
        (["high", "low"], {"order": ["low", "mid", "high"]}, "binary", ("low", "high")),
    ],
)
def test_texts(texts: list[str | None], said: dict, kind: str, levels: tuple[str, ...]) -> None:
    assert variable_of_counts("x", Counter(filter(None, texts)), **said) == Variable("x", kind, levels)


@pytest.mark.parametrize(
    ("texts", "said", "words"),
    [
        (["a", "b", "c"], {"kind": "binary"}, "'x' cannot be binary: it has 3 different values"),
        (["far", "near", "here"], {"kind": "ordinal"}, "do not say their order: list them from low to high"),
        (["low", "LOW"], {"order": ["low", "mid"]}, "holds 'LOW', not among its levels 'low', 'mid'"),
        (["a", "b"], {"kind": "number"}, "'x' is no number: it holds 'a'"),
        ([str(k) for k in range(MOST_LEVELS + 1)], {"kind": "nominal"}, "31 different values, too many"),
        (["a"], {"kind": "nominal"}, "one value only"),
        ([None], {"kind": "ordinal"}, "no value"),
    ],
)
def test_texts_that_are_not_what_is_said(texts: list[str | None], said: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        variable_of_counts("x", Counter(filter(None, texts)), **said)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (("low", "high"), "holds numbers, and its levels are given as 'low', 'high'"),
        ((3.0, 1.0, 2.0), "are numbers: give them from low to high"),
        ((1.0, float("nan")), "are numbers: give them from low to high"),
        ((1.0, 2.0), "holds '3', not among its levels '1', '2'"),
        ("binary", "cannot be binary: it has 3 different values"),
    ],
)
def test_numbers_that_are_not_what_is_said(said: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        variable_of_numbers("x", np.array([1.0, 2.0, 3.0]), said)


def test_levels_of_numbers_may_be_given_as_text() -> None:
    values = np.array([1.0, 2.0, 4.0])
    assert variable_of_numbers("x", values, ("1", "2", "4")) == Variable("x", "ordinal", (1.0, 2.0, 4.0))
    assert variable_of_numbers("x", np.array([0.0, 1.0]), (False, True)).levels == (False, True)


def guessed(texts: dict[int, Texts], n: int, kinds: dict | None = None) -> str:
    findings = Findings()
    values = np.random.default_rng(0).standard_normal((n, 1 + max(texts, default=0)))
    names = [f"x{c}" for c in range(values.shape[1])]
    infer_types(Found(values, texts), names, kinds or {}, IN_PYTHON, findings)
    with pytest.raises(InputError) as caught:
        findings.refuse()
    return str(caught.value)


def text(cells: list[str]) -> Texts:
    levels = tuple(dict.fromkeys(cells))
    return Texts(np.array([levels.index(cell) for cell in cells]), levels)


def test_ids_and_free_text_are_named_together() -> None:
    ids = text([f"p{k}" for k in range(40)])
    few_rows_each = text([f"w{k // 2 if k < 20 else k}" for k in range(40)])
    said = guessed({0: ids, 2: few_rows_each}, 40)
    assert said.startswith("columns 'x0', 'x2' have too many different values to be levels (at most 30, ")
    assert "if they are ids or free text, " in said


def test_numbers_among_which_is_text_are_no_levels() -> None:
    assert "mixed: '<0.3' in 'x0'" in guessed({0: text([*map(str, range(9)), "<0.3"] * 9)}, 90)


def test_every_name_that_is_no_column_is_said() -> None:
    said = guessed({}, 40, {"X0": "ordinal", 7: "binary"})
    assert said.startswith("2 things are wrong")
    assert "kinds names 'X0', and there is no such column: did you mean 'x0'?" in said
    assert "kinds names '7', and there is no such column" in said


def test_words_for_missing_are_those_of_csv_files() -> None:
    assert sorted(WORDS_FOR_MISSING) == sorted(arrow_csv.ConvertOptions().null_values)
