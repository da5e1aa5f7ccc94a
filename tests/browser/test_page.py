"""The page in a real browser: what a person reads is what the model says."""

import datetime
import re
from pathlib import Path

import numpy as np
import pytest

from rootcausal import RCI
from rootcausal.data import load_pbc, simulate
from rootcausal.version import __version__

pa = pytest.importorskip("pyarrow")

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
VIEWS = ("patient", "list", "cohort", "graph", "about")
PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def pbc(tmp_path_factory):
    cohort = load_pbc()
    table = pa.table(dict(zip(cohort.feature_names, cohort.X.T, strict=True)))
    model = RCI(mechanism="linear").fit(table, cohort.y)
    path = tmp_path_factory.mktemp("page") / "pbc.html"
    model.report(table, path, ids=cohort.ids, units=cohort.units, target=cohort.target_name)
    return path, model, model.explain(table, ids=cohort.ids)


def signed(number, digits=2):
    text = f"{abs(number):.{digits}f}"
    return text if float(text) == 0 else ("−" if number < 0 else "+") + text


def percent(risk):
    if risk < 0.01:
        return "under 1 %"
    return "over 99 %" if risk > 0.99 else f"{np.floor(risk * 100 + 0.5):.0f} %"


def search(page, label):
    page.locator("#search").fill(label)
    page.keyboard.press("Enter")


def test_numbers_on_screen_are_those_of_explain(watched, pbc):
    path, model, explanation = pbc
    page = watched.open(path)
    page.locator("#scale-switch").check()
    for label in ("10", "87", "312"):
        search(page, label)
        row = explanation.ids.index(int(label))
        assert page.locator("h2:visible").inner_text() == f"Patient {label}"
        assert signed(explanation.log_odds[row]) in page.locator("#patient-risk").inner_text()
        assert percent(explanation.probability[row]) in page.locator("#patient-risk").inner_text()
        assert signed(explanation.base_value) in page.locator("#base-risk").inner_text()
        assert percent(explanation.probability[row]) in page.locator("#in-words").inner_text()
        cards = page.locator(".card")
        assert cards.count() > 0
        for card in cards.all():
            name = card.get_attribute("data-variable")
            column = explanation.feature_names.index(name)
            assert card.locator(".shapley").inner_text() == signed(explanation.values[row, column])
            without = explanation.what_if(name).probability[row]
            assert card.locator(".without").inner_text() == percent(without)
            assert f"{signed(explanation.errors[row, column], 1)} SD" in card.inner_text()
            # As many digits as a tenth of the usual spread is worth: ages of a day are shown in years.
            measured = explanation.data[row, column]
            shown = re.match(r"[\d.,]+", card.locator("h4 .measured").inner_text())[0].replace(",", "")
            digits = len(shown.partition(".")[2])
            assert shown == f"{measured:.{digits}f}"
            low, high = np.quantile(explanation.data[:, column], (0.16, 0.84))
            assert round(measured, digits) == measured or 10.0**-digits <= 0.1 * (high - low) / 2
            expected = explanation.what_if(name).data[row, column]
            said = card.locator(".against").inner_text()
            assert float(re.match(r"[\d.,]+", said)[0].replace(",", "")) == pytest.approx(expected, rel=0.05)
            of_others = "expected from this patient's other values"
            assert said.endswith("typical of the cohort" if column == model.causal_order_[0] else of_others)


def test_the_table_holds_every_variable_and_the_strongest_comes_first(watched, pbc):
    path, model, explanation = pbc
    page = watched.open(path, "#patient/10")
    page.locator("summary", has_text="as a table").click()
    row = explanation.ids.index(10)
    shown = {
        line.locator("th").inner_text().removesuffix(" *"): line.locator("td").nth(6).inner_text()
        for line in page.locator("#patient-view tbody tr").all()
    }
    names = [explanation.feature_names[c] for c in model.causal_order_]
    assert shown == {
        name: signed(explanation.values[row, explanation.feature_names.index(name)], 3) for name in names
    }
    strongest = explanation.root_causes(top=1)[row][0].variable
    assert page.locator(".card").first.get_attribute("data-variable") == strongest


