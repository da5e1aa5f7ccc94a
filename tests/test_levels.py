"""Variables with levels: one Shapley value each, words on screen, and what if in levels."""

from __future__ import annotations

from dataclasses import replace

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from level_cohort import (
    AGE,
    BILI,
    NOISE,
    SEX,
    STAGE,
    VARIABLES,
    WARD,
    draw,
    explain,
    fitted,
    frame_of,
    layout_of,
    learn_from,
    resamples_of,
    with_holes,
)
from toy_halves import SinhMechanism, SquareAttribution

from rootcausal import RCI, InputError, plots
from rootcausal.estimators.parameters import chosen_settings
from rootcausal.files.array_archive import FITTED, kinds_of, pack, unpack
from rootcausal.inputs.encoding import Encoding
from rootcausal.inputs.kinds import Variable
from rootcausal.inputs.levels import TableInWords, place_of
from rootcausal.method.layout import Layout
from rootcausal.method.model import CausalModel
from rootcausal.method.reference_ranges import CohortQuantiles
from rootcausal.resampling.bootstrap import bootstrap
from rootcausal.resampling.training_rows import TrainingRows

LAYOUT = layout_of(VARIABLES)
SETTINGS = chosen_settings("plus", 1.0, "paper", None)
ICU, MEDICINE = 2, 3  # columns of ward


@pytest.fixture(scope="module")
def cohort():
    X, y = draw()
    return X, y, learn_from(X, y, LAYOUT)


@pytest.fixture(scope="module")
def door():
    """The same model, of the user's table."""
    return fitted()


def plain(model: CausalModel) -> CausalModel:
    """The same model, each column a variable."""
    return CausalModel(model.mechanism, model.attribution)


def test_the_door_makes_these_columns_of_a_table(cohort, door):
    X, _, learned = cohort
    assert door._encoding.variables == VARIABLES
    np.testing.assert_array_equal(door.shapley_values(frame_of(X)), learned.model.shapley(X))
    np.testing.assert_array_equal(door.explain(frame_of(X)).data, explain(learned.model, X).data)


