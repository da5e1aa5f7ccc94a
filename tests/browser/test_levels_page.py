"""A page with levels of every kind, and with values that were not measured, in a real browser."""

import re

import numpy as np
import pandas as pd
import pytest
from level_cohort import BILI, SEX, STAGE, VARIABLES, WARD, draw, fitted, frame_of, with_holes
from page_facts import facts_of

from rootcausal import RCI
from rootcausal.inputs.kinds import Variable

HOSTILE = ("<img src=x onerror=alert(1)>", "=cmd()", "</script><script>alert(2)</script>")
VIEWS = ("patient", "cohort", "graph", "about")


def page_of(folder, variables=VARIABLES, holes=True):
    X, y = draw()
    model = fitted(variables)
    frame = frame_of(X[:40], variables)
    if holes:
        frame = with_holes(frame, sex=0, ward=[0, 39], bili=0, stage=1)
        frame.loc[39, "bili"] = 12.0  # which tells of a ward, whose shock then is a root cause
    path = folder / "levels.html"
    model.report(frame, path, y[:40], units={"bili": "mg/dl"}, target="died")
    return path, model, frame


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("levels"))


def test_levels_are_said_by_name_and_expected_values_are_marked(watched, made):
    path, model, frame = made
    explanation = model.explain(frame)
    page = watched.open(path, "#patient/0")
    page.locator("#patient-view summary", has_text="as a table").click()
    table = page.locator("#patient-view table").inner_text()
    assert "for what was not measured" in table
    assert f"not measured; {explanation.data[0, BILI]:.1f}\u00a0mg/dl expected" in table
    for variable in (SEX, WARD):
        said = explanation._cells.said(variable, 0)
        level = VARIABLES[variable].levels[said.places[0]]
        assert f"not measured; {level} expected, {round(100 * said.shares[0])} % likely" in table
    card = watched.open(path, "#patient/39").locator('.card[data-variable="ward"]').inner_text()
    assert re.search("not measured; ICU expected, [0-9]+ % likely", card) and "Measured value" not in card
    page = watched.open(path, "#patient/1")
    page.locator("#patient-view summary", has_text="as a table").click()
    stage = page.locator("#patient-view table tr", has_text="stage").inner_text()
    assert f"not measured; {explanation.levels()[1, STAGE]} expected" in stage and "likely" not in stage
    for row in range(2, 8):
        page = watched.turn_to(f"#patient/{row}")
        text = page.locator("#patient-view").inner_text()
        assert "not measured;" not in text and "How sure\n" not in text
        sex = frame["sex"][row]
        if page.locator('.card[data-variable="sex"]').count():
            assert f"sex = {sex}" in page.locator('.card[data-variable="sex"] h4').inner_text()


def test_risks_by_level_are_those_of_what_if(watched, made):
    path, model, frame = made
    explanation = model.explain(frame)
    seen = 0
    watched.open(path)
    for row in range(2, 10):
        page = watched.turn_to(f"#patient/{row}")
        for variable in (SEX, WARD, STAGE):
            name = VARIABLES[variable].name
            card = page.locator(f'.card[data-variable="{name}"]')
            if not card.count():
                continue
            seen += 1
            said = card.locator(".by-level").inner_text()
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
    assert "5 values of 3 patients on this page" in page.locator("#about").inner_text()
    for view in VIEWS:
        page = watched.open(path, f"#{view}/")
        text = page.locator(f"#{view}").inner_text()
        assert "undefined" not in text and "NaN" not in text and "null" not in text


def test_hostile_levels_are_shown_as_text(watched, tmp_path):
    hostile = list(VARIABLES)
    hostile[SEX] = Variable("sex", "binary", ("\ufeff", "x" * 3000))
    hostile[WARD] = Variable("ward", "nominal", HOSTILE)
    path, _, _ = page_of(tmp_path, tuple(hostile))
    assert facts_of(path)["variables"]
    for view in VIEWS:
        page = watched.open(path, f"#{view}/")
        assert page.locator("main img, main iframe, main script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    shown = set()
    for row in range(12):
        shown.add(watched.turn_to(f"#patient/{row}").locator("#patient-view").inner_text())
    everything = " ".join(shown)
    assert "ward = <img src=x onerror=alert(1)>" in everything and "(empty)" in everything


def test_complete_numbers_have_no_word_of_either(watched, tmp_path):
    path, _, _ = page_of(tmp_path, holes=False)
    page = watched.open(path)
    assert "not measured" not in page.locator("body").inner_text()


def test_what_was_not_measured_is_no_root_cause(watched, tmp_path):
    frame = with_holes(frame_of(draw()[0][:40]), ward=range(1, 40), sex=range(1, 40))
    path = tmp_path / "unmeasured.html"
    model = fitted()
    model.report(frame, path)
    explanation = model.explain(frame)
    strong = np.abs(explanation.values) >= explanation.notable_from
    row = int((strong & explanation.imputed)[:, WARD].argmax())
    page = watched.open(path, f"#patient/{row}")
    said = page.locator("#in-words").inner_text()
    assert "Not measured, so that nobody can tell: " in said and "ward" in said.partition("tell: ")[2]
    assert not any(card.startswith("ward") for card in page.locator(".card h4").all_inner_texts())
    names = explanation.feature_names
    tops = [None if not causes else names.index(causes[0].variable) for causes in explanation.root_causes(1)]
    page.locator("#tab-list").click()
    told = page.locator("#patient-table tbody tr").all_inner_texts()
    assert sum("none" in line for line in told) == tops.count(None)


def test_a_value_beyond_a_limit_of_detection_is_shown_as_it_was_measured(watched, tmp_path):
    rng = np.random.default_rng(0)
    whole = pd.DataFrame({"crp": rng.gamma(2, size=400) * 3, "age": rng.normal(50, 10, 400)})
    y = (rng.random(400) < 1 / (1 + np.exp(3 - whole["crp"] / 2))).astype(int)
    X = whole.assign(crp=whole["crp"].clip(lower=3.0)).round(1)
    model = RCI(limits={"crp": "<3"}).fit(X, y)
    below = X.sort_values("crp").head(3).reset_index(drop=True)
    model.report(below, tmp_path / "page.html", units={"crp": "mg/l"})
    page = watched.open(tmp_path / "page.html", "#patient/0")
    page.locator("#patient-view summary", has_text="as a table").click()
    table = page.locator("#patient-view table").inner_text()
    assert re.search("<3\u00a0mg/l; [0-9.]+\u00a0mg/l expected", table) and "not measured;" not in table
