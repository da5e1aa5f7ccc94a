"""Pairs of errors: tests that keep their level, and what explains that two of them depend on each other."""

import shlex
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from rootcausal import RCI, Knowledge
from rootcausal.diagnostics import Checked
from rootcausal.diagnostics.confounding import SCALE
from rootcausal.diagnostics.dependence import MOMENTS, Dependence, dependent_pairs, functions_of, moments_of
from rootcausal.diagnostics.evidence import Evidence, gather, standardized, ties_restored
from rootcausal.diagnostics.power import smallest_visible

N = 3000
LAWS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "student, 2 degrees of freedom": lambda rng, shape: rng.standard_t(2, shape),
    "lognormal": lambda rng, shape: rng.lognormal(0.0, 1.2, shape),
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape),
    "counts": lambda rng, shape: rng.poisson(1.5, shape).astype(float),
}


def skewed(rng: np.random.Generator, n: int = N) -> np.ndarray:
    return (rng.chisquare(3, n) - 3) / np.sqrt(6)


def evidence_of(frame: pd.DataFrame, y: np.ndarray, **settings: object) -> Evidence:
    model = RCI(mechanism="linear", **settings).fit(frame, y)
    values = model._encoding.matrix(frame.to_numpy(dtype=float))
    stated = model.decision_function(frame)
    checked = Checked(model._model, values, None, y, stated, model._encoding, None, model.provenance_)
    return gather(checked, y)


def seen_in(frame: pd.DataFrame, y: np.ndarray, **settings: object) -> tuple[Evidence, Dependence]:
    evidence = evidence_of(frame, y, **settings)
    return evidence, dependent_pairs(evidence, SCALE.p_doubtful)


def ill(rng: np.random.Generator, log_odds: np.ndarray) -> np.ndarray:
    return (rng.random(log_odds.size) < expit(log_odds)).astype(int)


def checks_of(frame: pd.DataFrame, y: np.ndarray, **settings: object) -> dict[str, object]:
    return {
        check.name: check
        for check in RCI(mechanism="linear", **settings).fit(frame, y).diagnose(frame, y).checks
    }


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [200, 1000])
def test_the_level_holds_whatever_the_tails(law: str, n: int) -> None:
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(150 if n == 200 else 60):
        x = LAWS[law](rng, (n, 4))
        x[:, 2] += 0.8 * x[:, 0]
        x[:, 3] += x[:, 2] - 0.5 * x[:, 1]
        errors = x.copy()
        for j in range(1, 4):
            before = np.column_stack([x[:, :j], np.ones(n)])
            errors[:, j] -= before @ np.linalg.lstsq(before, x[:, j], rcond=None)[0]
        p_values.append(moments_of(errors, np.column_stack(np.triu_indices(4, 1))).p_values)
    p = np.concatenate(p_values)
    assert np.mean(p < 0.05) < 0.075
    assert np.mean(p < 0.01) < 0.025


def test_moments_agree_with_a_loop_over_pairs() -> None:
    rng = np.random.default_rng(1)
    errors = standardized(rng.standard_t(4, (500, 3)))
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    found = moments_of(errors, pairs)
    for row, (i, j) in enumerate(pairs):
        (first, _), (second, slope) = functions_of(errors[:, [i]]), functions_of(errors[:, [j]])
        for place, (a, b) in enumerate(MOMENTS):
            f, g = first[:, 0, a], second[:, 0, b]
            variance = np.mean(f**2 * g**2)
            if a == 0:
                variance += slope[0, b] ** 2 * np.mean(f**2 * second[:, 0, 0] ** 2)
            assert found.correlation[row, place] == pytest.approx(np.mean(f * g))
            assert found.z[row, place] == pytest.approx(np.mean(f * g) * np.sqrt(500 / variance))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), degrees=st.sampled_from([2.0, 5.0, 50.0]))
