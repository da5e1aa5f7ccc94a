"""What the page answers a person: why, how sure, what if, among whom; and what can be taken along."""

import csv
import io
import re
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest

from rootcausal import RCI
from rootcausal.data import load_pbc
from rootcausal.files.writing import write_tables
from rootcausal.report import content

pd = pytest.importorskip("pandas")

LABELS = {"bili": {"label": "Bilirubin", "unit": "mg/dl"}, "albumin": "=Albumin<b>"}
PEOPLE = ".people circle"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    cohort = load_pbc()
    frame = pd.DataFrame(cohort.X, columns=list(cohort.feature_names))
    model = (
        RCI(knowledge=cohort.knowledge, mechanism="linear")
        .fit(frame, cohort.y)
        .bootstrap(20)
        .set_labels(LABELS)
    )
    path = tmp_path_factory.mktemp("answer") / "page.html"
    model.report(frame, path, cohort.y, cohort.ids, units=cohort.units, target="died")
    return path, cohort, model.explain(frame, ids=cohort.ids)


def percent(risk):
    if risk < 0.01:
        return "under 1 %"
    return "over 99 %" if risk > 0.99 else f"{np.floor(risk * 100 + 0.5):.0f} %"


def told_as(text, number):
    """Whether a text of the page is this number, rounded to the digits that it shows."""
    shown = text.replace(",", "").replace("−", "-")
    return shown == f"{number:.{len(shown.partition('.')[2])}f}"


def column_of(explanation, name):
    return explanation.feature_names.index(name)


def test_ten_seconds_of_patient_ten(watched, made):
    path, _, explanation = made
    page = watched.open(path, "#patient/10")
    row, bili = explanation.ids.index(10), column_of(explanation, "bili")
    now, without = explanation.probability[row], explanation.what_if("bili").probability[row]
    words = page.locator("#in-words").inner_text().replace("\u00a0", " ")
    expected = explanation.what_if("bili").data[row, bili]
    said = f"Bilirubin: 12.6 mg/dl; {expected:.1f} mg/dl expected from this patient's other values."
    assert f"Why? The strongest root cause is {said}" in words
    assert "How sure? Bilirubin is " in words and "it raises the risk in " in words
    change = f"Without the shock on Bilirubin the risk would be {percent(without)} instead of {percent(now)}."
    assert f"What would change it? {change}" in words
    assert page.locator(".in-words").bounding_box()["y"] < 300  # on the first screen, below nothing else


def test_who_is_below_average_is_told_what_protects(watched, made):
    path, _, explanation = made
    notable = explanation.notable
    low = np.flatnonzero(
        (explanation.predictor < explanation.base_value) & (explanation.values <= -0.1).any(axis=1)
    )
    page = watched.open(path, f"#patient/{explanation.ids[low[0]]}")
    said = page.locator(".why").inner_text()
    strongest = explanation.variables[int(explanation.values[low[0]].argmin())].shown
    assert said.startswith(f"Why? What keeps the risk low most is {strongest}")
    raised = np.flatnonzero((explanation.predictor > explanation.base_value) & notable.any(axis=1))
    for row in raised[:20]:
        page = watched.open(path, f"#patient/{explanation.ids[row]}")
        cards = page.locator(".card").all()
        shown = {card.get_attribute("data-variable") for card in cards}
        named = {explanation.feature_names[c] for c in np.flatnonzero(notable[row])}
        assert shown <= named  # nothing is called a root cause that is none


def test_where_nothing_stands_out_the_page_says_so(watched, tmp_path):
    random = np.random.default_rng(0)
    X = random.laplace(size=(300, 2))
    model = RCI(alpha=1.0, backend="numpy").fit(X, (X[:, 0] + random.logistic(size=300) > 0).astype(int))
    calm = model._model.mechanism.values(np.full((1, model.causal_order_.size), 0.02))
    patient = np.zeros((1, 2))
    patient[:, model.causal_order_] = calm
    model.report(patient, tmp_path / "calm.html")
    page = watched.open(tmp_path / "calm.html")
    assert "No cause was found that stands out" in page.locator("#in-words").inner_text()
    assert (
        page.locator(".card").count() == 0 and "strongest root cause" not in page.locator(".why").inner_text()
    )