def test_protective_shocks_stand_apart(watched, pbc):
    path, _, explanation = pbc
    page = watched.open(path, "#patient/10")
    row = explanation.ids.index(10)
    for card in page.locator(".card").all():
        value = explanation.values[row, explanation.feature_names.index(card.get_attribute("data-variable"))]
        assert ("protective" in card.get_attribute("class")) == (value < 0)


def test_places_in_the_cohort_are_right(watched, pbc):
    path, _, explanation = pbc
    page = watched.open(path, "#patient/10")
    row = explanation.ids.index(10)
    for card in page.locator(".card").all():
        column = explanation.feature_names.index(card.get_attribute("data-variable"))
        for kind, numbers in (("Measured value", explanation.data), ("Its own shock", explanation.errors)):
            words = card.locator(f"dt:text-is('{kind}') + dd").inner_text()
            direction, said = re.search(r"(higher|lower) than in (\d+) of 100", words).groups()
            beyond = numbers[:, column] < numbers[row, column]
            if direction == "lower":
                beyond = numbers[:, column] > numbers[row, column]
            assert abs(100 * beyond.mean() - int(said)) < 2.5


def test_cohort_and_graph_say_what_the_model_says(watched, pbc):
    path, model, explanation = pbc
    page = watched.open(path)
    page.locator("#tab-cohort").click()
    page.locator("#cohort summary").click()
    counts = {
        line.locator("th").inner_text().removesuffix(" *"): [
            int(cell.inner_text()) for cell in line.locator("td").all()[:2]
        ]
        for line in page.locator("#prevalence-table tbody tr").all()
    }
    notable = explanation.values >= 0.1
    strongest = explanation.values.argmax(axis=1)[notable.any(axis=1)]
    for column in model.causal_order_:
        expected = [int(notable[:, column].sum()), int((strongest == column).sum())]
        assert counts[explanation.feature_names[column]] == expected
    page.locator("#tab-graph").click()
    page.locator(".order button", has_text="bili").click()
    moved = {
        line.locator("th").inner_text(): line.locator("td").first.inner_text()
        for line in page.locator("#downstream tbody tr").all()
    }
    change = explanation.what_if("bili", error=1).data - explanation.what_if("bili", error=0).data
    for name, said in moved.items():
        column = explanation.feature_names.index(name.removesuffix(" (itself)"))
        sd = model._model.mechanism.sd[list(model.causal_order_).index(column)]
        assert said == signed(change[0, column] / sd)
    sds = model._model.mechanism.sd
    moves = [abs(change[0, column] / sds[place]) >= 0.005 for place, column in enumerate(model.causal_order_)]
    assert len(moved) == sum(moves)
    assert page.locator("#arcs path").count() > 0


def test_a_dot_of_the_swarm_and_a_column_of_the_heat_map_open_their_patient(watched, pbc):
    path, _, _ = pbc
    page = watched.open(path, "#cohort/1")
    dot = page.locator("#swarm path:has(title)").first
    label = dot.locator("title").text_content().split(":")[0]
    dot.dispatch_event("click")
    assert page.locator("h2:visible").inner_text() == f"Patient {label}"
    page.locator("#tab-cohort").click()
    page.locator("#heat image").click()
    assert page.locator("#patient").is_visible()


