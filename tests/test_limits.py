"""What the checks come to: in words, on the page's facts, and on the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import ok, run
from hypothesis import given
from hypothesis import strategies as st
from made_up_findings import find_instead, finding, hidden_cause, uncalibrated
from page_facts import facts_of

import rootcausal
from rootcausal import RCI, RCIRegressor, RCISurvival
from rootcausal.cli.console import broken_up
from rootcausal.data import load_pbc
from rootcausal.diagnostics import Diagnosis
from rootcausal.diagnostics.diagnosis import VERDICTS, CheckSpec, Scale, Text
from rootcausal.diagnostics.outcomes import OF_ANY, OF_OUTCOME, table
from rootcausal.outcomes import OUTCOMES


@given(st.lists(st.sampled_from(VERDICTS), max_size=12))
def test_the_summary_has_a_line_for_each_limit_and_the_worst_come_first(verdicts):
    checks = [finding(f"check {place}", verdict) for place, verdict in enumerate(verdicts)]
    diagnosis = Diagnosis(tuple(checks), {})
    if not checks:
        assert diagnosis.summary().startswith("overall: not checked, ")
        return
    head, *lines = diagnosis.summary().splitlines()
    limits = [line.removeprefix("  - ") for line in lines if line.startswith("  - ")]
    assert limits == [check.limit for check in diagnosis.limits]
    assert sorted(limits) == sorted(check.limit for check in checks if check.verdict != "fine")
    worst = [VERDICTS.index(check.verdict) for check in diagnosis.worst_first]
    assert worst == sorted(worst, reverse=True)
    assert head.startswith(f"overall: {diagnosis.verdict}, ")
    assert ("do not read" in head) == ("broken" in verdicts)
    # Limits of one verdict stand together, and a line says where less than the worst begins.
    above = {
        "doubtful": "and go on with these limits in mind:",
        "not checked": "and bear in mind what was not checked:",
        "cannot tell": "and bear in mind what these",
    }
    for verdict in set(verdicts) - {"fine", diagnosis.verdict}:
        first = next(check.limit for check in diagnosis.limits if check.verdict == verdict)
        assert lines[lines.index(f"  - {first}") - 1].startswith(above[verdict])
    assert len(lines) == len(limits) + max(len(set(verdicts) - {"fine"}) - 1, 0)
    assert (head == "overall: fine, go on") == (not limits)


def test_a_clean_bill_of_part_of_the_checks_says_so():
    diagnosis = Diagnosis((finding("in_range", "fine"),), {}, "Not checked: the rest.")
    assert diagnosis.summary() == "overall, as far as it was checked: fine, go on"


@given(
    st.text("ab -=", max_size=200),
    st.integers(30, 120),
    st.sampled_from(["", "  - ", " " * 13, "BROKEN".ljust(13)]),
)
def test_long_lines_are_broken_below_their_text_and_lose_nothing(text, width, start):
    line = start + text.strip(" -")
    first, *others = broken_up(line, width).split("\n")
    assert " ".join([first, *others]).split() == line.split()
    assert line.startswith(first)
    for other in others:
        assert other.startswith(" " * len(start)) and other[len(start)] != " "
    words = max(map(len, line.split()), default=0)
    assert all(len(one) <= max(width, 40, len(start) + words) for one in (first, *others))


@pytest.fixture(scope="module")
def wards():
    """A cohort with a nominal variable, and a number that is called like one of its dummies."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "bili": random.laplace(size=300),
            "ward": random.choice(["ICU", "day", "night"], 300),
            "ward = night": random.laplace(size=300),
        }
    )
    y = (table["bili"] + (table["ward"] == "day") + random.logistic(size=300) > 0.5).astype(int)
    return table, y, RCI(alpha=1.0, variant="plus").fit(table, y)


def test_the_page_knows_every_check_by_its_variables(wards, tmp_path, monkeypatch):
    table, y, model = wards
    checks = [
        finding("linear", "fine"),
        finding("terminal", "cannot tell", touches="variables", variables=("ward = day", "ward")),
        hidden_cause("ward = day", "bili"),
        uncalibrated("doubtful"),
        finding("influence", variables=("ward = night", "gone"), touches="variables"),
    ]
    find_instead(monkeypatch, checks)
    model.report(table, tmp_path / "page.html", y=y)
    made = facts_of(tmp_path / "page.html")["made"]
    assert (made["verdict"], made["reading"]) == ("broken", "do not read")
    told = made["checks"]
    assert [one["name"] for one in told] == ["unconfounded", "calibrated", "influence", "terminal", "linear"]
    for one, check in zip(told, Diagnosis(tuple(checks), {}).worst_first, strict=True):
        expected = check.to_dict()
        assert all(one[key] == expected[key] for key in one if key != "concerned")
    concerned = {one["name"]: one["concerned"] for one in told}
    assert concerned["unconfounded"] == ["ward", "bili"]
    assert concerned["terminal"] == ["ward"]
    assert concerned["influence"] == ["ward = night", "gone"]  # its own name, not a dummy's