def test_functions_are_orthonormal_and_know_their_slopes(seed: int, degrees: float) -> None:
    errors = standardized(np.random.default_rng(seed).standard_t(degrees, (400, 2)))
    functions, slope = functions_of(errors)
    for column in range(2):
        basis = functions[:, column]
        assert basis.T @ basis / 400 == pytest.approx(np.eye(3), abs=1e-9)
        assert basis.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    # A function moves by its slope when the error does. The functions themselves are made anew from errors
    # of unit variance, so the derivative is taken of the sum that they are.
    step = 1e-6
    moved = np.log(np.cosh(errors + step)) - np.log(np.cosh(errors - step))
    size = np.log(np.cosh(errors)) - np.log(np.cosh(errors)).mean(axis=0)
    rest = size - (size * errors).mean(axis=0) * errors
    expected = (moved.mean(axis=0) / (2 * step) - (size * errors).mean(axis=0)) / rest.std(axis=0)
    assert slope[:, 1] == pytest.approx(expected, abs=1e-5)


def test_two_values_have_no_size_of_their_own() -> None:
    errors = standardized(np.column_stack([np.arange(100) % 2, np.arange(100) % 3]).astype(float))
    functions, slope = functions_of(errors)
    assert not functions[:, 0, 1:].any() and not slope[0, 1:].any()
    assert np.isfinite(moments_of(errors, np.array([[0, 1]])).z).all()


def test_rounding_makes_no_ranks() -> None:
    values = np.repeat(np.arange(5.0), 20)[:, None]
    noisy = values + np.random.default_rng(0).normal(scale=1e-13, size=values.shape)
    assert len(np.unique(ties_restored(noisy))) == 5
    assert ties_restored(np.array([[0.0], [1e-5], [1.0]]))[1, 0] > 0


def test_a_hidden_cause_is_explained_by_nothing() -> None:
    rng = np.random.default_rng(2)
    hidden = skewed(rng)
    a, b, c = skewed(rng) + hidden, skewed(rng) + hidden, skewed(rng)
    y = ill(rng, 0.7 * (a + b + c))
    frame = pd.DataFrame({"a": a, "b": b, "c": c})
    check = checks_of(frame, y)["unconfounded"]
    assert check.verdict in ("doubtful", "broken") and set(check.variables) == {"a", "b"}
    assert check.touches == "variables" and "'a'" in check.limit and "'b'" in check.limit
    assert 0.0 < check.smallest < check.number
    assert checks_of(frame, y)["linear"].verdict == "fine"


def test_a_left_out_cause_is_no_hidden_one() -> None:
    rng = np.random.default_rng(3)
    common = skewed(rng)
    a, b = skewed(rng) + common, skewed(rng) + common
    y = ill(rng, a - b)  # which does not depend on what they have in common
    frame = pd.DataFrame({"a": a, "b": b, "common": common})
    evidence, seen = seen_in(frame, y, alpha=0.2)
    assert evidence.outside_names == ("common",)
    assert [pair.explanation for pair in seen.found] == ["left out"]
    checks = checks_of(frame, y, alpha=0.2)
    assert checks["unconfounded"].verdict != "broken" and checks["unconfounded"].variables == ()
    assert "through columns that the model left out" in checks["independent"].statement
    _, whole = seen_in(frame, y)
    assert not whole.found  # in the model it explains itself
    _, without = seen_in(frame.drop(columns="common"), y)
    assert [pair.explanation for pair in without.found] == ["nothing"]


def test_a_wrong_order_is_no_hidden_cause() -> None:
    rng = np.random.default_rng(4)
    a = skewed(rng)
    b = a + skewed(rng)
    frame, y = pd.DataFrame({"a": a, "b": b}), ill(rng, a + b)
    turned = Knowledge(causes=[("b", "a")])
    evidence, seen = seen_in(frame, y, knowledge=turned)
    assert evidence.names == ("b", "a")
    assert [pair.explanation for pair in seen.found] == ["order"]
    checks = checks_of(frame, y, knowledge=turned)
    assert checks["independent"].verdict == "doubtful" and checks["independent"].touches == "order"
    assert checks["unconfounded"].variables == () and checks["linear"].verdict == "fine"
    assert checks_of(frame, y)["independent"].variables == ()


