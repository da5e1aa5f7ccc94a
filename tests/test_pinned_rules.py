"""Rules that no other test would miss: each was seen to fail where its rule was changed or left out."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from page_facts import facts_of

from rootcausal import RCI, UnlikeCohortWarning
from rootcausal.files.tables import column_names
from rootcausal.profiling.fit_line import fit_arguments
from rootcausal.profiling.look import Look, look

RNG = np.random.default_rng(0)
N = 60


def seen(target: str, labels: list[str], **columns: Any) -> Look:
    rows = [labels[k % len(labels)] for k in range(N)]
    return look(pa.table({"a": RNG.standard_normal(N), **columns, target: rows}), target)


def line(found: Look) -> list[str]:
    arguments = fit_arguments(found, "t.csv")
    assert arguments is not None
    return arguments


# --- labels ---


def test_a_short_word_that_is_the_columns_name_does_not_make_a_disease_of_a_label() -> None:
    assert "LABEL" in line(seen("arm", ["arm", "leg"]))
    assert "LABEL" not in line(seen("colitis", ["colitis", "leg"]))


def test_of_three_labels_one_that_is_well_does_not_say_which_is_the_disease() -> None:
    assert "LABEL" in line(seen("state", ["healthy", "mild", "severe"]))
    assert "LABEL" not in line(seen("state", ["healthy", "mild"]))


# --- missing values ---


def test_what_is_missing_is_missing_however_its_bits_are() -> None:
    """A NaN that was computed has other bits than one that was written; no patient is another by that."""
    X = RNG.laplace(size=(120, 3))
    X[:, 1] += X[:, 0]
    y = (X[:, 1] + RNG.logistic(size=120) > 0).astype(int)
    X[:, :2][RNG.random((120, 2)) < 0.15] = np.nan
    other = np.where(np.isnan(X), -np.float64("nan"), X)
    assert np.signbit(other[np.isnan(X)]).any()
    first, second = (
        RCI(missing="impute").fit(pd.DataFrame(one, columns=list("abc")), y) for one in (X, other)
    )
    whole = pd.DataFrame(np.nan_to_num(X), columns=list("abc"))
    np.testing.assert_array_equal(first.shapley_values(whole), second.shapley_values(whole))


# --- files ---


def test_a_byte_order_mark_hides_no_attribute(tmp_path: Path) -> None:
    path = tmp_path / "c.arff"
    path.write_text("\ufeff@attribute age real\n@attribute d {no,yes}\n@data\n1,no\n", encoding="utf-8")
    assert column_names(path) == ["age", "d"]


# --- patients ---


@pytest.fixture(scope="module")
def cohort() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": 10 + rng.laplace(size=200), "b": rng.laplace(size=200)})
    return X, (X["a"] + X["b"] + rng.logistic(size=200) > 10).astype(int).to_numpy()


def heard(model: RCI, patients: pd.DataFrame) -> bool:
    """Whether it is said that these are unlike the cohort."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict_proba(patients)
    return any(issubclass(one.category, UnlikeCohortWarning) for one in caught)


@pytest.mark.parametrize(("of", "said"), [(1, True), (4, True), (8, False)])
def test_one_patient_far_away_is_said_among_few(
    cohort: tuple[pd.DataFrame, np.ndarray], of: int, said: bool
) -> None:
    X, y = cohort
    some = X.head(of).assign(a=[1000.0, *X["a"][1:of]])
    assert heard(RCI().fit(X, y), some) == said


def test_a_model_keeps_no_name_of_a_patient(cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = cohort
    X = X.assign(b=[200.0, *X["b"][1:]])
    model = RCI(alpha=1.0).fit(X, y)
    names = [f"Mrs {k}" for k in range(len(X))]
    assert "Mrs 0" in json.dumps(model.diagnose(X, y, ids=names).to_dict())
    findings = json.dumps(model.provenance_["findings"])
    assert "in_range" in findings and "Mrs" not in findings


@pytest.mark.parametrize(("far", "said"), [(1, False), (2, True), (3, True)])
def test_two_in_a_hundred_far_away_are_said(
    cohort: tuple[pd.DataFrame, np.ndarray], far: int, said: bool
) -> None:
    X, y = cohort
    some = X.head(100).assign(a=[*([1000.0] * far), *X["a"][far:100]])
    assert heard(RCI().fit(X, y), some) == said


def test_far_below_positive_numbers_is_a_share_of_the_least() -> None:
    """Nothing positive lies below 1 to 100 by the width of that; a tenth of the least is said."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.permutation(np.geomspace(1, 100, 400)), "b": rng.laplace(size=400)})
    model = RCI(alpha=1.0).fit(X, (np.log10(X["a"]) + rng.logistic(size=400) > 1).astype(int))
    assert heard(model, pd.DataFrame({"a": [0.1], "b": [0.0]}))
    assert not heard(model, pd.DataFrame({"a": [0.5], "b": [0.0]}))


def test_what_the_cohort_of_the_fit_showed_is_not_hidden_by_new_patients(tmp_path: Path) -> None:
    """Of those the column that gave the diagnosis away says nothing, which is no comfort."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.laplace(size=(600, 2)), columns=["a", "leak"])
    y = (X["a"] + rng.logistic(size=600) > 0).astype(int).to_numpy()
    leaky = X.assign(leak=y + 0.2 * rng.normal(size=600))
    model = RCI(alpha=0.2).fit(leaky[:300], y[:300])
    model.diagnose(leaky[:300], y[:300])
    others = X[300:].assign(leak=rng.permutation(leaky["leak"][300:]))
    model.report(others, tmp_path / "page.html", y=y[300:])
    checks = facts_of(tmp_path / "page.html")["made"]["checks"]
    (shown,) = [one for one in checks if one["name"] == "gives_away"]
    assert shown["verdict"] == "broken" and shown["statement"].startswith("In the cohort that the model")


@pytest.mark.parametrize(("n_against", "asked"), [(0, True), (12, False)])
def test_a_column_contradicts_where_it_says_otherwise_of_nearly_all(n_against: int, asked: bool) -> None:
    """Where it says so of six in ten only, it tells of something else."""
    rows = np.arange(N)
    ill = rows % 2 == 1
    says = np.where(ill ^ (rows < 2 * n_against), "alive", "dead")
    table = pa.table({"a": RNG.standard_normal(N), "vital": says, "d": ill.astype(int)})
    assert ("LABEL" in line(look(table, "d"))) == asked