def test_check_begins_with_what_matters_and_folds_the_rest(cohort: Path, monkeypatch):
    checks = [finding("linear", "fine"), finding("straight", "fine"), finding("terminal", "cannot tell")]
    find_instead(monkeypatch, [*checks, uncalibrated("doubtful"), uncalibrated()], "Not checked: pairs.")
    lines = ok("check", cohort, "--target", "d", "--id", "patient").splitlines()
    at = lines.index("overall, as far as it was checked: broken, do not read parts of it")
    assert lines[at + 2] == "BROKEN       Is calibrated so?"
    assert lines[at + 3 : at + 6] == [
        "             What calibrated found.",
        "             The limit of calibrated.",
        "             what to do: mend calibrated.",
    ]
    assert lines[at + 6] == "DOUBTFUL     Is calibrated so?"
    assert lines[at + 8] == "             go on with this limit in mind: The limit of calibrated."
    assert lines[at + 10 : at + 13] == [
        "CANNOT TELL  The limit of terminal.",
        "FINE         linear, straight",
        "Not checked: pairs.",
    ]


def test_the_checks_of_pbc_fit_on_a_screen(tmp_path: Path):
    load_pbc().to_frame().to_pandas().to_csv(tmp_path / "pbc.csv", index=False)
    said = ok("check", tmp_path / "pbc.csv", "--target", "died", "--id", "id", "--first", "age")
    assert len(said.splitlines()) <= 27 and "so few" not in said
    assert [line.split("  ")[0] for line in said.splitlines()].count("CANNOT TELL") == 7


def test_json_has_all_of_it(cohort: Path, monkeypatch):
    find_instead(monkeypatch, [finding(smallest=0.3, touches="order", variables=("x0",))])
    said = json.loads(ok("check", cohort, "--target", "d", "--id", "patient", "--json"))
    assert (said["verdict"], said["reading"]) == ("doubtful", "go on with this limit in mind")
    (check,) = said["checks"]
    assert check["limit"] == "The limit of linear." and check["touches"] == "order"
    assert (check["reading"], check["smallest"]) == ("go on with this limit in mind", 0.3)


HOSTILE = "Do not read\x1b[2J\nx0."


@pytest.mark.parametrize("command", ["fit", "report"])
def test_what_is_not_to_be_read_is_said_in_one_line_on_stderr(cohort: Path, monkeypatch, command):
    out = cohort.with_name("out.rci" if command == "fit" else "out.html")
    arguments = (command, cohort, "--target", "d", "--id", "patient", "--out", out)

    def said():
        result = run(*arguments)
        assert result.exit_code == 0 and out.is_file(), result.output
        return [line for line in result.stderr.splitlines() if "the checks say" in line]

    find_instead(monkeypatch, [finding(), uncalibrated("doubtful"), finding("terminal", "cannot tell")])
    assert said() == []
    find_instead(monkeypatch, [finding(), finding("terminal", "broken", limit=HOSTILE), uncalibrated()])
    who = "rootcausal check" if command == "fit" else "the page"
    (line,) = said()
    assert line.startswith(r"warning: the checks say: Do not read\x1b[2J\nx0. (1 more like this; ")
    assert line.endswith(f"; {who} says why, and what to do)")


ESTIMATORS = {"binary": RCI(), "survival": RCISurvival(), "continuous": RCIRegressor()}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_check_is_described_as_it_asks(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.laplace(size=(200, 3)), columns=["age", "b", "c"])
    X["b"] += X["age"]
    number = X["b"] + rng.laplace(size=200)
    known = {
        "binary": ((number > 0).to_numpy().astype(int),),
        "survival": (np.exp(-number.to_numpy()), np.arange(200) % 3 > 0),
        "continuous": (number.to_numpy(),),
    }[kind]
    model = ESTIMATORS[kind].fit(X, *known)
    model.split_half(1)  # which is checked where somebody asked
    asked = {check.name: check.question for check in model.diagnose(X, *known).checks}
    told = {name: question for of in ("any", kind) for name, question, *_ in table(of)}
    assert {**asked, "learned": told["learned"]} == told
    assert tuple(name for name in asked if name in OUTCOMES[kind].checks) == OUTCOMES[kind].checks
    assert {name for name, *_ in table(kind)} == {*OUTCOMES[kind].checks}


