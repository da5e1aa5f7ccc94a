"""A page with levels of every kind, and with values that were not measured, in a real browser."""

import re

import numpy as np
import pytest
from level_cohort import BILI, SEX, STAGE, VARIABLES, WARD, Levelled, draw
from page_facts import facts_of

from rootcausal.inputs.kinds import Variable

HOSTILE = ("<img src=x onerror=alert(1)>", "=cmd()", "</script><script>alert(2)</script>")
VIEWS = ("patient", "cohort", "graph", "about")


def page_of(folder, variables=VARIABLES, holes=True):
    X, y = draw()
    model = Levelled().of(X, y, variables)
    X = X[:40].copy()
    if holes:
        imputed = np.zeros((40, 6), dtype=bool)
        imputed[0, [SEX, WARD, BILI]] = imputed[1, STAGE] = True
        X[0, 1], X[0, 2:4], X[0, 5], X[1, 4] = 0.51, (0.6, 0.3), 3.4, 2.4
        model.hole = (imputed, np.where(imputed.any(axis=1, keepdims=True), 0.3, 0.0))
    path = folder / "levels.html"
    model.report(X, path, y[:40], units={"bili": "mg/dl"}, target="died")
    return path, model, X


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("levels"))


def test_levels_are_said_by_name_and_expected_values_are_marked(watched, made):
    path, _, X = made
    page = watched.open(path, "#patient/0")
    card = page.locator('.card[data-variable="bili"]')
    assert "not measured; 3.4\u00a0mg/dl expected" in card.inner_text()
    assert "Measured value" not in card.inner_text()
    assert (
        "not measured; male expected, 51 % likely" in page.locator('.card[data-variable="sex"]').inner_text()
    )
    page.locator("#patient-view summary", has_text="as a table").click()
    table = page.locator("#patient-view table").inner_text()
    assert "not measured; ICU expected, 60 % likely" in table and "for what was not measured" in table
    for row in range(2, 8):
        page = watched.open(path, f"#patient/{row}")
        text = page.locator("#patient-view").inner_text()
        assert "not measured;" not in text and "How sure\n" not in text
        sex = "male" if X[row, 1] else "female"
        if page.locator('.card[data-variable="sex"]').count():
            assert f"sex = {sex}" in page.locator('.card[data-variable="sex"] h4').inner_text()


def test_risks_by_level_are_those_of_what_if(watched, made):
    path, model, X = made
    explanation = model.explain(X)
    seen = 0
    for row in range(2, 10):
        page = watched.open(path, f"#patient/{row}")
        for variable in (SEX, WARD, STAGE):
            name = VARIABLES[variable].name
            card = page.locator(f'.card[data-variable="{name}"]')
            if not card.count():
                continue
            seen += 1
            said = card.locator("dd").first.inner_text()
            shown = dict(item.split(": ") for item in said.split("; "))
            for level in VARIABLES[variable].levels:
                text = f"{level:g}" if isinstance(level, float) else level
                risk = explanation.what_if(name, level=level).probability[row]
                assert abs(float(re.findall(r"\d+", shown[text])[0]) - 100 * risk) < 1.5
            assert said.count("(as measured)") == 1
    assert seen > 5


def test_every_view_speaks_of_levels(watched, made):
    path, _, _ = made
    page = watched.open(path, "#cohort/")
    assert "Grey: levels without an order. A ring: not measured" in page.locator("#cohort").inner_text()
    page = watched.open(path, "#graph/")
    assert "Dotted where levels without an order" in page.locator("#graph").inner_text()
    page.locator("#graph .order button", has_text="ward").click()
    downstream = page.locator("#downstream").inner_text()
    assert "towards the levels that raise the risk" in downstream and "NaN" not in downstream
    assert "mg/dl" in downstream and "towards 4" in downstream
    page = watched.open(path, "#about/")
    assert "4 values of 2 patients on this page" in page.locator("#about").inner_text()
    for view in VIEWS:
        page = watched.open(path, f"#{view}/")
        text = page.locator(f"#{view}").inner_text()
        assert "undefined" not in text and "NaN" not in text and "null" not in text


def test_hostile_levels_are_shown_as_text(watched, tmp_path):
    hostile = list(VARIABLES)
    hostile[SEX] = Variable("sex", "binary", ("", "x" * 3000))
    hostile[WARD] = Variable("ward", "nominal", HOSTILE)
    path, _, _ = page_of(tmp_path, tuple(hostile))
    assert facts_of(path)["variables"]
    for view in VIEWS:
        page = watched.open(path, f"#{view}/")
        assert page.locator("main img, main iframe, main script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    shown = set()
    for row in range(12):
        shown.add(watched.open(path, f"#patient/{row}").locator("#patient-view").inner_text())
    everything = " ".join(shown)
    assert "ward = <img src=x onerror=alert(1)>" in everything and "(empty)" in everything


def test_complete_numbers_have_no_word_of_either(watched, tmp_path):
    path, _, _ = page_of(tmp_path, holes=False)
    page = watched.open(path)
    assert "not measured" not in page.locator("body").inner_text()