def test_log_odds_are_behind_a_switch(watched, made):
    page = watched.open(made[0], "#patient/10")
    assert "log-odds" not in page.locator(".answer").inner_text()
    assert "%" in page.locator("#waterfall").text_content()
    assert not re.search(r"[+−]\d\.\d\d", page.locator("#waterfall").text_content())
    page.locator("#scale-switch").check()
    assert "log-odds +" in page.locator("#patient-risk").inner_text()
    assert re.search(r"[+−]\d\.\d\d, \d\d %", page.locator("#waterfall").text_content())
    page.locator("#next").click()
    assert page.locator("#scale-switch").is_checked()


def test_every_term_has_its_meaning_at_hand(watched, made):
    page = watched.open(made[0], "#patient/10")
    page.locator(".why .term", has_text="shock").click()
    box = page.locator("#term-box")
    assert "do not explain" in box.inner_text()
    page.keyboard.press("Escape")
    assert not box.is_visible()
    page.locator(".sure .grade").first.click()
    assert "at least 80 % of the resamples" in box.inner_text()
    box.locator("button").click()
    assert not box.is_visible()


def test_a_hundred_people(watched, made):
    path, _, explanation = made
    base = int(np.floor(100 / (1 + np.exp(-explanation.base_value)) + 0.5))
    for row in (int(explanation.predictor.argmax()), int(explanation.predictor.argmin())):
        page = watched.open(path, f"#patient/{explanation.ids[row]}")
        here = int(np.floor(100 * explanation.probability[row] + 0.5))
        counted = {
            kind: page.locator(f"{PEOPLE}.{kind}").count() for kind in ("both", "more", "fewer", "neither")
        }
        assert sum(counted.values()) == 100 and counted["both"] == min(here, base)
        assert counted["more"] == max(here - base, 0) and counted["fewer"] == max(base - here, 0)
        risk = explanation.probability[row]
        said = "over 99" if risk > 0.99 else "fewer than 1" if here == 0 else here  # nobody is certain
        assert f"of 100 patients like this one, {said} have it" in page.locator("#hundred").inner_text()


def test_the_slider_says_what_python_says(watched, made):
    path, _, explanation = made
    page = watched.open(path, "#patient/10")
    row, bili = explanation.ids.index(10), column_of(explanation, "bili")
    assert page.locator("#what-if-risk").inner_text() == percent(explanation.probability[row])
    page.locator("#what-if button", has_text="without its shock").click()
    without = explanation.what_if("bili")
    assert page.locator("#what-if-risk").inner_text() == percent(without.probability[row])
    moved = page.locator("#what-if-said li").all_inner_texts()
    assert moved
    for line in moved:
        name, then = re.match(r"(.+): .* becomes (−?\d[\d,]*(?:\.\d+)?)", line).groups()
        column = next(k for k, one in enumerate(explanation.variables) if one.shown == name)
        assert told_as(then, without.data[row, column])
        below = without.data[row, column] < explanation.data[:, column].min()
        above = without.data[row, column] > explanation.data[:, column].max()
        assert ("lower than in any patient of the cohort" in line) == below
        assert ("higher than in any patient of the cohort" in line) == above
    assert any("than in any patient" in line for line in moved)  # straight lines lead anywhere
    slider = page.locator("#what-if-value")
    slider.evaluate("(slider) => { slider.value = 0; slider.dispatchEvent(new Event('input')); }")
    lowest = explanation.data[:, bili].min()
    now, error = explanation.data[row, bili], explanation.errors[row, bili]
    own = (now - without.data[row, bili]) / error
    then = explanation.what_if("bili", error + (lowest - now) / own).probability[row]
    assert page.locator("#what-if-risk").inner_text() == percent(then)
    page.locator("#what-if-variable").select_option(label="age")
    assert "age 71\u00a0years" in page.locator("#what-if-said").inner_text()


