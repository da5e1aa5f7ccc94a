"""The page of times and numbers in a real browser: their own words, and the numbers of the model."""

import re
from pathlib import Path

import numpy as np
import pytest
from outcome_cohorts import UNITS, N, egfr, follow_up, number_model, patients, survival_model

from rootcausal import RCIRegressor

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
VIEWS = ("patient", "list", "cohort", "graph", "about")
PHONE = {"viewport": {"width": 390, "height": 844}}
DARK_PHONE = PHONE | {"color_scheme": "dark"}
OF_DIAGNOSES = r"odds|disease|diagnos|prevalence|\bcases?\b|\bcontrols?\b"
# An E-value is a risk ratio, whatever the outcome.
FOREIGN = {
    "survival": OF_DIAGNOSES,
    "number": rf"{OF_DIAGNOSES}|risk(?! ratio)|hazard|protective|100 patients like",
}
X = patients()[0]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outcomes")
    paths = {kind: folder / f"{kind}.html" for kind in FOREIGN}
    survival_model().report(X, paths["survival"], *follow_up(), units=UNITS, target="death")
    number_model().report(X, paths["number"], egfr(), units=UNITS, target="egfr")
    return paths


def percent(risk):
    if risk < 0.01:
        return "under 1 %"
    return "over 99 %" if risk > 0.99 else f"{np.floor(risk * 100 + 0.5):.0f} %"


def hazard_ratio(log_ratio):
    size = np.exp(log_ratio)
    return f"{size:.2f}" if 0.1 <= size < 10 else f"{size:.0f}"


def signed(number):
    return f"{'−' if number < 0 else '+'}{abs(number):.1f}"


def text_of(page, view):
    """All that a view says, folded or not, and what screen readers are told; without what checks say."""
    return page.evaluate(
        """(view) => {
          const shown = document.getElementById(view).cloneNode(true);
          shown.querySelectorAll("#limits, #checks, #checks ~ p, .mark").forEach((part) => part.remove());
          const named = [...shown.querySelectorAll("[aria-label]")];
          const labels = named.map((one) => one.getAttribute("aria-label"));
          return [shown.textContent, ...labels].join(" ");
        }""",
        view,
    )


@pytest.mark.parametrize("kind", FOREIGN)
def test_no_view_speaks_of_another_outcome(watched, pages, kind):
    page = watched.open(pages[kind])
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        said = text_of(page, view)
        assert len(said) > 300
        assert re.findall(rf".{{0,30}}(?:{FOREIGN[kind]}).{{0,30}}", said, re.IGNORECASE) == []


def test_risks_and_hazards_on_screen_are_those_of_explain(watched, pages):
    explanation = survival_model().explain(X)
    page = watched.open(pages["survival"])
    for row in (3, 40, 77):
        page.goto(f"{pages['survival'].as_uri()}#patient/{row}")
        told = page.locator("#patient-risk").inner_text()
        assert told.startswith(percent(explanation.predicted[row]))
        assert told.endswith(f"hazard × {hazard_ratio(explanation.predictor[row])}")
        words = page.locator("#in-words").inner_text()
        low, high = map(percent, explanation.predicted_interval[:, row])
        now = percent(explanation.predicted[row])
        assert f"the risk of “death” by 5 years is {now} (95 % interval {low} to {high}" in words
        here = f"{np.floor(100 * explanation.predicted[row] + 0.5):.0f}"
        assert f"of 100 patients like this one, {here} would" in page.locator("#hundred").inner_text()
        time, event = (column[row] for column in follow_up())
        box = page.locator(".risks > div").first.inner_text()
        assert f"95 % interval {low} to {high}" in box
        assert (
            "What happened: “death” after" if event else "What happened: without “death” when last seen"
        ) in box
        assert f"{time:.4g}" in box
        for card in page.locator(".card").all():
            name = card.get_attribute("data-variable")
            value = explanation.values[row, explanation.feature_names.index(name)]
            way = "raises" if value > 0 else "lowers"
            assert (
                card.locator(".shapley").inner_text() == f"{way} the hazard {hazard_ratio(abs(value))}-fold"
            )
            if name != "stage":
                without = explanation.what_if(name).predicted[row]
                assert card.locator(".without").inner_text() == percent(without)


def test_curves_are_those_of_the_model(watched, pages):
    model = survival_model()
    row, causes = next((k, one) for k, one in enumerate(model.explain(X).root_causes(top=1)) if one)
    page = watched.open(pages["survival"], f"#patient/{row}")
    assert page.locator("#curves path").count() >= 3
    keys = page.locator(".keys li").all_inner_texts()
    strongest = causes[0].variable
    assert keys == ["this patient", f"without the shock on {strongest}", "all shocks average"]
    page.locator("#curves ~ details summary").first.click()
    rows = [line.locator("th, td").all_inner_texts() for line in page.locator("#curve-table tbody tr").all()]
    assert "5 years" in [cells[0].replace("\u00a0", " ") for cells in rows]
    times = [float(cells[0].split()[0]) for cells in rows]
    without = model.explain(X).what_if(strongest).predictor[row]
    hazard = model._model.attribution
    expected = [
        model.predict_survival(X, times)[row],
        hazard.survival(np.array([without]), np.array(times))[0],
        hazard.survival(np.zeros(1), np.array(times))[0],
    ]
    for place, curve in enumerate(expected):
        assert [cells[1 + place] for cells in rows] == [percent(share) for share in curve]


