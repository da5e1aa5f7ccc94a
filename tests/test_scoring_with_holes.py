"""Patients of whom not everything was measured: at every door, through every answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import error, ok, run
from level_cohort import BILI, VARIABLES, WARD, draw, frame_of, with_holes
from page_facts import facts_of
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rootcausal import RCI, Explanation, InputError
from rootcausal.files import tables

X, y = draw()
WHOLE = frame_of(X)
NAMES = list(WHOLE)


def scattered(frame: pd.DataFrame, share: float = 0.1, seed: int = 1) -> pd.DataFrame:
    """The same patients, without this share of their values; nobody lacks all."""
    gone = np.random.default_rng(seed).random(frame.shape) < share
    gone[:, 0] &= ~gone.all(axis=1)
    return with_holes(frame, **{name: np.flatnonzero(gone[:, c]).tolist() for c, name in enumerate(frame)})


HOLED = scattered(WHOLE)


@pytest.fixture(scope="module")
def model() -> RCI:
    """Fitted on patients with holes, and resampled."""
    return RCI(alpha=1.0).fit(HOLED, y).bootstrap(5)


@pytest.fixture(scope="module")
def explained(model: RCI) -> Explanation:
    return model.explain(HOLED)


def said_by(call: Callable[[], Any], words: str) -> tuple[Any, list[str]]:
    """What a call returns, and what it warns of, at this line."""
    with pytest.warns(UserWarning, match=words) as heard:
        answer = call()
    assert {one.filename for one in heard} == {__file__}
    return answer, [str(one.message) for one in heard]


# --- what is expected, and the doubt that it leaves ---------------------------------------------------------


@pytest.mark.parametrize("holes_in_fit", [False, True])
def test_expected_values_are_those_of_the_joint_gaussian(holes_in_fit: bool) -> None:
    drawn = X[:, [0, 5, 6]] + X[:, [4]]
    fit_on = np.where(np.random.default_rng(0).random(drawn.shape) < 0.1, np.nan, drawn)
    model = RCI(alpha=1.0).fit(fit_on if holes_in_fit else drawn, y)
    new = np.where(np.random.default_rng(2).random((50, 3)) < 0.4, np.nan, drawn[:50])
    new[np.isnan(new).all(axis=1), 0] = drawn[0, 0]
    known = model._completion
    expected, spread = new.copy(), np.zeros((50, 3))
    slopes = model._model.shapley_slopes()
    for row, values in enumerate(new):
        m, o = np.isnan(values), ~np.isnan(values)
        S = known.covariance
        pull = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
        expected[row, m] = known.mean[m] + pull @ (values - known.mean)[o]
        left = S[np.ix_(m, m)] - pull @ S[np.ix_(o, m)]
        spread[row] = np.sqrt(np.maximum(np.diag(slopes[m].T @ left @ slopes[m]), 0.0))
    found = model.explain(new)
    np.testing.assert_allclose(found.data, expected, rtol=1e-9)
    np.testing.assert_allclose(found.imputation_sd, spread, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(found.imputed, np.isnan(new))
    np.testing.assert_array_equal(found.values, model.explain(found.data).values)
    if not holes_in_fit:  # the covariance is that of the cohort, but for three rows' worth of shrinkage
        sd = drawn.std(axis=0, ddof=1)
        np.testing.assert_allclose(known.mean, drawn.mean(axis=0))
        ratio = (known.covariance - np.diag(3 * sd**2) / 403) / np.cov(drawn.T)
        np.testing.assert_allclose(ratio, 399 / 403, rtol=1e-2)


def test_intervals_and_frequencies_hold_the_doubt(model: RCI, explained: Explanation) -> None:
    sd, imputed = explained.imputation_sd, explained.imputed
    half = 1.96 * sd
    models, filled = model.bootstrap_.models, explained._cells.columns
    draws = np.stack([one.shapley(filled) for one in models])
    ends = np.quantile(draws, [0.025, 0.975], axis=0)
    middle = np.clip(explained.values, *ends)
    np.testing.assert_allclose(explained.lower, middle - np.hypot(middle - ends[0], half), atol=1e-12)
    np.testing.assert_allclose(explained.upper, middle + np.hypot(ends[1] - middle, half), atol=1e-12)
    always = imputed & (draws > 0).all(axis=0) & (sd > 0)
    assert always.any() and (explained.frequency[always] < 1).all()
    assert (explained.frequency[always] > 0.5).all()
    sure = sd == 0
    np.testing.assert_array_equal(explained.frequency[sure], (draws > 0).mean(axis=0)[sure])
    assert (explained.rank_stability <= explained.frequency).all()
    alone = RCI(alpha=1.0).fit(WHOLE, y).explain(HOLED)
    np.testing.assert_allclose(alone.upper, alone.values + 1.96 * alone.imputation_sd)
    assert alone.frequency is None


def test_every_answer_is_that_of_the_expected_patients(model: RCI, explained: Explanation) -> None:
    np.testing.assert_array_equal(model.shapley_values(HOLED), explained.values)
    np.testing.assert_array_equal(model.predict_proba(HOLED)[:, 1], explained.probability)
    order = np.sort(model.causal_order_)
    np.testing.assert_array_equal(model.transform(HOLED), explained.errors[:, order])
    assert model.predict(HOLED).tolist() == (explained.log_odds > 0).astype(int).tolist()
    np.testing.assert_array_equal(model.scores(HOLED)[:, order], explained.values[:, order])
    for row in np.flatnonzero(~explained.imputed.any(axis=1))[:5]:
        alone = model.explain(HOLED.iloc[[row]])
        np.testing.assert_allclose(alone.values[0], explained.values[row], atol=1e-12)
        assert not alone.imputed.any() and alone.imputation_sd is None


def test_what_if_with_holes(model: RCI, explained: Explanation) -> None:
    answer = explained.what_if("ward", level="ICU")
    expected, _ = model._model.with_level(explained._cells.columns, WARD, np.array([1.0, 0.0]))
    np.testing.assert_array_equal(answer.log_odds, expected)
    assert set(answer.levels()[:, WARD]) == {"ICU"} and np.isfinite(answer.data).all()
    shocked = explained.what_if("bili", 2.0)
    gone = explained.imputed[:, BILI]
    assert gone.any() and (shocked.data[gone, BILI] > explained.data[gone, BILI]).all()


def test_checks_and_pages_with_holes(model: RCI, explained: Explanation, tmp_path: Path) -> None:
    checks = {check.name: check for check in model.diagnose(HOLED, y).checks}
    assert len(checks) > 5 and checks["calibrated"].verdict in ("fine", "cannot tell")
    assert [check.name for check in model.diagnose(HOLED).checks] == ["in_range", "as_named"]
    # The risk that is judged is the one that is stated, also where a whole column is a guess.
    lacking, _ = said_by(lambda: model.diagnose(HOLED.drop(columns="ward"), y), "no patient has 'ward'")
    assert {check.name: check for check in lacking.checks}["calibrated"].verdict != "broken"
    model.report(HOLED, tmp_path / "page.html", y)
    assert facts_of(tmp_path / "page.html")["not_measured"] == {
        "cells": explained.imputed.sum(),
        "patients": explained.imputed.any(axis=1).sum(),
    }


@pytest.mark.parametrize("resampled", [False, True])
def test_saved_models_answer_to_the_last_bit(model: RCI, tmp_path: Path, resampled: bool) -> None:
    asked = model if resampled else RCI(alpha=1.0).fit(HOLED, y)
    asked.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    assert loaded.provenance_ == asked.provenance_ and loaded.provenance_["missing"]["rows"] > 100
    before, after = asked.explain(HOLED), loaded.explain(HOLED)
    for name in ("values", "errors", "data", "imputed", "imputation_sd", "lower", "upper", "frequency"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name), err_msg=name)


# --- rows and columns without anything ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:nothing that the model goes by")
def test_rows_without_any_value_are_not_scored(model: RCI, tmp_path: Path) -> None:
    nothing = with_holes(WHOLE.head(3), **dict.fromkeys(NAMES, 1))
    found = model.explain(nothing)
    assert found.imputed.tolist() == [[False] * 6, [True] * 6, [False] * 6]
    np.testing.assert_allclose(found._cells.columns[1], model._completion.mean)
    np.testing.assert_array_equal(found.values[[0, 2]], model.explain(WHOLE.iloc[[0, 2]]).values)
    alone = pd.DataFrame({name: [None] for name in NAMES})
    assert np.isnan(found.values[1]).all() and np.isnan(model.explain(alone).values).all()
    with pytest.raises(InputError, match="of any patient: there is nothing to show"):
        model.report(alone, tmp_path / "page.html")


@pytest.mark.parametrize("answer", ["explain", "predict_proba", "shapley_values", "transform", "diagnose"])
def test_a_lacking_column_is_missing_for_everybody_and_said_once(model: RCI, answer: str) -> None:
    lacking = WHOLE.drop(columns=["ward", "bili"])
    found, said = said_by(lambda: getattr(model, answer)(lacking), "no patient has 'ward', 'bili', which are")
    assert len(said) == 1
    if answer != "diagnose":
        empty = WHOLE.assign(ward=None, bili=np.nan)
        same, again = said_by(lambda: getattr(model, answer)(empty), "no patient has 'ward', 'bili', which")
        assert again == said
        parts = (found, same) if answer != "explain" else (found.values, same.values)
        np.testing.assert_array_equal(*parts)


def test_a_table_with_none_of_the_columns_is_another_one(model: RCI) -> None:
    with pytest.raises(InputError, match="'stage', 'bili', 'noise' are missing from the new data"):
        model.explain(pd.DataFrame({"weight": [1.0]}))


@pytest.mark.filterwarnings("ignore:no patient has 'ward'")
def test_a_nominal_variable_that_was_not_measured(model: RCI) -> None:
    found = model.explain(WHOLE.assign(ward=None))
    shares = np.clip(found._cells.of(WARD), 0, 1)
    assert found.imputed[:, WARD].all() and ((shares > 0) & (shares < 1)).any()
    assert set(found.levels()[:, WARD]) <= set(VARIABLES[WARD].levels)
    assert np.isin(found.data[:, WARD], [0.0, 1.0, 2.0]).all()
    assert (found.imputation_sd[:, WARD] > 0).all() and found.text(0, WARD).endswith("%)")
    # Where bilirubin is high, the ward with much of it is likelier.
    icu, bili = found._cells.of(WARD)[:, 0], X[:, 5]
    assert icu[bili > np.quantile(bili, 0.9)].mean() > icu[bili < np.quantile(bili, 0.5)].mean() + 0.1


def test_unseen_levels_are_missing_with_a_warning(model: RCI) -> None:
    odd = WHOLE.head(6).assign(
        ward=["mars", "ICU", "mars", "\x1b[2J", "ICU", "ICU"], stage=[1, 2, 9, 1, 2, 3]
    )
    found, said = said_by(lambda: model.explain(odd), "that the cohort did not have")
    assert len(said) == 2 and "'ward' holds 'mars', '\\x1b[2J'" in said[0]
    assert "'stage' holds 9 (counted as 4)" in said[1]
    assert np.argwhere(found.imputed).tolist() == [[0, WARD], [2, WARD], [3, WARD]]
    holed = with_holes(odd.assign(stage=[1, 2, 4, 1, 2, 3]), ward=[0, 2, 3])
    np.testing.assert_array_equal(found.values, model.explain(holed).values)


# --- doors --------------------------------------------------------------------------------------------------

FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "categories": lambda frame: frame.astype({"ward": "category", "sex": "category", "stage": "Int64"}),
    "polars": pl.from_pandas,
    "polars NaN": lambda frame: pl.from_pandas(frame, nan_to_null=False),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "shuffled": lambda frame: frame[NAMES[::-1]].assign(more="text"),
}


@pytest.mark.parametrize("library", FRAMES)
def test_frames(model: RCI, explained: Explanation, library: str) -> None:
    holed = FRAMES[library](HOLED)
    np.testing.assert_array_equal(model.explain(holed).values, explained.values)
    if library != "shuffled":
        again = RCI(alpha=1.0).fit(holed, y)
        np.testing.assert_array_equal(again.coef_, model.coef_)


def test_arrays() -> None:
    gone = np.random.default_rng(0).random(X.shape) < 0.1
    holed = np.where(gone, np.nan, X)
    model = RCI(alpha=1.0).fit(holed, y)
    named = pd.DataFrame(holed, columns=[f"c{c}" for c in range(7)])
    np.testing.assert_array_equal(RCI(alpha=1.0).fit(named, y).coef_, model.coef_)
    found = model.explain(holed)
    np.testing.assert_array_equal(found.imputed, gone)
    assert np.isnan(holed).sum() == gone.sum()  # the user's own array is left as it is


def test_a_pipeline_of_frames_with_holes_and_categories() -> None:
    frame = HOLED.astype({"ward": "category"})
    scaled = ColumnTransformer(
        [("scale", StandardScaler(), ["age", "bili", "noise"])], remainder="passthrough"
    ).set_output(transform="pandas")
    pipeline = make_pipeline(scaled, RCI(alpha=1.0)).fit(frame, y)
    made = scaled.fit_transform(frame)
    assert made["remainder__ward"].dtype == "category" and made.isna().sum().sum() == HOLED.isna().sum().sum()
    expected = RCI(alpha=1.0).fit(made, y).predict_proba(made)
    np.testing.assert_array_equal(pipeline.predict_proba(frame), expected)
    assert pipeline.score(frame, y) > 0.7 and pipeline[-1].__sklearn_tags__().input_tags.allow_nan


@pytest.fixture
def files(model: RCI, tmp_path: Path) -> Path:
    model.save(tmp_path / "model.rci")
    HOLED.to_parquet(tmp_path / "new.parquet", index=False)
    HOLED.to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


def scores(path: Path, *options: object) -> pd.DataFrame:
    ok("explain", path.with_name("model.rci"), path, *options, "--out", path.with_name("scores.parquet"))
    return pq.read_table(path.with_name("scores.parquet")).to_pandas()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files(files: Path, explained: Explanation, ending: str) -> None:
    found = scores(files / f"new.{ending}")
    np.testing.assert_array_equal(found[NAMES], explained.values)
    np.testing.assert_array_equal(found["risk"], explained.probability)
    for kind in ("lower", "upper", "frequency"):
        np.testing.assert_array_equal(found[[f"{name}_{kind}" for name in NAMES]], getattr(explained, kind))
    named = ["; ".join(np.array(NAMES)[row]) for row in explained.imputed]
    assert found["imputed"].fillna("").tolist() == named


def test_pieces_of_a_file_are_the_whole(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scores(files / "new.parquet", "--what-if", "ward=ICU")
    monkeypatch.setattr(tables, "_ROWS_PER_PIECE", 37)
    pieces = scores(files / "new.parquet", "--what-if", "ward=ICU")
    pd.testing.assert_frame_equal(pieces, whole, rtol=1e-12, atol=1e-12)


def test_a_file_that_lacks_a_column(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS_PER_PIECE", 100)
    HOLED.drop(columns=["ward", "bili"]).to_parquet(files / "less.parquet", index=False)
    command = ["explain", files / "model.rci", files / "less.parquet"]
    done = run(*command, "--out", files / "less.csv")
    assert (
        done.exit_code == 0 and done.stderr.count("lacks 2 columns that the model needs: 'ward', 'bili'") == 1
    )
    assert done.stderr.count("warning") == 1
    assert pd.read_csv(files / "less.csv")["imputed"].str.contains("ward; .*bili").all()
    told = " ".join(ok(*command, "--top", 6).split())
    assert "not measured: bili, ward" in told or "not measured: ward, bili" in told
    HOLED.rename(columns={"bili": "Bili"}).to_parquet(files / "less.parquet", index=False)
    assert "'bili' (is it 'Bili'?)" in error(3, *command)


def test_new_levels_in_a_file(files: Path) -> None:
    WHOLE.head(4).assign(ward=["mars", "ICU", "ICU", "venus"]).to_csv(files / "odd.csv", index=False)
    done = run("explain", files / "model.rci", files / "odd.csv", "--out", files / "scores.csv")
    assert done.exit_code == 0 and done.stderr.count("'ward' holds 'mars', 'venus'") == 1
    assert pd.read_csv(files / "scores.csv")["imputed"].fillna("").tolist() == ["ward", "", "", "ward"]


def test_pages_and_checks_of_files(files: Path) -> None:
    HOLED.assign(died=y).to_csv(files / "cohort.csv", index=False)
    page = files / "page.html"
    for asked in (["--model", files / "model.rci"], ["--target", "died", "--alpha", "1"]):
        ok("report", files / "cohort.csv", *asked, "--out", page)
        assert facts_of(page)["not_measured"]["cells"] == HOLED.isna().sum().sum()
    assert "CANNOT TELL  The risks may be wrong by up to " in ok(
        "check", files / "cohort.csv", "--target", "died"
    )


# --- refusing, and older models -----------------------------------------------------------------------------


def test_refuse_refuses_every_hole() -> None:
    strict = RCI(alpha=1.0, missing="refuse")
    with pytest.raises(InputError, match=r"missing values \(NaN\) in 'age' \("):
        strict.fit(HOLED, y)
    strict.fit(WHOLE, y)
    for name in ("explain", "predict_proba", "predict", "transform", "shapley_values", "scores", "diagnose"):
        with pytest.raises(InputError, match=r"missing values \(NaN\) in .*'ward' \(1\)"):
            getattr(strict, name)(with_holes(WHOLE, ward=7, bili=[8, 9]))
        with pytest.raises(InputError, match="'ward' is missing from the new data"):
            getattr(strict, name)(WHOLE.drop(columns="ward"))
    with (
        pytest.warns(UserWarning, match="'ward' holds 'mars'"),
        pytest.raises(InputError, match=r"'ward' \(1\)"),
    ):
        strict.explain(WHOLE.head(2).assign(ward=["mars", "ICU"]))
    assert not strict.__sklearn_tags__().input_tags.allow_nan


def test_a_file_is_refused_by_a_strict_model(tmp_path: Path) -> None:
    HOLED.assign(died=y).to_csv(tmp_path / "cohort.csv", index=False)
    WHOLE.assign(died=y).to_csv(tmp_path / "whole.csv", index=False)
    strictly = ["--target", "died", "--missing", "refuse", "--out", tmp_path / "model.rci"]
    assert "missing values" in error(3, "fit", tmp_path / "cohort.csv", *strictly)
    ok("fit", tmp_path / "whole.csv", *strictly)
    assert RCI.load(tmp_path / "model.rci").missing == "refuse"
    assert "missing values" in error(3, "explain", tmp_path / "model.rci", tmp_path / "cohort.csv")
    WHOLE.drop(columns="bili").to_csv(tmp_path / "less.csv", index=False)
    assert "lacks 1 column that the model needs: 'bili'" in error(
        3, "explain", tmp_path / "model.rci", tmp_path / "less.csv"
    )


# --- rows on a cluster --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:no patient has 'ward'")
def test_a_dask_dataframe_with_holes_is_scored(model: RCI, explained: Explanation) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    rows = dd.from_pandas(HOLED, npartitions=3)
    found = model.shapley_values(rows).compute(scheduler="synchronous")
    assert list(found) == NAMES and found.index.equals(HOLED.index)
    np.testing.assert_allclose(found, explained.values, atol=1e-12)
    lacking = rows.drop(columns=["ward"])
    lazy, said = said_by(lambda: model.shapley_values(lacking), "no patient has 'ward'")
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = lazy.compute(scheduler="synchronous")  # and of no partition again
    np.testing.assert_allclose(found, model.shapley_values(HOLED.assign(ward=None)), atol=1e-12)


@pytest.mark.parametrize("kind", ["holes", "whole"])
def test_a_fit_on_a_cluster_is_the_one_in_memory(client_of_processes: Any, kind: str) -> None:
    import dask.dataframe as dd
    from dask_cluster import same_model

    frame = HOLED if kind == "holes" else WHOLE
    expected = RCI(alpha=1.0, backend="numpy").fit(frame, y)
    rows = dd.from_pandas(frame.assign(died=y), npartitions=3)
    found = RCI(alpha=1.0, backend="dask").fit(rows, "died")
    assert found._encoding.variables == expected._encoding.variables == VARIABLES
    assert same_model(found, expected)
    np.testing.assert_allclose(found.shapley_values(HOLED), expected.shapley_values(HOLED), atol=1e-8)
    np.testing.assert_allclose(
        found.explain(HOLED).imputation_sd, expected.explain(HOLED).imputation_sd, atol=1e-8
    )
    assert found.provenance_.get("missing", {}).get("cells") == expected.provenance_.get("missing", {}).get(
        "cells"
    )
