"""Several hospitals: the answer is that of one place, and nothing but sums leaves any of them."""

from __future__ import annotations

import json
import struct
import zlib
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hospitals import (
    ESTIMATORS,
    KEY,
    NAMES,
    answers,
    cohort,
    columns_for,
    joint,
    pooled,
    roles_of,
    sites_of,
    split,
    with_gaps,
)

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival
from rootcausal.data import simulate
from rootcausal.federated import InProcess, Policy, Site, fit
from rootcausal.federated.asking import Sites
from rootcausal.federated.drawing import drawn_rows
from rootcausal.federated.messages import (
    USUAL,
    Masks,
    Message,
    MessageError,
    Narrow,
    Step,
    decoded,
    fixed,
    numbers,
    room_of,
    total,
)
from rootcausal.federated.requests import REQUESTS
from rootcausal.federated.search import Standing

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

GAPS = ("age", "creatinine", "ward", "stage")
KNOWN = {"first": ["sex"], "tiers": [["age"], ["sofa"]], "covariates": ["ward"], "causes": [("crp", "sofa")]}


def same(outcome: str, table: pd.DataFrame, **parameters: Any) -> None:
    made = {"outcome": "ordinal"} if outcome == "grade" else {}
    estimators = [ESTIMATORS[outcome](**made, **parameters) for _ in range(2)]
    model = joint(estimators[0], sites_of(table, outcome))
    reference, X = pooled(estimators[1], table, outcome)
    np.testing.assert_array_equal(model.causal_order_, reference.causal_order_)
    np.testing.assert_allclose(model.shapley_values(X), reference.shapley_values(X), rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, rtol=0, atol=1e-10)
    effects, expected = model._model.direct_effects(), reference._model.direct_effects()
    np.testing.assert_array_equal(effects != 0, expected != 0)
    np.testing.assert_allclose(effects, expected, rtol=0, atol=1e-10)
    assert model.provenance_["kinds"] == reference.provenance_["kinds"]
    assert model.provenance_["rows"] == reference.provenance_["rows"]


@pytest.mark.parametrize("outcome", ["died", "survival", "score", "grade"])
def test_five_unequal_sites_give_the_model_of_one_place(outcome: str) -> None:
    same(outcome, cohort())


@pytest.mark.parametrize("outcome", ["died", "survival", "score"])
def test_missing_values_are_imputed_at_the_sites(outcome: str) -> None:
    same(outcome, with_gaps(cohort(), GAPS))


@pytest.mark.parametrize(
    "parameters",
    [
        {"knowledge": KNOWN},
        {"prevalence": 0.05},
        {"log": ["crp"], "kinds": {"stage": "nominal"}},
        {"alpha": 0.2, "attribution": "paper"},
        {"variant": "original"},
    ],
    ids=["knowledge", "prevalence", "log", "paper", "original"],
)
def test_parameters_mean_what_they_mean_in_one_place(parameters: dict[str, Any]) -> None:
    same("died", cohort(), **parameters)
    if "variant" not in parameters:
        same("died", with_gaps(cohort(), GAPS), **parameters)


@pytest.mark.parametrize(("p", "rounds", "kilobytes"), [(10, 20, 20), (30, 45, 130)])
def test_a_fit_stays_within_its_rounds_and_bytes(p: int, rounds: int, kilobytes: int) -> None:
    """Roots are foreseen, and pairs that cannot decide are not asked about."""
    drawn = simulate(n_samples=1500, n_variables=p + 1, random_state=p)
    table = pd.DataFrame(drawn.X, columns=drawn.feature_names).assign(died=drawn.y)
    sizes = (900, 300, 150, 90, 60)
    model = joint(RCI(), sites_of(table, sizes=sizes))
    reference, X = pooled(RCI(), table, sizes=sizes)
    np.testing.assert_array_equal(model.causal_order_, reference.causal_order_)
    np.testing.assert_allclose(model.shapley_values(X), reference.shapley_values(X), rtol=0, atol=1e-10)
    cost = model.provenance_["sites"]
    assert cost["rounds"] <= rounds and cost["bytes"] <= 1000 * kilobytes


def test_nobody_wins_while_another_may_still_beat_it() -> None:
    """The first has met all; the third has met it alone, and loses less so far."""
    unknown = np.nan
    score = np.array([[unknown, 0.3, -0.2], [-0.3, unknown, unknown], [0.2, unknown, unknown]])
    standing = Standing(score, np.nan_to_num(score), np.zeros((3, 3)), np.zeros((3, 3)))
    assert standing.best() is None
    score[1, 2], score[2, 1] = 0.5, -0.5
    assert Standing(score, score, np.zeros((3, 3)), np.zeros((3, 3))).best() == 0


