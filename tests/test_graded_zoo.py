"""What models of times and of numbers say of every cohort of their zoo: from fit to file.

Numbers are finite, sums add up, signs agree with a truth that is clear, nothing raises, and no warning is
heard but those that are documented for the cohort. A failure names the function and the animal.
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graded_zoo import BEFORE_OTHERS, GRADED_REFUSED, GRADED_ZOO, LAST_DIGIT, GradedAnimal
from intervals_by_hand import assert_intervals_of_resamples
from page_facts import facts_of
from survival_oracle import kaplan_meier
from zoo import EXHAUSTED, NO_DEPENDENCE, UNSETTLED
from zoo_fits import assert_no_nan, assert_well_said, documented_warnings, finite

from rootcausal import Explanation, InputError, RCIRegressor, RCISurvival, plots
from rootcausal.method.pipeline import ATTRIBUTIONS

pytest.importorskip("matplotlib").use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

Model = RCISurvival | RCIRegressor
RESAMPLES = 2

every_animal = pytest.mark.parametrize("animal", GRADED_ZOO, ids=lambda animal: animal.name)
every_time = pytest.mark.parametrize(
    "animal", [one for one in GRADED_ZOO if one.estimator is RCISurvival], ids=lambda animal: animal.name
)
every_number = pytest.mark.parametrize(
    "animal", [one for one in GRADED_ZOO if one.estimator is RCIRegressor], ids=lambda animal: animal.name
)
every_attribution = pytest.mark.parametrize("attribution", ATTRIBUTIONS)
every_fit = pytest.mark.parametrize(
    ("animal", "variant", "attribution"),
    [
        pytest.param(animal, variant, attribution, id=f"{animal.name}-{variant}-{attribution}")
        for animal in GRADED_ZOO
        for variant in ("local_plus", "plus")
        for attribution in ATTRIBUTIONS
    ],
)


@cache
def heard_fit(animal: GradedAnimal, variant: str, attribution: str) -> tuple[Model, tuple[str, ...]]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        # At this level the test drops something of small cohorts too.
        model = animal.estimator(variant=variant, attribution=attribution, alpha=0.5, mechanism="linear")
        model.fit(animal.X, *animal.outcome)
    return model, tuple(str(warning.message) for warning in heard)


def fitted(animal: GradedAnimal, attribution: str = "sharp") -> Any:
    return heard_fit(animal, "local_plus", attribution)[0]


@cache
def resampled(animal: GradedAnimal) -> Any:
    with documented_warnings(animal):
        return (
            animal.estimator(alpha=0.5, mechanism="linear")
            .fit(animal.X, *animal.outcome)
            .bootstrap(RESAMPLES)
        )


@cache
def explained(animal: GradedAnimal) -> Explanation:
    return resampled(animal).explain(animal.X)


@every_fit
def test_fit(animal: GradedAnimal, variant: str, attribution: str) -> None:
    model, heard = heard_fit(animal, variant, attribution)
    assert [message for message in heard if not message.startswith(animal.warns)] == []
    facts = model.provenance_
    certain = BEFORE_OTHERS if animal.estimator is RCISurvival else LAST_DIGIT
    assert [
        (certain, facts["separated"]),
        (EXHAUSTED, bool(facts["exhausted"])),
        (NO_DEPENDENCE, not model.causal_order_.size),
        (UNSETTLED, not facts["converged"]),
    ] == [
        (beginning, any(message.startswith(beginning) for message in heard))
        for beginning in (certain, EXHAUSTED, NO_DEPENDENCE, UNSETTLED)
    ]
    assert finite(model.coef_, model.intercept_, model.margins_[:-1])
    assert len(set(model.causal_order_)) == model.margins_.size == model.causal_order_.size
    if attribution == "sharp":
        assert ((model.ancestor_probability_ >= 0) & (model.ancestor_probability_ <= 1)).all()
    else:
        assert model.ancestor_probability_ is None


@every_fit
def test_signs_are_those_of_the_truth(animal: GradedAnimal, variant: str, attribution: str) -> None:
    model, _ = heard_fit(animal, variant, attribution)
    coef = dict(zip(animal.names, model.coef_, strict=True))
    assert [name for name in animal.raises if coef[name] <= 0] == []
    assert [name for name in animal.lowers if coef[name] >= 0] == []
    spread = 0.5 if animal.estimator is RCISurvival else 0.5 * model.provenance_["sd"]
    weakest = min((abs(coef[name]) for name in animal.raises + animal.lowers), default=spread)
    assert [name for name in animal.null if abs(coef[name]) >= weakest] == []


@every_animal
@every_attribution
def test_scoring(animal: GradedAnimal, attribution: str) -> None:
    model, X = fitted(animal, attribution), animal.X
    values, predicted = model.shapley_values(X), model.predict(X)
    assert finite(values, predicted)
    assert predicted == pytest.approx(
        model.intercept_ + values.sum(axis=1), abs=1e-9 * np.abs(predicted).max()
    )
    kept, errors = np.sort(model.causal_order_), model.transform(X)
    spread = errors.std(axis=0, ddof=1)
    assert (
        ((spread > 0.5) & (spread < 1.05)).all()
        if animal.has_missing
        else spread == pytest.approx(1.0, rel=1e-3)
    )
    assert list(model.get_feature_names_out()) == [animal.names[c] for c in kept]
    scores = model.scores(X)
    assert np.array_equal(scores[:, kept], values[:, kept])
    assert np.isneginf(np.delete(scores, kept, axis=1)).all()


@every_time
@every_attribution
def test_risks_are_those_of_the_cohort(animal: GradedAnimal, attribution: str) -> None:
    model, X = fitted(animal, attribution), animal.X
    time, event = animal.outcome
    assert 0.0 < model.horizon_ <= time.max()
    alive = model.predict_survival(X, np.linspace(0.0, time.max(), 5))
    assert ((alive >= 0) & (alive <= 1)).all() and (np.diff(alive, axis=1) <= 0).all()
    risk = model.predict_risk(X)
    assert finite(risk) and ((risk >= 0) & (risk <= 1)).all()
    if len(time) >= 100 and np.unique(time).size > 20:
        assert risk.mean() == pytest.approx(1.0 - kaplan_meier(time, event, model.horizon_), abs=0.05)
    if animal.raises:
        with documented_warnings(animal):
            assert model.score(X, time, event) > 0.55


@every_number
@every_attribution
def test_mean_predictions_are_mean_values(animal: GradedAnimal, attribution: str) -> None:
    model, (y,) = fitted(animal, attribution), animal.outcome
    near = 0.05 if animal.has_missing else 1e-3
    assert model.predict(animal.X).mean() == pytest.approx(y.mean(), abs=near * y.std())
    if animal.raises:
        assert 0.0 < model.score(animal.X, y) <= 1.0


@every_animal
def test_backends_agree(animal: GradedAnimal) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = (
            animal.estimator(backend=backend, alpha=0.5, mechanism="linear").fit(animal.X, *animal.outcome)
            for backend in ("numpy", "numba")
        )
    assert one.causal_order_.tolist() == other.causal_order_.tolist()
    assert one.coef_ == pytest.approx(other.coef_, rel=1e-6, abs=1e-9 * np.abs(one.coef_).max(initial=1e-9))
    assert one.predict(animal.X) == pytest.approx(other.predict(animal.X), rel=1e-6, abs=1e-9)


@every_animal
def test_explain(animal: GradedAnimal) -> None:
    explanation, model = explained(animal), resampled(animal)
    assert explanation.predictor == pytest.approx(model.predict(animal.X))
    assert finite(explanation.lower, explanation.upper, explanation.errors, explanation.predicted)
    assert_intervals_of_resamples(explanation)
    for share in (explanation.frequency, explanation.rank_stability):
        assert ((share >= 0) & (share <= 1)).all()
    causes = explanation.root_causes(top=2)[0]
    assert all(cause.shapley >= explanation.notable_from for cause in causes)
    for cause in causes:
        column = explanation.feature_names.index(cause.variable)
        assert (cause.lower, cause.upper) == (explanation.lower[0, column], explanation.upper[0, column])
        assert not cause.imputed or cause.lower > 0
    tidy = explanation.to_frame()
    assert len(tidy) == animal.X.size and finite(tidy.drop(columns="value").select_dtypes("number"))


@every_animal
def test_what_if(animal: GradedAnimal) -> None:
    explanation = explained(animal)
    size = np.abs(explanation.predictor).max()
    for column, variable in enumerate(explanation.variables[:2]):
        if variable.levels:
            assert finite(explanation.what_if(variable.name, level=variable.levels[-1]).predicted)
        else:
            answer = explanation.what_if(variable.name)
            expected = explanation.predictor - explanation.values[:, column]
            assert answer.predictor == pytest.approx(expected, abs=1e-9 * size)
            assert finite(answer.predicted)


@every_animal
def test_diagnose(animal: GradedAnimal) -> None:
    model = fitted(animal)
    with documented_warnings(animal):
        assert_well_said(model.diagnose(animal.X, *animal.outcome), model)
    without_outcome = {check.name for check in model.diagnose(animal.X).checks}
    assert "in_range" in without_outcome and not {"proportional", "calibrated"} & without_outcome


@every_animal
def test_report(animal: GradedAnimal, tmp_path: Path) -> None:
    few = animal.X[:10], tmp_path / "page.html"
    resampled(animal).report(*few)
    assert_no_nan(facts_of(few[1]))
    with documented_warnings(animal):
        resampled(animal).report(*few, *(known[:10] for known in animal.outcome))
    assert_no_nan(facts_of(few[1]))


@every_animal
def test_plots(animal: GradedAnimal) -> None:
    explanation = resampled(animal).explain(animal.X[:10])
    drawn = [
        plots.waterfall(explanation, 0),
        plots.beeswarm(explanation),
        plots.graph(resampled(animal)),
    ]
    if animal.estimator is RCISurvival:
        drawn.append(plots.survival(explanation, 0))
    for axes in drawn:
        assert finite(axes.get_xlim(), axes.get_ylim())
        plt.close(axes.figure)


@every_animal
def test_cross_validate(animal: GradedAnimal) -> None:
    if len(animal.X) < 30 or animal.name == "two_events":
        return  # folds would be too small
    figures = resampled(animal).cross_validate(folds=3)
    assert finite(*figures.values())
    if animal.estimator is RCISurvival:
        assert 0.0 <= figures["concordance"] <= 1.0 and figures["horizon"] == resampled(animal).horizon_
        assert 0.0 <= figures["brier"] < 1.3 * figures["brier_without_variables"]
    else:
        assert figures["r2"] <= 1.0 and figures["error"] < 1.5 * figures["error_without_variables"]


@every_animal
def test_save_and_load(animal: GradedAnimal, tmp_path: Path) -> None:
    model = resampled(animal)
    model.save(tmp_path / "model.rci")
    loaded = animal.estimator.load(tmp_path / "model.rci")
    assert np.array_equal(loaded.scores(animal.X), model.scores(animal.X))
    assert np.array_equal(loaded.predict(animal.X), model.predict(animal.X))
    assert np.array_equal(loaded.explain(animal.X).lower, explained(animal).lower)


@pytest.mark.parametrize("animal", GRADED_REFUSED, ids=lambda animal: animal.name)
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_refused(animal: GradedAnimal, backend: str) -> None:
    with pytest.raises(InputError, match=animal.refused):
        animal.estimator(backend=backend).fit(animal.X, *animal.outcome)
