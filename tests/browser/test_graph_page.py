"""The page's graph in a real browser: what was given, what was learned, and how sure each arrow is."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rootcausal import RCI
from rootcausal.data import simulate
from rootcausal.explaining.graph import graph_of
from rootcausal.method.ordering.precedence import Precedence

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


def fit() -> tuple[pd.DataFrame, RCI]:
    cohort = simulate(300, 9, random_state=4)
    X = pd.DataFrame(cohort.X, columns=[HOSTILE, *(f"lab{c}" for c in range(1, 8))])
    return X, RCI(variant="plus", backend="numpy").fit(X, cohort.y)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A page of three tiers and 20 resamples, and the graph that it shows."""
    X, model = fit()
    model.bootstrap(20)
    stage = np.full(8, 3)
    stage[model.causal_order_[:2]], stage[model.causal_order_[2:5]] = 1, 2
    layout = model._encoding.layout.knowing(Precedence.of(stage))
    model._model = replace(model._model, layout=layout)
    path = tmp_path_factory.mktemp("page") / "page.html"
    model.report(X, path, target="died")
    return path, graph_of(model._model, np.arange(8), model.bootstrap_)


def test_a_page_without_rules_and_resamples_says_so(watched, tmp_path):
    X, model = fit()
    model.report(X, tmp_path / "page.html", target="died")
    page = watched.open(tmp_path / "page.html", "#graph/")
    said = page.locator("#given-and-learned").inner_text()
    assert "Nothing was known of the order before" in said and "Arrows were not resampled" in said
    drawn = page.locator(".graph").inner_text()
    assert "died" in drawn and "?" not in drawn and "■" not in drawn


@pytest.mark.parametrize("known", [False, True])
def test_a_page_without_arrows_says_so(watched, tmp_path, known):
    X, model = fit()
    model.bootstrap(2)
    causal, k = model._model, model.causal_order_.size
    mechanism = replace(causal.mechanism, mixing=np.eye(k), unmixing=np.eye(k))
    attribution = replace(causal.attribution, coef=np.full(k, 0.01))
    layout = model._encoding.layout
    if known:
        stage = np.full(8, 2)
        stage[model.causal_order_[0]] = 1
        layout = layout.knowing(Precedence.of(stage))
    model._model = replace(causal, mechanism=mechanism, attribution=attribution, layout=layout)
    model.report(X, tmp_path / "page.html", target="died")
    page = watched.open(tmp_path / "page.html", "#graph/")
    said = page.locator("#given-and-learned").inner_text()
    assert said.endswith("No direct effect is strong enough to be drawn.")
    assert ("Nothing was known" in said) is not known


@pytest.mark.parametrize("watched", [{"viewport": {"width": 390, "height": 844}}, {}], indirect=True)
def test_tiers_outcome_and_how_sure_every_arrow_is(watched, told):
    path, graph = told
    page = watched.open(path, "#graph/")
    states = [arrow.state for arrow in graph.arrows]
    said = page.locator("#given-and-learned").inner_text()
    assert f"Of {len(states)} arrows, {states.count('given')} have a direction that was given before" in said
    unsure = states.count("unsure")
    assert unsure
    are = "is unsure (?): it is" if unsure == 1 else "are unsure (?): each is"
    assert f"{unsure} of the learned ones {are} in fewer than 80 %" in said
    assert "turned round, or absent" in said
    assert "by all ways together" in page.locator("#graph").inner_text()
    # A hover text is a child of what it belongs to: only its own text counts.
    drawn = page.locator("#arcs text").evaluate_all("all => all.map((one) => one.firstChild.nodeValue)")
    assert [drawn.count(name) for name in ("first", "tier 1", "tier 2")] == [1, 1, 1]
    assert drawn.count("■") == states.count("given") > 0 and drawn.count("?") == states.count("unsure") > 0
    page.locator("#graph summary").click()
    rows = page.locator("#arrow-table tbody tr").all()
    assert [row.locator("td").last.inner_text() for row in rows] == [arrow.said for arrow in graph.arrows]
    assert rows[-1].locator("th").inner_text().endswith("→ died")
    assert any(HOSTILE in row.locator("th").inner_text() for row in rows)
    titles = page.locator("#arcs title").all_text_contents()
    assert any(title.endswith(graph.edges[0].said) for title in titles)


def named_anew(names: list[str]) -> tuple[pd.DataFrame, RCI]:
    """The same with these names for the last columns of the learned order."""
    X, model = fit()
    latest = X.columns[model.causal_order_[-len(names) :]]
    X = X.rename(columns=dict(zip(latest, names, strict=True)))
    return X, RCI(variant="plus", backend="numpy").fit(X, simulate(300, 9, random_state=4).y)


@pytest.mark.parametrize("watched", [{"viewport": {"width": 390, "height": 844}}, {}], indirect=True)
def test_the_question_about_names_stands_above_the_graph(watched, tmp_path):
    X, model = named_anew(["age"])
    (check,) = [one for one in model.diagnose(X).checks if one.name == "as_named"]
    model.report(X, tmp_path / "page.html", target="died")
    page = watched.open(tmp_path / "page.html", "#graph/")
    said = page.locator("#asked")
    assert said.inner_text() == f"{check.statement} What to do: {check.advice}"
    assert "fit again with --first age; " in said.inner_text()
    assert said.bounding_box()["y"] < page.locator("#arcs").bounding_box()["y"]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_very_long_advice_is_folded_and_without_a_question_there_is_none(watched, tmp_path):
    X, model = fit()
    model.report(X, tmp_path / "silent.html")
    assert watched.open(tmp_path / "silent.html", "#graph/").locator("#asked").count() == 0
    X, model = named_anew([f"{'very_' * 25}{lab}_{visit}" for visit in (2, 1) for lab in "abcd"])
    model.report(X, tmp_path / "page.html")
    page = watched.open(tmp_path / "page.html", "#graph/")
    assert "fit again with --tiers" not in page.locator("#asked").inner_text()
    page.locator("#asked summary").click()
    assert "fit again with --tiers" in page.locator("#asked").inner_text()
