"""One clear error for each bad input; a warning where an answer is still possible."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest

from rootcausal import RCI, DirectLiNGAM, InputError, MissingExtraError
from rootcausal.data import simulate


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_t(4, (60, 4)), columns=["age", "bili", "chol", "iron"])


y = np.arange(60) % 2


def refused(X: object, labels: object = y, **parameters: object) -> str:
    with pytest.raises(InputError) as caught:
        RCI(**parameters).fit(X, labels)
    return str(caught.value)


def test_missing_and_infinite_values_are_named_with_counts(frame: pd.DataFrame) -> None:
    frame.loc[[1, 4], "bili"] = np.nan
    frame.loc[3, "iron"] = -np.inf
    message = refused(frame, missing="refuse")
    assert "missing values (NaN) in 'bili' (2)" in message
    assert "infinite values (inf) in 'iron' (1)" in message
    assert "impute" in message
    model = RCI(alpha=1.0, missing="refuse").fit(frame.fillna(0).replace(-np.inf, 0), y)
    with pytest.raises(InputError, match=r"'bili' \(2\)"):
        model.shapley_values(frame)


def test_values_too_large_to_add_up_are_not_mistaken_for_missing(frame: pd.DataFrame) -> None:
    frame["iron"] = np.where(np.arange(60) % 3, 1e308, -1e308)
    assert "numbers too large to compute with: -1e+308 in 'iron', row 1;" in refused(frame)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.zeros(60), "exactly two classes, disease and healthy; it has one class: 0.0"),
        (np.arange(60) % 3, "it has 3 classes: 0, 1, 2"),
        (np.r_[1, np.zeros(59)], "only one row has the label 1.0: at least two of each class"),
        (y[:50], "X has 60 rows but y has 50"),
        (np.where(y, 1.0, np.nan), "30 missing value(s)"),
    ],
)
def test_targets_that_are_no_diagnosis(frame: pd.DataFrame, labels: np.ndarray, words: str) -> None:
    assert words in refused(frame, labels)


def test_positive_must_be_a_label(frame: pd.DataFrame) -> None:
    words = refused(frame, np.where(y, "sick", "well"), positive="ill")
    assert "positive='ill' is not a label of the target, which has 'sick' and 'well'" in words


def test_constant_columns_are_named(frame: pd.DataFrame) -> None:
    assert "columns 'bili', 'chol' are constant" in refused(frame.assign(bili=0.1, chol=7e9))


@pytest.mark.parametrize("image", [lambda x: x, lambda x: -3 * x + 1e6, lambda x: (x - 32) / 1.8])
def test_copies_and_linear_images_are_both_named(frame: pd.DataFrame, image: object) -> None:
    frame["iron"] = image(frame["age"])
    assert "columns 'age' and 'iron' are copies or exact linear images" in refused(frame)
    with pytest.raises(InputError, match="'age' and 'iron'"):
        DirectLiNGAM().fit(frame)


def test_nearly_equal_columns_are_not_copies(frame: pd.DataFrame) -> None:
    frame["iron"] = frame["age"] + 1e-3 * frame["iron"]
    RCI(alpha=1.0).fit(frame, y)


def test_copies_are_found_among_thousands_of_columns() -> None:
    X = np.random.default_rng(1).standard_normal((40, 5000))
    X[:, 4321] = 2 - X[:, 17]
    assert "columns 'x17' and 'x4321'" in refused(X, np.arange(40) % 2)


def test_text_columns_are_named_with_an_example(frame: pd.DataFrame) -> None:
    with pytest.raises(InputError) as caught:
        DirectLiNGAM().fit(frame.assign(sex="female", site=["north", None] * 30))
    message = str(caught.value)
    assert "columns 'sex', 'site' are not numeric" in message
    assert "'female'" in message and "encode" in message


@pytest.mark.parametrize(
    ("cells", "strange"), [(range(9), "<0.3"), (map(str, range(9)), "2_000"), ([0.5, True, *range(8)], "３")]
)
def test_the_cell_that_is_no_number_is_the_example(
    frame: pd.DataFrame, cells: Iterable[object], strange: str
) -> None:
    column = ([strange, *cells] * 6)[:60]
    assert f"numbers and other text are mixed: '{strange}' in 'iron'. " in refused(frame.assign(iron=column))


def test_duplicate_names(frame: pd.DataFrame) -> None:
    frame.columns = ["age", "bili", "age", "iron"]
    assert "column name 'age' is used more than once" in refused(frame)


def test_no_rows_and_no_columns(frame: pd.DataFrame) -> None:
    assert "0 row(s)" in refused(frame.head(0), [])
    assert "no columns" in refused(frame[[]])


def test_unknown_options_are_named_with_the_choices(frame: pd.DataFrame) -> None:
    assert "unknown variant 'fast': choose one of original, plus, local, local_plus" in refused(
        frame, variant="fast"
    )
    assert "unknown backend 'torch': choose one of auto, numpy, numba, cupy" in refused(
        frame, backend="torch"
    )
    for alpha in (0, -0.1, 1.5, "0.2", float("nan")):
        assert "alpha must be above 0 and at most 1" in refused(frame, alpha=alpha)
    with pytest.raises(InputError, match="needs a diagnosis: use RCI"):
        DirectLiNGAM(variant="local_plus").fit(frame)


def test_a_backend_that_is_not_installed_names_its_extra(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    monkeypatch.delitem(__import__("sys").modules, "rootcausal.backends.cuda.rows", raising=False)
    with pytest.raises(MissingExtraError, match=r"rootcausal\[cuda13\]"):
        RCI(backend="cupy").fit(frame, y)


def test_no_dependence_is_a_warning_and_all_zero() -> None:
    rng = np.random.default_rng(5)
    X = np.repeat(rng.uniform(-1, 1, (100, 3)), 2, axis=0)
    labels = np.tile([0, 1], 100)
    with pytest.warns(UserWarning, match="the outcome depends on no variable at alpha = 0.05"):
        model = RCI(alpha=0.05).fit(X, labels)
    assert model.causal_order_.size == 0
    assert (model.shapley_values(X) == 0).all()
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
    assert model.explain(X).root_causes() == [[]] * 200
    assert model.transform(X).shape == (200, 0)


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_more_candidates_than_rows_is_a_warning(attribution: str) -> None:
    cohort = simulate(30, 60, random_state=0)
    with (
        pytest.warns(UserWarning, match="nothing is left to explain after 29 variables"),
        pytest.warns(UserWarning, match="separate the classes perfectly"),
    ):
        model = RCI(alpha=1.0, attribution=attribution).fit(cohort.X, cohort.y)
    assert model.causal_order_.size == 29
    with pytest.warns(UserWarning, match="nothing is left to explain after 29 variables"):
        assert DirectLiNGAM().fit(cohort.X).causal_order_.size == 29


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_separated_classes_give_finite_coefficients_and_a_warning(attribution: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 3))
    labels = (X[:, 1] > 0).astype(int)
    with pytest.warns(UserWarning, match="separate the classes perfectly"):
        model = RCI(attribution=attribution).fit(X, labels)
    assert np.abs(model.coef_).max() < 20
    assert model.score(X, labels) > 0.97
    assert model.provenance_["separated"]
    assert {causes[0].variable for causes in model.explain(X[X[:, 1] > 0.2]).root_causes()} == {"x1"}


def test_one_column_is_fine() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, 1))
    labels = (x[:, 0] + rng.logistic(0, 0.5, 200) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RCI().fit(x, labels)
        assert DirectLiNGAM().fit(x).adjacency_matrix_.tolist() == [[0.0]]
    assert model.causal_order_.tolist() == [0]
    assert model.coef_[0] > 0


def test_wrong_number_of_columns_in_an_array(frame: pd.DataFrame) -> None:
    model = RCI(alpha=1.0).fit(frame.to_numpy(), y)
    with pytest.raises(ValueError, match="X has 3 features, but RCI is expecting 4 features"):
        model.predict(frame.to_numpy()[:, :3])
    with pytest.raises(InputError, match="X has 3 features, but RCI is expecting 4 features"):
        model.predict(frame.iloc[:, :3])