def test_a_nominal_variable_has_one_error_and_one_value(cohort):
    X, _, learned = cohort
    model, columns = learned.model, plain(learned.model)
    assert (model.n_columns, model.n_variables) == (7, 6)
    assert sorted(model.order.tolist()) == list(range(6))
    places = {int(v): i for i, v in enumerate(model.order)}
    errors, values = model.errors(X), model.shapley(X)
    assert errors.shape == values.shape == (len(X), 6)
    by_column, errors_by_column = columns.shapley(X), columns.errors(X)
    np.testing.assert_allclose(values[:, WARD], by_column[:, [ICU, MEDICINE]].sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(values[:, BILI], by_column[:, 5], atol=1e-12)
    np.testing.assert_allclose(errors[:, BILI], errors_by_column[:, 5], atol=1e-12)
    coef = np.zeros(7)
    coef[columns.order] = columns.unit_effects
    unit = model.unit_effects
    assert unit[places[WARD]] == pytest.approx(np.hypot(*coef[[ICU, MEDICINE]]))
    np.testing.assert_allclose(values[:, model.order], errors[:, model.order] * unit, atol=1e-12)
    assert errors[:, WARD].std(ddof=1) == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(model.predictor(X), columns.predictor(X), atol=1e-12)
    np.testing.assert_array_equal(model.reach(), columns.reach())
    np.testing.assert_array_equal(model.column_errors(X), errors_by_column)


def test_all_numbers_take_the_same_way_as_ever(cohort):
    X, _, learned = cohort
    one, other = plain(learned.model), replace(plain(learned.model), layout=Layout.numbers(7))
    for model in (one, other):
        assert model.order is model.mechanism.order and model.unit_effects is model.attribution.unit_effects
        assert model.direct_effects().shape == (7, 7)
    np.testing.assert_array_equal(one.shapley(X), other.shapley(X))
    np.testing.assert_array_equal(one.errors(X), other.errors(X))
    assert explain(one, X, tuple(Variable(f"x{c}", "number") for c in range(7))).data is X


def test_a_variable_whose_effects_are_all_zero_has_the_error_of_its_first_dummy(cohort):
    X, _, learned = cohort
    model = learned.model
    ward = np.isin(model.column_order, [ICU, MEDICINE])
    coef = np.where(ward, 0.0, model.attribution.coef)
    silent = replace(model, attribution=replace(model.attribution, coef=coef))
    first = model.column_order[np.flatnonzero(ward)[0]]
    np.testing.assert_allclose(silent.errors(X)[:, WARD], plain(model).errors(X)[:, first], atol=1e-12)
    assert not silent.shapley(X)[:, WARD].any()


def test_a_group_of_which_one_dummy_is_in_the_order_counts_towards_the_risk(cohort):
    X, y, _ = cohort
    kept = np.array([0, 1, 3, 4, 5, 6])
    model = learn_from(X[:, kept], y, LAYOUT.take(kept)).model.on_columns(kept, 7, LAYOUT)
    place = int(np.flatnonzero(model.order == WARD)[0])
    effect = model.attribution.unit_effects[np.flatnonzero(model.column_order == MEDICINE)[0]]
    assert effect < 0 and model.unit_effects[place] == pytest.approx(-effect)
    np.testing.assert_allclose(
        model.errors(X)[:, WARD] * model.unit_effects[place], model.shapley(X)[:, WARD]
    )


def test_effects_between_variables(cohort):
    _, _, learned = cohort
    model = learned.model
    direct, total = model.direct_effects(), model.total_effects()
    by_column = model.mechanism.direct_effects()
    at = {int(v): i for i, v in enumerate(model.order)}
    column = {int(c): i for i, c in enumerate(model.column_order)}
    assert direct[at[BILI], at[STAGE]] == by_column[column[5], column[4]]
    expected = np.hypot(by_column[column[5], column[ICU]], by_column[column[5], column[MEDICINE]])
    assert direct[at[BILI], at[WARD]] == pytest.approx(expected)
    assert direct[at[WARD], at[WARD]] == 0 and direct.shape == total.shape == (6, 6)
    # A unit of the variable's error, put into the patients' errors, moves what the total effect says.
    weights = dict(zip(model.column_order.tolist(), model.attribution.unit_effects, strict=True))
    shift = np.array([weights[c] if c in (ICU, MEDICINE) else 0.0 for c in model.column_order])
    shift /= np.linalg.norm(shift)
    moved = model.mechanism.total_effects() @ shift
    assert total[at[BILI], at[WARD]] == pytest.approx(moved[column[5]])


def test_slopes_are_what_values_gain_with_columns(cohort):
    X, _, learned = cohort
    model = learned.model
    slopes = model.shapley_slopes()
    for column in range(7):
        moved = X.copy()
        moved[:, column] += 1.0
        gain = model.shapley(moved) - model.shapley(X)
        np.testing.assert_allclose(gain, np.tile(slopes[column], (len(X), 1)), atol=1e-9)


@pytest.mark.parametrize("bent", [False, True])
def test_setting_a_level_keeps_all_other_shocks(cohort, bent):
    X, _, learned = cohort
    model, level = learned.model, np.array([0.0, 1.0])
    if bent:
        straight = replace(model.mechanism, mean=model.mechanism.mean / 30, sd=model.mechanism.sd / 30)
        weight = np.linspace(0.5, 1.0, model.column_order.size)
        model = CausalModel(SinhMechanism(straight), SquareAttribution(weight), LAYOUT)
        X, level = np.sinh(X / 30), np.sinh(level / 30)
    log_odds, then = model.with_level(X, WARD, level)
    np.testing.assert_array_equal(then[:, [ICU, MEDICINE]], np.tile(level, (len(X), 1)))
    before, after = model.column_errors(X), model.column_errors(then)
    others = np.delete(np.arange(7), [ICU, MEDICINE])
    np.testing.assert_allclose(after[:, others], before[:, others], atol=1e-8)
    np.testing.assert_allclose(log_odds, model.predictor(then), atol=1e-8)
    already = (X[:, [ICU, MEDICINE]] == level).all(axis=1)
    assert 0 < already.sum() < len(X)
    np.testing.assert_allclose(then[already], X[already], rtol=1e-12 * bent)
    assert (then[~already, 5] != X[~already, 5]).any()


def test_what_if_asks_for_a_level(cohort):
    X, y, learned = cohort
    boot = resamples_of(X, y, LAYOUT)
    explanation = explain(learned.model, X, resamples=boot.models)
    answer = explanation.what_if("sex", level="male")
    men = X[:, 1] == 1
    np.testing.assert_allclose(answer.probability[men], explanation.probability[men], atol=1e-12)
    assert (answer.log_odds > explanation.log_odds)[~men].all()
    assert (answer.data[:, SEX] == 1).all() and answer.levels()[0, SEX] == "male"
    draws = [m.with_level(X, SEX, np.ones(1))[0] for m in boot.models]
    assert answer.log_odds_interval == pytest.approx(np.quantile(draws, (0.025, 0.975), axis=0))
    draws = [m.with_level(X, WARD, np.array([1.0, 0.0]))[0] for m in boot.models]
    moved = explanation.what_if("ward", level="ICU")
    assert moved.log_odds_interval == pytest.approx(np.quantile(draws, (0.025, 0.975), axis=0))
    assert moved.data.shape == (400, 6) and set(moved.levels()[:, WARD]) == {"ICU"}
    assert np.isnan(moved.data_interval[:, :, WARD]).all()
    assert np.isfinite(np.delete(moved.data_interval, WARD, axis=2)).all()
    # Levels downstream are said by name, and never by a fraction; the numbers keep the fraction.
    assert set(moved.levels()[:, STAGE]) <= {"1", "2", "3", "4"}
    assert (moved.data[:, STAGE] % 1 != 0).any() and moved.text(0, STAGE) in {"1", "2", "3", "4"}
    for asked in (3, "3", 3.0):
        assert (explanation.what_if("stage", level=asked).data[:, STAGE] == 3).all()
    np.testing.assert_array_equal(
        explanation.what_if("age").log_odds, explanation.what_if("age", error=0).log_odds
    )


def test_bad_questions_list_the_levels(cohort):
    X, _, learned = cohort
    explanation = explain(learned.model, X[:5])
    for asked in ({}, {"error": 0.0}):
        with pytest.raises(InputError, match=r"'ward' has levels.*'surgery', 'ICU', 'medicine'"):
            explanation.what_if("ward", **asked)
    with pytest.raises(InputError, match="'sex' has no level 'man': choose one of 'female', 'male'"):
        explanation.what_if("sex", level="man")
    with pytest.raises(InputError, match="'age' is a number"):
        explanation.what_if("age", level="old")
    with pytest.raises(InputError, match="either the shock or the level"):
        explanation.what_if("sex", 1.0, level="male")
    hostile = Variable("x", "binary", ("\x1b[2J" * 40, "=cmd()"))
    with pytest.raises(InputError) as refused:
        place_of(hostile, "?")
    assert "\x1b" not in str(refused.value) and len(str(refused.value)) < 400


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("library", FRAMES)
def test_tables_say_levels_and_what_was_not_measured(door, library):
    X, _ = draw()
    holed = FRAMES[library](with_holes(frame_of(X[:3]), bili=1))
    tidy = door.explain(holed).to_frame()
    assert type(tidy) is type(holed)
    found = nw.from_native(tidy)
    columns = ["id", "variable", "value", "level", "imputed", "beyond", "unlike", "error"]
    assert found.columns[:8] == columns
    assert found.schema["level"] == nw.String and found.schema["imputed"] == nw.Boolean
    level = dict(zip(found["variable"].to_list(), found["level"].to_list(), strict=True))
    known = dict(zip(found["variable"].to_list(), (~found["level"].is_null()).to_list(), strict=True))
    assert list(known.values()) == [bool(v.levels) for v in VARIABLES]
    assert level["sex"] == ("male" if X[2, 1] else "female")
    assert found.filter(nw.col("imputed"))["variable"].to_list() == ["bili"]
    assert np.isfinite(found["value"].to_numpy()).all()
    assert "lower" in found.columns and "frequency" not in found.columns


def test_intervals_hold_what_was_not_measured(door):
    whole = frame_of(draw()[0][:4])
    holed = with_holes(whole, sex=2, ward=2, stage=2, bili=2, noise=2)
    alone, others = door.explain(holed), [0, 1, 3]
    sd, age = alone.imputation_sd, door.explain(holed).feature_names.index("age")
    assert (np.delete(sd[2], age) > 0).all() and not sd[others].any()
    np.testing.assert_allclose(alone.upper[2], alone.values[2] + 1.96 * sd[2])
    np.testing.assert_allclose(alone.lower[2], alone.values[2] - 1.96 * sd[2])
    np.testing.assert_array_equal(alone.lower[others], alone.values[others])
    assert alone.frequency is None and alone.imputed[2].sum() == 5 and not alone.imputed[others].any()
    resampled = fitted().bootstrap(6)
    sure, both = resampled.explain(whole), resampled.explain(holed)
    np.testing.assert_array_equal(both.lower[others], sure.lower[others])
    draws = np.stack([one.shapley(both._cells.columns)[2] for one in resampled.bootstrap_.models])
    lower, upper = np.quantile(draws, (0.025, 0.975), axis=0)
    # Around the value or, where resamples disagree, what is nearest to it in their interval.
    middle = np.clip(both.values[2], lower, upper)
    np.testing.assert_allclose(both.upper[2], middle + np.hypot(upper - middle, 1.96 * sd[2]))
    np.testing.assert_allclose(both.lower[2], middle - np.hypot(middle - lower, 1.96 * sd[2]))
    assert door.explain(whole).lower is None


def test_words_for_values_that_were_expected():
    columns = np.array([[70.0, 0.51, 0.3, 0.6, 2.4, 3.0, 0.0], [70.0, 1.0, 0.0, 0.0, np.nan, 3.0, 0.0]])
    cells = TableInWords(VARIABLES, LAYOUT, columns)
    assert [cells.text(0, v) for v in range(4)] == ["70", "male (51%)", "medicine (60%)", "2"]
    assert cells.levels()[0].tolist() == [None, "male", "medicine", "2", None, None]
    assert cells.levels()[1].tolist() == [None, "male", "surgery", None, None, None]
    numbers = cells.numbers()
    assert numbers[0, :4].tolist() == [70.0, 0.51, 2.0, 2.4] and np.isnan(numbers[1, STAGE])
    coded = (Variable("ward", "nominal", (7.0, 3.0, 9.0)),)
    codes = TableInWords(coded, layout_of(coded), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    assert codes.numbers()[:, 0].tolist() == [7, 3, 9] and codes.levels()[:, 0].tolist() == ["7", "3", "9"]
    assert Encoding(VARIABLES).column_names[1:4] == ("sex", "ward = ICU", "ward = medicine")


def test_probabilities_and_places_are_of_variables(cohort):
    X, y, learned = cohort
    assert LAYOUT.any_of(np.array([0.1, 0.2, 0.5, 0.5, 0.3, 0.4, 0.0])).tolist() == pytest.approx(
        [0.1, 0.2, 0.75, 0.3, 0.4, 0.0]
    )
    assert learned.margins.size == 6
    sharp = learn_from(X, y, LAYOUT, "sharp")
    assert sharp.ancestor_probability.shape == (6,)
    boot = resamples_of(X, y, LAYOUT)
    assert boot.places.shape == (8, 6) and boot.selection_frequency.max() == 1
    assert all(model.layout is boot.models[0].layout for model in boot.models)


def test_rare_levels_may_be_missing_from_a_resample(cohort):
    X, y, _ = cohort
    X = X.copy()
    X[:, MEDICINE] = 0.0
    X[7, MEDICINE], X[7, ICU] = 1.0, 0.0
    models = resamples_of(X, y, LAYOUT, 12).models
    assert {MEDICINE in model.column_order for model in models} == {True, False}
    assert all(np.isfinite(model.shapley(X)).all() and model.n_variables == 6 for model in models)


def test_quantiles_are_of_variables(cohort):
    X, _, learned = cohort
    quantiles = CohortQuantiles.of(X, learned.model)
    at = {int(v): i for i, v in enumerate(learned.model.order)}
    ward = quantiles.values[:, at[WARD]]
    assert set(ward) == {0.0, 1.0, 2.0}
    assert (ward == 1).mean() == pytest.approx(X[:, ICU].mean(), abs=0.02)
    np.testing.assert_allclose(quantiles.values[50, at[BILI]], np.median(X[:, 5]))
    errors = learned.model.errors(X)[:, WARD]
    np.testing.assert_allclose(quantiles.errors[[0, 100], at[WARD]], [errors.min(), errors.max()])


def test_shap_shows_levels(cohort):
    X, _, learned = cohort
    pytest.importorskip("shap")
    shown = explain(learned.model, X[:4]).to_shap().display_data
    assert shown[0, SEX] in ("female", "male") and shown[0, BILI] == X[0, 5]


def test_figures_say_levels_and_mark_what_was_not_measured(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    hostile = list(VARIABLES)
    hostile[SEX] = Variable("sex", "binary", ("$x$ \x1b[2J", "<b>male</b>" * 100))
    model = fitted(tuple(hostile))
    assert model._encoding.variables == tuple(hostile)
    explanation = model.explain(with_holes(frame_of(draw()[0], tuple(hostile)), bili=0, ward=3))
    ax = plots.waterfall(explanation, 0)
    labels = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
    assert f"bili = {explanation.text(0, BILI)} (expected, not measured)" in labels
    assert sum(bar.get_hatch() is not None for bar in ax.patches) == 1
    assert any(label.startswith("ward = ") for label in labels)
    swarm = plots.beeswarm(explanation)
    assert "crosses: not measured" in swarm.get_xlabel() and "grey" in swarm.get_xlabel()
    graph = plots.graph(model)
    assert len(graph.texts) == 7 and any(patch.get_linestyle() == ":" for patch in graph.patches)
    for figure in (ax, swarm, graph):
        figure.figure.savefig(tmp_path / "figure.svg")


def test_checks_work_in_columns(door):
    X, y = draw()
    diagnosis = door.diagnose(with_holes(frame_of(X), ward=[0, 7], bili=[0, 5]), y)
    named = {name for check in diagnosis.checks for name in check.variables}
    assert named <= set(Encoding(VARIABLES).column_names)


def test_a_model_file_keeps_levels_and_what_fills_in(door, tmp_path):
    door.save(tmp_path / "model.rci")
    again = RCI.load(tmp_path / "model.rci")
    assert again._encoding.variables == VARIABLES
    holed = with_holes(frame_of(draw()[0][:20]), sex=[1, 2], ward=[2, 3], stage=4, bili=[5, 6])
    before, after = door.explain(holed), again.explain(holed)
    for name in ("values", "errors", "data", "lower", "upper", "imputed", "imputation_sd"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
    np.testing.assert_array_equal(
        before.what_if("ward", level="ICU").data, after.what_if("ward", level="ICU").data
    )


def test_variables_outside_the_order_are_those_without_a_column_in_it(cohort):
    _, _, learned = cohort
    model = learned.model
    keep = np.flatnonzero(~np.isin(model.column_order, [MEDICINE, 6]))
    mechanism = model.mechanism
    few = replace(
        model,
        mechanism=replace(
            mechanism,
            **{name: getattr(mechanism, name)[keep] for name in ("order", "mean", "sd")},
            mixing=mechanism.mixing[np.ix_(keep, keep)],
            unmixing=mechanism.unmixing[np.ix_(keep, keep)],
        ),
        attribution=replace(model.attribution, coef=model.attribution.coef[keep]),
    )
    assert few.outside(np.array([6, MEDICINE])).tolist() == [NOISE]
    assert WARD in few.order and AGE in few.order


def test_files_rebuild_a_model_with_its_layout(cohort):
    X, _, learned = cohort
    model = learned.model
    header = kinds_of(model)
    (again,) = unpack(header, pack([model], FITTED), LAYOUT, FITTED)
    np.testing.assert_array_equal(again.shapley(X), model.shapley(X))
    assert unpack(header, pack([model]), LAYOUT)[0].n_variables == 6
    with pytest.raises(ValueError, match="do not fit together"):
        unpack(header, pack([model], FITTED), Layout.numbers(6), FITTED)


def test_resamples_of_other_kinds_are_not_taken_for_these(cohort, tmp_path):
    X, y, _ = cohort
    rows = [TrainingRows(X, y, SETTINGS, "numpy", None, one) for one in (None, Layout.numbers(7), LAYOUT)]
    prints = [one.fingerprint(0) for one in rows]
    assert prints[0] == prints[1] != prints[2]
    kept = tmp_path / "resamples.npz"
    made = bootstrap(rows[2], 3, random_state=0, n_jobs=None, progress=False, resume=kept)
    read = bootstrap(rows[2], 3, random_state=0, n_jobs=None, progress=False, resume=kept)
    assert [model.n_variables for model in read.models] == [6] * 3
    np.testing.assert_array_equal(read.models[2].shapley(X), made.models[2].shapley(X))
