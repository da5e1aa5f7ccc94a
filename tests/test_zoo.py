"""What a model says of every cohort of the zoo: from fit to file.

Numbers are finite, sums add up, signs agree with a truth that is clear, nothing raises, and no warning is
heard but those that are documented for the cohort. A failure names the function and the animal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from intervals_by_hand import assert_answers_of_resamples, assert_intervals_of_resamples
from page_facts import facts_of
from scipy.special import logit
from zoo import EXHAUSTED, NO_DEPENDENCE, RARE_LEVEL, SEPARATED, UNSETTLED, ZOO, Animal
from zoo_fits import (
    RESAMPLES,
    UNSCREENED,
    a_few,
    assert_no_nan,
    assert_well_said,
    documented_warnings,
    every_animal,
    explained,
    finite,
    fitted,
    heard_fit,
    resampled,
)

from rootcausal import RCI
from rootcausal.explaining.explanation import Explanation
from rootcausal.method.model_parts import flattened
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.method.pipeline import ATTRIBUTIONS
from rootcausal.metrics import rank_biased_overlap, shapley_mse

# Log-odds beyond which a probability has lost the digits to say them.
SATURATED = 15.0
# Standard errors beyond which a sign is no chance.
CLEAR = 3.0
# Cut in halves, which takes a hundred fits: levels, missing values, copies, and nothing to be found.
CUT_IN_HALVES = ("no_effect", "near_copies", "all_kinds_with_holes", "mostly_zeros")

every_attribution = pytest.mark.parametrize("attribution", ATTRIBUTIONS)
every_fit = pytest.mark.parametrize(
    ("animal", "variant", "attribution"),
    [
        pytest.param(animal, variant, attribution, id=f"{animal.name}-{variant}-{attribution}")
        for animal in ZOO
        for variant in VARIANTS
        for attribution in ATTRIBUTIONS
        if animal in UNSCREENED or variant.startswith("local")
    ],
)


def standard_errors(model: RCI, X: Any) -> np.ndarray:
    """(p,) of the coefficients of maximum likelihood (Wald); infinite for variables that were dropped."""
    risk = model.predict_proba(X)[:, 1]
    design = np.column_stack([np.ones(len(risk)), model.transform(X)])
    information = design.T @ (design * (risk * (1 - risk))[:, None])
    errors = np.full(model.n_features_in_, np.inf)
    errors[np.sort(model.causal_order_)] = np.sqrt(np.diagonal(np.linalg.inv(information)))[1:]
    return errors


@every_fit
def test_fit(animal: Animal, variant: str, attribution: str) -> None:
    model, heard = heard_fit(animal, variant, attribution)
    assert [message for message in heard if not message.startswith(animal.warns)] == []
    facts = model.provenance_
    assert [
        ((SEPARATED, RARE_LEVEL), facts["separated"]),
        (EXHAUSTED, bool(facts["exhausted"])),
        (NO_DEPENDENCE, not model.causal_order_.size),
        (UNSETTLED, not facts["converged"]),
    ] == [
        (beginning, any(message.startswith(beginning) for message in heard))
        for beginning in ((SEPARATED, RARE_LEVEL), EXHAUSTED, NO_DEPENDENCE, UNSETTLED)
    ]
    assert finite(model.coef_, model.intercept_, model.margins_[:-1])
    assert len(set(model.causal_order_)) == model.margins_.size == model.causal_order_.size
    if attribution == "sharp":
        assert ((model.ancestor_probability_ >= 0) & (model.ancestor_probability_ <= 1)).all()
    else:
        assert model.ancestor_probability_ is None


@every_fit
def test_mean_risk_is_the_share_of_cases(animal: Animal, variant: str, attribution: str) -> None:
    model, _ = heard_fit(animal, variant, attribution)
    # What is expected of a value that is missing lies nearer to the mean than the value itself.
    near = 0.05 if animal.has_missing else 1e-3
    assert model.predict_proba(animal.X)[:, 1].mean() == pytest.approx(animal.y.mean(), rel=near)


@every_fit
def test_signs_are_those_of_the_truth(animal: Animal, variant: str, attribution: str) -> None:
    model, _ = heard_fit(animal, variant, attribution)
    coef = dict(zip(animal.names, model.coef_, strict=True))
    assert [name for name in animal.raises if coef[name] <= 0] == []
    assert [name for name in animal.lowers if coef[name] >= 0] == []
    # Half a log-odds for a standard deviation would be something where there is nothing.
    weakest = min((abs(coef[name]) for name in animal.raises + animal.lowers), default=0.5)
    assert [name for name in animal.null if abs(coef[name]) >= weakest] == []


@every_animal
def test_a_maximum_of_the_likelihood_has_standard_errors(animal: Animal) -> None:
    model = fitted(animal, "paper")
    if not model.provenance_["separated"]:
        assert standard_errors(model, animal.X)[model.causal_order_].max(initial=0.0) < 10


@every_animal
def test_the_attributions_agree_in_sign(animal: Animal) -> None:
    paper, sharp = fitted(animal, "paper"), fitted(animal)
    if not paper.provenance_["separated"]:
        clear = np.abs(paper.coef_) > CLEAR * standard_errors(paper, animal.X)
        assert (np.sign(paper.coef_) * np.sign(sharp.coef_))[clear].min(initial=0.0) >= 0


@every_animal
@every_attribution
def test_scoring(animal: Animal, attribution: str) -> None:
    model, X = fitted(animal, attribution), animal.X
    values, log_odds, risk = model.shapley_values(X), model.decision_function(X), model.predict_proba(X)
    assert finite(values, log_odds, risk)
    assert log_odds == pytest.approx(model.intercept_ + values.sum(axis=1))
    assert risk.sum(axis=1) == pytest.approx(1.0)
    told = np.abs(log_odds) < SATURATED
    assert logit(risk[told, 1]) == pytest.approx(log_odds[told], abs=1e-6)
    assert (model.predict(X) == (log_odds > 0)).all()
    kept = np.sort(model.causal_order_)
    errors = model.transform(X)
    assert finite(errors)
    spread = errors.std(axis=0, ddof=1)
    if animal.has_missing:
        assert ((spread > 0.5) & (spread < 1.05)).all()
    else:
        assert spread == pytest.approx(1.0, rel=1e-3)
    assert list(model.get_feature_names_out()) == [animal.names[c] for c in kept]
    scores = model.scores(X)
    assert np.array_equal(scores[:, kept], values[:, kept])
    assert np.isneginf(np.delete(scores, kept, axis=1)).all()
    assert rank_biased_overlap(values, scores) == pytest.approx(1.0)
    assert shapley_mse(values, scores) == 0.0


@every_animal
def test_bootstrap(animal: Animal, tmp_path: Path) -> None:
    resamples = resampled(animal).bootstrap_
    assert len(resamples) == RESAMPLES
    for model in resamples.models:
        assert finite(
            *flattened([model.mechanism], all_of_it=True).values(),
            *flattened([model.attribution], all_of_it=True).values(),
        )
    assert ((resamples.selection_frequency >= 0) & (resamples.selection_frequency <= 1)).all()
    low, high = resamples.place_quantiles(0.1, 0.9)[:, resamples.selection_frequency > 0]
    assert (low <= high).all()
    with documented_warnings(animal), joblib.parallel_config("threading", n_jobs=2):
        model = RCI(mechanism="linear").fit(animal.X, animal.y)
        again = model.bootstrap(RESAMPLES, resume=tmp_path / "resamples.npz").bootstrap_
    assert np.array_equal(again.places, resamples.places, equal_nan=True)


@every_animal
def test_explain(animal: Animal) -> None:
    explanation = explained(animal)
    assert explanation.values == pytest.approx(fitted(animal).shapley_values(animal.X))
    assert explanation.log_odds == pytest.approx(fitted(animal).decision_function(animal.X))
    assert explanation.probability == pytest.approx(fitted(animal).predict_proba(animal.X)[:, 1])
    assert finite(explanation.lower, explanation.upper, explanation.errors)
    assert_intervals_of_resamples(explanation)
    assert np.array_equal(explanation.of_scored().values, explanation.values[explanation.scored])
    last = explanation.of_ids(explanation.ids[-2:][::-1])
    assert np.array_equal(last.values, explanation.values[-2:][::-1])
    for share in (explanation.frequency, explanation.rank_stability):
        assert ((share >= 0) & (share <= 1)).all()
    assert all(explanation.text(0, column) for column in range(len(animal.names)))
    # A resample in which it is no root cause does not rank it among the root causes.
    stated = explanation.values > 0
    assert (explanation.rank_stability <= explanation.frequency)[stated].all()


@every_animal
def test_root_causes(animal: Animal) -> None:
    explanation = explained(animal)
    for row, causes in enumerate(explanation.root_causes(top=2)):
        values = [cause.shapley for cause in causes]
        assert values == sorted(values, reverse=True)
        assert all(value >= explanation.notable_from for value in values)
        raising = explanation.values[row] >= explanation.notable_from
        # What was not measured counts where its own interval keeps above zero.
        counts = ~explanation.imputed[row] | (explanation.lower[row] > 0)
        assert len(values) == min(2, (raising & counts).sum())
        for cause in causes:
            column = explanation.feature_names.index(cause.variable)
            assert raising[column] and counts[column]
            assert (cause.lower, cause.upper) == (
                explanation.lower[row, column],
                explanation.upper[row, column],
            )


@every_animal
def test_set_labels(animal: Animal) -> None:
    model = resampled(animal)
    names = model._encoding.names
    try:
        explanation = model.set_labels(
            {names[0]: {"label": "=<b>first\u202e", "unit": "g", "digits": 2}}
        ).explain(animal.X)
        assert explanation.variables[0].shown == "=<b>first\u202e" and explanation.feature_names == names
        tidy = explanation.to_frame()
        assert (tidy["notable"] == ((tidy["shapley"].abs() >= explanation.notable_from) & told(tidy))).all()
        assert tidy["notable"].sum() == explanation.notable.sum()
        assert set(tidy["unit"]) == ({"g", ""} if len(names) > 1 else {"g"})
    finally:
        model.set_labels({})


@every_animal
def test_to_frame(animal: Animal) -> None:
    tidy = explained(animal).to_frame()
    assert len(tidy) == animal.X.size
    assert finite(tidy.drop(columns="value").select_dtypes("number"))
    unused = tidy["value"].isna()
    assert not (unused & (tidy["imputed"] | (tidy["shapley"] != 0))).any()
    assert animal.has_missing or not unused.any()
    assert (tidy["root_cause"] == ((tidy["shapley"] > 0) & told(tidy))).all()
    # The patients of the fit are like themselves.
    assert not tidy["unlike"].any() and not any(explained(animal).unlike_most)


def told(tidy: pd.DataFrame) -> pd.Series:
    """What was measured, or has an interval that keeps to its own side of zero."""
    same_side = tidy["lower"].where(tidy["shapley"] > 0, -tidy["upper"]) > 0
    return ~tidy["imputed"] | same_side


@pytest.mark.parametrize("name", CUT_IN_HALVES)
def test_split_half(name: str) -> None:
    (animal,) = (one for one in ZOO if one.name == name)
    with documented_warnings(animal):
        found = RCI().fit(animal.X, animal.y).split_half(1)
    said = str(found)
    assert "nan" not in said and "1 split" in said and "1 splits" not in said
    assert (found.same == found.same) == (animal.name != "no_effect")


@every_animal
@pytest.mark.filterwarnings("ignore")  # shap and what it imports are not ours
def test_to_shap(animal: Animal) -> None:
    shap = explained(animal).to_shap()
    assert finite(shap.values, shap.base_values, shap.data)


@every_animal
def test_what_if(animal: Animal) -> None:
    explanation = explained(animal)
    for column, variable in enumerate(explanation.variables[:3]):
        asked = variable.levels[-1] if variable.levels else 0.0
        if variable.levels:
            answer = explanation.what_if(variable.name, level=asked)
            stays = explanation.levels()[:, column] == answer.levels()[:, column]
            stays &= ~explanation.imputed[:, column]
            assert answer.log_odds[stays] == pytest.approx(explanation.log_odds[stays])
        else:
            answer = explanation.what_if(variable.name)
            assert answer.log_odds == pytest.approx(explanation.log_odds - explanation.values[:, column])
        assert finite(answer.probability)
        # Levels without an order have no interval, and what nobody needs may be missing.
        assert_answers_of_resamples(explanation, answer, column, asked)
        assert finite(answer.log_odds_interval, answer.probability_interval)
        known = ~np.isnan(answer.data_interval)
        assert known.any() and (animal.has_missing or known.all() or "nominal" in kinds(explanation))


def kinds(explanation: Explanation) -> set[str]:
    return {variable.kind for variable in explanation.variables}


@every_animal
def test_diagnose(animal: Animal) -> None:
    assert_well_said(fitted(animal).diagnose(animal.X, animal.y), fitted(animal))
    without_diagnoses = [check.name for check in fitted(animal).diagnose(animal.X).checks]
    assert [name for name in without_diagnoses if name not in ("learned", "as_named")] == ["in_range"]


@every_animal
def test_report(animal: Animal, tmp_path: Path) -> None:
    patients = a_few(animal)
    resampled(animal).report(animal.variables(patients), tmp_path / "page.html", y=patients["ill"])
    assert_no_nan(facts_of(tmp_path / "page.html"))


@every_animal
def test_save_and_load(animal: Animal, tmp_path: Path) -> None:
    model = resampled(animal)
    model.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    assert np.array_equal(loaded.scores(animal.X), model.scores(animal.X))
    assert np.array_equal(loaded.predict_proba(animal.X), model.predict_proba(animal.X))
    again = loaded.explain(animal.X)
    assert np.array_equal(again.lower, explained(animal).lower)
    assert again.scored.all() and again.of_scored() is again
