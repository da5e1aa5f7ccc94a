"""New patients need the columns that a model uses; those that it left out may be absent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from command_line import error, ok, run
from page_facts import facts_of

from rootcausal import RCI, InputError
from rootcausal.data import simulate

LEFT_OUT = ["x2", "x3", "x6"]  # by the model and by each of its resamples
ONLY_IN_RESAMPLES = "x4"


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    cohort = simulate(300, 8, random_state=3)
    return pd.DataFrame(cohort.X, columns=list(cohort.feature_names)).assign(d=cohort.y)


@pytest.fixture(scope="module")
def plain(frame: pd.DataFrame) -> RCI:
    model = RCI(alpha=0.01, missing="refuse").fit(frame.drop(columns="d"), frame["d"])
    assert sorted(model.causal_order_) == [0, 1, 5]
    return model


@pytest.fixture(scope="module")
def sure(frame: pd.DataFrame) -> RCI:
    model = RCI(alpha=0.01, missing="refuse").fit(frame.drop(columns="d"), frame["d"]).bootstrap(8)
    used = {f"x{column}" for resample in model.bootstrap_.models for column in resample.order}
    assert used == {"x0", "x1", "x5", ONLY_IN_RESAMPLES}
    return model


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_scores_without_columns_that_the_model_left_out(frame: pd.DataFrame, plain: RCI, library) -> None:
    few = library(frame.drop(columns=[*LEFT_OUT, ONLY_IN_RESAMPLES, "d"]))
    whole = frame.drop(columns="d")
    for method in ("shapley_values", "scores", "transform", "predict", "predict_proba", "decision_function"):
        assert np.array_equal(getattr(plain, method)(few), getattr(plain, method)(whole)), method
    explanation = plain.explain(few)
    assert explanation.data.shape == explanation.values.shape == (300, 7)
    absent = np.isin(explanation.feature_names, [*LEFT_OUT, ONLY_IN_RESAMPLES])
    assert np.isnan(explanation.data[:, absent]).all()
    assert np.array_equal(explanation.data[:, ~absent], whole.to_numpy()[:, ~absent])
    assert plain.diagnose(few).checks == plain.diagnose(whole).checks


def test_a_column_that_is_present_is_shown(frame: pd.DataFrame, plain: RCI) -> None:
    tidy = plain.explain(frame.drop(columns=["x2", "d"])).to_frame()
    values = tidy.pivot_table(index="id", columns="variable", values="value", dropna=False)
    assert values["x2"].isna().all()
    assert np.array_equal(values["x3"], frame["x3"])


def test_what_the_model_left_out_may_have_holes(frame: pd.DataFrame, plain: RCI) -> None:
    holed = frame.assign(x3=frame["x3"].mask(frame.index == 5))
    for table in (holed, holed.drop(columns="x2")):
        explanation = plain.explain(table)
        assert np.array_equal(explanation.values, plain.explain(frame).values)
        assert np.isnan(explanation.data[5, 3]) and not np.isnan(explanation.data[:5, 3]).any()
    with pytest.raises(InputError, match=r"missing values \(NaN\) in 'x1' \(1\)"):
        plain.explain(holed.assign(x1=frame["x1"].mask(frame.index == 5)))
    with pytest.raises(InputError, match=r"infinite values \(inf\) in 'x3' \(1\)"):
        plain.explain(frame.assign(x3=frame["x3"].mask(frame.index == 5, np.inf)))


def test_a_file_may_have_holes_and_text_where_the_model_does_not_look(
    frame: pd.DataFrame, plain: RCI, tmp_path: Path
) -> None:
    plain.save(tmp_path / "m.rci")
    holed = frame.assign(x3=frame["x3"].mask(frame.index == 5), x2="n/a")
    holed.to_csv(tmp_path / "holed.csv", index=False)
    frame.to_csv(tmp_path / "whole.csv", index=False)
    risks = []
    for name in ("whole", "holed"):
        out = tmp_path / f"{name}-scores.csv"
        assert "left out" not in ok("explain", tmp_path / "m.rci", tmp_path / f"{name}.csv", "--out", out)
        risks.append(pd.read_csv(out)["risk"])
    assert len(risks[0]) == len(frame)
    assert risks[0].equals(risks[1])


def test_what_is_needed_is_asked_for(frame: pd.DataFrame, plain: RCI, sure: RCI) -> None:
    with pytest.raises(InputError, match="columns 'x1', 'x5' are missing from the new data; the model needs"):
        plain.predict_proba(frame.drop(columns=["x1", "x2", "x5"]))
    # Intervals need what a resample uses; the values themselves do not.
    without = frame.drop(columns=[ONLY_IN_RESAMPLES, "d"])
    with pytest.raises(InputError, match="column 'x4' is missing from the new data"):
        sure.explain(without)
    assert np.array_equal(sure.shapley_values(without), plain.shapley_values(without))
    with pytest.raises(InputError, match="'x2', 'x3' are missing"):
        plain.diagnose(frame.drop(columns=["x2", "x3"]), frame["d"])  # which looks at all columns anew


def test_intervals_and_questions_are_the_same(frame: pd.DataFrame, sure: RCI) -> None:
    whole, few = (sure.explain(frame.drop(columns=columns)) for columns in (["d"], ["d", *LEFT_OUT]))
    for name in ("values", "errors", "lower", "upper", "frequency", "rank_stability"):
        assert np.array_equal(getattr(whole, name), getattr(few, name)), name
    asked, answer = whole.what_if("x0"), few.what_if("x0")
    assert np.array_equal(asked.probability_interval, answer.probability_interval)
    known = ~np.isin(few.feature_names, LEFT_OUT)
    assert np.array_equal(asked.data[:, known], answer.data[:, known])
    assert np.array_equal(asked.data_interval[..., known], answer.data_interval[..., known])
    assert np.isnan(answer.data[:, ~known]).all()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_without_columns_that_the_model_left_out(
    frame: pd.DataFrame, sure: RCI, tmp_path: Path, ending: str
) -> None:
    sure.save(tmp_path / "m.rci")
    sources = {name: tmp_path / f"{name}.{ending}" for name in ("whole", "few", "lacking")}
    write = arrow_csv.write_csv if ending == "csv" else pq.write_table
    for name, columns in (("whole", []), ("few", LEFT_OUT), ("lacking", [*LEFT_OUT, ONLY_IN_RESAMPLES])):
        write(pa.Table.from_pandas(frame.drop(columns=columns), preserve_index=False), sources[name])
    scores = {}
    for name in ("whole", "few"):
        out = tmp_path / f"{name}-scores.parquet"
        ok("explain", tmp_path / "m.rci", sources[name], "--what-if", "x0=0", "--out", out)
        scores[name] = pq.read_table(out)
    absent = [f"what_if_{name}" for name in LEFT_OUT]
    assert scores["few"].column_names == scores["whole"].column_names
    assert scores["few"].drop(absent).equals(scores["whole"].drop(absent))
    assert all(scores["few"][name].null_count == 300 for name in absent)
    printed = ok("explain", tmp_path / "m.rci", sources["few"])
    assert printed == ok("explain", tmp_path / "m.rci", sources["whole"])
    refused = error(3, "explain", tmp_path / "m.rci", sources["lacking"])
    assert "lacks 1 column that the model needs: 'x4'." in refused


def test_a_page_without_columns_that_the_model_left_out(
    frame: pd.DataFrame, sure: RCI, tmp_path: Path
) -> None:
    sure.save(tmp_path / "m.rci")
    facts = []
    for columns in ([], LEFT_OUT):
        frame.drop(columns=columns).to_csv(tmp_path / "new.csv", index=False)
        ok("report", tmp_path / "new.csv", "--model", tmp_path / "m.rci", "--out", tmp_path / "page.html")
        facts.append(facts_of(tmp_path / "page.html"))
    assert facts[0] == facts[1]


def test_a_table_with_none_of_the_columns_is_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="the outcome depends on no variable"):
        model = RCI(alpha=1e-9).fit(frame[["x2", "x3"]], frame["d"])
    assert model.predict(frame[["x2", "x4"]]).shape == (300,)
    with pytest.raises(InputError, match="'x2', 'x3' are missing from the new data"):
        model.predict(frame[["x4"]])
    model.save(tmp_path / "m.rci")
    frame[["x4"]].to_csv(tmp_path / "new.csv", index=False)
    assert "lacks 2 columns" in error(3, "explain", tmp_path / "m.rci", tmp_path / "new.csv")


def test_a_column_that_tells_of_what_is_missing_is_not_absent_without_a_word(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    # What the screen dropped adds nothing to the risk, yet what was not measured is expected from it.
    twin = frame.assign(twin=frame["x5"] + 0.1 * np.random.default_rng(0).standard_normal(len(frame)))
    X = twin.drop(columns="d")
    model = RCI(alpha=0.01).fit(X, twin["d"])
    assert [list(X)[place] for place in model.causal_order_] == ["twin", "x0", "x1"]
    whole = X[["twin", "x0", "x1", "x2", "x3", "x4", "x6"]]
    holed = whole.assign(twin=whole["twin"].mask(whole.index < 3))
    model.predict_proba(whole)  # nothing is missing, nothing is said
    says = "nobody has 'x5', which would tell of values that were not measured"
    with pytest.warns(UserWarning, match=says):
        model.predict_proba(holed)
    with pytest.warns(UserWarning, match=says):
        model.explain(holed.assign(X5=X["x5"]))
    model.save(tmp_path / "model.rci")
    holed.to_csv(tmp_path / "new.csv")
    assert says in run("explain", tmp_path / "model.rci", tmp_path / "new.csv").stderr
