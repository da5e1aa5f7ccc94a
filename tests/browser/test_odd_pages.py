"""Pages of odd cohorts in a real browser: hostile names, and very few or very many of everything."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from toy_halves import SquareAttribution

from rootcausal import RCI, InputError
from rootcausal.report import content

pa = pytest.importorskip("pyarrow")

VIEWS = ("patient", "cohort", "graph", "about")
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "=cmd()",
    "a\"b'c",
    "x" * 300,
    "\u202eright to left \u05d0\u05d1\u05d2",
    "😀 emoji",
    "%%script%%",
    "\u2028line",
    "__proto__",
    "constructor",
    "",
]


def draw(n, p, seed=0, effect=2.0):
    random = np.random.default_rng(seed)
    X = random.laplace(size=(n, p))
    X[:, -1] += 0.8 * X[:, 0]
    y = (effect * X[:, 0] + random.logistic(size=n) > 0).astype(int)
    return X, y


def every_view(watched, path):
    page = watched.open(path)
    for view in VIEWS:
        watched.turn_to(f"#{view}/")
        assert page.locator(f"#{view}").is_visible()
        assert page.locator(f"#{view} h2").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    return page


def test_hostile_names_are_shown_as_text(watched, tmp_path):
    X, y = draw(120, len(HOSTILE))
    y = (X.sum(axis=1) > 0).astype(int)  # every variable matters, so every name is shown
    flip = np.random.default_rng(1).random(120) < 0.2
    y[flip] = 1 - y[flip]
    table = pa.table(dict(zip(HOSTILE, X.T, strict=True)))
    model = RCI(variant="plus").fit(table, y)
    ids = [*HOSTILE, "", "", "same", "same", *range(len(HOSTILE) + 4, 120)]
    units = dict.fromkeys(HOSTILE, "<b>unit</b>")
    path = tmp_path / "hostile.html"
    model.report(table, path, ids=ids, units=units, target="<i>died</i>", notes=["<u>note</u>"])
    page = every_view(watched, path)
    scripts = page.evaluate("document.scripts.length")
    assert scripts == 6  # content, three blocks, libraries, the page's own
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        assert page.locator("img, iframe, object, b, i, u, main script").count() == 0
    assert "<i>died</i>" in page.title()
    page.locator("#tab-patient").click()
    page.locator("#patient-view summary", has_text="as a table").click()
    assert set(page.locator("#patient-view tbody th").all_text_contents()) == {
        name or "(no name)" for name in HOSTILE
    }
    page.locator("#search").fill("<script>")
    assert page.locator("#matches bdi").first.inner_text() == "<script>alert(1)</script>"
    page.keyboard.press("Enter")
    assert page.locator("h2:visible").inner_text() == "Patient <script>alert(1)</script>"
    page.locator("#search").fill("(row ")
    assert page.locator("#matches [data-row]").count() == 5  # the empty and the repeated ids


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", "hasOwnProperty"])
def test_names_that_every_object_has_are_no_views(watched, tmp_path, name):
    X, y = draw(60, 3)
    path = tmp_path / "page.html"
    RCI(variant="plus").fit(X, y).report(X, path, ids=[name, *range(1, 60)])
    for address in (f"#{name}", f"#{name}/3", f"#patient/{name}"):
        page = watched.open(path, address)
        assert page.locator("#patient").is_visible()
        label = "3" if address.endswith("/3") else name
        assert page.locator("h2:visible").inner_text() == f"Patient {label}"


def test_a_disease_may_be_called_by_a_number(watched, tmp_path):
    X, y = draw(60, 3)
    path = tmp_path / "page.html"
    RCI(variant="plus").fit(X, y).report(X, path, target=5)
    assert every_view(watched, path).title() == "Root causes of “5”"


def test_redacted_ids_are_nowhere_in_the_file(watched, tmp_path):
    X, y = draw(60, 3)
    model = RCI(variant="plus").fit(X, y)
    path = tmp_path / "redacted.html"
    model.report(X, path, ids=[f"secret{row}" for row in range(60)], redact_ids=True)
    assert "secret" not in path.read_text(encoding="utf-8")
    assert watched.open(path, "#patient/3").locator("h2:visible").inner_text() == "Patient 3"


def test_no_root_causes(watched, tmp_path):
    X, _ = draw(200, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = RCI(alpha=1e-12).fit(X, np.arange(200) % 2)
    path = tmp_path / "none.html"
    model.report(X, path)
    every_view(watched, path)
    page = watched.open(path)
    assert "No shock raises this patient's risk" in page.locator("#patient-view").inner_text()


def test_one_variable_and_one_new_patient_of_a_saved_model(watched, tmp_path):
    X, y = draw(200, 1)
    RCI(variant="plus").fit(X, y).save(tmp_path / "model.rci")
    model = RCI.load(tmp_path / "model.rci")
    path = tmp_path / "one.html"
    model.report([[X.max() + 1.0]], path, ids=["new"])
    every_view(watched, path)
    page = watched.open(path)
    assert "higher than in any patient of the cohort" in page.locator(".card").inner_text()
    assert page.locator("#next").is_disabled() and page.locator("#previous").is_disabled()


def test_shapley_values_that_are_not_proportional_to_shocks(watched, tmp_path):
    X, y = draw(200, 3)
    model = RCI(variant="plus").fit(X, y)
    model._model = replace(model._model, attribution=SquareAttribution(np.array([0.7, -0.2, 0.4])))
    path = tmp_path / "square.html"
    model.report(X, path)
    every_view(watched, path)
    page = watched.open(path, "#patient/5")
    page.locator("summary", has_text="as a table").click()
    shown = [line.locator("td").nth(6).inner_text() for line in page.locator("#patient-view tbody tr").all()]
    expected = [f"{value:+.3f}".replace("-", "−") for value in model.shapley_values(X)[5]]
    assert sorted(shown) == sorted(expected)


def test_five_thousand_variables(watched, tmp_path):
    random = np.random.default_rng(3)
    X = random.laplace(size=(150, 5000))
    y = (X[:, :5].sum(axis=1) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer rows than variables
        model = RCI().fit(X, y)
    assert model.causal_order_.size > 30
    path = tmp_path / "wide.html"
    model.report(X, path)
    page = every_view(watched, path)
    # The left-out are counted, not all listed.
    made = model.provenance_
    others = model.causal_order_.size + len(made["adds_nothing"]) + len(made["exhausted"])
    for n_left_out in (5000 - others, len(made["adds_nothing"])):
        assert f"and {n_left_out - 50:,} more" in page.locator("#about").inner_text()


def test_numbers_of_a_large_page_are_still_those_of_explain(watched, tmp_path, monkeypatch):
    X, y = draw(150, 12)
    model = RCI(variant="plus").fit(X * 1000, y).bootstrap(5)
    monkeypatch.setattr(content, "BYTES_IN_FULL", 0)  # as on a page of many megabytes
    path = tmp_path / "large.html"
    model.report(X * 1000, path, ids=[f"p{row}" for row in range(150)])
    explanation = model.explain(X * 1000)
    for row in (0, 77, 149):
        page = watched.open(path, f"#patient/p{row}")
        page.locator("summary", has_text="as a table").click()
        sure = 0
        for line in page.locator("#patient-view tbody tr").all():
            name, cells = line.locator("th").inner_text(), line.locator("td").all_inner_texts()
            adds, interval = cells[6], cells[-1]
            column = int(name.removeprefix("x"))
            assert float(adds.replace("−", "-")) == float(f"{explanation.values[row, column]:.3f}")
            if not interval.startswith("not kept"):
                sure += 1
                shown = re.findall(r"[+−]?\d+\.\d\d", interval)
                ends = explanation.lower[row, column], explanation.upper[row, column]
                assert [float(end.replace("−", "-")) for end in shown] == [
                    float(f"{end:.2f}") for end in ends
                ]
        assert sure == content.FEWEST_INTERVALS


def test_a_table_too_large_for_a_page_is_refused_with_what_fits(tmp_path):
    X, y = draw(400, 40)
    model = RCI(variant="plus").fit(X, y)
    many = np.resize(X, (60_000, 40))
    with pytest.raises(InputError, match=r"at most 55,078 patients .* the table has 60,000"):
        model.report(many, tmp_path / "large.html")
    assert not (tmp_path / "large.html").exists()


def test_ties_are_said(watched, tmp_path):
    """Of a yes or no that is taken for a number, nobody is higher than half of those who are the same."""
    random = np.random.default_rng(5)
    X = np.column_stack([np.arange(400) % 10 < 3, random.laplace(size=400)]).astype(float)
    y = (2.0 * X[:, 0] + X[:, 1] + random.logistic(size=400) > 1.0).astype(int)
    path = tmp_path / "ties.html"
    RCI(variant="plus", kinds={"x0": "number"}).fit(X, y).report(X, path)
    # Quantiles come in steps of one percent.
    for row, words in (
        (0, r"the same in (30|31) of 100 patients, lower in (69|70)"),
        (5, "the same in (69|70)"),
    ):
        page = watched.open(path, f"#patient/{row}")
        assert re.search(words, page.locator("#patient").text_content())  # the folded table, too


def test_rows_of_repeated_patients_and_a_shock_that_changes_little(watched, tmp_path):
    X, y = draw(120, 2)
    model = RCI(alpha=1.0, backend="numpy").fit(X, y)
    path = tmp_path / "visits.html"
    low = X.copy()
    low[:, 0] = np.where(np.arange(120) == 0, -40.0, X[:, 0])  # at under 1 %, whatever the other shock is
    low[0, 1] = 0.8 * -40.0 + 3000.0
    model.report(low, path, groups=np.arange(120) // 3)
    page = watched.open(path)
    assert page.locator("#subtitle").inner_text().startswith("120 rows of 40 patients. ")
    said = page.locator("#patient").inner_text()
    assert "Risk without this shock: under 1 %, as it is with it" in said
    assert "Rows on this page" in watched.open(path, "#about/").locator("#about").inner_text()
    model.report(X, path)
    assert watched.open(path).locator("#subtitle").inner_text().startswith("120 patients. ")
