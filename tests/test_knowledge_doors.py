"""What is known of the causal order at every door, in model files, resamples, and on the command line."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from command_line import error, ok
from page_facts import facts_of
from sklearn.base import clone
from tampering import with_header
from typer import BadParameter

from rootcausal import RCI, DirectLiNGAM, InputError, Knowledge
from rootcausal.cli.knowing import pairs_named, tiers_named
from rootcausal.data import load_pbc
from rootcausal.inputs.binary import Diagnosis
from rootcausal.inputs.validate import open_cohort
from rootcausal.resampling.training_rows import TrainingRows

COHORT = load_pbc()
NAMES = [str(name) for name in COHORT.feature_names]
FRAME = pd.DataFrame(COHORT.X, columns=NAMES)
KNOWN = Knowledge(first=[NAMES[0]], tiers=[NAMES[1:3], [NAMES[3]]], causes=[(NAMES[4], NAMES[3])])
STAGES = [1, 2, 2, *[3] * (len(NAMES) - 3)]


def opened(X: Any, y: Any = COHORT.y, backend: str = "numpy", knowledge: Knowledge = KNOWN) -> Any:
    with open_cohort(RCI(), X, Diagnosis(y, None), backend, knowledge=knowledge) as cohort:
        return cohort.layout.precedence


def check(found: Any) -> None:
    assert found.stage.tolist() == STAGES
    assert (found.before.tolist(), found.after.tolist()) == ([4], [3])


# --- doors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_frames(make: Any) -> None:
    check(opened(make(FRAME)))


def test_arrays_have_names_by_place() -> None:
    check(opened(COHORT.X, knowledge=Knowledge(first=[0], tiers=[["x1", 2], ["x3"]], causes=[(4, 3)])))


def test_anndata() -> None:
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame({"died": COHORT.y}, index=[str(k) for k in range(len(FRAME))])
    check(opened(anndata.AnnData(COHORT.X, obs=obs, var=pd.DataFrame(index=NAMES)), "died"))


def test_dask() -> None:
    pytest.importorskip("distributed")
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    whole = dd.from_pandas(FRAME.assign(died=COHORT.y), npartitions=2)
    with LocalCluster(1, processes=False, dashboard_address="127.0.0.1:0") as cluster, Client(cluster):
        check(opened(whole, "died", "dask"))
        model = RCI(knowledge=KNOWN, backend="dask").fit(whole, "died")
        check(model._encoding.layout.precedence)
        wrong = RCI(knowledge={"first": ["died", "agee"]}, kinds={"bil": "number"}, backend="dask")
        with pytest.raises(InputError) as caught:
            wrong.fit(whole, "died")
    message = str(caught.value)
    assert "'died' (it is the target)" in message and "'agee' (did you mean 'age'?)" in message
    assert "kinds names 'bil'" in message


def test_a_nominal_variable_has_one_place_whatever_its_dummies() -> None:
    ward = np.array(["a", "b", "c"])[np.arange(len(FRAME)) % 3]
    model = RCI(knowledge={"covariates": ["ward"]}).fit(FRAME.assign(ward=ward), COHORT.y)
    layout = model._encoding.layout
    assert layout.covariate.tolist() == [False] * len(NAMES) + [True, True]


def test_unknown_names_come_with_all_else_that_is_wrong() -> None:
    X = FRAME.assign(flat=1.0)
    with pytest.raises(InputError) as caught:
        RCI(knowledge={"first": ["agee"]}).fit(X, COHORT.y)
    assert str(caught.value).startswith("2 things are wrong:")
    assert "did you mean 'age'?" in str(caught.value) and "'flat'" in str(caught.value)
    with pytest.raises(InputError, match="did you mean 'age'"):
        DirectLiNGAM(knowledge={"first": ["agee"]}).fit(FRAME)


# --- parameters -----------------------------------------------------------------------------------------


def test_knowledge_is_a_parameter_like_any_other() -> None:
    for given in (KNOWN, {"first": ["age"]}):
        for model in (RCI(knowledge=given), DirectLiNGAM(knowledge=given)):
            assert model.knowledge is given
            assert clone(model).knowledge == given
            assert model.set_params(knowledge=None).get_params()["knowledge"] is None
    for wrong, part in ((["age"], "dict of its fields"), ({"frist": []}, "unknown key 'frist'")):
        for model in (RCI(knowledge=wrong), DirectLiNGAM(knowledge=wrong)):
            with pytest.raises(InputError, match=part):
                model.fit(FRAME, COHORT.y)
    wrong = {"first": ["age", "agee"], "covariates": ["age"], "causes": [("a", "a")]}
    for model in (RCI(knowledge=wrong), DirectLiNGAM(knowledge=wrong)):
        with pytest.raises(InputError, match=r"(?s)4 things are wrong.*'age' is in.*itself.*'agee' .*flat"):
            model.fit(FRAME.assign(flat=1.0), COHORT.y)


def test_lingam_hands_what_is_known_to_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    from rootcausal.estimators import lingam

    seen = []
    order = lingam.order_columns
    monkeypatch.setattr(lingam, "order_columns", lambda *args: seen.append(args[5]) or order(*args))
    DirectLiNGAM(knowledge=KNOWN).fit(FRAME)
    check(seen[0].precedence)


def test_nothing_known_changes_nothing() -> None:
    plain = RCI(mechanism="linear").fit(FRAME, COHORT.y)
    for nothing in (Knowledge(), {}):
        model = RCI(knowledge=nothing, mechanism="linear").fit(FRAME, COHORT.y)
        assert model._encoding.layout.precedence is None
        assert model.coef_.tolist() == plain.coef_.tolist()
        assert model._cohort.fingerprint(0) == plain._cohort.fingerprint(0)
    assert plain.provenance_["parameters"]["knowledge"] is None


# --- what is kept ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted() -> RCI:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RCI(knowledge=KNOWN).fit(FRAME, COHORT.y).bootstrap(2)


def test_models_remember_what_was_known(fitted: RCI, tmp_path: Path) -> None:
    assert fitted.provenance_["parameters"]["knowledge"] == KNOWN.to_dict()
    fitted.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    assert loaded.knowledge == KNOWN
    assert loaded.provenance_ == fitted.provenance_
    check(loaded._encoding.layout.precedence)
    for model in (loaded._model, *loaded.bootstrap_.models):
        check(model.layout.precedence)
    loaded.save(tmp_path / "again.rci")
    assert (tmp_path / "again.rci").read_bytes() == (tmp_path / "model.rci").read_bytes()
    array = RCI(knowledge={"first": [0]}).fit(COHORT.X, COHORT.y)
    array.save(tmp_path / "array.rci")
    assert RCI.load(tmp_path / "array.rci").knowledge == Knowledge(first=["x0"])


@pytest.mark.parametrize(
    "known",
    [
        {"first": ["age"], "covariates": ["age"]},
        {"first": ["nobody"]},
        {"causes": [["age", "age"]]},
        {"frist": []},
        {"first": "age"},
        [],
        "age",
    ],
)
def test_a_file_whose_knowledge_is_none_is_damaged(known: Any, fitted: RCI, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.rci")

    def change(header: dict[str, Any]) -> dict[str, Any]:
        header["provenance"]["parameters"]["knowledge"] = known
        return header

    with pytest.raises(InputError, match="it is damaged"):
        RCI.load(with_header(tmp_path / "model.rci", change))


def test_resamples_under_other_rules_do_not_belong() -> None:
    def fingerprint(knowledge: Knowledge | None) -> str:
        cohort = RCI(knowledge=knowledge).fit(FRAME, COHORT.y)._cohort
        assert isinstance(cohort, TrainingRows)
        return cohort.fingerprint(0)

    others = [Knowledge(first=["age"]), Knowledge(covariates=["age"]), Knowledge(causes=[("age", NAMES[1])])]
    assert len({fingerprint(known) for known in (None, KNOWN, *others)}) == 5
    assert fingerprint(others[2]) == fingerprint(Knowledge(not_causes=[(NAMES[1], "age")]))
    for other in ((NAMES[2], NAMES[1]), ("age", NAMES[2])):
        assert fingerprint(others[2]) != fingerprint(Knowledge(causes=[other]))


# --- the command line -----------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Path:
    frame = FRAME[NAMES[:5]].assign(died=COHORT.y, ward=np.arange(len(FRAME)) % 2, pid=np.arange(len(FRAME)))
    frame.rename(columns={NAMES[4]: "a,b:c"}).to_csv(tmp_path / "labs.csv", index=False)
    return tmp_path / "labs.csv"


def fit(table: Path, *options: object) -> tuple[object, ...]:
    out = table.with_suffix(".rci")
    return ("fit", table, "--target", "died", "--id", "pid", "--drop", "ward", "--out", out, *options)


def test_every_option_says_what_it_knows(table: Path) -> None:
    a, b, c, d = NAMES[:4]
    options = ["--first", a, "--tiers", f"{b}, {c} < {d}", "--causes", f"{b}:{c},{c}:{d}"]
    printed = ok(*fit(table, *options, "--not-causes", f"{d}:{c}", "--causes", f"{d}:a,b:c"))
    model = RCI.load(table.with_suffix(".rci"))
    assert model.knowledge == Knowledge(
        first=[a], tiers=[[b, c], [d]], causes=[(b, c), (c, d), (d, "a,b:c")], not_causes=[(d, c)]
    )
    words = f"{a} first; {b}, {c} < {d}; {b} before {c}"
    assert f"given: {words}" in printed and f"knowledge={words}" in printed
    assert "knowledge" not in ok(*fit(table)) and "given:" not in ok(*fit(table))
    ok(*fit(table, "--covariate", f"{a},{b}", "--tiers", f"{c} < {d} <"))
    assert RCI.load(table.with_suffix(".rci")).knowledge == Knowledge(covariates=[a, b], tiers=[[c], [d], []])


def test_a_file_of_knowledge_is_ours_or_tetrads(table: Path, tmp_path: Path) -> None:
    known = Knowledge(first=[NAMES[0]], causes=[("a,b:c", NAMES[1])])
    known.to_json(tmp_path / "known.json")
    ok(*fit(table, "--knowledge", tmp_path / "known.json"))
    assert RCI.load(table.with_suffix(".rci")).knowledge == known
    (tmp_path / "known.txt").write_text(
        f"/knowledge\nrequiredirect\n{NAMES[0]} {NAMES[1]}\n", encoding="utf-8"
    )
    ok(*fit(table, "--knowledge", tmp_path / "known.txt"))
    assert RCI.load(table.with_suffix(".rci")).knowledge == Knowledge(causes=[NAMES[:2]])
    both = error(2, *fit(table, "--knowledge", tmp_path / "known.json", "--not-causes", "a:b"))
    assert "leave --not-causes out" in both
    assert "there is no such file" in error(3, *fit(table, "--knowledge", tmp_path / "nowhere.json"))
    message = error(3, *fit(table, "--knowledge", table))
    assert "is neither JSON" in message and len(message) < 300


def test_wrong_options_are_one_error(table: Path) -> None:
    assert "write COLUMN:COLUMN" in error(2, *fit(table, "--causes", f"{NAMES[0]}:{NAMES[1]},x"))
    message = error(3, *fit(table, "--first", "died,pid,ward,agee", "--kind", "nobody=nominal"))
    for part in ("'died' (it is the --target column)", "'pid' (it is the --id column)", "2 things are wrong"):
        assert part in message
    assert "'ward' (it is left out by --drop)" in message and "did you mean 'age'" in message
    assert "one tier alone" in error(2, *fit(table, "--tiers", NAMES[0]))
    assert "tier 2 of" in error(2, *fit(table, "--tiers", f"{NAMES[0]} < < {NAMES[1]}"))


def test_contradictions_come_with_unknown_names_and_all_else(table: Path, tmp_path: Path) -> None:
    wrong = ("--first", f"{NAMES[0]},agee", "--covariate", NAMES[0], "--kind", "nobody=nominal")
    (tmp_path / "known.json").write_text(
        json.dumps({"first": [NAMES[0], "agee"], "covariates": [NAMES[0]]}), encoding="utf-8"
    )
    for options in (wrong, ("--knowledge", tmp_path / "known.json", *wrong[4:])):
        message = error(3, *fit(table, *options))
        assert "3 things are wrong" in message and "is in covariates and in first" in message
        assert "'agee'" in message and "'nobody'" in message


def test_options_that_are_misread_say_how_to_write_them(table: Path) -> None:
    a, b, c = NAMES[:3]
    for options, part in (
        (("--tiers", f"{a} < {b}", "--tiers", f"{b} < {c}"), "give all tiers in one text"),
        (("--tiers", f"{a} > {b}"), f"write < between tiers, with what comes first on the left, not '{a} >"),
        (("--causes", f"{a},{b}"), f"one pair each, as in --causes smoking:bili, not '{a},{b}'"),
        (("--not-causes", f"{a}:{b}:{c}"), f"one pair each, as in --not-causes smoking:bili, not '{a}:{b}:"),
    ):
        assert part in " ".join(error(2, *fit(table, *options)).split())


def test_names_with_signs_between_tiers_need_a_file() -> None:
    names = ["a", "b", "x < y", "a<b", "c > d"]
    assert tiers_named(names, "a<b") == [["a"], ["b"]]
    assert tiers_named(names, "c > d, a <") == [["c > d", "a"], []]
    for text in ("x < y < a", "b < x < y"):
        with pytest.raises(BadParameter, match=r"'x < y' holds <.*--knowledge"):
            tiers_named(names, text)


def test_names_with_colons_and_commas_come_first() -> None:
    names = ["a", "b:c", "a:b", "c", "d,e"]
    assert pairs_named(names[:2], "a:b:c", "") == [("a", "b:c")]
    assert pairs_named(names[1:], "a:b:c", "") == [("a:b", "c")]
    with pytest.raises(BadParameter, match="can be read as 'a' and 'b:c' or 'a:b' and 'c'"):
        pairs_named(names, "a:b:c", "")
    assert pairs_named(names, "d,e:c", "") == [("d,e", "c")]
    assert pairs_named(names, "a:c, c:a", "") == [("a", "c"), ("c", "a")]
    assert pairs_named([], "u : v", "") == [("u", "v")]


def test_on_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from distributed import LocalCluster

    FRAME.assign(died=COHORT.y, ward=1.0 * (np.arange(len(FRAME)) % 2)).to_parquet(tmp_path / "labs.parquet")
    with LocalCluster(1, processes=False, dashboard_address="127.0.0.1:0") as cluster:
        address = ("--scheduler", cluster.scheduler_address, "--drop", "ward", "--out", tmp_path / "m.rci")
        options = ("fit", tmp_path / "labs.parquet", "--target", "died", *address)
        assert "given: age first" in ok(*options, "--first", "age")
        message = error(3, *options, "--first", "ward,died")
    assert RCI.load(tmp_path / "m.rci").knowledge == Knowledge(first=["age"])
    assert "'ward' (it is left out by --drop)" in message and "'died' (it is the --target" in message


def test_check_and_report_take_the_same_options(table: Path, tmp_path: Path) -> None:
    cohort = (table, "--target", "died", "--id", "pid", "--drop", "ward", "--first", "age")
    findings = ok("check", *cohort)
    assert "given: age first" in findings and "knowledge=age first" in findings
    page = tmp_path / "page.html"
    assert "knowledge=age first" in ok("report", *cohort, "--out", page)
    assert facts_of(page)["made"]["parameters"]["knowledge"] == "age first"
    ok(*fit(table))
    of_new = ("report", table, "--model", table.with_suffix(".rci"), "--out", page)
    assert "--not-causes is for fitting" in error(2, *of_new, "--not-causes", "a:b")


def test_the_page_says_what_was_known_and_kinds_in_words(tmp_path: Path) -> None:
    """All that fits; of names of 10,000 characters the beginning."""
    long = "n" * 10_000
    X = FRAME.rename(columns={NAMES[-1]: long})
    known = Knowledge(first=["age"], tiers=[NAMES[1:8], []], causes=[("bili", "chol")], covariates=[long])
    kinds = {long: "number", "stage": [1, 2, 3, 4]}
    X["stage"] = 1.0 + np.arange(len(X)) % 4
    RCI(knowledge=known, kinds=kinds).fit(X, COHORT.y).report(X.head(3), tmp_path / "page.html")
    made = facts_of(tmp_path / "page.html")["made"]["parameters"]
    cut = f"{'n' * 40}..."
    assert made["knowledge"] == (
        f"age first; {', '.join(NAMES[1:8])} < all others; bili before chol; covariates {cut}"
    )
    assert made["kinds"] == f"{cut}: number, stage: 1 < 2 < 3 < 4"
