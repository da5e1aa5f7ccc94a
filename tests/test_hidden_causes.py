"""Variables whose errors stay dependent are read as one: found, told once everywhere, and kept in files."""

from __future__ import annotations

import base64
import csv
import re
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import error, ok, run
from page_facts import facts_of
from tampering import with_array, with_header
from toy_halves import SinhMechanism, SquareAttribution
from zoo import Animal
from zoo_fits import every_animal, fitted

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival, plots
from rootcausal.data import simulate
from rootcausal.diagnostics import Checked, confounding
from rootcausal.explaining.shown import named_sets
from rootcausal.inputs.kinds import Variable
from rootcausal.method.confounded_sets import MOST_MEMBERS, Merged, joined, with_sets
from rootcausal.method.model import CausalModel

READ_AS_ONE = "are read as one"
COPPER_BILI = "copper + bili"


def labs(n: int = 1500, hidden: float = 1.0, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Copper and bilirubin, which something hidden moves, raise the risk; sodium lowers it."""
    rng = np.random.default_rng(seed)
    errors, cause = rng.chisquare(3, (n, 4)) - 3.0, rng.chisquare(3, n) - 3.0
    X = pd.DataFrame(errors, columns=["ldl", "copper", "sodium", "bili"])
    X["copper"] += hidden * cause
    X["bili"] += hidden * cause
    log_odds = 0.3 * X["copper"] + 0.3 * X["bili"] - 0.4 * X["sodium"]
    return X, (log_odds + rng.logistic(size=n) > 0).to_numpy(dtype=int)


@pytest.fixture(scope="module")
def cohort() -> tuple[pd.DataFrame, np.ndarray]:
    return labs()


@pytest.fixture(scope="module")
def model(cohort: tuple[pd.DataFrame, np.ndarray]) -> RCI:
    with pytest.warns(UserWarning, match=f"'copper' and 'bili' {READ_AS_ONE}"):
        return RCI(confounding="merge", mechanism="linear").fit(*cohort).bootstrap(20)


@pytest.fixture
def saved(model: RCI, tmp_path: Path) -> Path:
    model.save(tmp_path / "model.rci")
    return tmp_path / "model.rci"


@pytest.fixture
def file(cohort: tuple[pd.DataFrame, np.ndarray], tmp_path: Path) -> Path:
    X, y = cohort
    X.assign(ill=y).to_csv(tmp_path / "cohort.csv", index=False)
    return tmp_path / "cohort.csv"


def test_pairs_make_up_sets_that_no_chain_outgrows() -> None:
    assert joined([]) == ()
    assert joined([(4, 1), (1, 4), (2, 3)]) == ((1, 4), (2, 3))
    assert joined([(0, 1), (1, 2)]) == ((0, 1, 2),)
    # The surest come first: what would make a set too large is passed over.
    assert joined([(0, 1), (2, 3), (1, 2), (3, 4)]) == ((0, 1), (2, 3, 4))
    rng = np.random.default_rng(0)
    for _ in range(200):
        pairs = [(int(a), int(b)) for a, b in rng.integers(0, 12, (20, 2)) if a != b]
        sets = joined(pairs)
        members = [member for some in sets for member in some]
        assert len(members) == len(set(members)) and set(members) <= set(np.ravel(pairs).tolist())
        assert all(2 <= len(some) <= MOST_MEMBERS for some in sets)
    assert all(len(some) <= MOST_MEMBERS for some in joined(pairwise(range(50))))


def test_sums_over_rows_stay_what_they_were() -> None:
    values = np.random.default_rng(0).standard_normal((5, 6))
    assert with_sets(values, ()) is values
    merged = with_sets(values, ((0, 3), (1, 2, 5)))
    np.testing.assert_allclose(merged.sum(axis=1), values.sum(axis=1))
    np.testing.assert_allclose(
        merged[:, 6:], np.column_stack([values[:, [0, 3]].sum(1), values[:, [1, 2, 5]].sum(1)])
    )
    assert not merged[:, [0, 1, 2, 3, 5]].any()
    np.testing.assert_array_equal(merged[:, 4], values[:, 4])


def test_a_hidden_cause_is_found_and_said(model: RCI) -> None:
    assert model.merged_sets_ == ((1, 3),)
    merged = model.provenance_["merged"]
    assert merged["sets"] == [["copper", "bili"]]
    assert [sorted(pair) for pair in merged["pairs"]] == [["bili", "copper"]]
    assert merged["pairs_asked"] >= 1
    assert model.provenance_["parameters"]["confounding"] == "merge"


def test_nothing_changes_unless_it_is_asked_for(cohort: tuple[pd.DataFrame, np.ndarray], model: RCI) -> None:
    X, y = cohort
    plain = RCI(mechanism="linear").fit(X, y)
    assert plain.merged_sets_ == () and "merged" not in plain.provenance_
    explanation = plain.explain(X)
    assert explanation.sets == () and explanation.set_values.shape == (len(X), 0)
    assert explanation.listed.values is explanation.values
    # What each variable adds is the same with sets: only how it is told differs.
    np.testing.assert_array_equal(model.scores(X), plain.scores(X))
    np.testing.assert_array_equal(model.shapley_values(X), plain.shapley_values(X))
    np.testing.assert_array_equal(model.explain(X).values, explanation.values)


def test_clean_cohorts_have_few_sets() -> None:
    found = 0
    for seed in range(40):
        clean = simulate(1000, 20, random_state=[seed, 77])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found += bool(RCI(confounding="merge").fit(clean.X, clean.y).merged_sets_)
    # One of twenty is meant to have some; more than seven of forty would be no chance.
    assert found <= 7


def test_a_weak_or_an_absent_hidden_cause_leaves_variables_apart() -> None:
    for hidden in (0.0, 0.05):
        assert RCI(confounding="merge").fit(*labs(hidden=hidden)).merged_sets_ == ()


def test_a_bend_is_no_hidden_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-1.7, 1.7, (2, 2000))
    X = pd.DataFrame({"a": a, "b": a**2 + 0.3 * a + 0.4 * b})
    y = (X["a"] + X["b"] + rng.logistic(size=2000) > 1).to_numpy(dtype=int)
    model = RCI(confounding="merge", mechanism="linear")
    assert model.fit(X, y).merged_sets_ == ()
    # Their errors do depend on each other: it is the bend that explains it.
    monkeypatch.setattr(confounding, "_apart_from_bends", lambda *asked: True)
    with pytest.warns(UserWarning, match=READ_AS_ONE):
        assert model.fit(X, y).merged_sets_ == ((0, 1),)


def test_pairs_that_nobody_tried_are_said(
    cohort: tuple[pd.DataFrame, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confounding, "TRIED_AT_MOST", 0)
    with pytest.warns(UserWarning, match="of 1 further dependent pair of errors nobody asked why"):
        assert RCI(confounding="merge").fit(*cohort).merged_sets_ == ()


@pytest.mark.parametrize("word", ["split", "", 3, True, ["merge"], np.array(["merge", "merge"])])
def test_other_words_are_one_clear_error(word: object, cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    with pytest.raises(InputError, match=r"unknown confounding .*: choose 'merge', or None"):
        RCI(confounding=word).fit(*cohort)


def test_a_set_is_told_once_under_its_joint_name(cohort: tuple[pd.DataFrame, np.ndarray], model: RCI) -> None:
    X, _ = cohort
    explanation = model.explain(X)
    (one,) = explanation.sets
    assert (one.name, one.members, one.places) == (COPPER_BILI, ("copper", "bili"), (1, 3))
    np.testing.assert_allclose(explanation.set_values[:, 0], explanation.values[:, [1, 3]].sum(axis=1))
    causes = explanation.root_causes(top=9)
    named = {cause.variable for patient in causes for cause in patient}
    assert COPPER_BILI in named and not named & {"copper", "bili"}
    for row, patient in enumerate(causes):
        sizes = [cause.shapley for cause in patient]
        assert sizes == sorted(sizes, reverse=True) and all(size > 0 for size in sizes)
        for cause in patient:
            assert (cause.members == ("copper", "bili")) == (cause.variable == COPPER_BILI)
            assert np.isnan(cause.value) == bool(cause.members)
            assert cause.lower <= cause.shapley <= cause.upper and 0 <= cause.frequency <= 1
            if cause.members:
                assert cause.shapley == explanation.set_values[row, 0]


def test_values_and_tables_still_sum_to_the_prediction(
    cohort: tuple[pd.DataFrame, np.ndarray], model: RCI
) -> None:
    X, _ = cohort
    explanation = model.explain(X)
    assert explanation.values.shape == X.shape
    stated = model.decision_function(X)
    np.testing.assert_allclose(explanation.base_value + explanation.values.sum(axis=1), stated, atol=1e-9)
    frame = explanation.to_frame()
    assert set(frame["variable"]) == {"ldl", "sodium", COPPER_BILI}
    np.testing.assert_allclose(
        explanation.base_value + frame.groupby("id")["shapley"].sum().to_numpy(), stated, atol=1e-9
    )
    assert (frame.groupby("id")["rank"].apply(sorted).apply(tuple) == (1, 2, 3)).all()
    assert frame.loc[frame["variable"] == COPPER_BILI, "value"].isna().all()
    errors = frame.loc[frame["variable"] == COPPER_BILI, "error"]
    assert abs(errors.mean()) < 1e-6 and abs(errors.std() - 1) < 0.01
    shap = explanation.to_shap()
    assert shap.feature_names == ["ldl", "sodium", COPPER_BILI]
    np.testing.assert_allclose(shap.base_values + shap.values.sum(axis=1), stated, atol=1e-9)
    assert shap.display_data[0, 2] == f"copper {X['copper'][0]:.4g}, bili {X['bili'][0]:.4g}"


def test_every_resample_has_the_sets_of_the_fitted_model(
    cohort: tuple[pd.DataFrame, np.ndarray], model: RCI
) -> None:
    X = cohort[0][:30]
    listed = model.explain(X).listed
    draws = np.stack([one.shapley(X.to_numpy())[:, [1, 3]].sum(axis=1) for one in model.bootstrap_.models])
    lower, upper = np.quantile(draws, (0.025, 0.975), axis=0)
    np.testing.assert_allclose(listed.lower[:, 4], np.minimum(lower, listed.values[:, 4]), atol=1e-12)
    np.testing.assert_allclose(listed.upper[:, 4], np.maximum(upper, listed.values[:, 4]), atol=1e-12)
    np.testing.assert_allclose(listed.frequency[:, 4], (draws > 0).mean(axis=0), atol=1e-12)
    assert (listed.rank_stability <= listed.frequency + 1e-12).all()


def test_what_is_not_measured_of_a_member_leaves_a_doubt_about_the_set(model: RCI) -> None:
    X = labs(50, seed=5)[0]
    X.loc[3, "bili"] = np.nan
    unsampled = RCI(confounding="merge")
    with pytest.warns(UserWarning, match=READ_AS_ONE):
        unsampled.fit(*labs())
    listed = unsampled.explain(X).listed
    assert listed.imputed[:, 4].tolist() == [row == 3 for row in range(50)]
    assert listed.lower[3, 4] < listed.values[3, 4] < listed.upper[3, 4]
    assert listed.lower[2, 4] == listed.values[2, 4] == listed.upper[2, 4]


def test_what_if_of_a_member_is_answered_with_a_word(
    cohort: tuple[pd.DataFrame, np.ndarray], model: RCI
) -> None:
    explanation = model.explain(cohort[0][:3])
    with pytest.warns(UserWarning, match=r"'bili' is read as one with others \(copper \+ bili\)"):
        answer = explanation.what_if("bili")
    np.testing.assert_allclose(answer.predictor, explanation.predictor - explanation.values[:, 3])
    explanation.what_if("sodium")  # no word: warnings are errors here


def test_joint_names_are_no_variables_names() -> None:
    names = ["a", "b", "a + b", "a + b (together)"]
    (one,) = named_sets(((0, 1),), [Variable(name, "number") for name in names])
    assert one.name not in names and one.members == ("a", "b")
    X, y = labs()
    X = X.rename(columns={"ldl": COPPER_BILI})
    with pytest.warns(UserWarning, match=READ_AS_ONE):
        explanation = RCI(confounding="merge").fit(X, y).explain(X[:5])
    assert len(set(explanation.listed.names)) == 5


def test_files_keep_the_sets(cohort: tuple[pd.DataFrame, np.ndarray], model: RCI, saved: Path) -> None:
    X, _ = cohort
    again = RCI.load(saved)
    assert again.merged_sets_ == model.merged_sets_ and again.confounding == "merge"
    assert again.provenance_ == model.provenance_
    one, other = model.explain(X).listed, again.explain(X).listed
    for name in ("values", "errors", "lower", "upper", "frequency", "rank_stability"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(again._set_quantiles, model._set_quantiles)


FORGED = [
    [[1]],
    [[1, 1]],
    [[3, 1]],
    [[1, 9]],
    [[-1, 1]],
    [[1.0, 3.0]],
    [[True, 3]],
    [["copper", "bili"]],
    [[1, 3], [2, 3]],
    [[2, 3], [0, 1]],
    [[0, 1, 2, 3]],
    [[1, 2]],  # not those that it remembers
    [],
    [1, 3],
    {"1": 3},
    None,
    "13",
]


@pytest.mark.parametrize("sets", FORGED, ids=str)
def test_forged_sets_are_refused(sets: object, saved: Path) -> None:
    with_header(saved, lambda header: header.update(merged_sets=sets))
    with pytest.raises(InputError, match="is not a rootcausal model, or it is damaged"):
        RCI.load(saved)


def test_sets_that_nobody_asked_for_or_without_quantiles_are_refused(saved: Path, model: RCI) -> None:
    with_header(saved, lambda header: header["provenance"]["parameters"].update(confounding=None))
    with pytest.raises(InputError, match="damaged"):
        RCI.load(saved)
    for change in (lambda q: q[:, :0], lambda q: q[::-1].copy(), lambda q: q * np.nan, lambda q: q.T.copy()):
        model.save(saved)
        with_array(saved, "set_quantiles", change)
        with pytest.raises(InputError, match="damaged"):
            RCI.load(saved)


def test_times_and_numbers_have_sets_too() -> None:
    X, _ = labs()
    rng = np.random.default_rng(1)
    raised = 0.3 * X["copper"] + 0.3 * X["bili"] - 0.4 * X["sodium"]
    with pytest.warns(UserWarning, match=READ_AS_ONE):
        number = RCIRegressor(confounding="merge").fit(X, raised + rng.standard_normal(len(X)))
    with pytest.warns(UserWarning, match=READ_AS_ONE):
        times = RCISurvival(confounding="merge").fit(
            X, rng.exponential(np.exp(-raised)), np.ones(len(X), int)
        )
    for model in (number, times):
        assert model.merged_sets_ == ((1, 3),)
        assert {one.variable for one in model.explain(X[:9]).root_causes(both_ways=True)[0]} & {COPPER_BILI}


def test_rows_on_a_cluster_are_refused(cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    dd = pytest.importorskip("dask.dataframe")
    X, y = cohort
    frame = dd.from_pandas(X.assign(ill=y), npartitions=2)
    with pytest.raises(InputError, match="patients in memory, and these rows are on a cluster"):
        RCI(confounding="merge", backend="dask").fit(frame[list(X)], frame["ill"])


def test_sets_need_nothing_of_a_mechanism_but_its_values(
    cohort: tuple[pd.DataFrame, np.ndarray], model: RCI
) -> None:
    X = cohort[0].to_numpy()
    straight = model._model
    weight = np.linspace(0.1, 0.4, straight.order.size)
    bent = CausalModel(SinhMechanism(straight.mechanism), SquareAttribution(weight))
    merged = Merged(bent, ((1, 3),))
    values = merged.shapley(np.sinh(X))
    np.testing.assert_allclose(values.sum(axis=1), bent.shapley(np.sinh(X)).sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(values[:, 4], bent.shapley(np.sinh(X))[:, [1, 3]].sum(axis=1), atol=1e-9)
    errors = merged.set_errors(bent.errors(np.sinh(X)))
    assert abs(errors.std() - 1.0) < 0.01
    np.testing.assert_allclose(merged.errors_of(np.sinh(X)), errors, atol=1e-9)
    assert sorted(merged.order.tolist()) == [*sorted({*straight.order.tolist()} - {1, 3}), 4]


def test_pairs_are_found_by_the_errors_of_the_mechanism_that_was_fitted(
    cohort: tuple[pd.DataFrame, np.ndarray], model: RCI
) -> None:
    X, y = np.sinh(cohort[0].to_numpy()), cohort[1].astype(float)
    straight, holes = model._model, np.zeros(X.shape, dtype=bool)
    bent = CausalModel(SinhMechanism(straight.mechanism), straight.attribution, straight.layout)
    for missing in (None, holes):
        asked = Checked(bent, X, missing, y, np.zeros(len(y)), model._encoding, None, model.provenance_)
        assert confounding.read_together(asked).sets == ((1, 3),)
    # Of values that were drawn at random, no pair is one.
    holes[:, 3] = True
    assert confounding.read_together(asked).sets == ()


def block(page: Path, name: str, kind: str = "<f8") -> np.ndarray:
    text = re.search(rf'id="block-{name}">([^<]*)<', page.read_text(encoding="utf-8"))
    assert text is not None
    return np.frombuffer(base64.b64decode(text.group(1)), dtype=kind)


def test_the_page_has_one_more_entry_in_place_of_the_members(
    cohort: tuple[pd.DataFrame, np.ndarray], model: RCI, tmp_path: Path
) -> None:
    X, y = cohort
    page = tmp_path / "page.html"
    model.report(X[:40], page, y[:40])
    facts = facts_of(page)
    names = [one["name"] for one in facts["variables"]]
    k = len(model.causal_order_)
    assert len(names) == k + 1 and names[-1] == COPPER_BILI
    members = facts["variables"][-1]["members"]
    assert [names[member] for member in members] == ["copper", "bili"]
    assert all(one["members"] == [] for one in facts["variables"][:-1])
    shapley = block(page, "shapley").reshape(40, k + 1)
    assert not shapley[:, members].any()
    np.testing.assert_allclose(
        facts["base_value"] + shapley.sum(axis=1), model.decision_function(X[:40]), atol=1e-9
    )
    assert set(facts["cohort"]["by_importance"]) == set(range(k + 1)) - set(members)
    assert set(facts["graph"]["shown"]) == set(range(k))
    assert len(facts["quantiles"]["errors"]) == k + 1
    assert any(note.startswith(f"Read as one: {COPPER_BILI}.") for note in facts["made"]["notes"])


def test_figures_draw_a_set_once(cohort: tuple[pd.DataFrame, np.ndarray], model: RCI) -> None:
    explanation = model.explain(cohort[0][:60])
    for draw in (plots.beeswarm, plots.prevalence, plots.heatmap):
        labels = [label.get_text() for label in draw(explanation).get_yticklabels()]
        assert COPPER_BILI in labels and not {"copper", "bili"} & set(labels)
    copper, bili = (explanation.text(0, place).replace("-", "−") for place in (1, 3))
    bars = [label.get_text() for label in plots.waterfall(explanation, 0).get_yticklabels()]
    assert sum(bar == f"{COPPER_BILI} = {copper}, {bili}" for bar in bars) == 1


def test_sets_are_called_by_the_labels_of_their_members(
    cohort: tuple[pd.DataFrame, np.ndarray], saved: Path, file: Path, tmp_path: Path
) -> None:
    called = RCI.load(saved).set_labels(
        {"copper": {"label": "Urine copper", "unit": "µg/d"}, "bili": "Bilirubin"}
    )
    joint = "Urine copper + Bilirubin"
    explanation = called.explain(cohort[0][:60])
    assert explanation.sets[0].name == COPPER_BILI and explanation.sets[0].shown == joint
    table = explanation.to_frame().set_index("variable")
    assert set(table.loc[COPPER_BILI, "label"]) == {joint} and set(table.loc[COPPER_BILI, "unit"]) == {""}
    assert joint in [label.get_text() for label in plots.prevalence(explanation).get_yticklabels()]
    told = plots.prevalence(explanation, labels={"bili": "B"}).get_yticklabels()
    assert "Urine copper + B" in [label.get_text() for label in told]
    bars = [label.get_text() for label in plots.waterfall(explanation, 0).get_yticklabels()]
    assert any(bar.startswith(joint) and " µg/d, " in bar for bar in bars)
    called.save(saved)
    printed = ok("explain", saved, file)
    assert joint in printed and COPPER_BILI not in printed
    called.report(cohort[0][:40], tmp_path / "page.html")
    facts = facts_of(tmp_path / "page.html")
    assert (facts["variables"][-1]["name"], facts["variables"][-1]["column"]) == (joint, COPPER_BILI)
    assert any(note.startswith(f"Read as one: {joint}.") for note in facts["made"]["notes"])


def bent_labs(n: int = 700, seed: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    """As :func:`labs`, but what is hidden bends bilirubin, and sodium bends the ldl that lowers the risk."""
    rng = np.random.default_rng(seed)
    errors, cause = rng.chisquare(3, (n, 4)) - 3.0, rng.chisquare(3, n) - 3.0
    X = pd.DataFrame(errors, columns=["ldl", "copper", "sodium", "bili"])
    X["copper"] += cause
    X["bili"] += cause
    X["ldl"] += np.tanh(X["sodium"]) * 3.0
    log_odds = 0.3 * X["copper"] + 0.3 * X["bili"] - 0.4 * X["ldl"]
    return X, (log_odds + rng.logistic(size=n) > 0).to_numpy(dtype=int)


def test_bent_mechanisms_have_sets_too(tmp_path: Path) -> None:
    X, y = bent_labs()
    model = RCI(mechanism="nonlinear", confounding="merge")
    with pytest.warns(UserWarning, match=f"'copper' and 'bili' {READ_AS_ONE}"):
        model.fit(X, y)
    assert model.merged_sets_ == ((1, 3),)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few resamples
        model.bootstrap(2)
    some = X[:30].copy()
    some.loc[4, "bili"] = np.nan
    explanation = model.explain(some)
    listed = explanation.listed
    assert COPPER_BILI in listed.names and explanation.sampling_sd is not None
    for table in (listed.values, listed.errors, listed.lower, listed.upper, listed.frequency):
        assert np.isfinite(table).all()
    np.testing.assert_allclose(explanation.set_values[:, 0], explanation.values[:, [1, 3]].sum(axis=1))
    np.testing.assert_allclose(
        explanation.base_value + listed.values.sum(axis=1), model.decision_function(some), atol=1e-9
    )
    model.save(tmp_path / "bent.rci")
    again = RCI.load(tmp_path / "bent.rci")
    assert again.merged_sets_ == model.merged_sets_ and again.mechanism == "nonlinear"
    for name in ("values", "errors", "lower", "upper", "frequency", "rank_stability"):
        np.testing.assert_array_equal(getattr(listed, name), getattr(again.explain(some).listed, name))
    again.report(some, tmp_path / "bent.html")
    facts = facts_of(tmp_path / "bent.html")
    assert facts["variables"][-1]["name"] == COPPER_BILI and not facts["linear"]
    assert COPPER_BILI in [label.get_text() for label in plots.beeswarm(explanation).get_yticklabels()]


def test_the_command_line_tells_sets(file: Path, tmp_path: Path) -> None:
    path, scores, page = tmp_path / "m.rci", tmp_path / "scores.csv", tmp_path / "page.html"
    said = run("fit", file, "--target", "ill", "--confounding", "merge", "--out", path)
    assert said.exit_code == 0 and "warning: 'copper' and 'bili' are read as one" in said.stderr
    assert f"read as one, since their errors stay dependent: {COPPER_BILI}" in said.stdout
    assert "confounding=merge" in said.stdout
    assert COPPER_BILI in ok("explain", path, file)
    ok("explain", path, file, "--out", scores)
    with scores.open(newline="", encoding="utf-8") as handle:
        header = next(csv.reader(handle))
    assert COPPER_BILI in header and not {"copper", "bili"} & set(header)
    answered = run("explain", path, file, "--what-if", "bili=0")
    assert answered.exit_code == 0 and "is read as one with others" in answered.stderr
    ok("report", file, "--model", path, "--out", page)
    assert facts_of(page)["variables"][-1]["name"] == COPPER_BILI
    ok("report", file, "--target", "ill", "--confounding", "merge", "--out", page)
    assert facts_of(page)["variables"][-1]["name"] == COPPER_BILI
    assert "confounding" not in ok("fit", file, "--target", "ill", "--out", path)


def test_where_nothing_is_found_that_is_said(tmp_path: Path) -> None:
    X, y = labs(hidden=0.0)
    X.assign(ill=y).to_csv(tmp_path / "clean.csv", index=False)
    said = ok(
        "fit",
        tmp_path / "clean.csv",
        "--target",
        "ill",
        "--confounding",
        "merge",
        "--out",
        tmp_path / "m.rci",
    )
    assert "read as one: no variables" in said


def test_options_that_mean_nothing_are_wrong_usage(file: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "m.rci")
    assert "--confounding" in error(2, "fit", file, "--target", "ill", "--confounding", "split", *out)
    on_cluster = error(2, "fit", file, "--target", "ill", "--confounding", "merge", "--backend", "dask", *out)
    assert "--confounding needs the table in memory" in on_cluster
    page = ("--out", tmp_path / "p.html")
    with_model = error(2, "report", file, "--model", file, "--confounding", "merge", *page)
    assert "--confounding is for fitting" in with_model


@every_animal
def test_the_zoo_is_read_as_one_or_apart(animal: Animal, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = RCI(confounding="merge", mechanism="linear").fit(animal.X, animal.y)
        explanation = model.explain(animal.X)
        plain = fitted(animal)
    np.testing.assert_array_equal(model.causal_order_, plain.causal_order_)
    np.testing.assert_array_equal(explanation.values, plain.explain(animal.X).values)
    members = [member for some in model.merged_sets_ for member in some]
    assert set(members) <= set(model.causal_order_.tolist()) and len(set(members)) == len(members)
    listed = explanation.listed
    assert np.isfinite(listed.values).all() and np.isfinite(listed.errors).all()
    sums = [explanation.values[:, list(some)].sum(axis=1) for some in model.merged_sets_]
    np.testing.assert_array_equal(explanation.set_values, np.array(sums).reshape(-1, len(animal.y)).T)
    total = explanation.base_value + listed.values.sum(axis=1) + explanation.covariate_effect
    np.testing.assert_allclose(total, explanation.predictor, rtol=1e-9, atol=1e-9)
    if model.merged_sets_:
        model.save(tmp_path / "model.rci")
        assert RCI.load(tmp_path / "model.rci").merged_sets_ == model.merged_sets_