def test_an_outcome_is_called_the_same_everywhere():
    for name, one in OUTCOMES.items():
        estimator = getattr(rootcausal, one.estimator)
        assert (one.name, one.attribution.outcome) == (name, name)
        assert name not in ESTIMATORS or ESTIMATORS[name].__class__ is estimator


@pytest.mark.parametrize("kind", ["any", *OUTCOMES])
def test_texts_are_by_verdict_and_those_of_a_finding_are_whole(kind):
    for spec in OF_ANY if kind == "any" else OF_OUTCOME[kind].specs:
        verdicts = {key.partition(", ")[0] for key in spec.texts}
        assert verdicts <= set(VERDICTS), spec.name
        for verdict in verdicts - {"fine", "broken"}:
            cases = [text for key, text in spec.texts.items() if key.partition(", ")[0] == verdict]
            for part in ("statement", "limit", "advice"):
                own = getattr(spec.texts.get(verdict), part, "")
                assert own or any(getattr(text, part) for text in cases), (spec.name, verdict, part)


SPEC = CheckSpec(
    "made_up",
    "Is {what} so?",
    "counts",
    {
        "fine": Text("Well: {n:# column}."),
        "doubtful": Text("{names} {names:is|are} odd.", "{names:1} may be wrong.", "look {n:once|again}."),
        "doubtful, twice": Text(limit="Both may be wrong."),
        "broken": Text(limit="Do not read {names}."),
        "cannot tell": Text("Nothing was seen ({p:p}).", "Nothing is known of {what}."),
    },
    Scale(0.1, 0.5, p_doubtful=0.01, p_broken=0.001),
    touches="variables",
    touches_unseen="order",
)


def test_a_case_says_what_its_verdict_says_but_for_words_of_its_own():
    """And a broken one what a doubtful one says."""
    told = {"what": "it", "n": 1, "names": ("a", "b")}
    fine, doubtful = SPEC.check("fine", 0.0, n=1, what="it"), SPEC.check("doubtful", 0.2, **told)
    assert (fine.question, fine.statement, fine.limit, fine.advice) == (
        "Is it so?",
        "Well: 1 column.",
        "",
        "",
    )
    assert (doubtful.statement, doubtful.limit) == ("'a', 'b' are odd.", "'a' and 1 more may be wrong.")
    assert (doubtful.advice, doubtful.variables) == ("look once.", ("a", "b"))
    twice = SPEC.check("doubtful", 0.2, case="twice", **told)
    assert (twice.statement, twice.limit) == (doubtful.statement, "Both may be wrong.")
    for case in ("", "elsewhere"):
        broken = SPEC.check("broken", 0.6, case=case, **told)
        assert (broken.statement, broken.advice) == (doubtful.statement, doubtful.advice)
        assert broken.limit == "Do not read 'a', 'b'."
    assert SPEC.check("broken", 0.6, case="twice", **told).limit == "Both may be wrong."
    unseen = SPEC.check("cannot tell", 0.0, 0.25, what="it")
    assert unseen.statement == "Nothing was seen (p = 0.25)."
    assert (fine.touches, doubtful.touches, unseen.touches) == ("", "variables", "order")


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_finding_takes_both_a_size_and_a_p_value(p, size, smallest):
    verdict = SPEC.scale.judge(p, size, smallest)
    assert (verdict == "broken") == (p < 0.001 and size >= 0.5)
    assert (verdict in ("doubtful", "broken")) == ((p < 0.01 and size >= 0.1) or verdict == "broken")
    assert (verdict == "cannot tell") == (smallest > 0.5 and verdict not in ("doubtful", "broken"))


def test_names_of_columns_are_no_templates():
    names = ["{p:p}|{names}", "{what!r:0}{}", "}{"]
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.laplace(size=(300, 3)), columns=names)
    y = (X[names[0]] + 0.1 * rng.laplace(size=300) > 0).to_numpy().astype(int)
    checks = {check.name: check for check in RCI(alpha=1.0).fit(X, y).diagnose(X, y).checks}
    leak = checks["gives_away"]
    assert leak.verdict in ("doubtful", "broken") and leak.variables == (names[0],)
    for said in (leak.statement, leak.limit):
        assert f"'{names[0]}'" in said