def test_a_bend_is_drawn_in_words() -> None:
    rng = np.random.default_rng(5)
    a = skewed(rng)
    b = 0.8 * a**2 + skewed(rng)
    frame, y = pd.DataFrame({"a": a, "b": b}), ill(rng, 0.5 * a + 0.5 * b - 1)
    check = checks_of(frame, y)["linear"]
    assert check.verdict == "broken" and check.variables == ("a", "b")
    assert 0.2 < check.number < 0.9
    assert "above it where 'a' is in its lowest tenth" in check.statement
    assert "distance of 'a' from its normal value" in check.advice
    assert checks_of(frame, y)["unconfounded"].variables == ()


def test_a_bend_over_a_column_that_was_left_out_is_seen() -> None:
    rng = np.random.default_rng(16)
    a = rng.uniform(-1, 1, N)  # a parabola of which correlates with nothing
    b = 3 * a**2 + skewed(rng)
    frame, y = pd.DataFrame({"a": a, "b": b}), ill(rng, b - b.mean())
    model = RCI(alpha=0.2, mechanism="linear").fit(frame, y)
    assert list(model.causal_order_) == [1]
    check = {one.name: one for one in model.diagnose(frame, y).checks}["linear"]
    # Other columns that were left out may stand between the two: no more than a doubt.
    assert check.verdict == "doubtful" and check.variables == ("a", "b") and check.number > 0.2
    inside = checks_of(frame, y)["linear"]  # nothing can stand between the two where both are in the model
    assert inside.verdict == "broken" and set(inside.variables) == {"a", "b"}


@pytest.mark.parametrize(("shift", "offered"), [(0.0, True), (2.0, False)])
def test_a_logarithm_is_advised_only_of_what_has_one(shift: float, offered: bool) -> None:
    rng = np.random.default_rng(7)
    a = rng.uniform(0.2, 3.0, N)
    flat, steep = 3 * np.log(a) + 4, a**3 / 3
    for line, name in ((flat, "a"), (steep, "b")):
        bent = line + rng.uniform(1.0, 2.0, N)
        frame = pd.DataFrame({"a": a - shift, "b": bent - shift})
        check = checks_of(frame, ill(rng, standardized((a + bent)[:, None])[:, 0]))["linear"]
        assert check.variables == ("a", "b")
        assert (f"--log {name} " in check.advice) == offered
        assert "distance" not in check.advice


def test_an_effect_does_not_bend_over_its_cause_backwards() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        a = skewed(rng)
        frame = pd.DataFrame({"a": a, "b": a + 0.6 * rng.uniform(-1, 1, N), "c": -a + rng.standard_t(5, N)})
        _, seen = seen_in(frame, ill(rng, a))
        assert not seen.explained_by("curve") and not seen.from_outside


def test_levels_before_a_number_may_bend_and_nothing_else() -> None:
    rng = np.random.default_rng(8)
    stage = rng.integers(0, 5, N).astype(float)
    spread = np.where(stage > 2, 3.0, 1.0)  # which a hidden cause would do as well
    x = stage + spread * skewed(rng)
    frame, y = pd.DataFrame({"stage": stage, "x": x}), ill(rng, 0.3 * (x - 2))
    first = Knowledge(tiers=[["stage"], ["x"]])
    checks = checks_of(frame, y, knowledge=first)
    assert checks["unconfounded"].variables == () and checks["independent"].variables == ()
    bent = pd.DataFrame({"stage": stage, "x": 2.0 * np.abs(stage - 2) + skewed(rng)})
    y = ill(rng, bent["x"].to_numpy() - 2 + 0.1 * stage)
    assert checks_of(bent, y, knowledge=first)["linear"].variables == ("stage", "x")


def test_columns_that_are_given_are_asked_for_straight_lines_only() -> None:
    rng = np.random.default_rng(9)
    hidden = skewed(rng)
    a, b = skewed(rng) + hidden, skewed(rng) + hidden
    frame, y = pd.DataFrame({"a": a, "b": b}), ill(rng, a + b)
    assert checks_of(frame, y)["unconfounded"].variables
    for known in (Knowledge(first=["a"]), Knowledge(covariates=["a"])):
        assert not checks_of(frame, y, knowledge=known)["unconfounded"].variables
    # Nothing moves age, measured or not.
    assert not checks_of(frame.rename(columns={"a": "age"}), y)["unconfounded"].variables


