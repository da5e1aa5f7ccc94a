"""The two halves of a model: linear ones agree with their matrices, and others may take their place."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from page_facts import facts_of
from toy_halves import SinhMechanism, SquareAttribution

from rootcausal import RCI, InputError, plots
from rootcausal.data import simulate
from rootcausal.files import array_archive as model_arrays
from rootcausal.method.model import ROWS_PER_BLOCK, CausalModel
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.method.reference_ranges import CohortQuantiles
from rootcausal.outcomes.binary import LogOddsAttribution
from rootcausal.resampling.bootstrap import Bootstrap


@pytest.fixture(scope="module", params=["local_plus", "plus"])
def fitted(request: pytest.FixtureRequest) -> tuple[np.ndarray, RCI]:
    """Of the first variant some columns are outside the order, of the second none."""
    cohort = simulate(ROWS_PER_BLOCK + 500, 9, random_state=2)
    return cohort.X, RCI(variant=request.param, alpha=1e-3).fit(cohort.X, cohort.y)


def bent(fitted: tuple[np.ndarray, RCI], attribution: object = None) -> tuple[np.ndarray, RCI]:
    """The same model of values that were bent, and these values."""
    X, straight = fitted
    model = RCI(**straight.get_params())
    model.__dict__ |= vars(straight)
    halves = straight._model
    model._model = CausalModel(SinhMechanism(halves.mechanism), attribution or halves.attribution)
    model._keep_quantiles(CohortQuantiles.of(np.sinh(X), model._model))
    return np.sinh(X), model


def block(page: Path, name: str) -> np.ndarray:
    text = re.search(rf'id="block-{name}">([^<]*)<', page.read_text(encoding="utf-8"))
    return np.frombuffer(base64.b64decode(text.group(1)), dtype="<f8")


def test_linear_halves_agree_with_their_matrices(fitted: tuple[np.ndarray, RCI]) -> None:
    X, model = fitted
    halves, order = model._model, model.causal_order_
    mechanism = halves.mechanism
    standard = (X[:, order] - mechanism.mean) / mechanism.sd
    errors = standard @ mechanism.unmixing
    np.testing.assert_allclose(halves.errors(X)[:, order], errors, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        halves.shapley(X)[:, order], errors * halves.attribution.coef, rtol=1e-9, atol=1e-12
    )
    outside = np.delete(np.arange(9 - 1), order)
    assert (outside.size > 0) == (model.variant == "local_plus")
    assert not halves.errors(X)[:, outside].any() and not halves.shapley(X)[:, outside].any()


def test_values_are_the_way_back_from_errors(fitted: tuple[np.ndarray, RCI]) -> None:
    for X, model in (fitted, bent(fitted)):
        mechanism = model._model.mechanism
        places = np.arange(mechanism.order.size)
        again = mechanism.values(mechanism.errors(X, places))
        np.testing.assert_allclose(again, X[:, mechanism.order], rtol=1e-9, atol=1e-9)
        some = places[::-2]
        np.testing.assert_allclose(
            mechanism.errors(X, some, times=2.0 + some), mechanism.errors(X, places)[:, some] * (2.0 + some)
        )


def test_a_shock_moves_what_lies_downstream_and_nothing_else(fitted: tuple[np.ndarray, RCI]) -> None:
    for X, model in (fitted, bent(fitted)):
        order = model.causal_order_
        place = 1
        answer = model.explain(X).what_if(int(order[place]), 1.5)
        np.testing.assert_array_equal(
            np.delete(answer.data, order[place:], axis=1), np.delete(X, order[place:], axis=1)
        )
        # The changed values have the errors that were asked for: this one set, all others as before.
        expected = model._model.errors(X)
        expected[:, order[place]] = 1.5
        np.testing.assert_allclose(model._model.errors(answer.data), expected, atol=1e-6)
        np.testing.assert_allclose(answer.log_odds, model.decision_function(answer.data), atol=1e-6)


def test_nothing_above_the_core_knows_that_a_mechanism_is_bent(
    fitted: tuple[np.ndarray, RCI], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(model_arrays.MECHANISM_KINDS, "sinh", SinhMechanism)
    (X, straight), (bent_X, model) = fitted, bent(fitted)
    order = model.causal_order_
    explanation, expected = model.explain(bent_X), straight.explain(X)
    np.testing.assert_allclose(explanation.errors, expected.errors, atol=1e-9)
    np.testing.assert_allclose(explanation.values, expected.values, atol=1e-9)
    quantiles = CohortQuantiles.of(bent_X, model._model)
    np.testing.assert_allclose(quantiles.errors, straight._quantiles.errors, atol=1e-9)
    np.testing.assert_allclose(quantiles.values[50], np.median(bent_X[:, order], axis=0), atol=1e-9)
    model._quantiles = quantiles
    assert len(plots.graph(model).patches) == len(plots.graph(straight).patches) > 0
    diagnosis = (X[:50] > np.median(X[:50], axis=0))[:, order[0]].astype(int)
    model.report(bent_X[:50], tmp_path / "page.html", diagnosis)
    facts = facts_of(tmp_path / "page.html")
    straight.report(X[:50], tmp_path / "straight.html")
    of_straight = facts_of(tmp_path / "straight.html")["graph"]
    weights, expected = (
        [arrow.pop("weight") for arrow in graph["into_outcome"]] for graph in (facts["graph"], of_straight)
    )
    assert weights == pytest.approx(expected) and len(weights) > 0
    assert facts["graph"] == of_straight
    assert [one["sd"] for one in facts["variables"]] == model._model.mechanism.scale.tolist()
    model.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    assert isinstance(loaded._model.mechanism, SinhMechanism)
    np.testing.assert_array_equal(loaded.shapley_values(bent_X), model.shapley_values(bent_X))
    monkeypatch.undo()
    with pytest.raises(InputError, match="its mechanism or its attribution is of a kind that is not known"):
        RCI.load(tmp_path / "model.rci")


def test_shapley_values_that_are_not_proportional_to_shocks(
    fitted: tuple[np.ndarray, RCI], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(model_arrays.MECHANISM_KINDS, "sinh", SinhMechanism)
    monkeypatch.setitem(model_arrays.ATTRIBUTION_KINDS, "square", SquareAttribution)
    order = fitted[1].causal_order_
    X, model = bent(fitted, SquareAttribution(np.linspace(-0.5, 1.5, order.size)))
    errors = model._model.errors(X)[:, order]
    added = errors**2 * np.linspace(-0.5, 1.5, order.size)
    np.testing.assert_allclose(model.shapley_values(X)[:, order], added, rtol=1e-9)
    assert (
        plots.graph(model, top=3).texts[-2].get_text() == f"x{order[-1]}"
    )  # the heaviest, above the disease
    page = tmp_path / "page.html"
    model.report(X[:40], page)
    np.testing.assert_allclose(block(page, "shapley").reshape(40, -1), added[:40], rtol=1e-9)
    np.testing.assert_allclose(block(page, "errors").reshape(40, -1), errors[:40], rtol=1e-9)
    facts = facts_of(page)
    assert facts["base_value"] == -0.5
    assert facts["cohort"]["root_cause"] == (added[:40] >= 0.1).sum(axis=0).tolist()
    answer = model.explain(X).what_if(int(order[0]), 2.0)
    expected = -0.5 + added[:, 1:].sum(axis=1) + 4.0 * -0.5
    np.testing.assert_allclose(answer.log_odds, expected, rtol=1e-9)
    resamples = [
        replace(model._model, attribution=SquareAttribution(np.full(order.size, w))) for w in (1.0, 2.0)
    ]
    model.bootstrap_ = Bootstrap(tuple(resamples), 3)
    model.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    patients = pd.DataFrame(X[:5])
    np.testing.assert_array_equal(loaded.explain(patients).upper, model.explain(patients).upper)


def test_a_proportional_page_has_no_block_of_shapley_values(
    fitted: tuple[np.ndarray, RCI], tmp_path: Path
) -> None:
    X, model = fitted
    model.report(X[:10], tmp_path / "page.html")
    assert 'id="block-shapley"' not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_model_moves_to_a_wider_table(fitted: tuple[np.ndarray, RCI]) -> None:
    X, model = fitted
    columns = np.arange(X.shape[1])[::-1] + 2
    wider = np.full((len(X), X.shape[1] + 3), 7.0)
    wider[:, columns] = X
    moved = model._model.on_columns(columns, wider.shape[1])
    np.testing.assert_allclose(moved.shapley(wider)[:, columns], model.shapley_values(X), atol=1e-12)
    assert not np.delete(moved.shapley(wider), columns, axis=1).any()
    assert isinstance(moved.attribution, LogOddsAttribution)


def test_variants_say_what_they_are_made_of() -> None:
    parts = {name: (variant.pruned, variant.local) for name, variant in VARIANTS.items()}
    assert parts == {
        "original": (False, False),
        "plus": (True, False),
        "local": (False, True),
        "local_plus": (True, True),
    }


@pytest.mark.parametrize("parameter", ["variant", "attribution"])
@pytest.mark.parametrize("value", ["sideways", ["plus"], None])
def test_unknown_choices_are_named_with_the_known_ones(parameter: str, value: object) -> None:
    known = {"variant": "original, plus, local, local_plus", "attribution": "sharp, paper"}[parameter]
    with pytest.raises(InputError, match=rf"unknown {parameter} .*: choose one of {known}$"):
        RCI(**{parameter: value}).fit(np.eye(4), [0, 1, 0, 1])


def test_a_resample_that_could_not_be_read_back_is_not_saved(tmp_path: Path) -> None:
    cohort = simulate(200, 5, random_state=0)
    model = RCI(alpha=1.0).fit(cohort.X, cohort.y)
    wild = LogOddsAttribution(np.full(model._model.order.size, 1e12), 0.0)
    model.bootstrap_ = Bootstrap((model._model, replace(model._model, attribution=wild)), 0)
    with pytest.raises(InputError, match="could not be read back"):
        model.save(tmp_path / "m.rci")
    assert not list(tmp_path.iterdir())


def test_what_if_of_a_variable_without_a_shock_gives_a_copy() -> None:
    cohort = simulate(300, 9, random_state=0)
    model = RCI(alpha=0.01).fit(cohort.X, cohort.y)
    outside = next(c for c in range(8) if c not in model.causal_order_)
    _, values = model._model.with_shock(cohort.X, outside, 0.0)
    assert not np.shares_memory(values, cohort.X)
