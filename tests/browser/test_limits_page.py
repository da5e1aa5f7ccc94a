"""What the checks found, where a reader of the page meets it: at the top, at risks, and at variables."""

from pathlib import Path

import numpy as np
import pytest
from made_up_findings import find_instead, finding, hidden_cause, uncalibrated

from rootcausal import RCI

pa = pytest.importorskip("pyarrow")

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
MARKUP = "<img src=x onerror=alert(1)>"
NAMES = ["copper", "bili", MARKUP, "age"]
PATIENTS = 12


@pytest.fixture(scope="module")
def fitted():
    random = np.random.default_rng(0)
    X = random.laplace(size=(300, len(NAMES)))
    y = (X.sum(axis=1) + random.logistic(size=300) > 0).astype(int)
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    return RCI(variant="plus").fit(table, y), table.slice(0, PATIENTS), y[:PATIENTS]


@pytest.fixture
def page_of(fitted, tmp_path, monkeypatch):
    model, table, y = fitted

    def write(*checks):
        find_instead(monkeypatch, checks)
        path = tmp_path / "page.html"
        model.report(table, path, y=y)
        return path

    return write


def test_nothing_is_marked_where_all_is_fine(watched, page_of):
    path = page_of(finding("linear", "fine"), finding("unconfounded", "fine", touches="order"))
    page = watched.open(path, "#patient/0")
    for view in ("patient", "cohort", "graph"):
        page.locator(f"#tab-{view}").click()
        assert page.locator("#limits, .mark, #order-limits").count() == 0
        assert "*" not in page.locator(f"#{view}").inner_text()
    page.locator("#tab-about").click()
    assert "Go on." in page.locator("#overall").inner_text()


def test_an_uncalibrated_risk_is_marked_wherever_it_stands(watched, page_of):
    page = watched.open(page_of(finding("linear", "fine"), uncalibrated()), "#patient/0")
    for place in ("#base-risk", "#patient-risk"):
        assert page.locator(f"{place} + .mark").inner_text() == "uncalibrated: see the checks"
    assert "% (uncalibrated: see the checks) for this patient" in page.locator("#in-words").inner_text()
    drawn = page.locator("#waterfall svg").text_content()
    assert "this patient (uncalibrated)" in drawn and "probability (uncalibrated)" in drawn
    assert "Risk without this shock (uncalibrated)" in page.locator(".card").first.inner_text()
    assert page.locator(".card .mark").count() == 0  # no variable is concerned
    page.locator("#search").fill("1")
    assert "(uncalibrated)" in page.locator("#matches .match-risk").first.inner_text()
    page.emulate_media(media="print")
    assert page.locator("#patient-risk + .mark").is_visible() and page.locator("#limits li").is_visible()


def test_a_risk_that_so_few_cannot_show_is_marked_in_one_place_only(watched, page_of):
    page = watched.open(page_of(uncalibrated("cannot tell")), "#patient/0")
    mark = "too few patients to check it: see the checks"
    assert page.locator(".mark").all_inner_texts() == [mark]
    assert page.locator("#patient-risk + .mark").count() == 1
    assert "see the checks" not in page.locator("#in-words").inner_text()
    assert page.locator("#limits .limits-head").inner_text() == "Go on with this limit in mind:"


# Of a patient: the marks of each card, the strongest root cause, and the marks of the sentence.
MARKS = """() => {
  const texts = (place, which) => [...place.querySelectorAll(`${which} .mark`)].map((mark) => mark.innerText);
  const named = [...document.querySelectorAll("#in-words .why > strong:not(.ask) bdi")];
  const cards = [...document.querySelectorAll(".card")];
  return {
    cards: Object.fromEntries(cards.map((card) => [card.dataset.variable, texts(card, "")])),
    named: named.map((name) => name.innerText),
    top: named[0]?.innerText ?? null,
    sentence: texts(document.getElementById("in-words"), ".sure"),
    unread: texts(document.getElementById("in-words"), ".why"),
  };
}"""