def test_columns_that_hardly_go_together_are_compared_too() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.laplace(size=(3000, 4)), columns=list("abcd"))
    table["died"] = np.where(rng.random(3000) < 1 / (1 + np.exp(-table["c"])), "yes", "no")
    model = joint(RCI(), sites_of(table, sizes=(1000, 1000, 1000)))
    reference, _ = pooled(RCI(), table, sizes=(1000, 1000, 1000))
    np.testing.assert_array_equal(model.causal_order_, reference.causal_order_)


def test_columns_that_rounding_cannot_tell_apart_are_asked_about_again() -> None:
    """Two columns whose rows differ by swapping them: whoever comes first wins by the ninth digit at most."""
    rng = np.random.default_rng(3)
    half = rng.laplace(size=(300, 2))
    both = np.concatenate([half, half[:, ::-1] * (1.0 + 1e-9 * rng.normal(size=(300, 1)))])
    table = pd.DataFrame(both, columns=["a", "b"]).assign(c=rng.laplace(size=600) + both.sum(axis=1))
    table["died"] = np.where(rng.random(600) < 1 / (1 + np.exp(-table["c"])), "yes", "no")
    sites = sites_of(table, sizes=(300, 200, 100))
    model = joint(RCI(), sites)
    assert any(entry.do == "residual sums to more digits" for entry in sites[0].ledger.entries)
    reference, X = pooled(RCI(), table, sizes=(300, 200, 100))
    np.testing.assert_array_equal(model.causal_order_, reference.causal_order_)
    np.testing.assert_allclose(model.shapley_values(X), reference.shapley_values(X), rtol=0, atol=1e-10)


def test_a_site_without_a_case_or_a_level_takes_part() -> None:
    table = cohort().sort_values(["died", "ward"]).reset_index(drop=True)
    parts = [table[:300], table[300:500], table[500:]]
    drop = ["days", "event", "score", "grade"]
    sites = [
        Site(name, part.drop(columns=drop), target="died", key=KEY)
        for name, part in zip(NAMES, parts, strict=False)
    ]
    model = joint(RCI(prevalence=0.1), sites)
    X = table.drop(columns=[*drop, "died"])
    reference = RCI(prevalence=0.1, mechanism="linear").fit(X, table["died"])
    np.testing.assert_allclose(model.shapley_values(X), reference.shapley_values(X), rtol=0, atol=1e-10)


def test_a_column_that_a_site_lacks_is_missing_there() -> None:
    table = with_gaps(cohort(), GAPS)
    parts = split(table.drop(columns=["days", "event", "score", "grade"]))
    sites = [Site(name, part, target="died", key=KEY) for name, part in zip(NAMES, parts, strict=True)]
    sites[3] = Site("west", parts[3].drop(columns="crp"), target="died", key=KEY)
    model = joint(RCI(), sites)
    parts[3] = parts[3].assign(crp=np.nan)
    whole = pd.concat(parts)
    reference = RCI(mechanism="linear").fit(whole.drop(columns="died"), whole["died"])
    X = whole.drop(columns="died")
    np.testing.assert_allclose(model.shapley_values(X), reference.shapley_values(X), rtol=0, atol=1e-10)


def test_rows_without_an_outcome_stay_out() -> None:
    table = cohort()
    table.loc[::7, "died"] = None
    model = joint(RCI(), sites_of(table))
    assert model.provenance_["rows"] == int(table["died"].notna().sum())


