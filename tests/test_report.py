"""The page as a file: what it holds, what it must not hold, and what the model keeps for it."""

import base64
import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest
from page_facts import facts_of
from tampering import archive_of, members_of, with_array

from rootcausal import RCI, InputError
from rootcausal.data import load_pbc
from rootcausal.explaining.graph import strong_edges
from rootcausal.explaining.shown import similarity_order
from rootcausal.method.arrows import WEAKEST_EDGE
from rootcausal.method.linear import direct_effects
from rootcausal.method.reference_ranges import CohortQuantiles
from rootcausal.report.page import as_inert_json
from rootcausal.report.views import _in_labels


@pytest.fixture(scope="module")
def pbc():
    cohort = load_pbc()
    return cohort, RCI(mechanism="linear").fit(cohort.X, cohort.y)


def block(page, name, kind="<f8"):
    text = re.search(rf'id="block-{name}">([^<]*)<', page.read_text(encoding="utf-8")).group(1)
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_blocks_are_the_explanation(pbc, tmp_path):
    cohort, model = pbc
    out = tmp_path / "page.html"
    model.report(cohort.X, out)
    explanation = model.explain(cohort.X)
    order = model.causal_order_
    errors = block(out, "errors").reshape(-1, order.size)
    assert np.array_equal(errors, explanation.errors[:, order])
    assert np.array_equal(block(out, "data").reshape(-1, order.size), explanation.data[:, order])
    coef = [one["coef"] for one in facts_of(out)["variables"]]
    assert np.allclose(errors * coef, explanation.values[:, order], rtol=1e-12, atol=1e-14)


def test_large_pages_halve_their_numbers(tmp_path):
    random = np.random.default_rng(0)
    X = random.laplace(size=(12_000, 60))
    y = (X[:, 0] + random.logistic(size=12_000) > 0).astype(int)
    model = RCI(variant="plus").fit(X[:500], y[:500])
    out = tmp_path / "page.html"
    model.report(X, out)
    assert facts_of(out)["numbers"] == "<f4"
    expected = model.explain(X).errors[:, model.causal_order_]
    assert np.allclose(block(out, "errors", "<f4").reshape(expected.shape), expected, rtol=1e-6)
    assert sum(facts_of(out)["cohort"]["heat"]["sizes"]) == 12_000


def test_the_policy_names_every_script_and_style(pbc, tmp_path):
    cohort, model = pbc
    out = tmp_path / "page.html"
    model.report(cohort.X, out)
    text = out.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert "default-src 'none'" in policy and "unsafe" not in policy and "connect-src" not in policy
    for kind in ("script", "style"):
        for content in re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
    assert not re.search(r"<(link|img|iframe|script [^>]*src)", text)


def test_json_cannot_end_its_element():
    hostile = ["</script><script>alert(1)</script>", "<!--", "&amp;", "\u2028\u2029", "\ud800", "😀"]
    text = as_inert_json(hostile)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == [*hostile[:4], "?", "😀"]


def test_ids_become_unique_labels(pbc, tmp_path):
    cohort, model = pbc
    out = tmp_path / "page.html"
    model.report(cohort.X[:5], out, ids=["a", "a", "", "b", "a (row 1)"])
    assert facts_of(out)["labels"] == ["a (row 1)′", "a (row 2)", "(row 3)", "b", "a (row 1)"]


@pytest.mark.parametrize("nothing", [b"mg/dl", float("nan"), pd.NaT, pd.NA, np.bytes_(b"x")], ids=repr)
def test_what_is_no_text_is_refused_by_name(pbc, tmp_path, nothing):
    cohort, model = pbc
    out = tmp_path / "page.html"
    for options, what in (
        ({"units": {"x0": "g", "x1": nothing}}, "the unit of 'x1' is"),
        ({"ids": ["a", "b", nothing]}, "the id of row 3 is"),
        ({"notes": ["fine", nothing]}, "a note is"),
        ({"target": nothing}, "target is"),
    ):
        with pytest.raises(InputError, match=what):
            model.report(cohort.X[:3], out, **options)
    assert not out.exists()


def test_units_have_to_be_given_by_name(pbc, tmp_path):
    cohort, model = pbc
    for units in (["g", "mm"], pd.Series({"x0": "g"})):
        with pytest.raises(InputError, match="units must be a dict"):
            model.report(cohort.X[:3], tmp_path / "page.html", units=units)


def test_numbers_serve_as_names(pbc, tmp_path):
    cohort, model = pbc
    out = tmp_path / "page.html"
    model.report(cohort.X[:2], out, ids=[7, 8.5], target=5, units={"x0": 10, "x1": None}, notes=[2024])
    facts = facts_of(out)
    assert (facts["target"], facts["labels"], facts["made"]["notes"]) == ("5", ["7", "8.5"], ["2024"])
    units = {variable["name"]: variable["unit"] for variable in facts["variables"]}
    assert (units["x0"], units["x1"]) == ("10", "")


def test_labels_reach_what_checks_say_of_variables():
    called = {"alk.phos": "Alkaline phosphatase", "bili": "Bilirubin", "b": "b"}
    said = _in_labels("Read 'bili' and 'alk.phos', not 'bili2' or xbili.", ("bili", "alk.phos", "b"), called)
    assert said == "Read 'Bilirubin' and 'Alkaline phosphatase', not 'bili2' or xbili."


def test_cohort_counts(pbc, tmp_path):
    cohort, model = pbc
    out = tmp_path / "page.html"
    model.report(cohort.X, out)
    values = model.shapley_values(cohort.X)[:, model.causal_order_]
    facts = facts_of(out)["cohort"]
    assert facts["root_cause"] == (values >= 0.1).sum(axis=0).tolist()
    assert sum(facts["strongest"]) + facts["none"] == len(values)
    assert facts["none"] == (values < 0.1).all(axis=1).sum() > 0
    assert sorted(facts["heat"]["rows"]) == list(range(len(values)))