def test_the_list_is_sorted_and_filtered_and_tells_what_happened(watched, made):
    path, cohort, explanation = made
    page = watched.open(path, "#list/10")
    rows = page.locator("#patient-table tbody tr")
    by_risk = np.argsort(-explanation.predictor, kind="stable")
    assert rows.locator("th").all_inner_texts() == [str(explanation.ids[row]) for row in by_risk[:100]]
    page.locator("#patient-table th[data-key=prediction] button").click()
    assert rows.first.locator("th").inner_text() == str(explanation.ids[by_risk[-1]])
    assert page.locator("#patient-table th[data-key=prediction]").get_attribute("aria-sort") == "ascending"
    page.locator("#list-cause").select_option(label="Bilirubin")
    page.locator("#list-happened").select_option(label="had it")
    bili, values = column_of(explanation, "bili"), explanation.values
    led = (values.argmax(axis=1) == bili) & (values[:, bili] >= 0.1) & (cohort.y == 1)
    assert page.locator("#list-count").inner_text().startswith(f"{led.sum()} of 258 patients")
    assert {line.locator("td").nth(3).inner_text() for line in rows.all()} == {"“died”"}
    page.locator("#list-text").fill("no such id")
    assert rows.count() == 0
    page.locator("#list-text").fill("10")
    page.locator("#patient-table a", has_text=re.compile("^10$")).click()
    page.locator("h2:visible", has_text=re.compile("^Patient 10$")).wait_for()  # the page follows its address
    page.go_back()
    page.locator("#list").wait_for()


def test_patients_like_this_one_are_the_nearest(watched, made):
    path, cohort, explanation = made
    row = explanation.ids.index(10)
    apart = ((explanation.values - explanation.values[row]) ** 2).sum(axis=1)
    near = [other for other in np.argsort(apart, kind="stable") if other != row][:20]
    page = watched.open(path, "#patient/10")
    assert page.locator("#alike a").all_inner_texts() == [str(explanation.ids[other]) for other in near[:5]]
    assert f"Of the 20 most alike, {cohort.y[near].sum()} had it." in page.locator("#alike").inner_text()


def saved(page, press):
    with page.expect_download() as download:
        press()
    path = download.value.path()
    return download.value.suggested_filename, path.read_bytes()


def test_what_can_be_taken_along(watched, made):
    path, _, explanation = made
    page = watched.open(path, "#patient/10")
    name, text = saved(page, page.locator("#download-csv").click)
    assert name == "patient-10.csv"
    rows = list(csv.DictReader(io.StringIO(text.decode("utf-8-sig"))))
    row = explanation.ids.index(10)
    for line in rows:
        assert float(line["adds"]) == pytest.approx(
            explanation.values[row, column_of(explanation, line["column"])]
        )
    # A spreadsheet would run it as a formula.
    assert "'=Albumin<b>" in {line["variable"] for line in rows}
    svg_name, svg = saved(page, page.locator("#patient-view .tools button", has_text="SVG").click)
    assert svg_name == "waterfall-10.svg" and svg.startswith(b"<svg") and b"var(--" not in svg
    _, png = saved(page, page.locator("#patient-view .tools button", has_text="PNG").click)
    assert png.startswith(b"\x89PNG")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.locator("#copy-text").click()
    copied = page.evaluate("window.copied")
    assert copied.startswith("Patient 10\nUnder this model, the risk of “died” is")
    assert "Why? The strongest root cause is Bilirubin" in copied and "rootcausal " in copied
    page.locator("#tab-graph").click()
    _, graph = saved(page, page.locator("#graph .tools button", has_text="SVG").click)
    assert "Bilirubin" in graph.decode() and "died" in graph.decode()
    page.locator("#tab-list").click()
    _, listed = saved(page, page.locator("#list-csv").click)
    assert len(listed.decode("utf-8-sig").strip().splitlines()) == 259


def test_hostile_ids_make_harmless_file_names(watched, made, tmp_path):
    _, cohort, _ = made
    model = RCI(backend="numpy", mechanism="linear").fit(cohort.X, cohort.y)
    full_width = ["\uff1d1+1", "\uff0b1", "\uff0d1+1", "\uff20x"]
    ids = ["../../x<y>:z", "=1+1", "\n=1+1", "\t=1", "\r=1", "-1+1", "-3.5e2", *full_width]
    model.report(cohort.X[: len(ids)], tmp_path / "ids.html", ids=ids)
    page = watched.open(tmp_path / "ids.html", "#patient/" + quote(ids[0], safe=""))
    name, _ = saved(page, page.locator("#download-csv").click)
    assert re.fullmatch(r"[\w.-]+\.csv", name) and "/" not in name
    page.locator("#tab-list").click()
    _, listed = saved(page, page.locator("#list-csv").click)
    # The same cells as in the tables that the command line writes.
    write_tables({tmp_path / "ids.csv": pa.table({"id": ids})}, {})
    told = csv.reader(io.StringIO(listed.decode("utf-8-sig"), newline=""))
    with (tmp_path / "ids.csv").open(newline="") as file:
        assert {row[0] for row in told} - {"patient"} == {row[0] for row in csv.reader(file)} - {"id"}