def test_the_model_is_like_any_other(tmp_path: Any) -> None:
    table = cohort()
    model = joint(RCI(), sites_of(table))
    model.save(tmp_path / "joint.rci")
    again = RCI.load(tmp_path / "joint.rci")
    X = pooled(RCI(), table)[1][:20]
    np.testing.assert_array_equal(model.shapley_values(X), again.shapley_values(X))
    assert again.provenance_["sites"]["names"] == list(NAMES)
    assert "yes" in str(again.classes_)
    again.explain(X).to_frame()
    again.report(X, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "whose patients stayed there" in page and "in total over all sites only" in page
    assert again.provenance_["reading"] == {"called": "died"}


# --- resamples ----------------------------------------------------------------------------------------------


def drawn_from(table: pd.DataFrame, seed: int, by_class: bool) -> Any:
    """What a resample in one place draws, where it draws as the sites do."""
    sizes = [len(part) for part in split(table)]
    labels = (pd.concat(split(table))["died"] == "yes").to_numpy().astype(int)
    starts = np.cumsum([0, *sizes[:-1]])
    numbers = iter(range(1, 100))

    def draw(*_: Any) -> np.ndarray:
        number = next(numbers)
        parts = zip(NAMES, starts, sizes, strict=True)
        return np.concatenate(
            [
                a + drawn_rows(KEY, name, seed, number, labels[a : a + n] if by_class else None, n)
                for name, a, n in parts
            ]
        )

    return draw


@pytest.mark.parametrize("parameters", [{}, {"prevalence": 0.1}], ids=["", "prevalence"])
def test_resamples_give_the_intervals_of_one_place(
    parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = with_gaps(cohort(), GAPS)
    monkeypatch.setattr("rootcausal.federated.resampling.AT_ONCE", 2)
    sites = sites_of(table, policy=Policy(resamples=3))
    model = fit(RCI(**parameters), InProcess(answers(sites)), list(NAMES), resamples=3, random_state=4)
    reference, X = pooled(RCI(**parameters), table)
    draw = drawn_from(table, 4, bool(parameters))
    monkeypatch.setattr("rootcausal.resampling.bootstrap._draw_rows", draw)
    monkeypatch.setattr("rootcausal.resampling.bootstrap._draw_by_class", draw)
    reference.bootstrap(3, random_state=4)
    for one, other in zip(model.bootstrap_.models, reference.bootstrap_.models, strict=True):
        np.testing.assert_array_equal(one.order, other.order)
        effects, expected = one.direct_effects(), other.direct_effects()
        np.testing.assert_allclose(effects, expected, rtol=0, atol=1e-8)
    told, wanted = (one.explain(X[:30]).to_frame() for one in (model, reference))
    numbers = told.select_dtypes("number").columns
    assert any("low" in name for name in numbers)
    np.testing.assert_allclose(told[numbers], wanted[numbers], rtol=0, atol=1e-8)
    words = {entry.words for entry in sites[0].ledger.entries}
    assert any(text.endswith("of resample 3") for text in words)


def test_what_is_drawn_is_known_by_the_key_alone() -> None:
    first = drawn_rows(KEY, "north", 0, 1, None, 500)
    others = [(KEY[::-1], "north", 0, 1), (KEY, "south", 0, 1), (KEY, "north", 1, 1), (KEY, "north", 0, 2)]
    for other in others:
        assert (drawn_rows(*other, None, 500) != first).mean() > 0.9


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"policy": Policy()}, "agreed to 0 resamples"),
        ({"policy": Policy(resamples=2)}, r"asked about resample 3.*--resamples 3"),
        ({"key": None, "policy": Policy(numbers_a_value=1e9), "sizes": (420, 200, 200)}, "key"),
    ],
)
def test_sites_answer_about_as_many_resamples_as_they_agreed_to(
    options: dict[str, Any], sentence: str
) -> None:
    table = cohort()[["age", "creatinine", "died"]]
    sites = sites_of(table, **options)
    with pytest.raises(InputError, match=sentence):
        fit(RCI(), InProcess(answers(sites)), [site.name for site in sites], resamples=4)


# --- what a site gives away ---------------------------------------------------------------------------------


def numbers_only(n: int = 1800, p: int = 4) -> list[pd.DataFrame]:
    drawn = simulate(n_samples=n, n_variables=p + 1, random_state=3)
    table = pd.DataFrame(drawn.X, columns=[f"lab{i}" for i in range(p)]).assign(d=drawn.y)
    table["flag"] = (np.arange(n) % 2).astype(float)
    return [table[:800], table[800:1400], table[1400:]]


def test_without_a_key_only_large_groups_are_told_of() -> None:
    parts = numbers_only()
    sites = [Site(name, part, target="d") for name, part in zip(NAMES, parts, strict=False)]
    model = joint(RCI(), sites)
    table = pd.concat(parts)
    X = table.drop(columns="d")
    reference = RCI().fit(X, table["d"])
    np.testing.assert_allclose(model.shapley_values(X), reference.shapley_values(X), rtol=0, atol=1e-10)
    assert not model.provenance_["sites"]["masked"]
    assert all(entry.masked is False for site in sites for entry in site.ledger.entries)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda part: part.assign(flag=(np.arange(len(part)) < 4) * 1.0), "4 rows.*'flag'"),
        (lambda part: part.assign(d=(np.arange(len(part)) < 6) * 1), "6 rows with the disease"),
        (lambda part: part.assign(lab0=part["lab0"].where(np.arange(len(part)) < 7)), "7 rows.*'lab0'"),
    ],
)
def test_a_small_group_at_one_site_ends_the_fit(change: Any, sentence: str) -> None:
    parts = numbers_only()
    parts[2] = change(parts[2])
    sites = [Site(name, part, target="d") for name, part in zip(NAMES, parts, strict=False)]
    with pytest.raises(InputError, match=rf"site 'east' refuses.*{sentence}"):
        joint(RCI(), sites)


