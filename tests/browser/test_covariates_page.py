"""A page of a model with covariates, in a real browser: what they add stands apart, and is in the risk."""

import pytest
from level_cohort import draw, frame_of, with_holes

from rootcausal import RCI, Knowledge

HOSTILE = "<img src=x onerror=alert(1)>\u202e" + "n" * 10_000


def page_of(folder, rename, resamples=4, **holes):
    X, y = draw(200)
    frame = frame_of(X).rename(columns=rename)
    known = Knowledge(covariates=[rename.get(name, name) for name in ("age", "ward")])
    model = RCI(knowledge=known, backend="numpy").fit(frame, y)
    if resamples:
        model.bootstrap(resamples)
    shown = with_holes(frame.head(12), **holes)
    model.report(shown, folder / "page.html", y[:12])
    return folder / "page.html", model.explain(shown)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("covariates"), {}, age=[1])


def signed(number):
    return f"{number:+.2f}".replace("-", "−")


def test_what_covariates_add_stands_apart_and_is_in_the_risk(watched, made):
    path, explanation = made
    for row in range(4):
        page = watched.open(path, f"#patient/{row}")
        page.locator("#scale-switch").check()
        adds = page.locator("#covariates-add")
        effect = signed(explanation.covariate_effect[row])
        assert effect in adds.inner_text()
        box = adds.locator("xpath=..").inner_text()
        assert "Adjusted for: age and ward" in box
        lower, upper = explanation.covariate_interval[:, row]
        assert f"95 % interval {signed(lower)} to {signed(upper)}" in box
        assert ("not all measured" in box) == (row == 1)
        assert f"log-odds {signed(explanation.log_odds[row])}" in page.locator("#patient-risk").inner_text()
        words = page.locator("#in-words").inner_text()
        assert "whose shocks and covariates are all average" in words
        assert f"What is adjusted for, age and ward, adds {effect} to the log-odds" in words
        assert not page.locator('.card[data-variable="age"], .card[data-variable="ward"]').count()
        chart = page.locator("#waterfall").text_content()
        assert chart.index("base risk") < chart.index("age and ward")
        assert page.locator('#waterfall rect[fill="var(--adjusted)"]').count() == 1
        page.locator("#patient-view summary", has_text="as a table").click()
        heads = page.locator("#patient-view table th[scope=row]").all_inner_texts()
        assert heads and not {"age", "ward"} & set(heads)


def test_without_resamples_the_interval_is_that_of_what_was_not_measured(watched, tmp_path):
    path, explanation = page_of(tmp_path, {}, resamples=0, age=[1])
    for row in range(3):
        page = watched.open(path, f"#patient/{row}")
        box = page.locator("#covariates-add").locator("xpath=..").inner_text()
        lower, upper = explanation.covariate_interval[:, row]
        assert ("95 % interval" in box) == (row == 1)
        said = f"95 % interval {signed(lower)} to {signed(upper)}, for what was not measured"
        assert (said in box) == (row == 1)


def test_how_it_was_made_lists_them(watched, made):
    path, _ = made
    about = watched.open(path, "#about").locator("#about").inner_text()
    assert "Adjusted for\nage, ward: regressed out of all other variables first" in about


def test_hostile_names_of_covariates_stay_text(watched, tmp_path):
    path, _ = page_of(tmp_path, {"age": HOSTILE})
    page = watched.open(path, "#patient/0")
    words = page.locator("#in-words").inner_text()
    assert "onerror" in words and len(words) < 2000
    assert len(page.locator("#covariates-add").locator("xpath=..").inner_text()) < 300
    assert page.locator("#waterfall").text_content().count("2 covariates") == 1
    assert page.locator("main img, [onerror]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    said = watched.open(path, "#graph/").locator("#given-and-learned").inner_text()
    assert "Adjusted for, and not drawn: <img" in said and len(said) < 1000


def test_without_covariates_nothing_is_said_of_them(watched, tmp_path):
    X, y = draw(200)
    frame = frame_of(X)
    RCI(backend="numpy").fit(frame, y).report(frame.head(5), tmp_path / "page.html")
    page = watched.open(tmp_path / "page.html", "#patient/0")
    assert page.locator("#covariates-add").count() == 0
    assert page.locator('#waterfall rect[fill="var(--adjusted)"]').count() == 0
    shown = page.locator("#patient-view").inner_text()
    assert "ovariate" not in shown and "Adjusted" not in shown