def test_address_keeps_the_patient(watched, pbc):
    path, _, explanation = pbc
    page = watched.open(path, "#patient/87")
    assert page.locator("h2:visible").inner_text() == "Patient 87"
    page.locator("#next").click()
    after = explanation.ids[explanation.ids.index(87) + 1]
    assert page.evaluate("location.hash") == f"#patient/{after}"
    page.locator("#previous").click()
    assert page.locator("h2:visible").inner_text() == "Patient 87"
    page.locator("#tab-graph").click()
    assert page.evaluate("location.hash") == "#graph/87"
    for label in ("87", str(after), "87"):
        page.go_back()
        assert page.locator("#patient").is_visible()
        assert page.locator("h2:visible").inner_text() == f"Patient {label}"
    for address, said in (("#nonsense/%E0%A4%A", "%E0%A4%A"), ("#patient/<b>nobody</b>", "<b>nobody</b>")):
        watched.open(path, address)
        assert page.locator("h2:visible").inner_text() == f"Patient {explanation.ids[0]}"
        assert f"No patient “{said}” is on this page" in page.locator("#unknown").inner_text()
        page.locator("#next").click()
        assert page.locator("#unknown").count() == 0


def test_keyboard_alone_is_enough(watched, pbc):
    path, _, _ = pbc
    page = watched.open(path)
    page.keyboard.press("Tab")  # skip link
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "tab-patient"
    page.keyboard.press("ArrowRight")
    assert page.locator("#list").is_visible() and not page.locator("#patient").is_visible()
    page.keyboard.press("End")
    assert page.locator("#about").is_visible()
    page.keyboard.press("ArrowRight")
    assert page.locator("#patient").is_visible()
    for _ in range(2):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("41")
    page.keyboard.press("ArrowDown")
    wanted = page.locator("#matches [aria-selected='true'] bdi").inner_text()
    page.keyboard.press("Enter")
    assert page.locator("h2:visible").inner_text() == f"Patient {wanted}"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.locator("h2:visible").inner_text() != f"Patient {wanted}"


def said_how_sure(card, explanation, row, column, draws):
    """A card says how often the resamples agree, with which grade, and the interval."""
    value = explanation.values[row, column]
    lower, upper = explanation.lower[row, column], explanation.upper[row, column]
    # A resample that left the variable out neither raises nor lowers.
    share = round(100 * ((draws > 0) if value > 0 else (draws < 0)).mean())
    said = card.inner_text()
    assert f"{'raises' if value > 0 else 'lowers'} the risk in {share} % of 20 resamples" in said
    assert f"95 % interval {signed(lower)} to {signed(upper)}" in said
    grade = "firm" if share >= 98 else "likely" if share >= 80 else "unsure"
    assert card.locator(".grade").inner_text() == grade
    ends = round(lower, 2) == 0 or round(upper, 2) == 0
    assert ("of the resamples left it out, as no cause at all" in said) == (ends and (draws == 0).any())


def test_intervals_and_frequencies_are_shown_where_there_was_a_bootstrap(watched, tmp_path):
    cohort = load_pbc()
    model = RCI(mechanism="linear").fit(cohort.X, cohort.y).bootstrap(20)
    path = tmp_path / "sure.html"
    model.report(cohort.X, path, ids=cohort.ids)
    explanation = model.explain(cohort.X, ids=cohort.ids)
    for label in (10, 4, 87):
        page = watched.open(path, f"#patient/{label}")
        page.locator("#scale-switch").check()
        row = explanation.ids.index(label)
        for card in page.locator(".card").all():
            column = explanation.feature_names.index(card.get_attribute("data-variable"))
            draws = np.array([one.shapley(cohort.X[[row]])[0, column] for one in model.bootstrap_.models])
            said_how_sure(card, explanation, row, column, draws)
        low, high = explanation.predicted_interval[:, row]
        assert f"95 % interval {percent(low)} to {percent(high)}" in page.locator(".risks").inner_text()
        notable = explanation.values[row][explanation.notable[row]]
        bars = min((notable > 0).sum(), 6) + min((notable < 0).sum(), 6)
        assert page.locator("#waterfall .whisker path").count() == bars > 0
    page.locator("#tab-about").click()
    assert "repeated on 20 resamples" in page.locator("#about").inner_text()


def test_without_a_bootstrap_the_page_says_so(watched, pbc):
    path, *_ = pbc
    page = watched.open(path)
    assert "not assessed: no resampling was made" in page.locator("#patient-view").inner_text()
    page.locator("#tab-about").click()
    assert page.locator("#checks li").count() == 2  # only those that need no diagnosis
    assert "diagnoses, which were not given" in page.locator("#about").inner_text()