@pytest.mark.parametrize(
    ("outcome", "sentence"), [("survival", "same interval of time"), ("grade", "at the same stage")]
)
def test_baselines_tell_of_few_rows_too(outcome: str, sentence: str) -> None:
    table = cohort()[["age", "sofa", "died", "days", "event", "score", "grade"]]
    if outcome == "grade":
        table.loc[split(table)[2].index[:5], "grade"] = 9
        table.loc[split(table)[0].index[:30], "grade"] = 9
    estimator = RCISurvival() if outcome == "survival" else RCI(outcome="ordinal")
    with pytest.raises(InputError, match=sentence):
        joint(estimator, sites_of(table, outcome, sizes=(420, 200, 110), key=None))


def test_a_site_counts_what_is_known_of_its_values() -> None:
    parts = numbers_only()
    few = Policy(numbers_a_value=0.1)
    sites = [
        Site(name, part, target="d", policy=few if name == "south" else None)
        for name, part in zip(NAMES, parts, strict=False)
    ]
    with pytest.raises(InputError, match=r"'south' refuses.*numbers would be known about the 3,000 values"):
        joint(RCI(), sites)
    with pytest.warns(UserWarning, match="values of all sites together"):
        model = joint(RCI(), sites_of(cohort(), sizes=(60, 50, 40)))
    assert model.provenance_["sites"]["numbers_a_value"] > 1


def test_a_site_that_was_started_again_still_counts() -> None:
    parts = numbers_only()
    sites = [Site(name, part, target="d") for name, part in zip(NAMES, parts, strict=False)]
    transport = Recorded(answers(sites))
    made = fit(RCI(), transport, [site.name for site in sites]).provenance_["sites"]
    share = made["numbers_a_value"] * sum(map(len, parts)) / len(parts[0])
    again = Site("north", parts[0], target="d", policy=Policy(numbers_a_value=share + 1e-9))
    for request in transport.requests:
        again.catch_up(request)
    session, number = decoded(transport.requests[0]).session, len(transport.requests) + 1
    one_more = Message("request", session, number, steps=[Step("column sums", {"table": 0})])
    assert "numbers would be known" in decoded(again.answer(one_more.encoded())).why


def test_products_need_more_rows_than_columns() -> None:
    parts = numbers_only(p=24)
    sites = [
        Site(name, part, target="d") for name, part in zip(NAMES, [*parts[:2], parts[2][:35]], strict=False)
    ]
    with pytest.raises(InputError, match=r"'east' refuses.*35 rows"):
        joint(RCI(), sites)


def test_a_site_below_the_minimum_is_refused() -> None:
    with pytest.raises(InputError, match="9 rows"):
        Site("east", numbers_only()[2][:9], target="d", key=KEY)


def test_two_sites_do_not_mask() -> None:
    with pytest.raises(InputError, match="3 or more"):
        joint(RCI(), sites_of(cohort(), sizes=(400, 300)))


def test_levels_that_hardly_anybody_has_are_refused_in_total() -> None:
    table = cohort()
    table.loc[:5, "ward"] = "hospice"
    with pytest.raises(InputError, match="hospice"):
        joint(RCI(), sites_of(table))


def test_times_leave_a_site_only_where_it_says_so() -> None:
    table = cohort()
    with pytest.raises(InputError, match="'north' refuses: times of follow-up"):
        joint(RCISurvival(), sites_of(table, "survival", policy=Policy()))
    model = joint(RCISurvival(), sites_of(table, "survival", policy=Policy(times=30.0)))
    rounded = table.assign(days=np.ceil(table["days"] / 30) * 30)
    reference, X = pooled(RCISurvival(), rounded, "survival")
    np.testing.assert_allclose(model.shapley_values(X), reference.shapley_values(X), rtol=0, atol=1e-10)


def test_ids_and_notes_are_never_told() -> None:
    part = cohort()[:200]
    for texts in ([f"patient {i}" for i in range(200)], [f"note {i // 3}" for i in range(200)]):
        with pytest.raises(InputError, match="'who'"):
            Site("north", part.assign(who=texts), target="died", key=KEY)


def test_a_few_patients_numbers_are_no_levels() -> None:
    part = cohort()[:12].assign(lab=[1.5, 2.5, 3.5, 4.5] * 3)
    site = Site("north", part, target="died", key=KEY)
    (lab,) = [one for one in site.holdings.described("labels", ["lab"])["columns"] if one["name"] == "lab"]
    assert lab["levels"] is None