def test_hazard_ratios_come_with_intervals(watched, pages):
    model = survival_model()
    page = watched.open(pages["survival"], "#cohort/0")
    page.locator("#cohort summary").click()
    for line in page.locator("#prevalence-table tbody tr").all():
        name = line.locator("th").inner_text().removesuffix(" *")
        cells = line.locator("td").all_inner_texts()
        assert cells[3] == hazard_ratio(model.coef_[list(X.columns).index(name)])
        assert re.fullmatch(r"[\d.]+ to [\d.]+", cells[4])
    page.locator("#tab-graph").click()
    page.locator(".order button", has_text="weight").click()
    ratio = hazard_ratio(model.coef_[list(X.columns).index("weight")])
    assert f"(hazard ratio {ratio}, 95 % interval" in page.locator("#downstream p").inner_text()


def test_values_on_screen_are_those_of_explain(watched, pages):
    explanation = number_model().explain(X)
    page = watched.open(pages["number"])
    for row in (3, 40, 77):
        page.goto(f"{pages['number'].as_uri()}#patient/{row}")
        assert page.locator("#patient-risk").inner_text() == f"{explanation.predicted[row]:.1f}\u00a0ml/min"
        assert page.locator("#base-risk").inner_text() == f"{explanation.base_value:.1f}\u00a0ml/min"
        box = page.locator(".risks > div").first.inner_text()
        assert f"Measured: {egfr()[row]:.1f}\u00a0ml/min" in box
        strongest = explanation.feature_names[int(np.abs(explanation.values[row]).argmax())]
        said = (
            "What moves it most is"
            if explanation.notable[row].any()
            else "No cause was found that stands out"
        )
        assert said in page.locator("#in-words").inner_text()
        assert (f"is {strongest}" in page.locator("#in-words .why").inner_text()) == explanation.notable[
            row
        ].any()
        for card in page.locator(".card").all():
            name = card.get_attribute("data-variable")
            value = explanation.values[row, explanation.feature_names.index(name)]
            way = "adds" if value > 0 else "takes away"
            assert card.locator(".shapley").inner_text() == f"{way} {abs(value):.1f}\u00a0ml/min"
            if name != "stage":
                without = explanation.what_if(name).predicted[row]
                assert card.locator(".without").inner_text() == f"{without:.1f}\u00a0ml/min"


def test_bars_of_the_waterfall_say_what_they_are(watched, pages):
    for kind, model, text in (
        ("survival", survival_model(), lambda value: f"×{hazard_ratio(value)}"),
        ("number", number_model(), signed),
    ):
        explanation = model.explain(X)
        page = watched.open(pages[kind], "#patient/3")
        drawn = page.locator("#waterfall").text_content()
        strongest = np.abs(explanation.values[3]).argmax()
        assert text(explanation.values[3, strongest]) in drawn
    assert "hazard ratio" not in drawn


def test_the_list_of_patients_tells_what_is_predicted(watched, pages):
    for kind, model, text in (
        ("survival", survival_model(), lambda value: f"risk by 5 years: {percent(value)}"),
        ("number", number_model(), lambda value: f"{value:.1f}\u00a0ml/min expected"),
    ):
        page = watched.open(pages[kind])
        page.locator("#search").fill("40")
        found = page.locator("#matches li").first.inner_text()
        assert found.endswith(text(model.explain(X).predicted[40]))


# Curves are drawn for survival alone, so that it is seen by day and by night.
@pytest.mark.parametrize(
    ("watched", "kind"),
    [(PHONE, "survival"), (DARK_PHONE, "survival"), (DARK_PHONE, "number")],
    indirect=["watched"],
)
def test_fits_a_phone_and_can_be_read_by_all(watched, pages, kind):
    page = watched.open(pages[kind])
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        if page.evaluate("typeof axe") == "undefined":
            # The page's own policy keeps other scripts out, so it is put there by the debugger.
            page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate(
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa']}).then((all) => all.violations)"
        )
        assert [one["id"] for one in found] == []


def test_odd_names_and_units_of_outcomes_stay_text(watched, tmp_path):
    path = tmp_path / "odd.html"
    name = "<i>egfr</i>\u202e"
    RCIRegressor(backend="numpy").fit(X, egfr()).report(
        X.head(8), path, egfr()[:8], units={name: "<b>"}, target=name
    )
    page = watched.open(path)
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        assert page.locator(f"#{view} i, #{view} b").count() == 0
    assert "<i>egfr</i>" in page.locator("#title").inner_text()


def test_a_patient_without_causes_has_two_curves(watched, tmp_path):
    explanation = survival_model().explain(X)
    calm = np.flatnonzero((explanation.values < 0.1).all(axis=1))
    assert calm.size
    path = tmp_path / "calm.html"
    survival_model().report(X.iloc[calm], path)
    page = watched.open(path)
    assert page.locator(".keys li").all_inner_texts() == ["this patient", "all shocks average"]
    assert "What keeps the hazard low most is" in page.locator("#in-words").inner_text()
    assert "root cause is" not in page.locator("#in-words").inner_text()


def test_rows_of_the_histogram_are_all_patients(watched, pages):
    page = watched.open(pages["survival"], "#cohort/0")
    titles = page.locator("#predictions title").all_text_contents()
    assert sum(int(re.search(r"(\d+) patient", title).group(1)) for title in titles) == N