def test_why_variables_are_left_out(watched, tmp_path):
    cohort = load_pbc()
    table = pa.table(dict(zip(cohort.feature_names, cohort.X.T, strict=True)))
    path = tmp_path / "left-out.html"
    RCI(alpha=0.2, mechanism="linear").fit(table, cohort.y).report(table, path)
    facts = watched.open(path, "#about").locator("#about").inner_text()
    assert (
        "associated with the outcome, but adding nothing once earlier variables are known\nchol, trig"
        in facts
    )
    assert "sums by the numba backend" in facts


def test_what_the_checks_found(watched, tmp_path):
    cohort = load_pbc()
    model = RCI(mechanism="linear").fit(cohort.X, cohort.y)
    path = tmp_path / "checked.html"
    model.report(cohort.X, path, y=cohort.y)
    found = model.diagnose(cohort.X, cohort.y, ids=range(len(cohort.y)))  # as the page calls them
    page = watched.open(path, "#about/0")
    shown = page.locator("#checks > li").all_inner_texts()
    assert found.verdict in page.locator("#overall").inner_text()
    for check, text in zip(found.worst_first, shown, strict=True):
        assert check.verdict in text and check.statement in text and check.advice in text
        assert check.limit in text and all(name in text for name in check.variables)


def test_prints(watched, pbc):
    path, _, _ = pbc
    page = watched.open(path)
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF") and len(printed) > 10_000
    assert re.findall(rb"/Count (\d+)", printed) == [b"1"]  # one patient on one sheet
    page.emulate_media(media="print")
    assert not page.locator(".tabs").is_visible() and not page.locator("#search").is_visible()
    assert page.locator("#waterfall svg").is_visible()
    line = page.locator("#printed")
    assert line.is_visible() and f"rootcausal {__version__}, " in line.inner_text()
    assert str(datetime.date.today().year) in line.inner_text()


LIGHT, DARK = {"color_scheme": "light"}, {"color_scheme": "dark"}
SCREENS = [
    pytest.param(LIGHT, id="desktop-light"),
    pytest.param(DARK | PHONE, id="phone-dark"),
    # Each colour and each size is above; the other pairings take as long again.
    pytest.param(DARK, id="desktop-dark", marks=pytest.mark.slow),
    pytest.param(LIGHT | PHONE, id="phone-light", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("watched", SCREENS, indirect=True)
def test_no_serious_barrier(watched, pbc):
    path, _, _ = pbc
    for view in VIEWS:
        page = watched.open(path, f"#{view}/10")
        page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
        page.evaluate(AXE.read_text())
        # Drawings count as one picture each; their two thousand dots would only take time.
        found = page.evaluate("axe.run({exclude: [['svg > g']]})")
        severe = [
            (one["id"], [node["html"] for node in one["nodes"]][:3])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert severe == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, "sideways scroll"


def test_a_study_speaks_of_its_population(watched, tmp_path):
    study = simulate(400, 8, random_state=1, design="case-control", prevalence=0.02)
    model = RCI(prevalence=0.02).fit(study.X, study.y)
    path = tmp_path / "study.html"
    model.report(study.X, path, y=study.y)
    page = watched.open(path)
    risk = model.predict_proba(study.X)[:, 1]
    # Where 2 % have it, "under 1 %" would be most of what there is to say.
    row = int(np.flatnonzero((risk > 0.0015) & (risk < 0.0095))[0])
    search(page, str(row))
    assert f"{risk[row] * 100:.1g} %" in page.locator("#patient-risk").inner_text()
    words = "a population of which 2 % have the outcome"
    assert f"Under this model, in {words}, the risk" in page.locator("#in-words").inner_text()
    about = watched.open(path, "#about/0").locator("#about").inner_text()
    assert f"{words}: cases and controls count as many as in it" in about
