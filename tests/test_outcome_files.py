"""Models of times and numbers in files: the same answers to the last bit, and nothing else accepted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from graded_cohorts import number_cohort, survival_cohort
from tampering import archive_of, members_of, with_array, with_header

from rootcausal import RCI, InputError, Knowledge, RCIRegressor, RCISurvival
from rootcausal.files.model_file import MODEL
from rootcausal.resampling.bootstrap import read_resamples

DAMAGED = "is not a rootcausal model, or it is damaged"


def with_site_and_holes(X: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return X.assign(
        site=rng.choice(["north", "south", "far"], len(X)),
        ldl=X["ldl"].where(rng.random(len(X)) > 0.1),
        crp=np.exp(X["crp"]),
    )


def survival_model() -> tuple[RCISurvival, pd.DataFrame]:
    X, time, event = survival_cohort(150)
    X, ends = with_site_and_holes(X), np.where(event, "died", "alive")
    options = {"log": ["crp"], "knowledge": Knowledge(covariates=["bmi"]), "positive": "died"}
    return RCISurvival(horizon=1, **options).fit(X, time, ends).bootstrap(3, random_state=4), X


def number_model() -> tuple[RCIRegressor, pd.DataFrame]:
    X, y = number_cohort(150)
    X = with_site_and_holes(X)
    options = {"log": ["crp"], "knowledge": Knowledge(covariates=["bmi"])}
    return RCIRegressor(**options).fit(X, y).bootstrap(3, random_state=4), X


@pytest.fixture(scope="module")
def both() -> dict[str, tuple[Any, pd.DataFrame]]:
    return {"survival": survival_model(), "number": number_model()}


every_outcome = pytest.mark.parametrize("outcome", ["survival", "number"])


@pytest.fixture
def survival_file(both: Any, tmp_path: Path) -> Path:
    both["survival"][0].save(tmp_path / "survival.rci")
    return tmp_path / "survival.rci"


@pytest.fixture
def number_file(both: Any, tmp_path: Path) -> Path:
    both["number"][0].save(tmp_path / "number.rci")
    return tmp_path / "number.rci"


@every_outcome
def test_everything_comes_back_to_the_last_bit(outcome: str, both: Any, tmp_path: Path) -> None:
    model, X = both[outcome]
    model.save(tmp_path / "model.rci")
    loaded = type(model).load(tmp_path / "model.rci")
    assert loaded.get_params() == model.get_params()
    assert loaded.provenance_ == model.provenance_
    for name in ("causal_order_", "covariates_", "coef_", "intercept_", "margins_", "ancestor_probability_"):
        assert np.array_equal(getattr(loaded, name), getattr(model, name))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    one, other = model.explain(X), loaded.explain(X)
    for name in (
        "values",
        "lower",
        "upper",
        "frequency",
        "covariate_effect",
        "covariate_interval",
        "predicted",
    ):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.what_if("albumin").data, other.what_if("albumin").data, equal_nan=True)
    for a, b in zip(model.bootstrap_.models, loaded.bootstrap_.models, strict=True):
        for half, twin in ((a.mechanism, b.mechanism), (a.attribution, b.attribution)):
            assert all(np.array_equal(getattr(half, name), getattr(twin, name)) for name in half.ARRAYS)
    loaded.save(tmp_path / "again.rci")
    assert (tmp_path / "again.rci").read_bytes() == (tmp_path / "model.rci").read_bytes()


def test_times_and_labels_come_back(both: Any, survival_file: Path) -> None:
    model, X = both["survival"]
    loaded = RCISurvival.load(survival_file)
    assert loaded.classes_.tolist() == ["alive", "died"] and loaded.classes_.dtype == model.classes_.dtype
    assert type(loaded.horizon_) is float and loaded.horizon_ == 1.0
    asked = [0.1, 0.7, 1.3]
    assert np.array_equal(loaded.predict_survival(X, asked), model.predict_survival(X, asked))
    assert np.array_equal(loaded.predict_risk(X), model.predict_risk(X))
    assert np.array_equal(loaded.explain(X, horizon=0.4).predicted, model.explain(X, horizon=0.4).predicted)
    _, time, event = survival_cohort(150)
    ends = np.where(event, "died", "alive")
    assert loaded.score(X, time, ends) == model.score(X, time, ends)


@pytest.mark.parametrize("label", [2, 0, "dead", True])
def test_events_without_a_label_for_the_others_come_back(label: Any, tmp_path: Path) -> None:
    X, time, _ = survival_cohort(60)
    model = RCISurvival(positive=label).fit(X, time, np.array([label] * 60))
    model.save(tmp_path / "model.rci")
    loaded = RCISurvival.load(tmp_path / "model.rci")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.score(X, time, [label] * 60) == model.score(X, time, [label] * 60)


def test_a_new_process_gives_the_same_bits(both: Any, survival_file: Path, tmp_path: Path) -> None:
    model, X = both["survival"]
    X.to_pickle(tmp_path / "X.pkl")
    code = (
        "import sys, numpy as np, pandas as pd; from rootcausal import RCISurvival;"
        "np.save(sys.argv[3], RCISurvival.load(sys.argv[1]).predict_risk(pd.read_pickle(sys.argv[2])))"
    )
    paths = [str(survival_file), str(tmp_path / "X.pkl"), str(tmp_path / "risk.npy")]
    subprocess.run([sys.executable, "-c", code, *paths], check=True)
    assert np.array_equal(np.load(tmp_path / "risk.npy"), model.predict_risk(X))


def test_each_estimator_reads_its_own_and_names_whose_it_is(
    survival_file: Path, number_file: Path, tmp_path: Path
) -> None:
    X, _, event = survival_cohort(60)
    diagnosis_file = tmp_path / "diagnosis.rci"
    RCI().fit(X, event).save(diagnosis_file)
    with pytest.raises(
        InputError, match=r"a model of the time to an event, which RCISurvival.load reads, and RCI"
    ):
        RCI.load(survival_file)
    with pytest.raises(InputError, match=r"which RCISurvival.load reads, and RCIRegressor is for a number"):
        RCIRegressor.load(survival_file)
    with pytest.raises(InputError, match=r"a model of a number, which RCIRegressor.load reads"):
        RCISurvival.load(number_file)
    with pytest.raises(InputError, match=r"a model of a diagnosis, which RCI.load reads"):
        RCISurvival.load(diagnosis_file)


def put(value: object, place: object = 0) -> Callable[[np.ndarray], None]:
    def change(array: np.ndarray) -> None:
        array[place] = value

    return change


def swapped(array: np.ndarray) -> None:
    array[[1, 2]] = array[[2, 1]]


PACKED = "bootstrap_attribution_"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("attribution_coef", put(np.nan)),
        ("attribution_coef", put(1e300)),
        ("attribution_coef", lambda coef: coef[:-1]),
        ("attribution_edges", swapped),
        ("attribution_edges", put(0.1)),
        ("attribution_edges", put(np.nan, 3)),
        ("attribution_edges", put(np.inf, -1)),
        ("attribution_edges", lambda edges: np.append(edges, edges[-1])),
        ("attribution_edges", lambda edges: edges[:1]),
        ("attribution_edges", lambda edges: edges[:-1]),
        ("attribution_edges", lambda edges: np.linspace(0, 9, 2000)),
        ("attribution_cumulative", swapped),
        ("attribution_cumulative", put(-1.0)),
        ("attribution_cumulative", put(1.0)),
        ("attribution_cumulative", put(np.nan, 2)),
        ("attribution_cumulative", put(np.inf, -1)),
        ("attribution_cumulative", lambda cumulative: cumulative.astype(np.float32)),
        ("attribution_horizon", put(0.0)),
        ("attribution_horizon", put(-1.0)),
        ("attribution_horizon", put(1e9)),
        ("attribution_horizon", put(np.nan)),
        ("attribution_horizon", lambda horizon: np.append(horizon, horizon)),
        (f"{PACKED}coef", put(np.inf)),
        (f"{PACKED}edges", swapped),
        (f"{PACKED}edges", put(5.0)),
        (f"{PACKED}cumulative", put(np.nan, 2)),
        (f"{PACKED}horizon", put(1e9)),
        (f"{PACKED}horizon", put(np.nan)),
        (f"{PACKED}horizon", lambda horizons: horizons[:-1]),
        (f"{PACKED}n_edges", put(1)),
        (f"{PACKED}n_edges", put(-5)),
        (f"{PACKED}n_edges", put(10**9)),
        (f"{PACKED}n_edges", lambda n: n.astype(float)),
        (f"{PACKED}n_edges", lambda n: n + np.array([1, 0, -1])),
    ],
)
def test_hazards_that_no_model_has_are_refused(name: str, change: Callable, survival_file: Path) -> None:
    with pytest.raises(InputError, match=DAMAGED):
        RCISurvival.load(with_array(survival_file, name, change))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("attribution_coef", put(np.nan)),
        ("attribution_coef", put(1e200)),
        ("attribution_intercept", put(np.inf)),
        ("attribution_intercept", lambda intercept: np.append(intercept, 0.0)),
        ("attribution_spread", put(0.0)),
        ("attribution_spread", put(-1.0)),
        ("attribution_spread", put(np.nan)),
        (f"{PACKED}coef", lambda coef: coef[:-1]),
        (f"{PACKED}intercept", put(np.nan)),
        (f"{PACKED}spread", put(0.0)),
        (f"{PACKED}spread", lambda spreads: spreads[:-1]),
    ],
)
def test_values_that_no_model_has_are_refused(name: str, change: Callable, number_file: Path) -> None:
    with pytest.raises(InputError, match=DAMAGED):
        RCIRegressor.load(with_array(number_file, name, change))


@pytest.mark.parametrize(
    "change",
    [
        {"attribution": "linear"},
        {"attribution": "value"},
        {"attribution": None},
        {"classes": []},
        {"classes": ["died", "alive"]},
        {"classes": ["alive", "alive"]},
        {"version": 99.5},
    ],
    ids=str,
)
def test_headers_that_no_hazard_has_are_refused(change: dict, survival_file: Path) -> None:
    with pytest.raises(InputError, match=DAMAGED):
        RCISurvival.load(with_header(survival_file, lambda header: header | change))


@pytest.mark.parametrize(
    "change",
    [
        {"attribution": "linear"},
        {"attribution": "hazard"},
        {"classes": [0, 1]},
        {"classes": [1]},
        {"classes": None},
    ],
    ids=str,
)
def test_headers_that_no_number_has_are_refused(change: dict, number_file: Path) -> None:
    with pytest.raises(InputError, match=DAMAGED):
        RCIRegressor.load(with_header(number_file, lambda header: header | change))


def with_provenance(path: Path, change: dict) -> Path:
    return with_header(path, lambda header: header | {"provenance": header["provenance"] | change})


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "continuous"},
        {"outcome": "binary"},
        {"outcome": "cure"},
        {"outcome": None},
        {"events": 0},
        {"events": 1e3},
        {"events": 10**6},
        {"events": True},
        {"horizon": 0},
        {"horizon": "1"},
        {"longest_follow_up": -1.0},
        {"longest_follow_up": None},
        {"parameters": {"horizon": 0}},
        {"parameters": {"horizon": "late"}},
        {"parameters": {"positive": "alive"}},
        {"parameters": {"prevalence": 0.1}},
    ],
    ids=str,
)
def test_what_no_model_of_times_remembers_is_refused(change: dict, survival_file: Path) -> None:
    with pytest.raises(InputError, match=DAMAGED):
        RCISurvival.load(with_provenance(survival_file, change))


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "survival"},
        {"mean": None},
        {"mean": float("inf")},
        {"sd": 0.0},
        {"sd": "wide"},
        {"parameters": {"positive": 1}},
        {"parameters": {"horizon": 1.0}},
    ],
    ids=str,
)
def test_what_no_model_of_numbers_remembers_is_refused(change: dict, number_file: Path) -> None:
    with pytest.raises(InputError, match=DAMAGED):
        RCIRegressor.load(with_provenance(number_file, change))


@pytest.mark.parametrize("name", ["outcome", "events", "horizon", "longest_follow_up"])
def test_a_file_that_forgot_its_outcome_is_refused(name: str, survival_file: Path) -> None:
    def forget(header: dict[str, Any]) -> None:
        del header["provenance"][name]

    with pytest.raises(InputError, match=DAMAGED):
        RCISurvival.load(with_header(survival_file, forget))


@every_outcome
def test_a_file_without_an_array_of_its_attribution_is_refused(
    outcome: str, both: Any, tmp_path: Path
) -> None:
    model = both[outcome][0]
    model.save(tmp_path / "model.rci")
    members = members_of((tmp_path / "model.rci").read_bytes())
    halves = [name for name in members if "attribution_" in name]
    assert len(halves) == 2 * (len(model._model.attribution.ARRAYS) + (outcome == "survival"))
    for name in halves:
        (tmp_path / "less.rci").write_bytes(
            archive_of({key: content for key, content in members.items() if key != name})
        )
        with pytest.raises(InputError, match=DAMAGED):
            type(model).load(tmp_path / "less.rci")


def test_finished_resamples_of_times_are_checked_as_models_are(tmp_path: Path) -> None:
    X, time, event = survival_cohort(60)
    file = tmp_path / "resamples.npz"
    RCISurvival().fit(X, time, event).bootstrap(2, resume=file)
    assert [one.attribution.outcome for one in read_resamples(file).models] == ["survival"] * 2
    with_array(file, f"{PACKED}horizon", put(0.0))
    with pytest.raises(InputError, match="is not a file of finished resamples, or it is damaged"):
        RCISurvival().fit(X, time, event).bootstrap(4, resume=file)


def test_files_say_what_they_hold(survival_file: Path) -> None:
    header = json.loads(members_of(survival_file.read_bytes())["rootcausal.json"])
    assert header["version"] == MODEL.version == 1
    assert (header["mechanism"], header["attribution"]) == ("linear", "hazard")
    assert header["provenance"]["outcome"] == "survival" and "cases" not in header["provenance"]
