"""Columns on a log scale: the method sees the logarithm, and people the value in its own unit."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_line import error, ok, run
from hypothesis import given
from hypothesis import strategies as st
from intervals_by_hand import assert_answers_of_resamples
from page_facts import facts_of
from sklearn.base import clone
from tampering import with_header

from rootcausal import RCI, InputError
from rootcausal.cli.models import columns_of
from rootcausal.inputs.encoding import from_logarithms, logarithms
from rootcausal.inputs.from_file import stream_new_patients

LOGS = ["bili", "copper"]


def drawn(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """age drives bili by factors, bili drives copper; both make ill. ward is nominal, albumin a number."""
    rng = np.random.default_rng(seed)
    age, bili, copper, albumin = rng.laplace(size=(4, n))
    bili += 0.8 * age
    copper += 0.6 * bili
    ward = rng.choice(["a", "b", "c"], n)
    liability = bili + copper + 0.5 * (ward == "b") + rng.logistic(size=n)
    X = pd.DataFrame(
        {
            "age": 50 + 10 * age,
            # As a laboratory writes them: a few digits.
            "bili": np.maximum(np.round(np.exp(bili), 2), 0.01),
            "copper": np.maximum(np.round(70 * np.exp(0.5 * copper), 1), 0.1),
            "albumin": albumin,
            "ward": ward,
        }
    )
    return X, (liability > 0.5).astype(int)


X, Y = drawn()
BY_HAND = X.assign(bili=np.log(X["bili"]), copper=np.log(X["copper"]))
COLUMNS = LOGS
PLACES = [list(X).index(name) for name in COLUMNS]


@pytest.fixture(scope="module")
def model() -> RCI:
    return RCI(log=LOGS).fit(X, Y).bootstrap(5)


@pytest.fixture(scope="module")
def by_hand() -> RCI:
    return RCI().fit(BY_HAND, Y).bootstrap(5)


def same(model: RCI, by_hand: RCI, rows: Any = X, rows_by_hand: Any = BY_HAND) -> None:
    assert model.causal_order_.tolist() == by_hand.causal_order_.tolist()
    assert model.coef_ == pytest.approx(by_hand.coef_, rel=1e-9)
    assert model.decision_function(rows) == pytest.approx(by_hand.decision_function(rows_by_hand), rel=1e-9)
    assert model.shapley_values(rows) == pytest.approx(by_hand.shapley_values(rows_by_hand), rel=1e-9)


# --- the method -------------------------------------------------------------------------------------------


def test_the_model_is_that_of_logarithms_taken_by_hand(model: RCI, by_hand: RCI) -> None:
    same(model, by_hand)
    assert {"bili", "copper"} <= {X.columns[c] for c in model.causal_order_}
    assert model.transform(X) == pytest.approx(by_hand.transform(BY_HAND), rel=1e-9)
    one, other = model.explain(X), by_hand.explain(BY_HAND)
    for name in ("values", "errors", "lower", "upper", "frequency", "rank_stability"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9), name
    assert one.log_odds == pytest.approx(other.log_odds)


def test_it_is_not_the_model_of_raw_values(model: RCI) -> None:
    assert model.coef_ != pytest.approx(RCI(mechanism="linear").fit(X, Y).coef_, rel=1e-3)


@pytest.mark.parametrize("variant", ["original", "plus"])
@pytest.mark.parametrize("prevalence", [None, 0.02])
def test_other_options_go_with_it(variant: str, prevalence: float | None) -> None:
    options: dict[str, Any] = {
        "variant": variant,
        "attribution": "paper",
        "prevalence": prevalence,
        "knowledge": {"first": ["age"], "covariates": ["copper"]},
    }
    same(RCI(log=LOGS, **options).fit(X, Y), RCI(**options).fit(BY_HAND, Y))


def test_missing_values_are_imputed_on_the_log_scale() -> None:
    holes = np.random.default_rng(1).random(X.shape) < 0.1
    holed, holed_by_hand = X.mask(holes), BY_HAND.mask(holes)
    one, other = RCI(log=LOGS).fit(holed, Y), RCI().fit(holed_by_hand, Y)
    same(one, other, holed, holed_by_hand)
    ours, theirs = one.explain(holed), other.explain(holed_by_hand)
    filled = ours.imputed[:, PLACES]
    assert filled.any() and np.array_equal(filled, theirs.imputed[:, PLACES])
    expected = np.exp(theirs.data[:, PLACES])
    assert ours.data[:, PLACES] == pytest.approx(expected, rel=1e-9, nan_ok=True)
    assert (ours.data[:, PLACES][filled] > 0).all()
    assert ours.imputation_sd == pytest.approx(theirs.imputation_sd)


def test_the_callers_array_stays_as_it_is() -> None:
    names = ["age", *COLUMNS, "albumin"]
    rows, rows_by_hand = (np.array(table[names], order="F") for table in (X, BY_HAND))
    before = rows.copy()
    model = RCI(log=[1, "x2"]).fit(rows, Y)
    same(model, RCI().fit(rows_by_hand, Y), rows, rows_by_hand)
    assert np.array_equal(rows, before)
    model.explain(rows).what_if("x1", 1.0)
    assert np.array_equal(rows, before)
    assert model.provenance_["parameters"]["log"] == ["x1", "x2"]
    rows[:] = 0  # the logarithms are a copy: the bootstrap does not mind
    assert model.bootstrap(2).bootstrap_ is not None


@pytest.mark.parametrize("library", ["polars", "pyarrow", "anndata"])
def test_tables_of_other_libraries(library: str, model: RCI) -> None:
    expected = RCI(log=LOGS).fit(X.drop(columns="ward"), Y)
    if library == "polars":
        table = pytest.importorskip("polars").from_pandas(X)
    elif library == "pyarrow":
        table = pa.Table.from_pandas(X)
    else:
        names = pd.DataFrame(index=["age", *COLUMNS, "albumin"])
        table = pytest.importorskip("anndata").AnnData(X[names.index].to_numpy(), var=names)
        assert np.array_equal(RCI(log=LOGS).fit(table, Y).coef_, expected.coef_)
        assert expected.explain(table).data[:, 1:3] == pytest.approx(X[COLUMNS].to_numpy(), rel=1e-12)
        return
    assert np.array_equal(RCI(log=LOGS).fit(table, Y).coef_, model.coef_)
    assert np.array_equal(model.explain(table).data[:, PLACES], model.explain(X).data[:, PLACES])


# --- what people see --------------------------------------------------------------------------------------


def test_values_are_shown_as_they_were_measured(model: RCI) -> None:
    explanation = model.explain(X)
    assert np.array_equal(explanation.data[:, PLACES], X[COLUMNS].to_numpy())
    assert [explanation.text(row, PLACES[0]) for row in range(5)] == [f"{v:.4g}" for v in X["bili"][:5]]
    tidy = explanation.to_frame()
    shown = tidy.loc[tidy["variable"] == "copper", "value"].to_numpy()
    assert np.array_equal(shown, X["copper"].to_numpy())
    for row, causes in enumerate(explanation.root_causes()):
        for cause in causes:
            if cause.variable in COLUMNS:
                assert cause.value == X[cause.variable][row]
    assert np.array_equal(explanation._display()[:, PLACES].astype(float), X[COLUMNS].to_numpy())


def test_what_if_answers_in_the_unit(model: RCI, by_hand: RCI) -> None:
    ours = model.explain(X).what_if("bili", 1.5)
    theirs = by_hand.explain(BY_HAND).what_if("bili", 1.5)
    assert ours.log_odds == pytest.approx(theirs.log_odds)
    for found, expected in ((ours.data, theirs.data), (ours.data_interval, theirs.data_interval)):
        assert found[..., PLACES] == pytest.approx(np.exp(expected[..., PLACES]), rel=1e-9)
        assert found[..., 0] == pytest.approx(expected[..., 0])
    place = model.feature_names_in_.tolist().index("bili")
    assert_answers_of_resamples(model.explain(X), ours, place, 1.5)


def test_a_what_if_that_changes_nothing_gives_the_values_back(model: RCI) -> None:
    explanation = model.explain(X.head(20))
    for row in range(20):
        answer = explanation.what_if("bili", float(explanation.errors[row, PLACES[0]]))
        assert answer.data[row, PLACES] == pytest.approx(X.loc[row, COLUMNS].to_numpy(float), rel=1e-9)
        assert answer.log_odds[row] == pytest.approx(explanation.log_odds[row])


def test_a_shock_beyond_all_numbers_is_infinite_and_no_error(model: RCI) -> None:
    answer = model.explain(X.head(3)).what_if("bili", 1e6)
    assert np.isinf(answer.data[:, PLACES[0]]).all()


def test_the_page_is_in_the_unit(model: RCI, tmp_path: Path) -> None:
    model.report(X, tmp_path / "page.html", units={"bili": "mg/dl"})
    facts = facts_of(tmp_path / "page.html")
    assert facts["made"]["log_scale"] == COLUMNS
    assert facts["made"]["parameters"]["log"] == "bili, copper"
    names = [variable["name"] for variable in facts["variables"]]
    assert {one["name"] for one in facts["variables"] if one["log"]} == {*COLUMNS} & {*names}
    packed = re.search(r'id="block-data">([^<]*)<', (tmp_path / "page.html").read_text(encoding="utf-8"))
    assert packed is not None
    data = np.frombuffer(base64.b64decode(packed.group(1)), "<f8").reshape(len(X), len(names))
    for name in COLUMNS:
        place = names.index(name)
        assert np.array_equal(data[:, place], X[name])
        quantiles = np.array(facts["quantiles"]["values"][place])
        assert quantiles[[0, -1]].tolist() == [X[name].min(), X[name].max()]
        # A median of the values lies between the same two patients as that of the logarithms.
        assert quantiles[50] == pytest.approx(np.exp(np.log(X[name]).median()))
        # What many patients have alike is alike on the page, to the last bit.
        most = X[name].mode()[0]
        assert (X[name] == most).sum() < 4 or (quantiles == most).any()


def test_figures_say_the_value_in_its_unit(model: RCI) -> None:
    from rootcausal import plots

    pytest.importorskip("matplotlib").use("Agg")
    explanation = model.explain(X.head(30))
    row = int(np.argmax(explanation.values[:, PLACES[0]]))
    labels = [text.get_text() for text in plots.waterfall(explanation, row).get_yticklabels()]
    assert f"bili = {X['bili'][row]:.4g}" in labels


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_there_and_back(value: float) -> None:
    back = from_logarithms(logarithms(np.array([value])))[0]
    assert back == pytest.approx(value, rel=1e-12)


@given(st.integers(1, 99_999), st.integers(-8, 8))
def test_a_measurement_of_a_few_digits_comes_back_to_the_last_bit(digits: int, exponent: int) -> None:
    value = float(f"{digits}e{exponent}")
    many = np.full(9, value)
    # Whether alone, among many or with a stride: ties on a page depend on it.
    assert from_logarithms(logarithms(many)).tolist() == many.tolist()
    assert from_logarithms(logarithms(many[::2])).tolist() == many[::2].tolist()


def test_what_has_no_logarithm_is_none() -> None:
    assert np.isnan(logarithms(np.array([0.0, -0.0, -3.0, np.nan, -np.inf]))).all()


# --- parameters and files ---------------------------------------------------------------------------------


def test_the_parameter_keeps_to_scikit_learn(model: RCI) -> None:
    assert clone(model).get_params()["log"] == LOGS
    fresh = RCI().set_params(log=LOGS)
    assert fresh.get_params()["log"] == LOGS
    assert "log=['bili'" in repr(fresh)
    assert RCI().get_params()["log"] is None
    assert "log=" not in repr(RCI())
    assert callable(fresh.transform) and callable(RCI.transform)
    assert fresh.fit(X, Y).set_output(transform="pandas").transform(X).shape == model.transform(X).shape


def test_it_is_remembered(model: RCI, tmp_path: Path) -> None:
    assert model.provenance_["parameters"]["log"] == LOGS
    model.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    assert loaded.get_params()["log"] == LOGS
    ours, theirs = model.explain(X), loaded.explain(X)
    for name in ("values", "data", "errors", "lower"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    loaded.report(X.head(5), tmp_path / "page.html")
    assert facts_of(tmp_path / "page.html")["made"]["log_scale"] == COLUMNS


@pytest.mark.parametrize(
    "log",
    [
        ["bili", "nothing"],
        ["ward"],
        ["bili"],
        [*COLUMNS, "albumin"],
        None,
        "bili",
        {"bili": "log", "copper": "log"},
    ],
)
def test_a_file_that_says_another_scale_is_refused(log: Any, model: RCI, tmp_path: Path) -> None:
    model.save(tmp_path / "model.rci")
    changed = with_header(
        tmp_path / "model.rci", lambda header: header["provenance"]["parameters"].update(log=log)
    )
    with pytest.raises(InputError, match="damaged"):
        RCI.load(changed)


# --- refused ----------------------------------------------------------------------------------------------


def refused(log: Any, table: Any = X) -> str:
    with pytest.raises(InputError) as caught:
        RCI(log=log).fit(table, Y)
    return str(caught.value)


def test_values_of_zero_or_less_are_refused_by_column_and_count() -> None:
    table = X.assign(bili=X["bili"].mask(X.index < 3, 0.0), copper=X["copper"].mask(X.index == 7, -1.0))
    said = refused(LOGS, table)
    assert "'bili' (3 rows)" in said and "'copper' (1 row)" in said
    assert "off log;" in said and "limits={'bili': '<LIMIT'}" in said and "NaN" in said
    RCI(log=["bili"]).fit(table.assign(bili=table["bili"].replace(0.0, np.nan)), Y)


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (["Bili"], "did you mean 'bili'"),
        ([9], "no such column"),
        ([True], "by name or number"),
        ([["bili"]], "by name or number"),
        (["ward"], "only numbers have a logarithm"),
        ("bili", "must be a list of column names, as in ['bili'], not str"),
        ({"bili": "log"}, "must be a list of column names, as in ['bili'], not dict"),
        (5, "must be a list of column names"),
    ],
)
def test_what_is_no_list_of_columns_is_refused(log: Any, says: str) -> None:
    assert says in refused(log)


def test_all_that_is_wrong_is_said_at_once() -> None:
    said = refused(["nothing", "ward", "albumin"])
    assert "'nothing'" in said and "'ward'" in said and "'albumin' (" in said


def test_copies_on_the_log_scale_are_called_so() -> None:
    said = refused(["bili", "squared"], X.assign(squared=X["bili"] ** 2))
    assert "'log of bili' and 'log of squared' are copies" in said


def test_a_count_with_few_values_can_be_said_to_be_a_number() -> None:
    table = X.assign(visits=np.arange(len(X)) % 4 + 1)
    assert "kinds={'visits': 'number'}" in refused(["visits"], table)
    model = RCI(log=["visits"], kinds={"visits": "number"}).fit(table, Y)
    assert model.provenance_["parameters"]["log"] == ["visits"]


def test_new_patients_need_values_above_zero_where_the_model_needs_any(model: RCI) -> None:
    table = X.head(6).assign(bili=[1.0, 2.0, 0.0, 3.0, -1.0, 1.0])
    for ask in (model.explain, model.decision_function, model.transform, model.shapley_values):
        with pytest.raises(InputError, match=r"0 in 'bili', row 3 and 1 more row"):
            ask(table)


def test_a_column_that_the_model_left_out_may_hold_anything() -> None:
    rng = np.random.default_rng(0)
    table = X.assign(noise=np.exp(rng.standard_normal(len(X))))
    model = RCI(log=[*LOGS, "noise"], alpha=0.001).fit(table, Y)
    assert 5 not in model.causal_order_
    wild = table.head(4).assign(noise=[0.0, -1.0, 1.0, 5.0])
    assert np.array_equal(model.shapley_values(wild), model.shapley_values(table.head(4)))
    assert np.isnan(model.explain(wild).data[:2, 5]).all()


# --- a cluster --------------------------------------------------------------------------------------------


def test_a_cluster_finds_the_same(client_of_threads: Any) -> None:
    import dask.dataframe as dd

    table = X.mask(np.random.default_rng(2).random(X.shape) < 0.1)
    rows = dd.from_pandas(table.assign(ill=Y), npartitions=3)
    there, here = RCI(log=LOGS, backend="dask").fit(rows, "ill"), RCI(log=LOGS).fit(table, Y)
    assert there.causal_order_.tolist() == here.causal_order_.tolist()
    assert there.coef_ == pytest.approx(here.coef_, rel=1e-6, abs=1e-9)
    assert there.provenance_["parameters"]["log"] == LOGS
    values = there.shapley_values(rows.drop(columns="ill")).compute().to_numpy()
    assert values == pytest.approx(there.shapley_values(table))
    assert there.explain(X).data[:, PLACES] == pytest.approx(X[COLUMNS].to_numpy(), rel=1e-12)


def test_a_cluster_refuses_the_same(client_of_threads: Any) -> None:
    import dask.dataframe as dd

    table = X.assign(bili=X["bili"].mask(X.index % 100 == 0, 0.0), ill=Y)
    rows = dd.from_pandas(table, npartitions=3)
    for log, says in ((LOGS, r"'bili' \(3 rows\)"), (["ward"], "only numbers")):
        with pytest.raises(InputError, match=says):
            RCI(log=log, backend="dask").fit(rows, "ill")


# --- the command line -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cohort") / "cohort.csv"
    X.assign(ill=Y).to_csv(path, index=False)
    return path


def test_fit_and_explain(cohort: Path, model: RCI, tmp_path: Path) -> None:
    said = ok("fit", cohort, "--target", "ill", "--log", "bili,copper", "--out", tmp_path / "m.rci")
    assert "on a log scale: bili, copper (values are shown in their own unit" in said
    assert "log=bili, copper" in said
    loaded = RCI.load(tmp_path / "m.rci")
    assert np.array_equal(loaded.coef_, model.coef_)
    assert loaded.provenance_["parameters"]["log"] == LOGS
    scores = tmp_path / "scores.csv"
    ok("explain", tmp_path / "m.rci", cohort, "--what-if", "bili=1", "--out", scores)
    written = pd.read_csv(scores)
    answer = loaded.explain(X).what_if("bili", 1.0)
    for place, name in zip(PLACES, COLUMNS, strict=True):
        assert written[f"what_if_{name}"].to_numpy() == pytest.approx(answer.data[:, place])
    printed = ok("explain", tmp_path / "m.rci", cohort, "--what-if", "bili=0")
    assert "standard deviations of its logarithm" in printed
    assert f"bili {X['bili'][0]:.4g} to " in " ".join(printed.split())


def test_many_options_and_a_cluster_say_the_same(
    cohort: Path, client_of_threads: Any, tmp_path: Path
) -> None:
    ok("fit", cohort, "--target", "ill", "--log", "bili", "--log", "copper", "--out", tmp_path / "a.rci")
    assert RCI.load(tmp_path / "a.rci").get_params()["log"] == LOGS
    X.assign(ill=Y).to_parquet(tmp_path / "cohort.parquet")
    options = ["--target", "ill", "--log", "bili,copper", "--scheduler", client_of_threads.scheduler.address]
    said = ok("fit", tmp_path / "cohort.parquet", *options, "--out", tmp_path / "b.rci")
    assert "on a log scale" in said
    one, other = RCI.load(tmp_path / "a.rci"), RCI.load(tmp_path / "b.rci")
    assert one.coef_ == pytest.approx(other.coef_, rel=1e-6, abs=1e-9)


def test_check_and_report(cohort: Path, tmp_path: Path) -> None:
    said = ok("check", cohort, "--target", "ill", "--log", "bili")
    assert "log=bili" in said
    ok("report", cohort, "--target", "ill", "--log", "bili", "--out", tmp_path / "page.html")
    assert facts_of(tmp_path / "page.html")["made"]["log_scale"] == ["bili"]
    ok("fit", cohort, "--target", "ill", "--out", tmp_path / "m.rci")
    beside = ["--model", tmp_path / "m.rci", "--log", "bili", "--out", tmp_path / "p.html"]
    assert "--log is for fitting" in error(2, "report", cohort, *beside)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--log", "bilii"], "has no column 'bilii' (--log); did you mean 'bili'"),
        (["--log", "ill"], "'ill' is both --target and --log"),
        (["--log", "bili", "--drop", "bili"], "--log names 'bili'"),
        (["--log", "bili", "--keep", "copper,age"], "--log names 'bili'"),
        (["--log", "ward"], "only numbers have a logarithm"),
        (["--log", "albumin"], "leave it off --log"),
        (["--log", "albumin"], "--na albumin=0"),
    ],
)
def test_options_that_cannot_be_followed(options: list[str], says: str, cohort: Path, tmp_path: Path) -> None:
    assert says in error(3, "fit", cohort, "--target", "ill", *options, "--out", tmp_path / "m.rci")


def test_a_zero_that_means_not_measured(tmp_path: Path) -> None:
    table = X.assign(bili=X["bili"].mask(X.index < 4, 0.0), ill=Y)
    table.to_csv(tmp_path / "c.csv", index=False)
    told = ["--target", "ill", "--log", "bili", "--out", tmp_path / "m.rci"]
    assert "'bili' (4 rows)" in error(3, "fit", tmp_path / "c.csv", *told)
    ok("fit", tmp_path / "c.csv", *told, "--na", "bili=0")
    expected = RCI(log=["bili"]).fit(X.assign(bili=X["bili"].mask(X.index < 4)), Y)
    assert RCI.load(tmp_path / "m.rci").coef_ == pytest.approx(expected.coef_)


def test_new_patients_of_a_file_name_the_row(model: RCI, tmp_path: Path) -> None:
    model.save(tmp_path / "m.rci")
    new = X.head(8).assign(copper=[1.0, 2.0, 3.0, 4.0, 0.0, -2.0, 1.0, 1.0])
    new.to_csv(tmp_path / "new.csv", index=False)
    new.to_parquet(tmp_path / "new.parquet", row_group_size=3)
    for ending in ("csv", "parquet"):
        for more in ([], ["--out", tmp_path / "scores.csv"]):
            said = error(3, "explain", tmp_path / "m.rci", tmp_path / f"new.{ending}", *more)
            assert "0 in 'copper', row 5 and 1 more row" in said
            assert "--na copper=0" in said
    assert not (tmp_path / "scores.csv").exists()
    said = run("explain", tmp_path / "m.rci", tmp_path / "new.csv", "--na", "copper=0", "--na", "copper=-2")
    assert said.exit_code == 0, said.output


def test_a_stream_counts_rows_over_its_pieces(model: RCI, tmp_path: Path) -> None:
    new = pd.concat([X.head(3)] * 3, ignore_index=True)
    new.loc[7, "bili"] = -0.5
    path = tmp_path / "new.parquet"
    new.to_parquet(path, row_group_size=3)
    with pytest.raises(InputError, match=r"-0.5 in 'bili', row 8"):
        list(stream_new_patients(path, **columns_of(model, None)))


HOSTILE = ["log", "a,b", "x=1", "\x1b[31mred", "<img src=x onerror=alert(1)>", "{}", "ünï\u202e", "what if"]


def test_hostile_names(tmp_path: Path) -> None:
    table = pd.DataFrame({name: X["bili"] ** (1 + 0.1 * c) + X["copper"] for c, name in enumerate(HOSTILE)})
    rng = np.random.default_rng(3)
    table = np.round(table * np.exp(rng.laplace(size=table.shape)), 3)
    table.assign(ill=Y).to_csv(tmp_path / "c.csv", index=False)
    logs = [option for name in HOSTILE for option in ("--log", name)]
    result = run("fit", tmp_path / "c.csv", "--target", "ill", *logs, "--out", tmp_path / "m.rci")
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    loaded = RCI.load(tmp_path / "m.rci")
    assert loaded.get_params()["log"] == HOSTILE
    expected = RCI().fit(np.log(table), Y)
    assert loaded.coef_ == pytest.approx(expected.coef_)
    loaded.report(table.head(5), tmp_path / "page.html")
    assert facts_of(tmp_path / "page.html")["made"]["log_scale"] == HOSTILE
    told = ["--target", "ill", "--log", "\x1bnone", "--out", tmp_path / "n.rci"]
    assert "\x1b" not in error(3, "fit", tmp_path / "c.csv", *told)
