"""Effects of the diagnosis, and columns that give it away: named where they are, and nowhere else."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import error, ok
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import mannwhitneyu, norm
from sklearn.metrics import roc_auc_score

from rootcausal import RCI, Knowledge
from rootcausal.data import simulate
from rootcausal.diagnostics.diagnosis import Check
from rootcausal.diagnostics.leakage import option_for
from rootcausal.diagnostics.regressions import PlainLogit
from rootcausal.diagnostics.reverse_causation import arrows_spared, kernel_width, log_density, lost_without
from rootcausal.method.layout import Layout
from rootcausal.screening.auc import aucs, rate_auc, smallest_auc

ERRORS = {
    "heavy tails": lambda rng, n: rng.standard_t(5, n) * np.sqrt(3 / 5),
    "bounded": lambda rng, n: rng.uniform(-1, 1, n) * np.sqrt(3),
    "skewed": lambda rng, n: (rng.chisquare(3, n) - 3) / np.sqrt(6),
}


def cohort(seed: int, n: int = 500) -> tuple[pd.DataFrame, np.ndarray, np.random.Generator]:
    drawn = simulate(n, 10, random_state=[seed, 15])
    return (
        pd.DataFrame(drawn.X, columns=drawn.feature_names),
        drawn.y,
        np.random.default_rng([seed, 16]),
    )


def checks(X: pd.DataFrame, y: np.ndarray, **options) -> dict[str, Check]:
    model = RCI(**{"backend": "numpy", **options}).fit(X, y)
    return {one.name: one for one in model.diagnose(X, y).checks}


def loud(check: Check) -> set[str]:
    return set(check.variables) if check.verdict in ("doubtful", "broken") else set()


@pytest.mark.parametrize(
    ("shape", "n", "least"), [("bounded", 500, 4), ("skewed", 500, 4), ("heavy tails", 2000, 3)]
)
def test_an_effect_of_the_diagnosis_is_named(shape, n, least):
    named = 0
    for seed in range(4):
        X, y, rng = cohort(seed, n)
        named += "late" in loud(checks(X.assign(late=ERRORS[shape](rng, n) + y), y)["terminal"])
    assert named >= least


def test_clean_cohorts_raise_no_alarm():
    found = []
    for seed in range(9):
        X, y, rng = cohort(seed, (200, 400, 800)[seed % 3])
        if seed % 2:
            X = X.mask(rng.random(X.shape) < 0.1)
        said = checks(X, y)
        found += [*loud(said["terminal"]), *loud(said["gives_away"])]
    assert not found


def test_a_gaussian_error_does_not_show_which_comes_first():
    rng = np.random.default_rng(0)
    late = rng.standard_normal((400, 2))
    y = (rng.random(400) < expit(1.5 * late[:, 0])).astype(int)
    check = checks(pd.DataFrame(late, columns=["a", "b"]), y)["terminal"]
    assert check.verdict == "cannot tell" and check.variables == ("a",)
    assert check.limit and check.touches == "variables" and "--after" in check.advice
    assert check.limit == "'a' may be an effect of the diagnosis rather than a cause."
    rng = np.random.default_rng(0)
    late = rng.standard_normal((120, 2))
    y = (rng.random(120) < expit(1.5 * late.sum(axis=1))).astype(int)
    check = checks(pd.DataFrame(late, columns=["a", "b"]), y)["terminal"]
    assert check.limit.endswith("may be effects of the diagnosis rather than causes.")


def test_what_is_known_to_come_first_is_not_asked():
    X, y, rng = cohort(3)
    X = X.assign(late=ERRORS["skewed"](rng, 500) + y)
    assert "late" in loud(checks(X, y)["terminal"])
    assert "late" not in checks(X, y, knowledge=Knowledge(first=["late"]))["terminal"].variables


def test_a_censored_time_is_named_by_its_bend_or_its_shift():
    for seed in range(3):
        X, _, rng = cohort(seed)
        until, watched = rng.exponential(4 * np.exp(-X.iloc[:, 0])), rng.uniform(2, 5, 500)
        X = X.assign(v=np.minimum(until, watched))
        assert "v" in loud(checks(X, (until < watched).astype(int))["terminal"])


@pytest.mark.parametrize("is_effect", [True, False])
def test_an_effect_that_the_order_puts_before_its_causes_is_named_and_no_cause_is(is_effect):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        first, error = ERRORS["skewed"](rng, 1000), ERRORS["skewed"](rng, 1000)
        y = (rng.random(1000) < expit(1.5 * first)).astype(int)
        second = first + error + y
        if not is_effect:
            second = first + error
            y = (rng.random(1000) < expit(1.2 * error)).astype(int)
        turned = Knowledge(causes=[("second", "first")])
        found = checks(pd.DataFrame({"first": first, "second": second}), y, knowledge=turned)
        named = loud(found["terminal"])
        assert named == ({"second"} if is_effect else set())


@pytest.mark.parametrize("negated", [False, True])
def test_the_diagnosis_itself_among_the_columns(negated):
    X, y, _ = cohort(4)
    with pytest.warns(UserWarning, match="separate"):
        check = checks(X.assign(copy=1 - y if negated else y), y)["gives_away"]
    assert check.verdict == "broken" and check.variables == ("copy",) and check.number == 1.0
    assert "'copy' alone" in check.statement and "all pairs: it is the diagnosis itself" in check.statement
    assert "--after copy" in check.advice and "--drop copy" in check.advice


def test_a_limit_or_a_band_of_a_column_that_defines_the_outcome():
    X, _, rng = cohort(5)
    X["marker"] = rng.standard_normal(500)
    with pytest.warns(UserWarning, match="separate"):
        said = checks(X, (X["marker"] > 0.4).to_numpy().astype(int))
    above = said["gives_away"]
    assert said["terminal"].verdict == "cannot tell" and not said["terminal"].variables
    assert above.verdict == "broken" and "a limit of it decides" in above.statement
    outside = checks(X, (X["marker"].abs() > 1).to_numpy().astype(int))["gives_away"]
    assert loud(outside) == {"marker"}


def test_a_binary_column_that_is_nearly_the_diagnosis():
    X, y, rng = cohort(6)
    nearly = np.where(rng.random(500) < 0.05, 1 - y, y)
    assert loud(checks(X.assign(seen=nearly), y)["gives_away"]) == {"seen"}
    levels = np.array(["well", "home", "ward", "morgue"])[2 * nearly + rng.integers(0, 2, 500)]
    assert loud(checks(X.assign(seen=levels), y)["gives_away"]) == {"seen"}


def test_absence_that_tells_is_named_by_its_shares():
    X, y, rng = cohort(7)
    X["lab"] = rng.standard_normal(500)
    X.loc[rng.random(500) < np.where(y == 1, 0.05, 0.9), "lab"] = np.nan
    with pytest.warns(UserWarning, match="whether a variable was measured tells the outcome"):
        check = checks(X, y)["gives_away"]
    assert check.verdict == "broken" and check.variables == ("lab",)
    missing = X["lab"].isna()
    assert f"missing in {missing[y == 1].mean():.0%} of the patients with" in check.statement
    assert f"in {missing[y == 0].mean():.0%} of those without" in check.statement


def test_a_name_of_the_end_needs_less():
    X, y, rng = cohort(8, 1000)
    values = rng.standard_normal(1000) - 0.6 * y
    assert loud(checks(X.assign(futime=values), y)["gives_away"]) == {"futime"}
    assert not loud(checks(X.assign(lab=values), y)["gives_away"])
    assert not loud(checks(X.assign(futime=values), y, knowledge=Knowledge(first=["futime"]))["gives_away"])
    assert not loud(checks(X.assign(futime=rng.standard_normal(1000)), y)["gives_away"])


def test_one_shock_that_makes_up_a_model_that_knows_nearly_all():
    rng = np.random.default_rng(9)
    cause = rng.laplace(0, 5, 800)
    shock = rng.laplace(size=800)
    X = pd.DataFrame({"cause": cause, "late": cause + shock, "other": rng.laplace(size=800)})
    y = (rng.random(800) < expit(20 * shock)).astype(int)
    check = checks(X, y, knowledge=Knowledge(first=["cause"]))["gives_away"]
    assert loud(check) == {"late"} and "% of what the model knows" in check.statement


def test_thirteen_patients_cannot_tell():
    rng = np.random.default_rng(0)
    y = np.array([1, 1, 1] + [0] * 10)
    X = pd.DataFrame(rng.laplace(size=(13, 3)), columns=["a", "b", "c"])
    X["decides"] = y + rng.uniform(0, 0.1, 13)
    with pytest.warns(UserWarning, match="separate"):
        said = checks(X, y)
    assert {said[name].verdict for name in ("terminal", "gives_away")} == {"cannot tell"}
    assert "3 patients with the diagnosis and 10 without" in said["gives_away"].statement
    assert said["gives_away"].smallest > 0.99 and said["terminal"].smallest > 1


def test_nasty_names_are_shown_and_can_be_pasted():
    X, y, _ = cohort(10)
    name = "-of\x1b[31m 'death', at <b>\n"
    with pytest.warns(UserWarning, match="separate"):
        check = checks(X.assign(**{name: y}), y)["gives_away"]
    assert check.variables == (name,)
    for text in (check.statement, check.limit, check.advice):
        assert "\x1b" not in text and "\n" not in text
    plain = "time, or 'death' of $x"
    assert shlex.split(option_for("--after", [plain, "b"])) == ["--after", plain, "--after", "b"]
    assert shlex.split(option_for("--after", ["-x"])) == ["--after=-x"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=8, max_size=60), st.booleans())
def test_areas_are_those_of_mann_and_whitney(rows, as_levels):
    x, y = np.array([row[0] for row in rows], dtype=float), np.array([row[1] for row in rows]).astype(int)
    if np.bincount(y, minlength=2).min() < 2:
        return
    levels = np.arange(-4.0, 5.0) if as_levels else np.empty(0)
    layout = Layout(np.array([0]), (levels,))
    (area,) = aucs(x[:, None], None, y, layout)
    exact = mannwhitneyu(x[y == 1], x[y == 0]).statistic / (y.sum() * (1 - y).sum())
    assert max(exact, 1 - exact) - 1e-12 <= area <= 1.0
    (turned,) = aucs(-x[:, None], None, y, layout)
    assert 0.5 <= turned <= 1.0


def test_rates_of_groups_that_say_nothing_say_nothing():
    rng = np.random.default_rng(1)
    found = [rate_auc(rng.integers(0, 20, 400), rng.integers(0, 2, 400)) for _ in range(50)]
    assert abs(np.mean(found) - 0.5) < 0.01
    assert smallest_auc(10, 10, 1, 0.01, 0.9) > smallest_auc(100, 100, 1, 0.01, 0.9) > 0.5


def test_the_density_is_that_of_the_others():
    rng = np.random.default_rng(2)
    values = rng.standard_normal(4000)
    width = kernel_width(values)
    assert log_density(values, width).mean() == pytest.approx(norm.logpdf(values).mean(), abs=0.02)
    assert log_density(np.append(values, 50.0), width)[-1] < -8
    # What more columns than rows leave of an error is nothing, beside the grain of its values.
    close = log_density(1e-15 * values, 1.0)
    np.testing.assert_allclose(close, norm.logpdf(0.0), atol=1e-9)
    counts = rng.poisson(3, 1000).astype(float)
    # Counts have no density finer than one of them.
    assert kernel_width(counts) < kernel_width(counts, 1.0) == 1.0


def test_arrows_are_spared_where_the_diagnosis_stands_between():
    rng = np.random.default_rng(3)
    cause = rng.laplace(size=(2000, 2))
    y = (rng.random(2000) < expit(1.5 * cause.sum(axis=1))).astype(int)
    values = np.column_stack([cause, rng.laplace(size=2000) + 2 * y])
    spared = arrows_spared(values, y)
    assert spared[2] > 0.5 * np.log(2000)
    values[:, 2] = rng.laplace(size=2000)
    assert arrows_spared(values, y).max() < 1.0


def test_what_an_error_adds_agrees_with_a_refit():
    rng = np.random.default_rng(4)
    errors = rng.laplace(size=(500, 4))
    y = (rng.random(500) < expit(3 * errors[:, 0] + errors[:, 1])).astype(int)
    fit, without = PlainLogit.of(errors, y), PlainLogit.of(errors[:, 1:], y)

    def likelihood(risk: np.ndarray) -> float:
        return float((y * np.log(risk) + (1 - y) * np.log1p(-risk)).sum())

    gain = likelihood(fit.risk) - likelihood(without.risk)
    assert lost_without(fit, y, 0).sum() == pytest.approx(gain, rel=1e-3)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    X, y, rng = cohort(11, 200)
    path = tmp_path / "c.csv"
    X.iloc[:, :3].assign(futime=rng.exponential(size=200) + y, **{"a,b": rng.random(200)}, d=y).to_csv(
        path, index=False
    )
    return path


def test_after_leaves_columns_out_and_remembers_why(file, tmp_path):
    out = tmp_path / "m.rci"
    printed = ok("fit", file, "--target", "d", "--after", "futime,x0", "--after", "a,b", "--out", out)
    assert "left out, measured after the outcome: 'futime', 'x0', 'a,b'" in " ".join(printed.split())
    model = RCI.load(out)
    assert [*model.feature_names_in_] == ["x1", "x2"]
    assert model.provenance_["reading"]["after"] == ["futime", "x0", "a,b"]
    found = json.loads(ok("check", file, "--target", "d", "--after", "futime", "--json"))
    assert "futime" not in json.dumps(found["checks"])
    ok("report", file, "--target", "d", "--after", "futime", "--out", tmp_path / "r.html")
    assert "measured after the outcome" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--after", "futim"], "no column 'futim' (--after); did you mean 'futime'?"),
        (["--after", "d"], "'d' is both --target and --after: choose one."),
        (["--after", "x0", "--drop", "x0"], "'x0' is both --after and --drop: choose one."),
        (["--after", "x0", "--keep", "x0,x1"], "'x0' is both --after and --keep: choose one."),
        (["--after", "x0", "--id", "x0"], "'x0' is both --after and --id: choose one."),
        (["--after", "x0", "--first", "x0"], "'x0' (it is left out by --after)"),
    ],
)
def test_after_beside_other_options(file, tmp_path, options, said):
    assert said in error(3, "fit", file, "--target", "d", *options, "--out", tmp_path / "m.rci")


def test_after_is_for_fitting(file, tmp_path):
    ok("fit", file, "--target", "d", "--after", "futime", "--out", tmp_path / "m.rci")
    options = ["--model", tmp_path / "m.rci", "--after", "x0", "--out", tmp_path / "p.html"]
    assert "--after is for fitting" in error(2, "report", file, *options)


def test_look_proposes_after_and_fit_takes_it(file, tmp_path):
    printed = ok("look", file, "--target", "d")
    line = next(line for line in printed.splitlines() if line.startswith("rootcausal fit"))
    arguments = shlex.split(line)[1:]
    assert arguments[arguments.index("--after") + 1] == "futime" and "--drop" not in arguments
    arguments[-1] = str(tmp_path / "m.rci")
    ok(*arguments)


@pytest.mark.filterwarnings("ignore:quasi-complete separation")
def test_a_level_that_only_cases_have_is_named():
    X, y, rng = cohort(40, 1000)
    dialysis = (y == 1) & (rng.random(1000) < 0.3)
    check = checks(X.assign(dialysis=dialysis), y)["gives_away"]
    assert check.verdict == "doubtful" and check.variables == ("dialysis",)
    assert f"{dialysis.sum()} of {dialysis.sum()} patients" in check.statement
    # As many at random say nothing, and neither do a few.
    assert "dialysis" not in checks(X.assign(dialysis=rng.permutation(dialysis)), y)["gives_away"].variables
    few = np.isin(np.arange(1000), np.flatnonzero(y == 1)[:12])
    assert "dialysis" not in checks(X.assign(dialysis=few), y)["gives_away"].variables


def test_which_comes_first_of_levels_cannot_be_told():
    X, y, rng = cohort(41, 1000)
    treated = np.where(rng.random(1000) < 0.85, y, 1 - y)
    check = checks(X.assign(treated=treated), y)["gives_away"]
    assert check.verdict == "cannot tell" and check.variables == ("treated",)
    assert check.limit and check.touches == "variables"
    weak = np.where(rng.random(1000) < 0.65, y, 1 - y)
    assert checks(X.assign(treated=weak), y)["gives_away"].verdict == "fine"


def test_a_covariate_may_give_the_diagnosis_away_and_what_comes_first_may_not():
    X, y, rng = cohort(42, 1000)
    X = X.assign(futime=5 * rng.random(1000) - 2.5 * y)
    for known, named in ((Knowledge(covariates=["futime"]), True), (Knowledge(first=["futime"]), False)):
        check = checks(X, y, knowledge=known)["gives_away"]
        assert ("named like" in check.statement and "futime" in loud(check)) == named


def test_all_columns_stand_in_the_options():
    names = [f"t{place}" for place in range(12)]
    assert shlex.split(option_for("--after", names)) == [part for name in names for part in ("--after", name)]


def test_age_is_no_effect_of_anything():
    X, y, rng = cohort(43, 1000)
    shifted = ERRORS["skewed"](rng, 1000) + y
    assert loud(checks(X.assign(late=shifted), y)["terminal"]) == {"late"}
    assert not checks(X.assign(age=shifted), y)["terminal"].variables


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_columns_with_a_few_values_give_nothing_away():
    for seed in range(3):
        X, y, rng = cohort(50 + seed, 400)
        for place in range(6):
            sparse = np.full(400, np.nan)
            sparse[rng.choice(400, 8, replace=False)] = rng.standard_normal(8)
            X[f"sparse{place}"] = sparse
        assert not any(name.startswith("sparse") for name in loud(checks(X, y)["gives_away"]))


def test_a_level_that_a_sample_lacks_is_no_trouble():
    rng = np.random.default_rng(60)
    n = 16_000
    a, b = ERRORS["skewed"](rng, n), ERRORS["bounded"](rng, n)
    rare = np.isin(np.arange(n), [5, 9_000, 15_999]).astype(float)
    y = (rng.random(n) < expit(a + b)).astype(int)
    check = checks(pd.DataFrame({"a": a, "b": b, "rare": rare}), y, variant="plus")["terminal"]
    assert check.verdict == "fine"


@pytest.mark.parametrize(
    ("leak", "worst"),
    [
        ("flips", "doubtful"),
        ("copy", "broken"),
        ("text", "broken"),
        ("limit", "broken"),
        ("absence", "doubtful"),
    ],
)
def test_look_and_check_agree(leak, worst, tmp_path):
    """What the one calls broken the other leaves out, and what is doubtful is yours to decide."""
    X, y, rng = cohort(70, 600)
    X["seen"] = {
        "flips": np.where(rng.random(600) < 0.06, 1 - y, y),
        "copy": y,
        "text": np.where(y == 1, "yes", "no"),
        "limit": rng.random(600) + y,
        "absence": np.where(rng.random(600) < np.where(y == 1, 0.75, 0.05), np.nan, rng.random(600)),
    }[leak]
    X.assign(d=y).to_csv(tmp_path / "c.csv", index=False)
    said = json.loads(ok("look", tmp_path / "c.csv", "--target", "d", "--json"))["findings"]
    (one,) = [one for one in said if "seen" in one["columns"] and one["options"]]
    assert one["in_fit"] == (worst == "broken")
    checked = json.loads(ok("check", tmp_path / "c.csv", "--target", "d", "--json"))["checks"]
    (check,) = [check for check in checked if check["name"] == "gives_away"]
    assert (check["verdict"], check["variables"]) == (worst, ["seen"])


def test_look_asks_of_what_will_make_up_the_model(tmp_path):
    """As 'edrel' of nwtco: an AUC just below the limit, and nearly all that the model knows."""
    X, y, rng = cohort(79, 2000)
    X["seen"] = 2.27 * y + rng.standard_normal(2000)
    alone = roc_auc_score(y, X["seen"])
    assert 0.94 < alone < 0.95
    X.assign(d=y).to_csv(tmp_path / "c.csv", index=False)
    checked = json.loads(ok("check", tmp_path / "c.csv", "--target", "d", "--json"))["checks"]
    (check,) = [check for check in checked if check["name"] == "gives_away"]
    assert (check["verdict"], check["variables"]) == ("doubtful", ["seen"])
    said = json.loads(ok("look", tmp_path / "c.csv", "--target", "d", "--json"))["findings"]
    (one,) = [one for one in said if "seen" in one["columns"]]
    assert one["name"] == "nearly decides" and not one["in_fit"]
