"""The page of times and numbers as a file: what its scripts are told of the outcome."""

import base64
import re

import numpy as np
import pytest
from outcome_cohorts import UNITS, N, egfr, follow_up, number_model, patients, survival_model
from page_facts import facts_of

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival

X = patients()[0]


def block(page, name, kind="<f8"):
    text = re.search(rf'id="block-{name}">([^<]*)<', page.read_text(encoding="utf-8")).group(1)
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def has_block(page, name):
    return f'id="block-{name}"' in page.read_text(encoding="utf-8")


def test_a_page_of_times_has_the_baseline_and_the_horizon(tmp_path):
    out, model = tmp_path / "page.html", survival_model()
    model.report(X, out, *follow_up(), units=UNITS, target="death")
    facts, hazard = facts_of(out), model._model.attribution
    told = facts["outcome"]
    assert (told["kind"], told["horizon"], told["unit"], told["when"]) == (
        "survival",
        5.0,
        "years",
        "5 years",
    )
    assert (told["times"], told["hazards"]) == (hazard.edges.tolist(), hazard.cumulative.tolist())
    assert told["events"] == follow_up()[1].sum()
    assert facts["target"] == "death" and facts["base_value"] == 0.0
    explanation = model.explain(X)
    assert np.array_equal(block(out, "known").reshape(N, 2), np.column_stack(follow_up()))
    assert np.array_equal(block(out, "predicted-interval").reshape(N, 2), explanation.predicted_interval.T)
    predicted = facts["cohort"]["predicted"]
    assert (sum(predicted["counts"]), predicted["edges"][0], predicted["edges"][-1]) == (N, 0.0, 1.0)


def test_another_horizon_reaches_every_risk(tmp_path):
    out, model = tmp_path / "page.html", survival_model()
    model.report(X, out, horizon=2)
    told = facts_of(out)["outcome"]
    assert (told["horizon"], told["when"]) == (2.0, "time 2")
    expected = model.explain(X, horizon=2).predicted_interval.T
    assert np.array_equal(block(out, "predicted-interval").reshape(N, 2), expected)
    with pytest.raises(InputError, match="beyond the longest follow-up"):
        model.report(X, out, horizon=1000)


def test_intervals_of_hazard_ratios_are_those_of_the_resamples(tmp_path):
    out, model = tmp_path / "page.html", survival_model()
    model.report(X, out)
    draws = np.zeros((12, X.shape[1]))
    for draw, resample in zip(draws, model.bootstrap_.models, strict=True):
        draw[resample.order] = resample.unit_effects
    for one in facts_of(out)["variables"]:
        column = list(X.columns).index(one["name"])
        low, high = one["coef_interval"]
        assert (low, high) == pytest.approx(tuple(np.quantile(draws[:, column], (0.025, 0.975))))


def test_a_page_of_a_number_has_its_unit_and_spread(tmp_path):
    out, model = tmp_path / "page.html", number_model()
    model.report(X, out, egfr(), units=UNITS, target="egfr")
    facts = facts_of(out)
    told = facts["outcome"]
    assert (told["kind"], told["unit"], facts["positive"], facts["made"]["cases"]) == (
        "continuous",
        "ml/min",
        None,
        None,
    )
    assert told["spread"] == pytest.approx(egfr().std(ddof=1)) and told["mean"] == pytest.approx(
        egfr().mean()
    )
    assert facts["graph"]["weakest_on_outcome"] == pytest.approx(0.1 * told["spread"])
    assert np.array_equal(block(out, "known"), egfr())


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (1e9, 1.0), (0.0, 1e-6), (0.0, 1e6)])
def test_intervals_and_levels_are_kept_as_exactly_whatever_the_unit(tmp_path, shift, scale):
    out = tmp_path / "page.html"
    y = shift + scale * egfr()
    model = RCIRegressor(backend="numpy", kinds={"stage": "ordinal"}).fit(X, y).bootstrap(3)
    model.report(X, out)
    told, explanation = facts_of(out)["outcome"], model.explain(X)
    order = model.causal_order_
    strongest = block(out, "interval-of", "<u2").reshape(N, -1)
    for name, ends in (("lower", explanation.lower), ("upper", explanation.upper)):
        kept = told["step"] * block(out, name, "<i2").reshape(N, -1)
        expected = np.take_along_axis(ends[:, order], strongest, axis=1)
        assert np.allclose(kept, expected, rtol=0, atol=told["spread"] / 1000)
    kept = told["origin"] + told["step"] * block(out, "by-level", "<i2").reshape(N, -1)
    levels = explanation.variables[list(X.columns).index("stage")].levels
    expected = [explanation.what_if("stage", level=level).predicted for level in levels]
    assert np.allclose(kept, np.column_stack(expected), rtol=0, atol=told["spread"] / 1000)


def test_what_is_not_known_is_not_there(tmp_path):
    out = tmp_path / "page.html"
    time, event = follow_up()
    RCISurvival(backend="numpy").fit(X, time, event).report(X, out)
    assert not has_block(out, "known") and not has_block(out, "predicted-interval")
    assert all(one["coef_interval"] is None for one in facts_of(out)["variables"])
    assert facts_of(out)["target"] == "the event"


def test_a_page_of_a_diagnosis_has_intervals_of_risks_and_what_happened(tmp_path):
    out = tmp_path / "page.html"
    y = egfr() > 60
    model = RCI(backend="numpy").fit(X, y).bootstrap(3)
    model.report(X, out, y=y)
    facts = facts_of(out)
    assert facts["outcome"] == {"kind": "binary", "step": 0.01, "origin": 0.0}
    assert facts["target"] == "the disease" and facts["made"]["cases"] == y.sum()
    assert sum(facts["cohort"]["predicted"]["counts"]) == N
    assert np.array_equal(block(out, "known"), y.astype(float))
    expected = model.explain(X).predicted_interval.T
    assert np.array_equal(block(out, "predicted-interval").reshape(N, 2), expected)
    RCI(backend="numpy").fit(X, y).report(X, out)
    assert not has_block(out, "known") and not has_block(out, "predicted-interval")


def test_patients_of_scikit_survivals_array(tmp_path):
    out = tmp_path / "page.html"
    time, event = follow_up()
    both = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    model = RCISurvival(backend="numpy").fit(X, both)
    model.report(X.head(5), out, both[:5])
    assert np.array_equal(block(out, "known").reshape(5, 2), np.column_stack(follow_up())[:5])
