"""Kinds and missing values at every door: frames, arrays, files, clusters, new patients, model files."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from command_line import error, ok, run
from sklearn.pipeline import make_pipeline
from tampering import with_array, with_header
from zoo import of_all_kinds

from rootcausal import RCI, InputError
from rootcausal.cli.options import chosen_kinds
from rootcausal.explaining.provenance import _doubts_of_imputation, _what_was_filled_in
from rootcausal.files.model_file import COMPLETION
from rootcausal.inputs.binary import Diagnosis, DiagnosisColumn
from rootcausal.inputs.from_file import read_labelled_cohort, read_new_patients, stream_new_patients
from rootcausal.inputs.kinds import TOO_MANY_LEVELS, ColumnHints, Variable
from rootcausal.inputs.patients import Cohort
from rootcausal.inputs.roles import Roles
from rootcausal.inputs.validate import open_cohort
from rootcausal.method.missing.completion import Completion

X, y = of_all_kinds(np.random.default_rng(0), 300)
STAGES, WARDS = ("low", "mid", "high"), ("ICU", "north", "ER", "south")
PAIN = tuple(map(float, range(5)))


def opened(X: Any, kinds: dict | None = None, labels: Any = y, backend: str = "numpy") -> Cohort:
    hints = ColumnHints(kinds or {}, may_miss=True)
    with open_cohort(RCI(), X, Diagnosis(labels, None), backend, None, hints) as cohort:
        return cohort


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


# --- frames --------------------------------------------------------------------------------------------


def in_polars(frame: pd.DataFrame) -> pl.DataFrame:
    made = pl.from_pandas(frame.astype({"stage": str}))
    return made.with_columns(pl.col("stage").cast(pl.Enum(STAGES)), pl.col("ward").cast(pl.Categorical))


FRAMES = {
    "pandas": lambda frame: frame,
    "categories": lambda frame: frame.astype({"ward": "category", "sex": "category"}),
    "strings": lambda frame: frame.astype({"ward": "string", "pain": "string", "smoker": "boolean"}),
    "objects": lambda frame: frame.astype({"smoker": object}).assign(pain=frame["pain"].astype(int)),
    "blanks": lambda frame: frame.assign(ward="  " + frame["ward"] + " ", sex=frame["sex"] + "\t"),
    "polars": in_polars,
    "arrow": pa.Table.from_pandas,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_library(kind: str) -> None:
    cohort = opened(FRAMES[kind](X))
    assert {v.name: (v.kind, set(v.levels)) for v in cohort.variables if v.levels} == {
        "sex": ("binary", {"female", "male"}),
        "stage": ("ordinal", set(STAGES)),
        "ward": ("nominal", set(WARDS)),
        "smoker": ("binary", {False, True}),
        "pain": ("ordinal", set(PAIN)),
    }
    assert cohort.variables[1].levels == STAGES
    np.testing.assert_array_equal(cohort.rows[0], opened(X).rows[0])
    expected = X["ward"].value_counts(sort=False).sort_values(ascending=False, kind="stable")
    assert cohort.variables[2].levels[0] == expected.index[0]


def test_what_the_columns_hold() -> None:
    cohort = opened(X)
    table = pd.DataFrame(cohort.rows[0], columns=cohort.encoding.column_names)
    assert (table["sex"] == (X["sex"] == "male")).all()
    assert (table["stage"] == X["stage"].cat.codes).all()
    assert (table["pain"] == X["pain"].astype(float)).all()
    for level in cohort.variables[2].levels[1:]:
        assert (table[f"ward = {level}"] == (X["ward"] == level)).all()
    assert cohort.layout.grouped


def test_kinds_are_set_by_the_user() -> None:
    kinds = {
        "pain": "nominal",
        "stage": "nominal",
        "ward": ("south", "ER", "ICU", "north"),
        "smoker": "number",
    }
    kind = {v.name: (v.kind, v.levels) for v in opened(X, kinds).variables}
    assert kind["pain"][0] == kind["stage"][0] == "nominal"
    assert kind["ward"] == ("ordinal", ("south", "ER", "ICU", "north"))
    assert kind["smoker"] == ("number", ())


@pytest.mark.parametrize("key", ["x1", 1])
def test_arrays_are_called_by_place(key: str | int) -> None:
    rng = np.random.default_rng(1)
    array = np.column_stack([rng.standard_normal(300), rng.integers(1, 4, 300)])
    cohort = opened(array, {key: "nominal"})
    assert cohort.variables[1].kind == "nominal"
    assert cohort.encoding.column_names[1].startswith("x1 = ")


def test_an_array_of_texts() -> None:
    cohort = opened(X[["sex", "ward", "crp"]].to_numpy())
    assert [v.kind for v in cohort.variables] == ["binary", "nominal", "number"]


def test_categories_of_numbers_have_no_order_unless_they_say_so() -> None:
    codes = X["pain"].astype(int)
    frame = X[["crp"]].assign(site=codes.astype("category"), grade=pd.Categorical(codes, ordered=True))
    assert [v.kind for v in opened(frame).variables] == ["number", "nominal", "ordinal"]


def test_a_complete_float_array_is_not_copied() -> None:
    values = np.random.default_rng(0).standard_normal((100, 3))
    cohort = opened(values, labels=np.arange(100) % 2)
    assert cohort.rows[0] is values and cohort.borrowed
    values[:, 1] = np.arange(100) % 3
    assert opened(values, labels=np.arange(100) % 2).rows[0] is values
    assert opened(values, {1: "nominal"}, np.arange(100) % 2).rows[0].shape == (100, 4)


def test_anndata_names_its_kinds() -> None:
    anndata = pytest.importorskip("anndata")
    values = np.column_stack([np.random.default_rng(0).standard_normal(300), np.arange(300) % 3])
    data = anndata.AnnData(values, var=pd.DataFrame(index=["crp", "grade"]))
    assert [v.kind for v in opened(data).variables] == ["number", "ordinal"]


# --- missing values ------------------------------------------------------------------------------------


def test_holes_go_through() -> None:
    holed = X.copy()
    holed.loc[:9, "ward"], holed.loc[5:20, "crp"], holed.loc[:4, "sex"] = None, np.nan, " NA "
    cohort = opened(holed)
    values = cohort.rows[0]
    assert np.isnan(values).sum(axis=0).tolist() == [5, 0, 10, 10, 10, 0, 0, 0, 16]
    assert cohort.missing_by_class.sum(axis=0).tolist() == [5, 0, 10, 0, 0, 0, 16]
    assert "missing values (NaN) in 'sex' (5), 'ward' (10), 'crp' (16)" in refused(
        lambda: RCI(missing="refuse").fit(holed, y)
    )


def test_rows_and_columns_without_any_value_are_named() -> None:
    holed = X.astype(object).where(X.notna(), None).assign(empty=np.nan)
    holed.iloc[[3, 7]] = None
    said = refused(lambda: RCI().fit(holed, y))
    assert "column 'empty' is empty, in every row" in said
    assert "rows 4, 8 have no value in any column" in said


def test_constants_and_copies_are_found_among_holes() -> None:
    holed = X.assign(flat="same", male=X["sex"] == "male").astype({"flat": object})
    holed.loc[:3, ["flat", "crp"]] = None
    said = refused(lambda: RCI().fit(holed, y))
    assert "column 'flat' is constant" in said
    assert "columns 'sex' and 'male' are copies" in said


def test_a_column_that_one_level_says_is_no_copy_but_adds_nothing() -> None:
    both = X.assign(icu=(X["ward"] == WARDS[1]).astype(int))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = RCI(variant="plus").fit(both, y)
    assert any("nothing is left to explain after" in str(one.message) for one in heard)
    alone = RCI(variant="plus").fit(X, y)
    assert model.predict_proba(both) == pytest.approx(alone.predict_proba(X), abs=0.02)


def filled(missing: list[int], **changes: Any) -> Any:
    made = {
        "rows": 200,
        "draws": 5,
        "rounds": 9,
        "converged": True,
        "level": 1.0,
        "unknown": np.full(len(missing), 0.25),
        "columns": np.arange(len(missing)),
    }
    return SimpleNamespace(missing=np.array(missing), **{**made, **changes})


def test_what_was_filled_in_is_remembered_and_said() -> None:
    holed = X.copy()
    holed["crp"] = holed["crp"].where(y == 0)
    holed.loc[:199, "ward"] = None
    cohort = opened(holed)
    counts = np.isnan(cohort.rows[0]).sum(axis=0).tolist()
    assert _what_was_filled_in(filled(counts), cohort) == {
        "cells": {"ward": 200, "crp": int(y.sum())},
        "rows": 200,
        "draws": 5,
        "rounds": 9,
        "converged": True,
        "unknown": {"ward": 0.25, "crp": 0.25},
    }
    of_crp = filled(counts, columns=np.flatnonzero(cohort.layout.variable == list(X).index("crp")))
    assert list(_what_was_filled_in(of_crp, cohort)["cells"]) == ["crp"]
    order = np.arange(9)
    said = list(_doubts_of_imputation(filled(counts, converged=False), cohort, order, alpha=0.2))
    assert "did not converge within its 9 rounds" in said[0]
    assert said[1].startswith(
        "mostly imputed: 'ward' (67% missing), 'crp' (60% missing). What the model says"
    )
    assert "tells the outcome by itself: 'crp' (missing in 100% of cases and 0% of controls)" in said[2]
    assert len(said) == 3


# --- parameters ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ({"stage": "ordianl"}, "unknown kind 'ordianl' of column 'stage': choose one of number, binary"),
        ({"stage": "ordianl"}, "did you mean 'ordinal'?"),
        ({"stage": ["low"]}, "a list of at least two different levels in order, not ['low']"),
        ({"stage": ["low", "low"]}, "at least two different levels"),
        ({"stage": [1.0, float("nan")]}, "at least two different levels"),
        ({"stage": None}, "must be one of number, binary"),
        ({None: "binary"}, "kinds names columns by name or number, not by None"),
        ("ordinal", "kinds must be a dict of column names and kinds"),
        ({"Stage": "ordinal"}, "kinds names 'Stage', and there is no such column: did you mean 'stage'?"),
        ({"stage": ["low", "mid"]}, "column 'stage' holds 'high', not among its levels 'low', 'mid'"),
    ],
)
def test_kinds_that_are_none(kinds: Any, words: str) -> None:
    assert words in refused(lambda: RCI(kinds=kinds).fit(X, y))


def test_missing_is_one_of_two_words() -> None:
    assert "missing must be 'impute' or 'refuse', not 'drop'" in refused(
        lambda: RCI(missing="drop").fit(X, y)
    )


def test_all_that_is_wrong_with_kinds_is_said_at_once() -> None:
    bad = X.assign(
        note=[f"text {k}" for k in range(300)],
        seen=pd.Timestamp("2020-01-01"),
        born=[datetime.date(2000, 1, 1)] * 300,
        parts=[[1]] * 300,
        lab=[str(k) if k else "<0.3" for k in range(300)],
    )
    said = refused(lambda: RCI(kinds={"wrad": "nominal"}).fit(bad, y))
    assert said.startswith("5 things are wrong")
    for sentence in (
        "columns of dates or times, here with an example: 'seen' (2020-01-01 00:00:00), 'born' (2000-01-01)",
        "neither numbers nor text, here with an example: 'parts' ([1])",
        "kinds names 'wrad', and there is no such column: did you mean 'ward'?",
        "column 'note' has too many different values to be levels (at most 30, ",
        "if it is an id or free text, drop it, or give it as ids=",
        "numbers and other text are mixed: '<0.3' in 'lab'",
    ):
        assert sentence in said


# --- new patients --------------------------------------------------------------------------------------

ONE_COLUMN_EACH = X.drop(columns="ward")


@pytest.fixture(scope="module")
def model() -> RCI:
    return RCI(alpha=1.0).fit(ONE_COLUMN_EACH, y)


def test_new_patients_are_encoded_by_the_cohort(model: RCI) -> None:
    new = ONE_COLUMN_EACH.head(20)
    expected = model.shapley_values(ONE_COLUMN_EACH)[:20]
    for made in (new, new.assign(stage=new["stage"].astype(str)), pl.from_pandas(new.astype({"stage": str}))):
        np.testing.assert_array_equal(model.shapley_values(made), expected)
    males = new[new["sex"] == "male"]
    np.testing.assert_array_equal(model.predict_proba(males), model.predict_proba(new)[new["sex"] == "male"])


def test_levels_that_the_cohort_did_not_have(model: RCI) -> None:
    new = ONE_COLUMN_EACH.head(4).assign(sex=["male", "x", "y", "female"], pain=["1", "9", "2", "3"])
    words = "levels that the cohort did not have are taken for missing: 'sex' holds 'x', 'y'"
    nearest = "count as the nearest that it had: 'pain' holds 9 (counted as 4)"
    with pytest.warns(UserWarning, match="the cohort did not have") as heard:
        found = model.explain(new)
    assert str(heard[0].message) == words and nearest in str(heard[1].message)
    assert len(heard) == 2 and {one.filename for one in heard} == {__file__}
    names = np.array(found.feature_names)
    assert [names[row].tolist() for row in found.imputed] == [[], ["sex"], ["sex"], []]
    strict = RCI(alpha=1.0, missing="refuse").fit(ONE_COLUMN_EACH, y)
    with pytest.warns(UserWarning, match="did not have"), pytest.raises(InputError) as caught:
        strict.explain(new)
    assert "missing values (NaN) in 'sex' (2)" in str(caught.value)


def test_text_where_a_number_is_expected(model: RCI) -> None:
    new = ONE_COLUMN_EACH.head(3).assign(crp=["1.5", "high", "2"])
    assert "column 'crp' is not numeric (for instance 'high' in 'crp')" in refused(lambda: model.predict(new))
    whole = ONE_COLUMN_EACH.head(3).assign(crp=["1.5", " 2 ", "3"])
    assert len(model.predict(whole)) == 3


def test_a_pipeline_of_a_frame_with_categories() -> None:
    pipeline = make_pipeline(RCI(alpha=1.0))
    pipeline.fit(ONE_COLUMN_EACH, y)
    assert pipeline.predict(ONE_COLUMN_EACH).shape == (300,)
    assert pipeline.score(ONE_COLUMN_EACH, y) > 0.7


def test_nominal_variables_are_scored() -> None:
    model = RCI(alpha=1.0).fit(X, y)
    assert model.n_features_in_ == 7
    risk = model.predict_proba(X)[:, 1]
    assert np.isfinite(risk).all() and risk.mean() == pytest.approx(y.mean(), rel=1e-3)
    np.testing.assert_array_equal(model.predict_proba(X.astype({"ward": "category"}))[:, 1], risk)


# --- files ---------------------------------------------------------------------------------------------


@pytest.fixture
def cohort_file(tmp_path: Path) -> Path:
    X.assign(d=y, id=[f"p{k}" for k in range(300)]).to_csv(tmp_path / "c.csv", index=False)
    return tmp_path / "c.csv"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"c.{ending}"
    table = X.assign(d=y)
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    hints = ColumnHints({"stage": STAGES} if ending == "csv" else {}, may_miss=True)
    patients, _ = read_labelled_cohort(path, Roles(DiagnosisColumn("d"), hints=hints))
    assert patients.readings.encoding.variables == opened(X).variables
    np.testing.assert_array_equal(
        patients.readings.encoding.matrix(patients.readings.table), opened(X).rows[0]
    )
    assert RCI(kinds={"stage": list(STAGES)}).fit(patients, patients.target).provenance_["kinds"][
        "stage"
    ] == {
        "kind": "ordinal",
        "levels": list(STAGES),
    }


def test_fit_says_kinds_and_holes(cohort_file: Path, tmp_path: Path) -> None:
    fit = ["fit", cohort_file, "--target", "d", "--id", "id", "--drop", "ward", "--out", tmp_path / "m.rci"]
    printed = ok(*fit, "--kind", "stage=low<mid<high")
    assert "2 binary (sex: female, male; smoker: false, true)\n" in printed
    assert "2 ordinal (stage: low < mid < high; pain: 0 < 1 < 2 < 3 < 4)\n" in printed
    assert "missing" not in printed
    assert printed.splitlines()[-1].endswith("kinds=stage")
    loaded = RCI.load(tmp_path / "m.rci")
    assert loaded.kinds == {"stage": ["low", "mid", "high"]}
    printed = ok("explain", tmp_path / "m.rci", cohort_file)
    assert "root causes" in printed


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--kind", "stage"], 2, "write COLUMN=KIND"),
        (["--kind", "stage=ordinal", "--kind", "stage=nominal"], 2, "'stage' is given twice"),
        (["--kind", "stage=ordinl"], 3, "unknown kind 'ordinl' of column 'stage'"),
        (["--kind", "stgae=ordinal"], 3, "did you mean 'stage'?"),
        (["--kind", "ward=ordinal"], 3, "levels of column 'ward' do not say their order"),
        (["--kind", "stage=a<b"], 3, "column 'stage' holds"),
        (["--missing", "drop"], 2, "drop"),
    ],
)
def test_wrong_kinds_on_the_command_line(
    cohort_file: Path, tmp_path: Path, options: list[str], code: int, words: str
) -> None:
    fit = ["fit", cohort_file, "--target", "d", "--id", "id", "--out", tmp_path / "m.rci"]
    assert words in error(code, *fit, *options)


def test_an_id_left_in_a_file(cohort_file: Path, tmp_path: Path) -> None:
    said = error(3, "fit", cohort_file, "--target", "d", "--out", tmp_path / "m.rci")
    assert "'id' has too many different values to be levels" in said
    assert "if it is an id or free text, name it with --id" in said


@pytest.mark.parametrize(
    "sites", [[f"site {k}" for k in range(60)], list(range(60))], ids=["texts", "numbers"]
)
def test_many_sites_are_to_be_grouped_whatever_reads_them(
    sites: list[Any], cohort_file: Path, tmp_path: Path
) -> None:
    table = pd.read_csv(cohort_file)
    table["site"] = np.resize(np.array(sites), len(table))
    table.to_csv(cohort_file, index=False)
    fit = ["fit", cohort_file, "--target", "d", "--id", "id", "--out", tmp_path / "m.rci"]
    for options in (["--kind", "site=nominal"], ["--kind", "site=nominal", "--covariate", "site"]):
        said = error(3, *fit, *options)
        assert f"'site' has {TOO_MANY_LEVELS}: group them" in said
    if isinstance(sites[0], str):
        assert f"has {TOO_MANY_LEVELS}. Group them in the file" in " ".join(ok("look", cohort_file).split())


KNOWN = {
    "sex": Variable("sex", "binary", ("female", "male")),
    "pain": Variable("pain", "ordinal", (0.0, 1.0)),
}


def test_levels_of_new_patients_in_files(tmp_path: Path) -> None:
    pd.DataFrame({"sex": ["male", "x", "female"], "pain": [1, 0, 7], "age": [1.0, 2, 3]}).to_parquet(
        tmp_path / "new.parquet", row_group_size=1
    )
    asked = {"features": ["sex", "pain", "age"], "needed": ["age"], "reach": {}, "variables": KNOWN}
    with pytest.warns(UserWarning, match="the cohort did not have") as heard:
        pieces = list(stream_new_patients(tmp_path / "new.parquet", **asked))
    said = [str(one.message) for one in heard]
    assert len(said) == 2 and "'sex' holds 'x'" in said[0] and "'pain' holds 7 (counted as 1)" in said[1]
    table = pa.concat_tables([piece.X for piece in pieces], promote_options="permissive")
    assert table["sex"].to_pylist() == ["male", None, "female"]
    np.testing.assert_array_equal(table["pain"].to_numpy(), [1, 0, 1])
    with (
        pytest.warns(UserWarning, match="did not have"),
        pytest.raises(InputError, match=r"missing values.*'sex' \(1\)"),
    ):
        read_new_patients(tmp_path / "new.parquet", **{**asked, "needed": None})


# --- model files ---------------------------------------------------------------------------------------


@pytest.fixture
def saved(model: RCI, tmp_path: Path) -> Path:
    model.save(tmp_path / "m.rci")
    return tmp_path / "m.rci"


def test_a_model_file_keeps_the_variables(saved: Path, model: RCI) -> None:
    loaded = RCI.load(saved)
    assert loaded._encoding.variables == model._encoding.variables
    assert loaded.provenance_ == model.provenance_
    np.testing.assert_array_equal(
        loaded.shapley_values(ONE_COLUMN_EACH), model.shapley_values(ONE_COLUMN_EACH)
    )


def test_a_model_with_dummies_comes_back(tmp_path: Path) -> None:
    model = RCI(alpha=1.0, kinds={"pain": "nominal"}).fit(X, y)
    model.save(tmp_path / "m.rci")
    loaded = RCI.load(tmp_path / "m.rci")
    assert loaded.n_features_in_ == 7 and loaded._encoding.layout.n_columns == 12
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "levels",
    [
        [[0, "binary", ["a"]]],
        [[0, "binary", ["a", "b", "c"]]],
        [[0, "number", ["a", "b"]]],
        [[0, "bent", ["a", "b"]]],
        [[0, ["binary"], ["a", "b"]]],
        [[0, "binary", ["a", "a"]]],
        [[0, "binary", ["a", 1.0]]],
        [[0, "binary", [1, 2]]],
        [[0, "binary", [2.0, 1.0]]],
        [[0, "ordinal", [[1], [2]]]],
        [[0, "ordinal", {"a": 1, "b": 2}]],
        [[0, "nominal", ["a", "b", "c"]]],
        [[1, "binary", ["a", "b"]], [0, "binary", ["a", "b"]]],
        [[0, "binary", ["a", "b"]], [0, "binary", ["a", "b"]]],
        [[99, "binary", ["a", "b"]]],
        [[True, "binary", ["a", "b"]]],
        [[0, "ordinal", [float("inf"), 1.0]]],
        [[0, "ordinal", [str(k) for k in range(2000)]]],
        [[0, "binary"]],
        {"0": ["binary", ["a", "b"]]},
        5,
    ],
    ids=lambda levels: str(levels)[:60],
)
def test_levels_that_no_model_has_are_refused(levels: Any, saved: Path) -> None:
    def change(header: dict[str, Any]) -> dict[str, Any]:
        made = {name: value for name, value in header["provenance"].items() if name != "kinds"}
        return header | {"with_levels": levels, "provenance": made}

    with pytest.raises(InputError, match="is not a rootcausal model, or it is damaged") as caught:
        RCI.load(with_header(saved, change))
    assert "remembers" not in str(caught.value)


def test_kinds_that_are_not_those_of_the_model_are_refused(saved: Path) -> None:
    def change(header: dict[str, Any]) -> None:
        header["provenance"]["kinds"]["sex"]["levels"] = ["<script>", "male"]

    with pytest.raises(InputError, match="its variables are not those that it remembers"):
        RCI.load(with_header(saved, change))


@pytest.mark.parametrize("number", [0, -1, 5, 7, 10**10, "6", None, True])
def test_numbers_of_variables_that_no_model_has_are_refused(number: Any, saved: Path) -> None:
    with pytest.raises(InputError, match="is not a rootcausal model, or it is damaged"):
        RCI.load(with_header(saved, lambda header: header | {"n_variables": number}))


@pytest.fixture
def completed(model: RCI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from rootcausal.estimators import saving

    kept = Completion(np.arange(6.0), np.array([1, 4]), np.array([[2.0, 0.5], [0.5, 1.0]]))
    made = saving.SavedModel
    monkeypatch.setattr(saving, "SavedModel", lambda **parts: made(**{**parts, "completion": kept}))
    model.save(tmp_path / "completed.rci")
    monkeypatch.undo()
    return tmp_path / "completed.rci"


def test_a_completion_comes_back(completed: Path) -> None:
    from rootcausal.files import model_file

    read = model_file.read(completed, lambda saved: saved.completion, lambda *_: None)
    assert read.mean.tolist() == list(range(6)) and read.columns.tolist() == [1, 4]
    assert read.covariance.tolist() == [[2.0, 0.5], [0.5, 1.0]]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (COMPLETION[0], lambda mean: mean[:-1]),
        (COMPLETION[0], lambda mean: mean * np.nan),
        (COMPLETION[1], lambda columns: columns[::-1]),
        (COMPLETION[1], lambda columns: columns + 5),
        (COMPLETION[1], lambda columns: columns.astype(float)),
        (COMPLETION[2], lambda covariance: covariance[:1]),
        (COMPLETION[2], lambda covariance: covariance * np.inf),
        (COMPLETION[2], lambda covariance: covariance + np.array([[0, 1], [0, 0]])),
        (COMPLETION[2], lambda covariance: -covariance),
        (COMPLETION[2], np.ones_like),
        (COMPLETION[2], lambda covariance: covariance + np.array([[0, 9], [9, 0]])),
    ],
)
def test_completions_that_no_model_has_are_refused(name: str, change: Callable, completed: Path) -> None:
    with np.errstate(invalid="ignore"), pytest.raises(InputError, match="or it is damaged"):
        RCI.load(with_array(completed, name, change))


# --- hostile input -------------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    "=cmd()",
    "\x1b[2J",
    "[bold]x[/bold]",
    "\u202eevil",
    "x" * 10_000,
    "two\nlines",
]


def test_hostile_names_and_levels_stay_harmless(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice(HOSTILE, 400) for name in HOSTILE[:2]})
    table[HOSTILE[5]] = rng.choice(HOSTILE[2:4], 400)
    table["crp"] = rng.gamma(2, size=400)
    d = (table["crp"] + rng.logistic(size=400) > 2).astype(int)
    cohort = opened(table, labels=d)
    assert set(cohort.variables[0].levels) == set(HOSTILE)
    table.assign(d=d).to_csv(tmp_path / "c.csv", index=False)
    result = run(
        "fit",
        tmp_path / "c.csv",
        "--target",
        "d",
        "--drop",
        HOSTILE[0],
        "--drop",
        HOSTILE[1],
        "--out",
        tmp_path / "m.rci",
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.replace("\n", "").isprintable()
    assert max(map(len, result.stdout.splitlines())) < 1000
    model = RCI.load(tmp_path / "m.rci")
    new = table.head(3).assign(**{HOSTILE[5]: ["\x1b[2J never\x07", HOSTILE[2], HOSTILE[3]]})
    with pytest.warns(UserWarning, match="taken for missing") as heard:
        model._patients(new, np.empty(0, dtype=np.intp))
    assert len(str(heard[0].message)) < 500 and "\x1b" not in str(heard[0].message)


def test_five_thousand_levels_are_taken_for_an_id() -> None:
    rows = 20_000
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"who": [f"w{k % 5000}" for k in range(rows)], "crp": rng.standard_normal(rows)})
    for frame in (
        table,
        table.astype({"who": "category"}),
        table.assign(who=np.arange(rows) % 5000).astype({"who": "category"}),
    ):
        said = refused(lambda frame=frame: RCI().fit(frame, np.arange(rows) % 2))
        assert "column 'who' has too many different values to be levels" in said
    said = refused(lambda: RCI(kinds={"who": "nominal"}).fit(table, np.arange(rows) % 2))
    assert "too many different values to be levels" in said


# --- rows on a cluster ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pandas", "categories", "strings", "blanks"])
def test_dask_frames(kind: str, client_of_threads: Any) -> None:
    import dask.dataframe as dd

    table = FRAMES[kind](X).assign(ill=y)
    here = RCI(alpha=1.0).fit(FRAMES[kind](X), y)
    there = RCI(alpha=1.0).fit(dd.from_pandas(table, npartitions=3), "ill")
    assert there._encoding.variables == here._encoding.variables
    assert there.causal_order_.tolist() == here.causal_order_.tolist()
    assert there.coef_ == pytest.approx(here.coef_, rel=1e-6, abs=1e-9)


def test_dask_frames_with_kinds_and_what_is_wrong_with_them(client_of_threads: Any) -> None:
    import dask.dataframe as dd

    table = X.assign(ill=y, id=[f"p{k}" for k in range(300)], seen=pd.Timestamp("2020-01-01"))
    rows = dd.from_pandas(table, npartitions=3)
    said = refused(lambda: RCI(kinds={"wrad": "nominal"}).fit(rows, "ill"))
    for sentence in ("did you mean 'ward'?", "column 'id' has too many", "columns of dates or times"):
        assert sentence in said
    model = RCI(kinds={"pain": "nominal"}).fit(rows.drop(columns=["id", "seen"]), "ill")
    assert model._encoding.variables == RCI(kinds={"pain": "nominal"}).fit(X, y)._encoding.variables
    holed = X.assign(crp=np.nan, ill=y)
    assert "column 'crp' is empty" in refused(lambda: RCI().fit(dd.from_pandas(holed, npartitions=2), "ill"))


def test_texts_that_are_said_to_be_numbers_are_shown_by_one_that_is_none(client_of_threads: Any) -> None:
    """In the same words wherever the rows are, and by a cell that is to blame."""
    import dask.dataframe as dd

    cells = [*("1", "2", "3") * 100]
    cells[7] = "<0.3"
    table = X.assign(lab=cells)
    in_memory = refused(lambda: RCI(kinds={"lab": "number"}).fit(table, y))
    assert in_memory.startswith("numbers and other text are mixed: '<0.3' in 'lab'. Where that is a limit of")
    rows = dd.from_pandas(table.assign(ill=y), npartitions=3)
    assert refused(lambda: RCI(kinds={"lab": "number"}).fit(rows, "ill")) == in_memory


@pytest.mark.filterwarnings("ignore:the errors separate the classes")
def test_a_level_of_one_partition_only(client_of_threads: Any) -> None:
    import dask.dataframe as dd

    table = X[["crp", "haemoglobin"]].assign(ill=y, score=["0", "1", "1"] * 100, rare=np.arange(300) % 2)
    table.loc[299, ["score", "rare"]] = ["unknown", 5]
    model = RCI(alpha=1.0).fit(dd.from_pandas(table, npartitions=3, sort=False), "ill")
    assert model.provenance_["kinds"] == {
        "score": {"kind": "nominal", "levels": ["1", "0", "unknown"]},
        "rare": {"kind": "ordinal", "levels": [0.0, 1.0, 5.0]},
    }


def test_levels_that_hold_the_sign_themselves_are_listed_with_spaces():
    assert chosen_kinds(["size=<=20 < 20-50 < >50"]) == {"size": ["<=20", "20-50", ">50"]}
    assert chosen_kinds(["pain=low<mid< high"]) == {"pain": ["low", "mid", "high"]}
