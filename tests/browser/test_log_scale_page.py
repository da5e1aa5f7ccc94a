"""A page of a model with a column on a log scale, in a real browser: every value in its own unit."""

import re

import numpy as np
import pytest
from level_cohort import draw, frame_of

from rootcausal import RCI


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    X, y = draw(200)
    frame = frame_of(X)
    rng = np.random.default_rng(0)
    frame["bili"] = np.round(np.exp(2 * y + rng.laplace(size=len(y))) + 0.01, 2)
    model = RCI(log=["bili"], backend="numpy").fit(frame, y)
    path = tmp_path_factory.mktemp("log") / "page.html"
    model.report(frame.head(12), path, y[:12], units={"bili": "mg/dl"})
    return path, model, frame.head(12)


def test_a_patient_reads_the_value_that_was_measured(watched, made):
    path, _, frame = made
    page = watched.open(path, "#patient/0")
    page.locator("#patient-view summary", has_text="as a table").click()
    row = page.locator("#patient-view table tr", has=page.locator("th[scope=row]", has_text="bili"))
    assert f"{frame['bili'][0]:.1f}\u00a0mg/dl" in row.inner_text()  # as many digits as the spread is worth
    page.locator(".glossary summary").click()
    assert "The model works with the logarithm of bili" in page.locator(".glossary").inner_text()


def test_a_shock_moves_it_by_a_factor(watched, made):
    path, model, _ = made
    page = watched.open(path, "#graph")
    page.locator("#graph .order button", has_text="bili").click()
    place = [model._encoding.names[c] for c in model.causal_order_].index("bili")
    factor = np.exp(model._model.total_effects()[place, place] * model._model.scale[place])
    assert f"× {factor:.3g}" in page.locator("#downstream").inner_text()
    assert "a standard deviation is one of the logarithm" in page.locator("#graph").inner_text()


def test_how_it_was_made_lists_it(watched, made):
    about = watched.open(made[0], "#about").locator("#about").inner_text()
    assert "On a log scale" in about
    assert "bili: the model works with the logarithm" in about
    assert re.search(r"^log\s+bili$", about, re.MULTILINE)
