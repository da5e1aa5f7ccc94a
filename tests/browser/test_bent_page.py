"""The page of a model with bent relations, in a real browser: views open, and arrows have their curves."""

import numpy as np
import pandas as pd
import pytest

from rootcausal import RCI

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    rng = np.random.default_rng(0)
    dose = rng.exponential(size=400)
    level = 3 * np.tanh(1.5 * dose) + 0.3 * rng.standard_t(5, 400)
    marker = level + (0.2 + 0.4 * level.clip(0)) * rng.uniform(-1, 1, 400)
    y = (rng.random(400) < 1 / (1 + np.exp(-(marker - marker.mean())))).astype(int)
    X = pd.DataFrame({"dose": dose, HOSTILE: level, "marker": marker})
    path = tmp_path_factory.mktemp("page") / "page.html"
    RCI(mechanism="nonlinear").fit(X, y).report(X, path, y)
    return path


def test_every_view_opens_and_arrows_have_curves(watched, told):
    page = watched.open(told, "#graph/")
    page.get_by_text("All arrows in words").click()
    curves = page.locator("svg.arrow-curve")
    labels = [curves.nth(k).get_attribute("aria-label") for k in range(curves.count())]
    assert f"{HOSTILE} over dose: a bent line" in labels
    assert f"marker over {HOSTILE}: a bent line, and a spread that differs between patients" in labels
    of_variables = [label for label in labels if not label.startswith("the disease over")]
    assert page.locator("svg.arrow-curve path.band").count() == len(of_variables)  # the outcome has no spread
    for view in ("#patient/0", "#cohort/", "#about/"):
        watched.turn_to(view)
        page.wait_for_timeout(50)
