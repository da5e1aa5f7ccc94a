"""RCI and DirectLiNGAM as scikit-learn estimators, and what they promise."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from rootcausal import RCI, DirectLiNGAM, InputError
from rootcausal.data import load_pbc, simulate

quick = settings(max_examples=20, deadline=None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [
        RCI(),
        RCI(missing="refuse"),
        DirectLiNGAM(),
    ],
    ids=["RCI", "RCI of whole tables", "DirectLiNGAM"],
)
def test_scikit_learn_checks(estimator: object) -> None:
    results = check_estimator(estimator, on_skip=None)
    assert len(results) > 35
    skipped = {result["check_name"] for result in results if result["status"] != "passed"}
    assert skipped <= {"check_array_api_input"}  # needs SCIPY_ARRAY_API in the environment


@given(st.integers(0, 10_000))
@quick
def test_shifting_and_scaling_columns_leaves_shapley_values_alone(seed: int) -> None:
    cohort = simulate(150, 8, random_state=seed)
    rng = np.random.default_rng(seed)
    model = RCI(alpha=1.0).fit(cohort.X, cohort.y)
    if model.margins_.min() <= 1e-9:
        return
    moved = cohort.X * 10.0 ** rng.uniform(-2, 2, 7) + rng.normal(0, 5, 7)
    again = RCI(alpha=1.0).fit(moved, cohort.y)
    np.testing.assert_allclose(
        again.shapley_values(moved), model.shapley_values(cohort.X), rtol=1e-6, atol=1e-6
    )


@given(st.integers(0, 10_000))
@quick
def test_base_value_and_values_make_the_decision(seed: int) -> None:
    cohort = simulate(120, 6, random_state=seed)
    model = RCI(alpha=0.9).fit(cohort.X, cohort.y)
    new = cohort.X[:30] + simulate(30, 6, random_state=seed + 1).X / 4  # another graph, and not too far
    explanation = model.explain(new)
    decision = model.decision_function(new)
    np.testing.assert_allclose(explanation.base_value + explanation.values.sum(axis=1), decision, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], expit(decision), atol=1e-12)
    np.testing.assert_allclose(explanation.probability, expit(decision), atol=1e-12)


def test_transform_gives_the_errors_of_training_rows() -> None:
    cohort = simulate(400, 8, random_state=0)
    model = RCI(variant="plus", attribution="paper").fit(cohort.X, cohort.y)
    errors = model.transform(cohort.X)
    assert errors.shape == (400, 7)
    np.testing.assert_allclose(errors.std(axis=0, ddof=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(np.corrcoef(errors, rowvar=False), np.eye(7), atol=1e-9)
    np.testing.assert_allclose(errors * model.coef_, model.shapley_values(cohort.X), atol=1e-10)


def test_names_follow_dataframes_of_any_library() -> None:
    cohort = load_pbc()
    arrow = pa.table({name: cohort.X[:, c] for c, name in enumerate(cohort.feature_names)})
    models = [RCI().fit(frame, cohort.y) for frame in (arrow, arrow.to_pandas(), pl.from_arrow(arrow))]
    plain = RCI().fit(cohort.X, cohort.y)
    for model in models:
        assert model.feature_names_in_.tolist() == list(cohort.feature_names)
        np.testing.assert_array_equal(model.margins_, plain.margins_)
    assert not hasattr(plain, "feature_names_in_")
    kept = sorted(plain.causal_order_)
    assert models[0].get_feature_names_out().tolist() == [cohort.feature_names[c] for c in kept]
    assert plain.get_feature_names_out().tolist() == [f"x{c}" for c in kept]


def test_new_data_are_matched_by_name() -> None:
    cohort = load_pbc()
    frame = pd.DataFrame(cohort.X, columns=list(cohort.feature_names))
    model = RCI(missing="refuse").fit(frame, cohort.y)
    shuffled = frame[frame.columns[::-1]].assign(note="text that nobody reads")
    np.testing.assert_array_equal(model.shapley_values(shuffled), model.shapley_values(frame))
    with pytest.raises(InputError, match=r"columns 'bili', 'copper' are missing from the new data"):
        model.predict(frame.drop(columns=["bili", "copper"]))


def test_scores_leave_out_what_is_not_ranked() -> None:
    cohort = load_pbc()
    model = RCI(alpha=0.2, mechanism="linear").fit(cohort.X, cohort.y)
    scores = model.scores(cohort.X)
    dropped = np.setdiff1d(np.arange(10), model.causal_order_)
    assert dropped.size == 2
    assert np.isneginf(scores[:, dropped]).all()
    assert np.isfinite(np.delete(scores, dropped, axis=1)).all()
    assert (model.shapley_values(cohort.X)[:, dropped] == 0).all()
    assert (model.coef_[dropped] == 0).all()


def test_positive_says_which_label_is_the_disease() -> None:
    cohort = load_pbc()
    words = np.where(cohort.y == 1, "gone", "here")
    with pytest.warns(UserWarning, match="'gone' and 'here' do not say which of them is the disease"):
        default = RCI(mechanism="linear").fit(cohort.X, words)
    assert default.classes_.tolist() == ["gone", "here"]
    told = RCI(positive="gone", mechanism="linear").fit(cohort.X, words)
    assert told.classes_.tolist() == ["here", "gone"]
    np.testing.assert_allclose(told.coef_, -default.coef_, atol=1e-9)
    assert set(told.predict(cohort.X)) == {"here", "gone"}
    assert told.score(cohort.X, words) > 0.7


def test_clone_and_pickle_as_scikit_learn_does() -> None:
    cohort = load_pbc()
    model = RCI(alpha=0.5).fit(cohort.X, cohort.y)
    assert clone(model).get_params() == model.get_params()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.shapley_values(cohort.X), model.shapley_values(cohort.X))


def test_direct_lingam_recovers_the_graph() -> None:
    rng = np.random.default_rng(0)
    errors = rng.uniform(-1, 1, (20_000, 4)) * [1, 2, 3, 1]
    b = np.zeros((4, 4))
    b[2, 0], b[1, 2], b[3, 1] = 2.0, -0.7, 0.5
    X = np.linalg.solve(np.eye(4) - b, errors.T).T + 100
    for variant in ("plus", "original"):
        model = DirectLiNGAM(variant=variant).fit(X)
        assert model.causal_order_.tolist() == [0, 2, 1, 3]
        np.testing.assert_allclose(model.adjacency_matrix_, b, atol=0.05)
    pruned = DirectLiNGAM(prune=True).fit(X).adjacency_matrix_
    np.testing.assert_array_equal(pruned != 0, b != 0)
    np.testing.assert_allclose(pruned, b, atol=0.05)


def test_direct_lingam_edges_are_least_squares() -> None:
    X = simulate(300, 7, random_state=2).X
    model = DirectLiNGAM().fit(X)
    for place, effect in enumerate(model.causal_order_):
        causes = model.causal_order_[:place]
        design = np.column_stack([X[:, causes], np.ones(len(X))])
        slope = np.linalg.lstsq(design, X[:, effect], rcond=None)[0][:-1]
        np.testing.assert_allclose(model.adjacency_matrix_[effect, causes], slope, atol=1e-8)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, rootcausal; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numba", "pandas", "matplotlib", "dask", "cupy", "sklearn", "scipy", "pyarrow"}
    assert not heavy & set(run.stdout.split())


@pytest.mark.parametrize("name", ["RCI", "RCISurvival", "RCIRegressor", "DirectLiNGAM", "Knowledge"])
def test_importing_an_estimator_imports_what_it_is_made_with_and_no_more(name: str) -> None:
    code = f"import sys; from rootcausal import {name}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = [module for module in run.stdout.split() if module.split(".")[0] == "rootcausal"]
    assert len(ours) <= 110
    rooms = {module.split(".")[1] for module in ours if "." in module}
    # What diagnoses, resamples, writes or reproduces is imported by who asks for it.
    others = {
        "comparators",
        "experiments",
        "diagnostics",
        "nonlinear",
        "uncertainty",
        "report",
        "plots",
        "cli",
    }
    assert not rooms & others


def test_fitting_and_explaining_load_no_experiment_and_no_comparator() -> None:
    code = (
        "import sys; from rootcausal import RCI; from rootcausal.data import simulate; c = simulate(60, 4);"
        "RCI().fit(c.X, c.y).explain(c.X); print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {module.split(".")[1] for module in run.stdout.split() if module.startswith("rootcausal.")}
    assert "explaining" in rooms and not rooms & {"comparators", "experiments", "report", "plots", "cli"}


def test_provenance_says_how_the_model_was_made() -> None:
    cohort = load_pbc()
    model = RCI(alpha=0.3).fit(cohort.X, cohort.y)
    made = model.provenance_
    assert made["parameters"]["alpha"] == 0.3
    assert (made["rows"], made["cases"], made["columns"]) == (258, 111, 10)
    assert made["rootcausal"]