def test_masked_sums_are_noise_alone_and_exact_together() -> None:
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(40,)) * 10.0 ** rng.integers(-6, 9, 40) for _ in range(4)]
    hidden = [Masks(KEY, i, 4).hide(one, "request", "gram") for i, one in enumerate(values)]
    np.testing.assert_allclose(numbers(total(hidden)), sum(values), rtol=1e-15, atol=1e-18)
    halves = np.concatenate([one.ravel() for one in hidden]).astype(np.float64) / 2.0**64
    assert abs(halves.mean() - 0.5) < 0.06 and 0.25 < halves.std() < 0.33
    others = Masks(KEY, 0, 4).hide(values[0], "another request", "gram")
    assert not (others == hidden[0]).any()
    for value in (0.0, -0.0, -(2.0**-64), 2.0**54, -12345.678, 5e-20):
        assert abs(numbers(fixed(np.array(value))) - value) < 2.0**-64
    with pytest.raises(InputError, match="too large"):
        fixed(np.array([1e300]))


@pytest.mark.parametrize("rows", [30, 3_270, 1_000_000, 400_000_000])
@pytest.mark.parametrize("bytes_each", [3, 4, 6, 8])
def test_sums_of_known_size_travel_in_few_bytes_to_as_many_digits(rows: int, bytes_each: int) -> None:
    rng, narrow, room = np.random.default_rng(0), Narrow(bytes_each, 1), room_of(rows, 5)
    values = [rng.normal(size=40) * rows / 20 for _ in range(5)]
    hidden = [
        Masks(KEY, i, 5).hide_narrow(one, "request", "sums", narrow, room) for i, one in enumerate(values)
    ]
    assert all(one.nbytes == bytes_each * 40 for one in hidden)
    digits = max(2.0 ** -(8 * bytes_each - 9), 4e-15)
    np.testing.assert_allclose(narrow.total(hidden, room), sum(values), rtol=0.0, atol=digits * rows)
    halves = np.concatenate([one.ravel() for one in hidden]).astype(np.float64) / 2.0**8
    assert abs(halves.mean() - 0.5) < 0.06 and 0.25 < halves.std() < 0.33
    other = Masks(KEY, 0, 5).hide_narrow(values[0], "another", "sums", narrow, room)
    assert (other == hidden[0]).mean() < 0.05
    for wrong in (300.0 * rows, np.inf, np.nan):
        with pytest.raises(InputError, match="too large"):
            narrow.fixed(np.array([wrong]), room, 5)


def test_counts_stay_whole() -> None:
    narrow = Narrow(5, whole=True)
    hidden = [Masks(KEY, i, 3).hide_narrow(np.array([4.0, 10**9]), "r", "n", narrow, 0) for i in range(3)]
    assert narrow.total(hidden, 0).tolist() == [12.0, 3e9]


