"""Figures as papers need them: names, units, signs and colours, and nothing cut off, also with long names."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rootcausal import RCI, InputError, plots
from rootcausal.data import load_pbc, simulate
from rootcausal.plots import style as figure_style
from rootcausal.wording import shortened

pytest.importorskip("matplotlib").use("Agg")
PAGE_STYLE = Path(plots.__file__).parent.parent / "report" / "templates" / "page.css"
KINDS = ["waterfall", "beeswarm", "prevalence", "heatmap", "graph"]


@pytest.fixture(scope="module")
def pbc():
    cohort = load_pbc()
    X = pd.DataFrame(cohort.X, columns=cohort.feature_names)
    model = RCI().fit(X, cohort.y).bootstrap(5)
    return model, model.explain(X, ids=cohort.ids), 10


@pytest.fixture(scope="module")
def long_names():
    """30 variables whose names begin alike, end alike, or differ in the middle only."""
    cohort = simulate(n_samples=1000, n_variables=31, random_state=9)
    names = [
        f"{'Measurement of the liver function' if place % 2 else 'Blood'} number {place} at the "
        f"{'first' if place % 3 else 'second'} visit, central laboratory"
        for place in range(30)
    ]
    X = pd.DataFrame(cohort.X, columns=names)
    model = RCI().fit(X, cohort.y).bootstrap(5)
    return model, model.explain(X, ids=[f"patient-{row:04d}" for row in range(1000)]), "patient-0042"


def draw(kind, drawn, **words):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    model, explanation, patient = drawn
    first = model if kind == "graph" else explanation
    ax = getattr(plots, kind)(first, *([patient] if kind == "waterfall" else []), **words)
    FigureCanvasAgg(ax.figure).draw()
    return ax


def texts_of(figure):
    return [
        text
        for text in figure.findobj(lambda part: hasattr(part, "get_text"))
        if text.get_text().strip() and text.get_visible()
    ]


def ticks_not_drawn(figure):
    """Texts beyond the ends of an axis, and of axes that are switched off."""
    found = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            beyond = [tick for tick in ticks if not (ax.axison and low <= tick.get_loc() <= high)]
            found |= {label for tick in beyond for label in (tick.label1, tick.label2)}
    return found


def said_by(ax):
    return " | ".join(text.get_text() for text in texts_of(ax.figure))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cohort", ["pbc", "long_names"])
def test_nothing_is_cut_off(kind, cohort, request):
    ax = draw(kind, request.getfixturevalue(cohort), target="readmission within 30 days of the discharge")
    edge = ax.figure.bbox
    for text in set(texts_of(ax.figure)) - ticks_not_drawn(ax.figure):
        box = text.get_window_extent()
        assert box.x0 >= edge.x0 - 1 and box.x1 <= edge.x1 + 1, text.get_text()
        assert box.y0 >= edge.y0 - 1 and box.y1 <= edge.y1 + 1, text.get_text()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "graph"])
def test_no_two_variables_are_called_the_same(kind, long_names):
    names = [label.get_text() for label in draw(kind, long_names).get_yticklabels()]
    assert len(set(names)) == len(names) > 5
    assert all(len(name.split("\n")[0]) <= 30 for name in names)


def test_labels_units_and_the_outcome_are_said(pbc):
    cohort = load_pbc()
    words = {"labels": {"bili": "Bilirubin $total$", "not a column": "x"}, "target": "death"}
    ax = draw("waterfall", pbc, units=cohort.units, **words)
    assert "Bilirubin \\$total\\$ = 12.6 mg/dl" in [label.get_text() for label in ax.get_yticklabels()]
    said = said_by(draw("graph", pbc, **words))
    assert "Bilirubin" in said and "raises death" in said and "the disease" not in said
    for kind in ("beeswarm", "prevalence", "heatmap"):
        assert "Bilirubin" in said_by(draw(kind, pbc, **words))


def test_labels_of_the_model_are_shown_unless_others_are_given():
    cohort = load_pbc()
    X = pd.DataFrame(cohort.X, columns=cohort.feature_names)
    model = RCI().fit(X, cohort.y)
    model.set_labels({"bili": {"label": "Bilirubin", "unit": "mg/dl", "digits": 0}, "age": "Age of life"})
    drawn = model, model.explain(X, ids=cohort.ids), 10
    assert "Bilirubin = 13 mg/dl" in said_by(draw("waterfall", drawn))
    assert "Bili = 13 mg%" in said_by(
        draw("waterfall", drawn, labels={"bili": "Bili"}, units={"bili": "mg%"})
    )
    for kind in ("beeswarm", "graph"):
        assert "Bilirubin" in said_by(draw(kind, drawn)) and "Age of life" in said_by(draw(kind, drawn))


def test_columns_with_the_same_label_keep_their_names(pbc):
    ax = draw("beeswarm", pbc, labels={"bili": "Liver", "albumin": "Liver"})
    assert {"Liver (bili)", "Liver (albumin)"} <= {label.get_text() for label in ax.get_yticklabels()}


@pytest.mark.parametrize("option", ["labels", "units"])
def test_what_is_no_dict_is_refused(pbc, option):
    with pytest.raises(InputError, match=f"{option} must be a dict"):
        draw("waterfall", pbc, **{option: ["mg/dl"]})


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_have_minus_signs(pbc, kind):
    said = said_by(draw(kind, pbc))
    assert not re.search(r"(^|[ (])-\d", said)
    assert kind in ("prevalence", "graph") or "−" in said


def test_minus_leaves_names_and_ranges_alone():
    assert figure_style.minus("-0.50") == "−0.50" and figure_style.minus("+0.50") == "+0.50"
    assert figure_style.minus("-0.00") == figure_style.minus("+0.00") == "0.00"
    assert figure_style.minus("interleukin-6, 20-30") == "interleukin-6, 20-30"


def test_colours_are_those_of_the_page():
    light = PAGE_STYLE.read_text(encoding="utf-8").partition("}")[0]
    of_page = dict(re.findall(r"--([\w-]+): (#\w+);", light))
    names = {
        "harm": "HARMFUL",
        "harm-light": "HARMFUL_LIGHT",
        "guard": "PROTECTIVE",
        "adjusted": "ADJUSTED",
        "middle": "NEUTRAL",
        "low": "LOW_VALUE",
        "high": "HIGH_VALUE",
        "ink": "INK",
    }
    assert {name: getattr(figure_style, ours) for name, ours in names.items()} == {
        name: of_page[name] for name in names
    }


def test_nothing_is_neutral_in_the_heat_map(pbc):
    from matplotlib.colors import to_hex

    ax = draw("heatmap", pbc)
    image = ax.images[0]
    low, high = image.get_clim()
    assert low == -high
    shades = [to_hex(image.cmap(image.norm(value))) for value in (low, 0.0, high)]
    assert shades[0] == figure_style.PROTECTIVE and shades[2] == figure_style.HARMFUL
    neutral = np.array(image.cmap(image.norm(0.0))[:3])
    assert np.ptp(neutral) < 0.05
    assert ax.figure.axes[1].get_ylabel() == "added log-odds"


def test_the_swarm_explains_its_colours(pbc):
    bar = draw("beeswarm", pbc).figure.axes[1]
    assert [label.get_text() for label in bar.get_yticklabels()] == ["low", "high"]
    lightness = figure_style.low_to_high()(np.linspace(0, 1, 50))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness) < 0).all()


@given(st.lists(st.text("ab ", min_size=0, max_size=40), max_size=12), st.integers(10, 30))
def test_shortened_names_fit_and_stay_different(names, limit):
    short = shortened(names, limit)
    assert len(dict.fromkeys(short)) == len(dict.fromkeys(names))
    assert all(len(text) <= limit for text in short)
    assert all(text == name for text, name in zip(short, names, strict=True) if len(name) <= limit)


def test_names_are_shortened_where_they_are_alike():
    names = [f"Glucose in plasma, mean of {many} mornings, fasting" for many in ("three", "seven")]
    assert shortened(names, 30) == ["Glucose in…ean of three morni…", "Glucose in…ean of seven morni…"]
    assert shortened(["Alanine aminotransferase, serum"], 20) == ["Alanine a…ase, serum"]
