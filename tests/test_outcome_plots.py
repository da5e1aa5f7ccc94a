"""Figures, what if and arrows of times and numbers: in their own words, and with their own numbers."""

import re

import numpy as np
import pytest
from intervals_by_hand import assert_answers_of_resamples
from outcome_cohorts import N, number_model, patients, survival_model

from rootcausal import RCI, InputError, plots
from rootcausal.explaining.graph import graph_of
from rootcausal.outcomes import words_of
from rootcausal.outcomes.continuous import ValueAttribution

pytest.importorskip("matplotlib").use("Agg")

MODELS = {"survival": survival_model, "number": number_model}
KINDS = ["waterfall", "beeswarm", "prevalence", "heatmap", "graph"]


def explained(outcome, **options):
    return MODELS[outcome]().explain(patients()[0], **options)


def draw(kind, outcome):
    if kind == "graph":
        return plots.graph(MODELS[outcome]())
    return getattr(plots, kind)(explained(outcome), *([3] if kind == "waterfall" else []))


def words_on(ax):
    ax.figure.canvas.draw()
    axes = [text for one in ax.figure.axes for text in one.findobj(lambda part: hasattr(part, "get_text"))]
    return " | ".join(text.get_text() for text in axes)


@pytest.mark.parametrize("outcome", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_speaks_of_another_outcome(kind, outcome):
    said = words_on(draw(kind, outcome)).lower()
    assert not re.search("odds|disease|diagnosis|case|control|prevalence", said)
    if outcome == "number":
        assert not re.search("risk|hazard", said)


def test_a_waterfall_of_hazards_counts_in_ratios():
    explanation = explained("survival", ids=[f"p{row}" for row in range(N)])
    ax = plots.waterfall(explanation, "p3")
    assert ax.patches[0].get_x() == 0
    widths = [bar.get_width() for bar in ax.patches]
    assert sum(widths) == pytest.approx(explanation.predictor[3])
    assert ax.texts[0].get_text() == f"×{np.exp(widths[0]):.2f}"
    assert "risk by time 5" in ax.get_xlabel()
    assert f"dashed: p3, {explanation.predicted[3]:.0%}" in ax.get_xlabel()
    ax.figure.canvas.draw()
    ticks = [label.get_text() for label in ax.get_xticklabels()]
    assert "×1" in ticks and all(text.startswith("×") for text in ticks)


def test_a_waterfall_of_a_number_ends_at_what_is_expected():
    explanation = explained("number")
    ax = plots.waterfall(explanation, 3)
    assert ax.patches[0].get_x() == pytest.approx(explanation.base_value)
    assert f"dashed: patient 3, {explanation.predicted[3]:.1f}" in ax.get_xlabel()


def test_survival_curves_are_those_of_the_model():
    explanation, model = explained("survival"), survival_model()
    row = int(np.argmax(explanation.values.max(axis=1)))
    ax = plots.survival(explanation, row)
    own, without, typical = ax.lines[:3]
    times = own.get_xdata()
    expected = model.predict_survival(patients()[0], times)[row]
    assert own.get_ydata() == pytest.approx(expected)
    strongest = explanation.feature_names[int(explanation.values[row].argmax())]
    assert strongest in without.get_label() and (without.get_ydata() >= own.get_ydata()).all()
    hazard = model._model.attribution
    assert typical.get_ydata() == pytest.approx(np.exp(-np.interp(times, hazard.edges, hazard.cumulative)))
    assert ax.get_xlim()[1] == times[-1] == hazard.edges[-1]
    assert set(ax.lines[3].get_xdata()) == {5.0}
    assert ax.lines[4].get_ydata() == pytest.approx(1 - explanation.predicted_interval[:, row])


def test_survival_curves_follow_the_horizon():
    ax = plots.survival(explained("survival", horizon=2.0), 3)
    assert set(ax.lines[-2].get_xdata()) == {2.0} and "risk by time 2" in ax.get_xlabel()


def test_only_times_have_survival_curves():
    with pytest.raises(InputError, match="RCISurvival"):
        plots.survival(explained("number"), 3)
    with pytest.raises(InputError, match="no patient"):
        plots.survival(explained("survival"), "nobody")


def test_whoever_has_no_root_cause_has_two_curves():
    explanation = explained("survival")
    calm = explanation.values.max(axis=1).argmin()
    explanation.values[calm] = -np.abs(explanation.values[calm])
    assert [line.get_label() for line in plots.survival(explanation, int(calm)).lines[1:2]] == [
        "all shocks average"
    ]


@pytest.mark.parametrize("outcome", MODELS)
def test_what_if_answers_in_the_scale_of_the_outcome(outcome):
    explanation, model = explained(outcome), MODELS[outcome]()
    answer = explanation.what_if("weight")
    column = explanation.feature_names.index("weight")
    assert answer.predictor == pytest.approx(explanation.predictor - explanation.values[:, column])
    assert answer.predicted == pytest.approx(model._model.attribution.predicted(answer.predictor))
    assert_answers_of_resamples(explanation, answer, column, 0.0)
    with pytest.raises(AttributeError, match="use predictor"):
        _ = answer.log_odds
    with pytest.raises(AttributeError, match="use predictor"):
        _ = answer.log_odds_interval


def test_only_risks_are_probabilities():
    answer = explained("survival").what_if("weight")
    assert answer.probability is answer.predicted
    assert answer.probability_interval is answer.predicted_interval
    for of_number in (explained("number"), explained("number").what_if("weight")):
        with pytest.raises(AttributeError, match="use predictor"):
            _ = of_number.probability


def test_intervals_of_risks_hold_the_doubt_about_the_baseline():
    """By the model's own baseline they would be those of the log-hazard, carried over."""
    explanation, model = explained("survival"), survival_model()
    X = explanation._cells.columns
    draws = np.stack([one.predicted(X) for one in model.bootstrap_.models])
    assert explanation.predicted_interval == pytest.approx(np.quantile(draws, (0.025, 0.975), axis=0))
    typical = np.array([one.attribution.predicted(np.zeros(1))[0] for one in model.bootstrap_.models])
    assert np.ptp(typical) > 0.01


def test_without_resamples_nothing_has_an_interval():
    X, y = patients()[0].fillna(0.0), patients()[1] > 0
    explanation = RCI(backend="numpy").fit(X, y).explain(X)
    assert explanation.predicted_interval is None
    assert explanation.what_if("other").predicted_interval is None


def test_arrows_into_a_number_are_as_thick_as_its_spread_says():
    model = number_model()._model
    graph = graph_of(model, np.arange(model.order.size))
    spread = model.attribution.spread
    assert graph.into_outcome
    for arrow in graph.into_outcome:
        assert abs(arrow.weight) >= 0.1 * spread
        assert arrow.strength == pytest.approx(abs(arrow.weight) / spread)


def test_words_of_hazards():
    words = words_of(survival_model()._model.attribution, "death", "years")
    assert words.prediction == "risk by 5 years"
    assert words.adds(np.log(1.8)) == "raises the hazard 1.80-fold"
    assert words.adds(-np.log(2)) == "lowers the hazard 2.00-fold"
    assert words.adds(-0.001) == "hardly changes the hazard"
    assert [words.beside(np.log(ratio)) for ratio in (0.05, 0.5, 1, 3.14159, 12)] == [
        "×0.05",
        "×0.50",
        "×1.00",
        "×3.14",
        "×12",
    ]
    assert words.moved_by(0.1) == "the hazard of death 1.11-fold"
    assert words_of(survival_model()._model.attribution).prediction == "risk by time 5"


def test_words_of_numbers():
    words = words_of(ValueAttribution(np.zeros(1), 0.0, 25.0), "egfr", "ml/min")
    assert words.adds(4.23) == "adds 4.2 ml/min" and words.adds(-4.23) == "takes away 4.2 ml/min"
    assert (words.prediction, words.axis, words.added) == (
        "expected egfr",
        "expected egfr (ml/min)",
        "added to egfr (ml/min)",
    )
    assert [words.beside(value) for value in (4.23, -4.23, -0.001)] == ["+4.2", "-4.2", "0.0"]
    assert words.moved_by(2.5) == "egfr by 2.5 ml/min"
    assert words_of(ValueAttribution(np.zeros(1), 0.0, 30_000.0), "cost").predicted(123_456.7) == "123,457"
    assert words_of(number_model()._model.attribution).prediction == "expected value"