def test_a_step_that_is_far_too_long_is_unlikely_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected events grow with the exponential of the coefficients, and masks have room for so many."""
    asked: list[tuple[Sites, Step]] = []

    class Heard(Sites):
        def ask(self, *steps: Step) -> list[Any]:
            asked.append((self, steps[-1]))
            return super().ask(*steps)

    monkeypatch.setattr("rootcausal.federated.fitting.Sites", Heard)
    joint(RCISurvival(), sites_of(cohort(), "survival"))
    sites, step = next(one for one in reversed(asked) if one[1].do == "hazard sums")

    def at(factor: float) -> dict[str, np.ndarray]:
        beta = step.arrays["beta"].copy()
        beta[: step.arrays["cols"].size] = factor
        (told,) = sites.ask(Step(step.do, step.fields, {**step.arrays, "beta": beta}))
        return told

    near, far = at(0.0), at(60.0)
    assert np.isfinite(near["loglik"]) and near["of_baseline"].sum() > 100
    assert far["loglik"] < -1e12 < near["loglik"] and not far["gradient"].any()


def test_the_ledger_holds_every_number_in_words(tmp_path: Any) -> None:
    sites = sites_of(cohort())
    folder = tmp_path / "north"
    folder.mkdir()
    part = split(cohort())[0].drop(columns=["days", "event", "score", "grade"])
    sites[0] = Site("north", part, target="died", key=KEY, folder=folder)
    model = joint(RCI(), sites)
    entries = [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]
    assert len({entry["number"] for entry in entries}) == model.provenance_["sites"]["rounds"]
    assert all(entry["words"] and entry["values"] for entry in entries)
    assert {entry["do"] for entry in entries} <= set(REQUESTS)
    assert [entry["masked"] for entry in entries] == [False] + [True] * (len(entries) - 1)


def test_a_budget_of_requests_ends_a_session() -> None:
    with pytest.raises(InputError, match="answers 12 requests"):
        joint(RCI(), sites_of(cohort(), policy=Policy(budget=12)))


# --- what sites have to agree on ----------------------------------------------------------------------------


def test_one_error_lists_by_site_what_differs() -> None:
    parts = split(cohort().drop(columns=["days", "event", "score", "grade"]))
    labels = [{"crp": {"unit": "mg/l"}}] * 4 + [{"crp": {"unit": "mg/dl"}}]
    parts[1] = parts[1].assign(stage=parts[1]["stage"].map("grade {:g}".format))
    sites = [
        Site(name, part, target="died", labels=label, key=None if name == "west" else KEY)
        for name, part, label in zip(NAMES, parts, labels, strict=True)
    ]
    with pytest.raises(InputError) as error:
        joint(RCI(), sites)
    said = str(error.value)
    assert "'stage' holds numbers at 'north', 'east', 'west', 'island', text at 'south'" in said.replace(
        " and ", ", "
    )
    assert "mg/dl at 'island'" in said and "'west'" in said and said.startswith("3 things")


def test_units_and_labels_of_sites_are_those_of_the_model() -> None:
    labels = {"crp": {"label": "C-reactive protein", "unit": "mg/l"}}
    model = joint(RCI(), sites_of(cohort(), labels=labels))
    named = {one.name: (one.label, one.unit) for one in model._encoding.variables}
    assert named["crp"] == ("C-reactive protein", "mg/l")


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (RCI(mechanism="nonlinear"), "linear mechanisms only"),
        (RCI(backend="numpy"), "backend"),
        (RCI(confounding="merge"), "confounding"),
        (RCI(reliability={"crp": 0.9}), "reliability"),
        (RCI(limits={"crp": "<3"}), "limits"),
        (RCISurvival(competing=2), "competing"),
        (RCI(positive=["yes", "maybe"]), "several labels"),
        (RCIRegressor(outcome="count"), "another outcome"),
        (RCISurvival(), "not given at this site"),
    ],
)
def test_what_sites_do_not_offer_is_said(estimator: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        joint(estimator, sites_of(cohort()))


def test_auto_takes_the_linear_mechanism_and_says_so() -> None:
    said = joint(RCI(), sites_of(cohort())).provenance_["mechanism"]
    assert said["asked"] == "auto" and said["taken"] == "linear" and "at sites" in said["why"]


def test_a_key_has_its_length() -> None:
    with pytest.raises(InputError, match="32 bytes"):
        Site("north", cohort()[:100], target="died", key=b"secret")


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "<b>", "x" * 61, "-rf"])
def test_names_of_sites_are_plain(name: str) -> None:
    with pytest.raises(InputError, match="called"):
        Site(name, cohort()[:100], target="died")


# --- do sites differ? ---------------------------------------------------------------------------------------


def hospital(seed: int, n: int, relation: float, effect: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a, c = rng.laplace(size=(2, n))
    b = relation * a + rng.laplace(size=n)
    ill = rng.random(n) < 1 / (1 + np.exp(0.5 - 0.5 * b - effect * c))
    return pd.DataFrame({"a": a, "b": b, "c": c, "died": np.where(ill, "yes", "no")})


@pytest.mark.parametrize("key", [KEY, None])
def test_effects_and_relations_that_differ_between_sites_are_named(key: bytes | None, tmp_path: Any) -> None:
    alike = [hospital(seed, n, 0.8, 0.8) for seed, n in enumerate((700, 400, 300))]
    sites = [Site(name, part, target="died", key=key) for name, part in zip(NAMES, alike, strict=False)]
    kept = joint(RCI(), sites).provenance_["sites"]["differences"]
    assert kept["sites"] == 3 and not kept["effects_differ"] and not kept["relations_differ"]
    assert min(kept["p_values"].values()) > 0.01
    others = [alike[0], hospital(1, 400, 0.1, 0.8), hospital(2, 300, 0.8, -0.4)]
    sites = [Site(name, part, target="died", key=key) for name, part in zip(NAMES, others, strict=False)]
    with pytest.warns(
        UserWarning, match="sites differ more than by chance in the effects on the outcome of 'c'"
    ):
        model = joint(RCI(), sites)
    kept = model.provenance_["sites"]["differences"]
    assert kept["effects_differ"] == ["c"] and sorted(kept["relations_differ"][0]) == ["a", "b"]
    assert kept["inconsistency"]["c"] > 0.9
    assert bool(kept["by_site"]) == (key is None)
    if key is None:
        effect, error = kept["by_site"]["east"]["c"]
        assert effect + 2 * error < 0 < kept["by_site"]["north"]["c"][0]
    model.save(tmp_path / "m.rci")
    RCI.load(tmp_path / "m.rci").report(others[0].drop(columns="died"), tmp_path / "page.html")
    assert "sites differ more than by chance" in (tmp_path / "page.html").read_text()


def test_the_hospital_may_be_a_covariate() -> None:
    """A column with the name of the site, the same in all of its rows."""
    parts = [part.assign(hospital=name) for name, part in zip(NAMES, split(cohort()), strict=True)]
    parts = [part.drop(columns=columns_for("died")) for part in parts]
    sites = [Site(name, part, target="died", key=KEY) for name, part in zip(NAMES, parts, strict=True)]
    model, reference = (RCI(mechanism="linear", knowledge={"covariates": ["hospital"]}) for _ in range(2))
    joint(model, sites)
    X = pd.concat(parts)
    reference.fit(X, X.pop("died"))
    np.testing.assert_array_equal(model.causal_order_, reference.causal_order_)
    np.testing.assert_allclose(model.shapley_values(X), reference.shapley_values(X), rtol=0, atol=1e-10)
    # How hospitals go together differs between them by definition.
    assert not model.provenance_["sites"]["differences"]["relations_differ"]


# --- faults -------------------------------------------------------------------------------------------------


class Faulty(InProcess):
    """What comes back is wrong at first, or twice, or from a site that forgot everything."""

    def __init__(self, sites: list[Site], wrong: Any) -> None:
        super().__init__(answers(sites))
        self.sites, self.wrong, self.asked = {site.name: site for site in sites}, wrong, 0

    def ask(self, number: int, request: bytes, names: Any, accept: Any) -> dict[str, bytes]:
        self.asked += 1
        self.wrong(self, number, request, names, accept)
        return super().ask(number, request, names, accept)


def again(transport: Faulty, number: int, request: bytes, names: Any, accept: Any) -> None:
    """Each site is asked twice, and once what it was asked before."""
    for name in names:
        first = transport.sites[name].answer(request)
        assert transport.sites[name].answer(request) == first


def forgetful(transport: Faulty, number: int, request: bytes, names: Any, accept: Any) -> None:
    """A site is killed and started again in the middle."""
    if number == 9 and len(names) > 1:
        fresh = {site.name: site for site in sites_of(cohort())}
        transport._answers["south"] = fresh["south"].answer
        transport.sites["south"] = fresh["south"]


def nonsense(transport: Faulty, number: int, request: bytes, names: Any, accept: Any) -> None:
    for name in names:
        for junk in (b"", b"RCS1", b"\0" * 300, transport.sites[names[0]].answer(request)[:-1], request):
            assert accept(name, junk)
    others = [name for name in names[1:] if accept(name, transport.sites[names[0]].answer(request))]
    assert others == list(names[1:])


@pytest.mark.parametrize("wrong", [again, forgetful, nonsense])
def test_faults_change_nothing(wrong: Any) -> None:
    reference = joint(RCI(), sites_of(cohort()))
    transport = Faulty(sites_of(cohort()), wrong)
    model = fit(RCI(), transport, list(NAMES))
    X = pooled(RCI(), cohort())[1]
    np.testing.assert_array_equal(model.shapley_values(X), reference.shapley_values(X))


class Silent(InProcess):
    """One site stops answering."""

    def ask(self, number: int, request: bytes, names: Any, accept: Any) -> dict[str, bytes]:
        there = [name for name in names if name != "west" or number < 6]
        return super().ask(number, request, there, accept)


def test_a_site_that_is_late_is_named_or_left_out_where_that_was_asked_for() -> None:
    model = RCI()
    with pytest.raises(InputError, match="'west'"):
        fit(model, Silent(answers(sites_of(cohort()))), list(NAMES))
    assert not hasattr(model, "provenance_")
    with pytest.warns(UserWarning, match="without 'west'"):
        model = fit(RCI(), Silent(answers(sites_of(cohort()))), list(NAMES), go_on_without=True)
    assert model.provenance_["sites"]["without"] == ["west"]
    parts = split(cohort().drop(columns=["days", "event", "score", "grade"]))
    rest = pd.concat([part for name, part in zip(NAMES, parts, strict=True) if name != "west"])
    reference = RCI(mechanism="linear").fit(rest.drop(columns="died"), rest["died"])
    X = rest.drop(columns="died")
    np.testing.assert_allclose(model.shapley_values(X), reference.shapley_values(X), rtol=0, atol=1e-10)


# --- messages that nobody wrote -----------------------------------------------------------------------------


class Recorded(InProcess):
    def ask(self, number: int, request: bytes, names: Any, accept: Any) -> dict[str, bytes]:
        self.requests = [*getattr(self, "requests", []), request]
        told = super().ask(number, request, names, accept)
        self.answers = [*getattr(self, "answers", []), told[names[0]]]
        return told


def sealed(header: bytes, data: bytes) -> bytes:
    """A message with the right digest around whatever it holds."""
    import hashlib

    packing = zlib.compressobj(zdict=USUAL)
    body = b"RCS1" + packing.compress(struct.pack("<I", len(header)) + header + data) + packing.flush()
    return body + hashlib.sha256(body).digest()


def mutated(rng: np.random.Generator, encoded: bytes) -> bytes:
    """Bytes that are cut, added or changed; or a header that is, with a digest that fits."""
    body = bytearray(encoded)
    kind = rng.integers(6)
    if kind == 0:
        return bytes(body[: rng.integers(len(body))])
    if kind == 1:
        return bytes(body) + rng.bytes(int(rng.integers(1, 50)))
    if kind == 2:
        body[rng.integers(len(body))] ^= 1 << int(rng.integers(8))
        return bytes(body)
    plain = bytearray(zlib.decompressobj(zdict=USUAL).decompress(bytes(body[4:-32])))
    (length,) = struct.unpack("<I", plain[:4])
    header, data = plain[4 : 4 + length], bytes(plain[4 + length :])
    if kind == 3:
        header[rng.integers(len(header))] = int(rng.integers(32, 127))
        return sealed(bytes(header), data)
    if kind == 4:
        values = np.frombuffer(data[: 8 * (len(data) // 8)], "<f8").copy()
        if values.size:
            values[rng.integers(values.size)] = rng.choice([np.nan, np.inf, -1e300, 1e18, -1.0, 0.0, 5e-324])
        return sealed(bytes(header), values.tobytes())
    plain = json.loads(header)
    step = plain["steps"][rng.integers(len(plain["steps"]))] if plain["steps"] else plain
    place = rng.choice(["number", "have", "session", "version", "do", "fields", "arrays"])
    odd = rng.choice(np.array([None, -1, 1 << 70, "x", [], {}, True, 1.5], dtype=object))
    if place in plain:
        plain[place] = odd
    elif place == "fields" and step.get("fields"):
        step["fields"][rng.choice(sorted(step["fields"]))] = odd
    else:
        step[place] = odd
    return sealed(json.dumps(plain).encode(), data)


def test_two_thousand_messages_that_nobody_wrote_do_no_harm() -> None:
    table = with_gaps(cohort(), GAPS)
    sites = sites_of(table, policy=Policy(resamples=2))
    transport = Recorded(answers(sites))
    model = fit(RCI(), transport, list(NAMES), resamples=2)
    rng = np.random.default_rng(0)
    refused, site = 0, sites[0]
    for _ in range(2000):
        place = int(rng.integers(len(transport.requests)))
        told = decoded(site.answer(mutated(rng, transport.requests[place])))
        refused += told.kind == "refusal" and bool(told.why)
        # A change may leave a request that a coordinator could have sent: it is answered, and written down.
        if told.kind == "answer":
            written = [one for one in site.ledger.entries if one.session == told.session and not one.refused]
            assert told.number in {one.number for one in written}
        with suppress(MessageError):  # nothing else
            decoded(mutated(rng, transport.answers[place]))
    assert refused > 1900
    again = fit(RCI(), InProcess(answers(sites)), list(NAMES))
    X = pooled(RCI(), table)[1]
    np.testing.assert_array_equal(again.shapley_values(X), model.shapley_values(X))


def test_whatever_a_step_holds_a_site_stays_whole() -> None:
    """Well-formed steps with values that no fit sends, in the middle of a session: refused, never run."""
    table = with_gaps(cohort(), GAPS)
    site, *others = sites_of(table)
    transport = Recorded(answers([site, *others]))
    fit(RCI(), transport, list(NAMES))
    rng = np.random.default_rng(1)
    replayed = sites_of(table)[0]
    worked = 0
    for number, request in enumerate(transport.requests, start=1):
        message = decoded(request)
        replayed.catch_up(request)
        for step in message.steps:
            arrays = dict(step.arrays)
            if not arrays:
                continue
            name = str(rng.choice(sorted(arrays)))
            odd = arrays[name].copy().ravel()
            if odd.size and odd.dtype.kind == "i":
                odd[0] = rng.choice([10**4, 17, 60])
            arrays[name] = odd if rng.random() < 0.5 else np.append(odd, odd[:1])
            hostile = Message(
                "request", message.session, number + 1, steps=[Step(step.do, step.fields, arrays)]
            )
            told = decoded(replayed.answer(hostile.encoded()))
            worked += told.kind == "answer"
            assert told.kind == "answer" or told.why
            replayed._broken, replayed._last = "", number
        if number > 12:
            break
    assert worked < 20


def test_roles_name_columns() -> None:
    with pytest.raises(InputError, match="'nobody'"):
        Site("north", cohort()[:100], target="nobody")
    with pytest.raises(InputError, match="target"):
        Site("north", cohort()[:100], time="days")
    assert roles_of("survival") == {"time": "days", "event": "event"}
