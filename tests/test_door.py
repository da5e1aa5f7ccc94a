"""What a user meets at the door of Python: every wrong argument is one clear error, and no model is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from page_facts import facts_of

from rootcausal import RCI, DirectLiNGAM, InputError, comparators
from rootcausal.comparators import AdaptiveLogistic, ConditionalOutliers, HitonPC, TTest
from rootcausal.data import load_pbc, simulate

NAMES = list("abcde")


@pytest.fixture(scope="module")
def cohort() -> tuple[pd.DataFrame, np.ndarray]:
    drawn = simulate(200, 6, random_state=4)
    return pd.DataFrame(drawn.X, columns=NAMES), drawn.y


@pytest.fixture(scope="module")
def model(cohort: tuple[pd.DataFrame, np.ndarray]) -> RCI:
    return RCI(alpha=0.5).fit(*cohort)


# --- patients of one kind -------------------------------------------------------------------------------


@pytest.mark.parametrize(("cases", "controls"), [(5, 0), (0, 5), (4, 1), (1, 0)])
def test_a_page_about_patients_of_one_kind_says_what_was_not_checked(
    cases: int, controls: int, cohort: tuple[pd.DataFrame, np.ndarray], model: RCI, tmp_path: Path
) -> None:
    X, y = cohort
    rows = [*np.flatnonzero(y == 1)[:cases], *np.flatnonzero(y == 0)[:controls]]
    model.report(X.iloc[rows], tmp_path / "page.html", y=y[rows])
    made = facts_of(tmp_path / "page.html")["made"]
    assert [check["question"] for check in made["checks"]] == [
        "Are the patients' shocks within what the model has seen?"
    ]
    assert (
        f"2 patients with the disease and 2 without; here {cases} of {cases + controls} have it."
        in (made["not_made"])
    )
    diagnosis = model.diagnose(X.iloc[rows], y[rows])
    assert diagnosis.not_made == made["not_made"]
    assert diagnosis.not_made in diagnosis.to_text()
    assert diagnosis.to_dict()["not_made"] == diagnosis.not_made


def test_without_diagnoses_the_same_checks_are_named(
    cohort: tuple[pd.DataFrame, np.ndarray], model: RCI
) -> None:
    assert "This takes the patients' diagnoses, which were not given." in model.diagnose(cohort[0]).not_made
    assert model.diagnose(*cohort).not_made == ""


@pytest.mark.parametrize("n", [2, 3, 8])
def test_few_patients_of_both_kinds_are_checked_in_full(
    n: int, cohort: tuple[pd.DataFrame, np.ndarray], model: RCI, tmp_path: Path
) -> None:
    X, y = cohort
    rows = [*np.flatnonzero(y == 1)[:n], *np.flatnonzero(y == 0)[:2]]
    model.report(X.iloc[rows], tmp_path / "page.html", y=y[rows])
    assert len(facts_of(tmp_path / "page.html")["made"]["checks"]) == 13


def test_labels_that_the_model_does_not_know(cohort: tuple[pd.DataFrame, np.ndarray], model: RCI) -> None:
    X, _ = cohort
    with pytest.raises(InputError, match="y holds 2, 3: the model knows the labels 0 and 1"):
        model.diagnose(X.head(3), [2, 1, 3])
    with pytest.raises(InputError, match="y holds 'ill': the model knows the labels 0 and 1"):
        model.diagnose(X.head(2), ["ill", "ill"])
    assert model.diagnose(X.head(2), [True, True]).checks


# --- AnnData --------------------------------------------------------------------------------------------


def test_diagnose_takes_a_column_of_obs_as_report_does(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    pbc = load_pbc()
    obs = pd.DataFrame({"died": pbc.y}, index=[f"p{i}" for i in pbc.ids])
    data = anndata.AnnData(pbc.X, obs=obs, var=pd.DataFrame(index=list(pbc.feature_names)))
    model = RCI().fit(data, "died")
    assert model.diagnose(data, "died").to_dict() == model.diagnose(data, pbc.y).to_dict()
    model.report(data, tmp_path / "page.html", y="died")
    for ask in (model.diagnose, lambda X, y: model.report(X, tmp_path / "page.html", y=y)):
        with pytest.raises(InputError, match="no diagnosis column 'dead' in obs, which has 'died'"):
            ask(data, "dead")
    with pytest.raises(InputError, match="no id column 'who' in obs, which has 'died'"):
        model.explain(data, ids="who")


# --- labels of any library ------------------------------------------------------------------------------

MISSING = {
    "pandas boolean": lambda y: pd.Series([None, *(y[1:] == 1)], dtype="boolean"),
    "pandas Int64": lambda y: pd.Series([pd.NA, *y[1:]], dtype="Int64"),
    "pandas string": lambda y: pd.Series([pd.NA, *np.where(y[1:], "yes", "no")], dtype="string"),
    "pandas category": lambda y: pd.Series([None, *np.where(y[1:], "yes", "no")], dtype="category"),
    "a list with NA": lambda y: [pd.NA, *(y[1:] == 1)],
    "polars": lambda y: pl.Series([None, *(y[1:] == 1).tolist()]),
    "arrow": lambda y: pa.chunked_array([[None, *(y[1:] == 1).tolist()]]),
}


@pytest.mark.parametrize("kind", MISSING)
@pytest.mark.parametrize("method", [RCI(), TTest()], ids=["RCI", "TTest"])
def test_a_missing_label_is_counted(
    kind: str, method: Any, cohort: tuple[pd.DataFrame, np.ndarray], model: RCI
) -> None:
    X, y = cohort
    labels = MISSING[kind](y)
    for ask in (method.fit, model.diagnose):
        with pytest.raises(
            InputError, match=r"the target y has 1 missing value\(s\) \(NaN\): drop these rows"
        ):
            ask(X, labels)


WHOLE = {
    "pandas boolean": lambda y: pd.Series(y == 1, dtype="boolean"),
    "pandas Int64": lambda y: pd.Series(y, dtype="Int64"),
    "pandas Float64": lambda y: pd.Series(y, dtype="Float64"),
    "pandas string": lambda y: pd.Series(np.where(y, "yes", "no"), dtype="string"),
    "pandas category": lambda y: pd.Series(np.where(y, "yes", "no"), dtype="category"),
    "a pandas array": lambda y: pd.array(y == 1, dtype="boolean"),
    "polars": lambda y: pl.Series(y == 1),
    "polars text": lambda y: pl.Series(np.where(y, "yes", "no")),
    "polars enum": lambda y: pl.Series(np.where(y, "yes", "no"), dtype=pl.Enum(["no", "yes"])),
    "arrow": lambda y: pa.chunked_array([(y == 1).tolist()]),
    "objects": lambda y: np.array((y == 1).tolist(), dtype=object),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_labels_of_any_library(kind: str, cohort: tuple[pd.DataFrame, np.ndarray], model: RCI) -> None:
    X, y = cohort
    again = RCI(alpha=0.5).fit(X, WHOLE[kind](y))
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert len(again.diagnose(X, WHOLE[kind](y)).checks) == 13


# --- a query is no table --------------------------------------------------------------------------------


def test_a_lazy_frame_is_to_be_collected(
    cohort: tuple[pd.DataFrame, np.ndarray], model: RCI, tmp_path: Path
) -> None:
    X, y = cohort
    lazy = pl.from_pandas(X).lazy()
    fitted = TTest().fit(X, y)
    doors: list[Callable[[], object]] = [
        lambda: RCI().fit(lazy, y),
        lambda: RCI().fit(X, pl.DataFrame({"d": y}).lazy()),
        lambda: DirectLiNGAM().fit(lazy),
        lambda: model.explain(lazy),
        lambda: model.report(lazy, tmp_path / "page.html"),
        lambda: model.shapley_values(lazy),
        lambda: model.predict(lazy),
        lambda: model.transform(lazy),
        lambda: model.diagnose(lazy, y),
        lambda: fitted.scores(lazy),
        *(lambda method=method: method().fit(lazy, y) for method in METHODS),
    ]
    for door in doors:
        with pytest.raises(
            InputError, match=r"a LazyFrame is a query that has none yet: use what its collect"
        ):
            door()


METHODS = [getattr(comparators, name) for name in comparators.__all__]


# --- ids ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_an_id_column_that_is_not_there(
    make: Callable[[pd.DataFrame], Any], cohort: tuple[pd.DataFrame, np.ndarray], model: RCI, tmp_path: Path
) -> None:
    table = make(cohort[0].assign(who=[f"p{row}" for row in range(200)]))
    assert model.explain(table, ids="who").ids[:2] == ("p0", "p1")
    for ask in (model.explain, lambda X, ids: model.report(X, tmp_path / "page.html", ids=ids)):
        with pytest.raises(InputError, match="no column 'patient' for ids in the table, which has 'a', 'b'"):
            ask(table, ids="patient")


def test_ids_that_name_nobody(cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = cohort
    model = RCI().fit(X.to_numpy(), y)
    with pytest.raises(InputError, match="no column 'who' for ids in the table: X has no column names"):
        model.explain(X.to_numpy(), ids="who")
    with pytest.raises(InputError, match="ids must be the name of a column or one id a patient, not 7"):
        model.explain(X.to_numpy(), ids=7)


# --- results compare by identity ------------------------------------------------------------------------


def test_results_can_be_compared(cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = cohort
    model = RCI(alpha=0.5).fit(X, y).bootstrap(2)

    def results() -> list[object]:
        explanation = model.explain(X.head(3))
        graph = ConditionalOutliers(random_state=0).fit(X, y).graph_
        return [explanation, explanation.what_if("a"), graph, simulate(20, 4, random_state=0), load_pbc()]

    for first, second in zip(results(), results(), strict=True):
        assert (first == first, first == second, first != second) == (True, False, True)
        assert len({first, second}) == 2
    kept = [model.bootstrap_, *model.bootstrap_.models, model._model, model._quantiles]
    assert all(a == a for a in kept)
    assert kept[1] != kept[2]


# --- a fit that fails -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "score"),
    [
        (RCI(alpha=0.5), "shapley_values"),
        (DirectLiNGAM(), None),
        (TTest(), "scores"),
        (HitonPC(), "scores"),
        (AdaptiveLogistic(random_state=0), "scores"),
        (ConditionalOutliers(random_state=0), "scores"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failed_fit_leaves_the_old_model_whole(
    method: Any, score: str | None, cohort: tuple[pd.DataFrame, np.ndarray]
) -> None:
    X, y = cohort
    method.fit(X, y)
    before = dict(vars(method))
    scores = getattr(method, score)(X) if score else method.adjacency_matrix_
    wider = X.assign(f=X["a"] ** 3, g=1.0)
    for bad, labels in (
        (wider, y),  # a constant column, noticed late
        (wider.to_numpy(), y),
        (wider.drop(columns="g").assign(h="text"), y),
        (wider.drop(columns="g"), None),
        (wider.drop(columns="g"), np.zeros(200)),
    ):
        if score is None and "g" not in getattr(bad, "columns", "g") and "h" not in bad:
            continue  # this method takes no labels
        with pytest.raises((InputError, ValueError)):
            method.fit(bad, labels)
        assert vars(method) == before
        again = getattr(method, score)(X) if score else method.adjacency_matrix_
        np.testing.assert_array_equal(again, scores)


def test_an_interrupted_fit_leaves_the_old_model_whole(
    cohort: tuple[pd.DataFrame, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = cohort
    model = RCI(alpha=0.5).fit(X, y)
    expected = model.predict_proba(X)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rootcausal.estimators.mechanism_choice.learn_cohort", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[["a", "b"]], 1 - y)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
