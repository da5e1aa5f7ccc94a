"""A page with variables that are read as one, in a real browser: named once, and apart in the graph only."""

import numpy as np
import pandas as pd
import pytest

from rootcausal import RCI

COPPER, BILI = "copper", "<img src=x onerror=alert(1)>"
JOINT = f"{COPPER} + {BILI}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    rng = np.random.default_rng(0)
    errors, hidden = rng.chisquare(3, (1500, 3)) - 3.0, rng.chisquare(3, 1500) - 3.0
    X = pd.DataFrame(errors, columns=[COPPER, "sodium", BILI])
    X[COPPER] += hidden
    X[BILI] += hidden
    raised = 0.3 * X[COPPER] + 0.3 * X[BILI] - 0.4 * X["sodium"]
    with pytest.warns(UserWarning, match="are read as one"):
        model = RCI(confounding="merge").fit(X, (raised + rng.logistic(size=1500) > 0).astype(int))
    model.bootstrap(5)
    shown = X[:40].copy()
    shown.loc[3, BILI] = np.nan
    path = tmp_path_factory.mktemp("sets") / "sets.html"
    model.report(shown, path, units={COPPER: "µg/day"})
    return path, model.explain(shown)


def test_a_set_has_one_card_one_bar_and_one_sentence(watched, made):
    path, explanation = made
    strongest = [patient[0].variable if patient else "" for patient in explanation.root_causes(top=1)]
    row = strongest.index(JOINT)
    page = watched.open(path, f"#patient/{row}")
    cards = page.locator("#patient-view .card h4").all_inner_texts()
    assert sum(card.startswith(JOINT) for card in cards) == 1
    assert not any(card.startswith((f"{COPPER}\n", BILI)) for card in cards)
    copper, bili = explanation.text(row, 0), explanation.text(row, 2)
    words = page.locator("#in-words").inner_text().replace("−", "-")
    # To the first digit behind the point: the spread of these is not worth more.
    assert f"{JOINT} ({COPPER} {float(copper):.1f}" in words and f"{BILI} {float(bili):.1f}" in words
    assert "µg/day" in words and "read as one" in words and "NaN" not in words
    bars = [text for text in page.locator("#waterfall text").all_text_contents() if f"{COPPER} +" in text]
    assert len(bars) == 1
    page.locator("#patient-view summary", has_text="as a table").click()
    rows = page.locator("#patient-view tbody th").all_inner_texts()
    assert sorted(name.removesuffix(" *") for name in rows) == sorted([JOINT, "sodium"])
    assert "NaN" not in page.locator("#patient-view").inner_text()


def test_a_member_that_was_not_measured_is_marked(watched, made):
    path, _ = made
    page = watched.open(path, "#patient/3")
    page.locator("#patient-view summary", has_text="as a table").click()
    text = page.locator("#patient-view").inner_text()
    assert f"{BILI} not measured; " in text and "NaN" not in text


@pytest.mark.parametrize("view", ["cohort", "list", "graph", "about"])
def test_the_other_views_stand(view, watched, made):
    path, explanation = made
    page = watched.open(path, f"#{view}")
    text = page.locator(f"#{view}").text_content()
    assert "NaN" not in text and "undefined" not in text
    if view == "cohort":
        page.locator("#cohort summary", has_text="as a table").click()
        rows = page.locator("#prevalence-table tbody tr").all_inner_texts()
        (of_set,) = (row for row in rows if row.startswith(JOINT))
        assert of_set.split("\t")[1] == str(int((explanation.set_values >= explanation.notable_from).sum()))
        assert len(rows) == 2
    if view == "list":
        tops = page.locator("#patient-table tbody td.text").all_inner_texts()
        assert set(tops) <= {JOINT, "sodium", "none stands out"} and JOINT in tops
    if view == "about":
        assert f"Read as one: {JOINT}." in text


def test_a_page_of_bent_relations_has_the_set_too(watched, tmp_path):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.chisquare(3, (1200, 4)) - 3.0, columns=["ldl", COPPER, "sodium", BILI])
    X[[COPPER, BILI]] += (rng.chisquare(3, 1200) - 3.0)[:, None]
    X["ldl"] += np.tanh(X["sodium"]) * 3.0
    raised = 0.3 * X[COPPER] + 0.3 * X[BILI] - 0.4 * X["ldl"]
    y = (raised + rng.logistic(size=1200) > 0).astype(int)
    with pytest.warns(UserWarning, match="are read as one"):
        model = RCI(mechanism="nonlinear", confounding="merge").fit(X, y)
    model.report(X[:30], tmp_path / "bent.html")
    strongest = [one[0].variable if one else "" for one in model.explain(X[:30]).root_causes(top=1)]
    page = watched.open(tmp_path / "bent.html", f"#patient/{strongest.index(JOINT)}")
    assert f"{JOINT} ({COPPER} " in page.locator("#in-words").inner_text()
    for view in ("patient-view", "cohort", "list", "graph", "about"):
        page = watched.open(tmp_path / "bent.html", f"#{view}" if view != "patient-view" else "#patient/1")
        text = page.locator(f"#{view}").text_content()
        assert text and "NaN" not in text and "undefined" not in text