def test_nodes_stand_beside_their_names_and_can_be_chosen(watched, made):
    page = watched.open(made[0], "#graph/10")
    nodes, names = page.locator("#arcs .node circle").all(), page.locator(".order li").all()
    assert len(names) == len(nodes) + 1 and names[-1].inner_text() == "died"
    for node, name in zip(nodes, names, strict=False):
        middle = [box["y"] + box["height"] / 2 for box in (node.bounding_box(), name.bounding_box())]
        assert abs(middle[0] - middle[1]) < 3
    nodes[0].click()
    assert names[0].locator("button").get_attribute("aria-pressed") == "true"
    assert names[0].locator("bdi").first.inner_text().split("\u2068")[-1][:3] == "age"
    assert page.locator("#downstream h3").inner_text() == "What a shock on age does"


def test_sixty_long_names_can_be_told_apart(watched, tmp_path):
    random = np.random.default_rng(1)
    X = random.laplace(size=(300, 62))
    for column in range(10, 62):
        X[:, column] += X[:, column - 10]  # more arrows than can be seen at once
    same = "Serum concentration of a protein with a long name"
    names = [f"{same}, number {k} of all, at the first visit" for k in range(62)]
    y = (X[:, :6].sum(axis=1) + random.logistic(size=300) > 0).astype(int)
    frame = pd.DataFrame(X, columns=names)
    model = RCI(variant="plus", alpha=1.0, backend="numpy").fit(frame, y)
    model.report(frame.head(20), tmp_path / "long.html")
    assert watched.open(tmp_path / "long.html", "#patient/0").evaluate(CUT_OFF) == []
    page = watched.open(tmp_path / "long.html", "#graph/0")
    shown = page.locator(".order button bdi").all_text_contents()
    assert len(shown) == 60 == len(set(shown))
    assert not page.locator("#arrow-switch").is_checked()
    few = page.locator("#arcs path").count()
    page.locator("#arrow-switch").check()
    assert page.locator("#arcs path").count() > few
    page.locator("#tab-cohort").click()
    labels = page.locator("#prevalence [aria-hidden] text, #prevalence svg g text").all_text_contents()
    cut = [label for label in labels if "…" in label]
    assert cut and len(set(cut)) == len(cut)
    for width in (390, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(CUT_OFF) == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


# Texts of a drawing that reach out of it, or off the screen.
CUT_OFF = """() => {
  const drawn = [...document.querySelectorAll("main svg")].filter((one) => one.clientWidth);
  return drawn.flatMap((picture) => {
    const { left, right, bottom } = picture.getBoundingClientRect();
    const cut = (text) => {
      const box = text.getBoundingClientRect();
      return box.width && (box.left < left - 1 || box.right > right + 1 || box.bottom > bottom + 1);
    };
    return [...picture.querySelectorAll("text")].filter(cut).map((text) => text.textContent);
  });
}"""


@pytest.mark.parametrize("watched", [{"viewport": {"width": 390, "height": 844}}, {}], indirect=True)
def test_no_text_of_a_drawing_is_cut_off(watched, made):
    path, _, explanation = made
    ranked = np.argsort(explanation.predictor)
    for row in (ranked[0], ranked[len(ranked) // 2], ranked[-1]):
        page = watched.open(path, f"#patient/{explanation.ids[row]}")
        assert page.evaluate(CUT_OFF) == []
        page.locator("#scale-switch").check()
        assert page.evaluate(CUT_OFF) == []
    for view in ("cohort", "graph"):
        assert watched.open(path, f"#{view}/10").evaluate(CUT_OFF) == []


def test_far_dots_stand_at_the_edge(watched, made):
    path, _, explanation = made
    page = watched.open(path, "#cohort/10")
    said = page.locator("#cohort").inner_text()
    n = int(re.search(r"(\d+) dots? farther out", said).group(1))
    assert 0 < n < 0.02 * explanation.values.size
    # Orange and blue are for what raises and lowers the risk; values have colours of their own.
    used, colours = page.evaluate("""() => {
      const style = getComputedStyle(document.documentElement);
      const dots = [...document.querySelectorAll("#swarm path:has(title)")];
      const own = ["--harm", "--guard"].map((name) => style.getPropertyValue(name).trim());
      return [dots.map((dot) => dot.getAttribute("fill")), own];
    }""")
    assert len(used) > 1000 and not set(used) & set(colours)


def test_a_bent_model_has_expected_values_and_no_slider(watched, tmp_path, monkeypatch):
    from dataclasses import replace

    from toy_halves import SinhMechanism

    random = np.random.default_rng(2)
    X = random.laplace(size=(200, 3))
    X[:, 2] += 0.8 * X[:, 0]
    model = RCI(variant="plus", backend="numpy").fit(
        X, (X.sum(axis=1) + random.logistic(size=200) > 0).astype(int)
    )
    model._model = replace(model._model, mechanism=SinhMechanism(model._model.mechanism))
    model.report(X, tmp_path / "bent.html")
    page = watched.open(tmp_path / "bent.html", "#patient/0")
    assert "There is no slider here" in page.locator("#what-if").inner_text()
    assert page.locator("#what-if-value").count() == 0
    explanation = model.explain(X)
    seen = 0
    for row in range(6):
        page = watched.open(tmp_path / "bent.html", f"#patient/{row}")
        for card in page.locator(".card").all():
            column = column_of(explanation, card.get_attribute("data-variable"))
            said = card.locator(".against").inner_text()
            number = re.match(r"−?[\d.,]+", said)[0]
            assert told_as(number, explanation.what_if(column).data[row, column])
            assert "." in number  # of a spread of one, a tenth is worth a digit
            seen += 1
    assert seen > 4
    monkeypatch.setattr(content, "BYTES_IN_FULL", 0)
    model.report(X, tmp_path / "large.html")
    assert watched.open(tmp_path / "large.html").locator(".against").count() == 0


def test_of_what_comes_first_nothing_is_expected_from_others(watched, made):
    path, _, explanation = made
    first = explanation._model.order[0]
    row = int(np.abs(explanation.values[:, first]).argmax())
    page = watched.open(path, f"#patient/{explanation.ids[row]}")
    card = page.locator(f'.card[data-variable="{explanation.feature_names[first]}"]')
    said = card.locator(".against").inner_text()
    assert said.endswith(" typical of the cohort")
    mean = explanation.what_if(explanation.feature_names[first]).data[row, first]
    assert float(said.split()[0].replace(",", "")) == pytest.approx(mean, rel=0.05)


@pytest.mark.filterwarnings("ignore:nothing that the model goes by")
def test_nobody_is_scored_without_a_measurement_and_no_interval_is_stretched(watched, made, tmp_path):
    _, cohort, _ = made
    frame = pd.DataFrame(cohort.X, columns=list(cohort.feature_names))
    model = RCI(mechanism="linear").fit(frame, cohort.y)
    # Resamples of what only the age decides: they know nothing of bilirubin.
    rng = np.random.default_rng(0)
    model.bootstrap_ = (
        RCI(alpha=1e-6).fit(frame, frame["age"] + 5 * rng.normal(size=258) > 55).bootstrap(20).bootstrap_
    )
    some = frame.nlargest(3, "bili")
    some.iloc[1] = np.nan
    model.report(some, tmp_path / "some.html", ids=["a", "<b>", "c"])
    page = watched.open(tmp_path / "some.html", "#patient/a")
    assert (
        "it raises the risk in none of 20 resamples: no resample agrees."
        in page.locator("#in-words").inner_text()
    )
    page.locator("#tab-list").click()
    told = "Not scored, since nothing was measured that the model goes by: <b>."
    assert page.locator("#not-scored").inner_text() == told
    assert page.locator("#patient-table tbody tr").count() == 2
