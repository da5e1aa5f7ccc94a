"""Figures: they show the numbers, and they save."""

import numpy as np
import pytest

from rootcausal import RCI, DirectLiNGAM, InputError, plots
from rootcausal.data import load_pbc

pytest.importorskip("matplotlib").use("Agg")


@pytest.fixture(scope="module")
def pbc():
    import pyarrow as pa

    cohort = load_pbc()
    names = ["$bili$", *cohort.feature_names[1:]]  # a dollar sign must not start a formula
    table = pa.table(dict(zip(names, cohort.X.T, strict=True)))
    model = RCI().fit(table, cohort.y)
    return table, model, model.explain(table, ids=cohort.ids)


def draw(kind, pbc, **options):
    _, model, explanation = pbc
    first = model if kind == "graph" else explanation
    more = (10,) if kind == "waterfall" else ()
    return getattr(plots, kind)(first, *more, **options)


KINDS = ["waterfall", "beeswarm", "prevalence", "heatmap", "graph"]


@pytest.mark.parametrize("kind", KINDS)
def test_saves_as_svg_and_png(pbc, kind, tmp_path):
    figure = draw(kind, pbc).figure
    for ending, start in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        path = tmp_path / f"figure.{ending}"
        figure.savefig(path)
        assert path.read_bytes().startswith(start)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_into_given_axes(pbc, kind):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert draw(kind, pbc, ax=ax) is ax


def test_waterfall_ends_at_the_patients_log_odds(pbc):
    *_, explanation = pbc
    ax = plots.waterfall(explanation, 10, top=3)
    bars = ax.patches
    row = explanation.ids.index(10)
    assert len(bars) == 4
    assert bars[0].get_x() == pytest.approx(explanation.base_value)
    assert sum(bar.get_width() for bar in bars) == pytest.approx(explanation.values[row].sum())
    assert ax.texts[0].get_text() == f"{explanation.values[row].max():+.2f}"
    assert "dashed: patient 10, +" in ax.get_xlabel()
    assert f"(risk {explanation.probability[row]:.0%})" in ax.get_xlabel()


def test_waterfall_draws_the_intervals(pbc):
    table, *_ = pbc
    model = RCI().fit(table, load_pbc().y).bootstrap(10)
    explanation = model.explain(table, ids=load_pbc().ids)
    row = explanation.ids.index(10)
    strongest = explanation.values[row].argmax()
    whisker = plots.waterfall(explanation, 10).lines[0]
    assert whisker.get_marker() == "|"  # its caps
    start, end = whisker.get_xdata()
    assert start == pytest.approx(explanation.base_value + explanation.lower[row, strongest])
    assert end == pytest.approx(explanation.base_value + explanation.upper[row, strongest])


def test_prevalence_counts(pbc):
    *_, explanation = pbc
    ax = plots.prevalence(explanation)
    any_cause, strongest = ([bar.get_width() for bar in bars] for bars in ax.containers)
    notable = explanation.values >= 0.1
    assert (explanation.values > 0).sum() > notable.sum()
    assert sorted(any_cause) == sorted(n for n in notable.sum(axis=0) if n)
    assert sum(strongest) == notable.any(axis=1).sum()


def test_graph_of_direct_lingam(pbc):
    table, *_ = pbc
    ax = plots.graph(DirectLiNGAM(prune=True).fit(table), top=6)
    assert len(ax.texts) == 6


def test_no_root_causes_and_one_patient_still_draw(pbc):
    table, model, _ = pbc
    one = model.explain(table.slice(0, 1), ids=[10])
    for kind in KINDS:
        draw(kind, (table, model, one))


def test_unknown_patients_and_huge_heat_maps_are_refused(pbc):
    table, model, explanation = pbc
    with pytest.raises(InputError, match="no patient 'x'"):
        plots.waterfall(explanation, "x")
    rows = np.arange(plots.HEAT_PATIENTS + 1) % 258
    with pytest.raises(InputError, match="at most 2000 patients"):
        plots.heatmap(model.explain(table.take(rows)))