def test_every_card_of_a_pair_with_a_hidden_cause_names_the_other(watched, page_of):
    influence = finding("influence", variables=("age",), touches="variables")
    path = page_of(hidden_cause("copper", MARKUP), influence)
    expected = {
        "copper": [f"Read together with {MARKUP}: something unmeasured may move both."],
        MARKUP: ["Read together with copper: something unmeasured may move both."],
        "bili": [],
        "age": ["The limit of influence."],
    }
    page, led = watched.open(path, "#patient/0"), set()
    for row in range(PATIENTS):
        if row:
            page.locator("#next").click()
        marks = page.evaluate(MARKS)
        assert marks["cards"] == {name: expected[name] for name in marks["cards"]}
        assert marks["sentence"] == expected.get(marks["top"], [])
        led.add(marks["top"])
        (unread,) = marks["unread"] or ["none"]
        assert (marks["top"] in unread) == (marks["top"] in ("copper", MARKUP)) and "age" not in unread
        assert ("Not to be read as it stands: " in unread) == bool({"copper", MARKUP} & {*marks["named"]})
    assert {"copper", MARKUP, "bili"} <= led
    for view in ("cohort", "graph"):
        page.locator(f"#tab-{view}").click()
        drawn = page.locator({"cohort": "#prevalence svg", "graph": ".order"}[view]).text_content()
        assert "copper\u2069 *" in drawn and "bili\u2069 *" not in drawn
        assert "* A check names this variable" in page.locator(f"#{view}").inner_text()
        assert page.locator("img").count() == 0
    assert page.locator("#order-limits").inner_text() == "The limit of unconfounded."


def test_a_verdict_on_a_triple_says_or(watched, page_of):
    page = watched.open(page_of(hidden_cause("copper", "bili", "age", verdict="doubtful")), "#patient/0")
    mark = page.locator(".card[data-variable='bili'] .mark").inner_text()
    assert mark == "Read together with copper or age: something unmeasured may move them."


def test_the_top_line_lists_the_worst_three_and_leads_to_all(watched, page_of):
    checks = [
        finding("same_mechanism", "cannot tell"),
        finding("influence", limit=MARKUP, touches="variables", variables=("bili",)),
        finding("linear", "fine"),
        finding("terminal", "broken", limit=f"Do not read {MARKUP}.", advice=MARKUP, statement=MARKUP),
        finding("logarithm"),
    ]
    page = watched.open(page_of(*checks), "#patient/0")
    box = page.locator("#limits")
    assert "broken" in box.get_attribute("class")
    assert box.locator("li").all_inner_texts() == [
        f"Do not read {MARKUP}.",
        MARKUP,
        "The limit of logarithm.",
    ]
    assert box.locator(".limits-head").all_inner_texts() == [
        "Do not read parts of this page:",
        "Go on with these limits in mind:",
    ]
    assert "and 1 more" in box.inner_text()
    box.locator("button").click()
    assert page.evaluate("document.activeElement.id") == "checks-title"
    listed = page.locator("#checks > li")
    verdicts = listed.locator(".verdict").all_inner_texts()
    assert verdicts == ["broken", "doubtful", "doubtful", "cannot tell", "fine"]
    assert "Go on with this limit in mind: The limit of same_mechanism." in listed.nth(3).inner_text()
    assert page.locator("main img").count() == 0


@pytest.mark.parametrize(
    "watched", [{"color_scheme": "dark", "viewport": {"width": 390, "height": 844}}], indirect=True
)
def test_marks_can_be_read_in_the_dark_on_a_phone(watched, page_of):
    few = finding("terminal", "cannot tell")
    path = page_of(hidden_cause("copper", "bili"), uncalibrated("doubtful"), few, finding("linear"))
    page = watched.open(path, "#patient/0")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run({exclude: [['svg > g']]})")["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    for view in ("patient", "about"):
        page.locator(f"#tab-{view}").click()
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_page_of_new_patients_tells_what_the_model_found_or_that_nobody_looked(watched, tmp_path):
    random = np.random.default_rng(1)
    X = random.laplace(size=(300, 2))
    y = (X[:, 0] + random.logistic(size=300) > 0).astype(int)
    table = pa.table({"a": X[:, 0], MARKUP: y + 0.2 * random.standard_normal(300)})
    model = RCI().fit(table, y)
    path = tmp_path / "page.html"
    model.report(table.slice(0, 3), path)
    page = watched.open(path, "#patient/1")
    assert "Nobody checked whether this model is right" in page.locator("#limits").inner_text()
    page.locator("#limits button").click()
    assert page.locator("#overall").inner_text().startswith("Overall: not checked")
    model.diagnose(table, y)
    model.report(table.slice(0, 3), path)
    page = watched.open(path, "#patient/1")
    assert "Do not read parts of this page:" in page.locator("#limits").inner_text()
    assert MARKUP in page.locator("#limits").inner_text()
    page.locator("#limits button").click()
    assert "In the cohort that the model learned from: " in page.locator("#checks li").first.inner_text()