def test_without_a_pair_few_patients_cannot_tell_either() -> None:
    rng = np.random.default_rng(12)
    for n, verdict in ((40, "cannot tell"), (N, "fine")):
        a = skewed(rng, n)
        checks = checks_of(pd.DataFrame({"a": a}), ill(rng, a), variant="plus")
        assert {checks[name].verdict for name in ("independent", "linear")} == {verdict}
        assert checks["unconfounded"].verdict == "cannot tell"  # of one variable no table shows it


def test_few_patients_cannot_tell() -> None:
    rng = np.random.default_rng(10)
    a = skewed(rng, 60)
    frame, y = pd.DataFrame({"a": a, "b": a + skewed(rng, 60)}), ill(rng, a)
    checks = checks_of(frame, y, variant="plus")
    for name in ("independent", "unconfounded"):
        assert checks[name].verdict == "cannot tell" and checks[name].limit and checks[name].smallest > 0.12


def test_what_is_visible_shrinks_with_patients_and_grows_with_pairs() -> None:
    assert smallest_visible(100, 5, 10, 0.005) == pytest.approx(10 * smallest_visible(10_000, 5, 10, 0.005))
    assert smallest_visible(1000, 5, 100, 0.005) > smallest_visible(1000, 5, 1, 0.005)
    assert smallest_visible(1000, 5, 0, 0.005) == np.inf
    # Nine of ten: by simulation.
    rng = np.random.default_rng(0)
    size = smallest_visible(400, 5, 1, 0.005) * 20.0
    z = rng.standard_normal((20_000, 5))
    z[:, 0] += size
    assert np.mean((z**2).sum(axis=1) > 16.75) == pytest.approx(0.9, abs=0.02)


def test_a_name_in_advice_runs_nothing_when_pasted() -> None:
    rng = np.random.default_rng(7)
    name = "e'$(touch x)'"
    a = rng.uniform(0.2, 3.0, N)
    bent = 3 * np.log(a) + 4 + rng.uniform(1.0, 2.0, N)
    y = ill(rng, standardized((a + bent)[:, None])[:, 0])
    advice = checks_of(pd.DataFrame({name: a, "b": bent}), y)["linear"].advice
    option = advice[advice.index("--log") : advice.index(" (in Python")]
    assert shlex.split(option) == ["--log", name]
    # What is a logarithm already is not offered one.
    frame = pd.DataFrame({name: np.exp(a), "b": bent})
    assert "--log" not in checks_of(frame, y, log=[name])["linear"].advice


def test_the_slope_of_a_bend_is_that_of_line_and_bend() -> None:
    rng = np.random.default_rng(8)
    cause = rng.uniform(0.2, 3.0, N)
    effect = 3 * np.log(cause) + 0.5 * skewed(rng)
    frame, y = pd.DataFrame({"cause": cause, "effect": effect}), ill(rng, standardized(effect[:, None])[:, 0])
    check = checks_of(frame, y, variant="plus", knowledge=Knowledge(causes=[("cause", "effect")]))["linear"]
    assert check.variables == ("cause", "effect") and "--log cause" in check.advice


def test_pairs_that_are_only_asked_for_bends_do_not_crowd_out_the_others() -> None:
    rng = np.random.default_rng(9)
    sex = rng.integers(0, 2, N).astype(float)
    hidden = skewed(rng)
    columns = {f"n{k}": (1.0 + sex) * (skewed(rng) + (hidden if k < 2 else 0.0)) for k in range(10)}
    frame = pd.DataFrame({"sex": sex, **columns})
    y = ill(rng, 0.3 * frame.to_numpy()[:, 1:].sum(axis=1))
    check = checks_of(frame, y, variant="plus", knowledge=Knowledge(first=["sex"]))["unconfounded"]
    assert check.verdict in ("doubtful", "broken")