def test_similar_rows_become_neighbours():
    random = np.random.default_rng(0)
    group = np.arange(40) % 4
    order = similarity_order(np.eye(4)[group] * 5 + random.normal(size=(40, 4)) * 0.1)
    assert (np.diff(group[order]) != 0).sum() == 3


def test_edges_are_regressions_on_earlier_variables(pbc):
    cohort = pbc[0]
    model = RCI(attribution="paper").fit(cohort.X, cohort.y)
    edges = direct_effects(model._model.mechanism.unmixing)
    Z = (cohort.X - cohort.X.mean(axis=0)) / cohort.X.std(axis=0, ddof=1)
    Z = Z[:, model.causal_order_]
    for effect in range(1, Z.shape[1]):
        expected, *_ = np.linalg.lstsq(Z[:, :effect], Z[:, effect])
        assert np.allclose(edges[effect, :effect], expected, atol=1e-8)
    drawn = strong_edges(edges)
    assert len(drawn) == (np.abs(edges) >= WEAKEST_EDGE).sum()
    assert all(cause < effect for cause, effect, _ in drawn)


def test_quantiles_of_the_cohort(pbc):
    cohort, model = pbc
    steps, order = np.linspace(0, 1, 101), model.causal_order_
    assert np.allclose(model._quantiles.values, np.quantile(cohort.X[:, order], steps, axis=0))
    errors = model.explain(cohort.X).errors[:, order]
    assert np.allclose(model._quantiles.errors, np.quantile(errors, steps, axis=0))


@pytest.mark.parametrize("period", [2, 3, 4, 17])
@pytest.mark.parametrize("n", [4096, 10_001])
def test_rows_that_come_in_turns_do_not_shift_the_quantiles(n, period):
    # One case after each few controls, as in a table of matched sets.
    random = np.random.default_rng(0)
    y = (np.arange(n) % period == period - 1).astype(int)
    X = random.laplace(size=(n, 2)) + [2, 0] * y[:, None]
    model = RCI(mechanism="linear").fit(X, y)
    order = model.causal_order_
    for found, rows in ((model._quantiles.values, X), (model._quantiles.errors, model.explain(X).errors)):
        assert np.allclose(found, np.quantile(rows[:, order], np.linspace(0, 1, 101), axis=0), atol=1e-12)


def test_blocks_of_columns_do_not_change_the_quantiles(pbc, monkeypatch):
    cohort, model = pbc
    monkeypatch.setattr("rootcausal.method.reference_ranges.VALUES_A_BLOCK", 3 * len(cohort.X))
    blocks = CohortQuantiles.of(cohort.X, model._model)
    assert np.allclose(blocks.values, model._quantiles.values, rtol=1e-12)
    assert np.allclose(blocks.errors, model._quantiles.errors, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("in_full", [True, False])
def test_ties_and_large_offsets_keep_their_quantiles_on_the_page(tmp_path, monkeypatch, in_full):
    random = np.random.default_rng(0)
    rounded = np.round(random.gamma(2.0, size=600), 1)
    X = np.column_stack([rounded, 1.7e6 + random.laplace(size=600)])
    y = (rounded + X[:, 1] - 1.7e6 + random.logistic(size=600) > 2).astype(int)
    model = RCI(variant="plus").fit(X, y)
    if not in_full:
        monkeypatch.setattr("rootcausal.report.content.BYTES_IN_FULL", 0)
    model.report(X, tmp_path / "page.html")
    facts = facts_of(tmp_path / "page.html")
    shown = block(tmp_path / "page.html", "data", facts["numbers"]).astype(float).reshape(X.shape)
    for place, quantiles in enumerate(facts["quantiles"]["values"]):
        assert np.unique(quantiles).size >= 35  # of 101 steps; tenths have fewer values than steps
        middle = quantiles[50]
        below, up_to = np.searchsorted(quantiles, middle, "left"), np.searchsorted(quantiles, middle, "right")
        assert (shown[:, place] < middle).mean() == pytest.approx(below / 101, abs=0.02)
        assert (shown[:, place] <= middle).mean() == pytest.approx(up_to / 101, abs=0.02)
        assert quantiles[0] == shown[:, place].min() and quantiles[-1] == shown[:, place].max()


def test_a_saved_model_keeps_the_quantiles_and_older_files_still_load(pbc, tmp_path):
    cohort, model = pbc
    path, older = tmp_path / "model.rci", tmp_path / "older.rci"
    model.save(path)
    assert np.array_equal(RCI.load(path)._quantiles.errors, model._quantiles.errors)
    members = members_of(path.read_bytes())
    older.write_bytes(archive_of({name: members[name] for name in members if "quantiles" not in name}))
    out = tmp_path / "page.html"
    RCI.load(older).report(cohort.X[:3], out)
    assert facts_of(out)["quantiles"]["of_fit"] is False


def test_damaged_quantiles_are_refused(pbc, tmp_path):
    _, model = pbc
    path = tmp_path / "model.rci"
    model.save(path)
    with pytest.raises(InputError, match="array value_quantiles has the wrong shape"):
        RCI.load(with_array(path, "value_quantiles", lambda quantiles: quantiles[0]))


def test_a_page_that_cannot_be_made_leaves_the_old_one(pbc, tmp_path):
    cohort, model = pbc
    out = tmp_path / "page.html"
    out.write_text("old")
    with pytest.raises(ValueError, match="features"):
        model.report(cohort.X[:, :3], out)
    assert out.read_text() == "old"
