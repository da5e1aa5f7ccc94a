"""What is known of the causal order: the value, its contradictions, and other tools' forms of it."""

from __future__ import annotations

import copy
import doctest
import json
import pickle
from collections.abc import Callable
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rootcausal import InputError, Knowledge
from rootcausal.inputs import knowledge
from rootcausal.inputs.contradictions import CIRCLES_AT_MOST, SAID_AT_MOST
from rootcausal.inputs.knowledge import UNKNOWN_SAID, precedence_of
from rootcausal.inputs.knowledge_files import fields_of_file
from rootcausal.method.ordering.precedence import Opening, Precedence

NAMES = ["site", "age", "sex", "smoking", "bmi", "bili", "alb"]
KNOWN = Knowledge(
    first=["age", "sex"],
    tiers=[["smoking", "bmi"], ["bili"]],
    causes=[("smoking", "bmi"), ("age", "bili")],
    not_causes=[("bili", "alb")],
    covariates=["site"],
)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


# --- the value ------------------------------------------------------------------------------------------


def test_fields_are_texts_in_tuples_each_once() -> None:
    one = Knowledge(
        first=np.array(["age", "sex", "age"]), tiers=[[3, np.int64(4)], ("x5",)], causes=[["x3", 4], (3, 4)]
    )
    assert one.first == ("age", "sex") and all(type(name) is str for name in one.first)
    assert one.tiers == (("x3", "x4"), ("x5",))
    assert one.causes == (("x3", "x4"),)
    assert Knowledge(first={"b", "a"}).first == ("a", "b")


def test_it_is_a_value() -> None:
    for again in (copy.deepcopy(KNOWN), pickle.loads(pickle.dumps(KNOWN)), Knowledge(**KNOWN.to_dict())):
        assert again == KNOWN and hash(again) == hash(KNOWN)
    assert KNOWN and not Knowledge()
    with pytest.raises(AttributeError):
        KNOWN.first = ("bmi",)


def test_stages_and_pairs_of_a_table() -> None:
    found = KNOWN.precedence(NAMES)
    assert found.stage.tolist() == [0, 1, 1, 2, 2, 3, 3]
    assert list(zip(found.before.tolist(), found.after.tolist(), strict=True)) == [(3, 4), (6, 5)]
    assert Knowledge(causes=[("a", "b")]).precedence(["b", "c", "a"]).stage.tolist() == [2, 2, 2]
    assert Knowledge(tiers=[["b"], []]).precedence(["a", "b"]).stage.tolist() == [3, 2]


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"first": "age"}, 'first must be a list, as in first=["age", "sex"], not \'age\''),
        ({"covariates": b"age"}, "covariates must be a list"),
        ({"tiers": ["age", "bmi"]}, "tiers must be a list of lists"),
        ({"causes": ["ab"]}, "causes takes pairs of columns"),
        ({"causes": [{"a", "b"}]}, "causes takes pairs of columns"),
        ({"causes": [("a", "b", "c")]}, "('a', 'b', 'c') is none"),
        ({"not_causes": "a:b"}, "not_causes must be a list"),
        ({"first": [True]}, "first names columns by name or number, not by True"),
        ({"first": None}, "first must be a list"),
        ({"first": [-1]}, "first counts columns from 0, and -1 is below"),
    ],
)
def test_what_is_no_list_of_columns_is_refused_with_the_fix(fields: dict[str, Any], part: str) -> None:
    assert part in refused(lambda: Knowledge(**fields))


# --- contradictions -------------------------------------------------------------------------------------


def test_all_contradictions_come_in_one_error() -> None:
    message = refused(
        lambda: Knowledge(
            first=["age", "sex"],
            tiers=[["age", "bmi"], ["bili", "bmi"]],
            causes=[("bili", "age"), ("alb", "smoking"), ("u", "v"), ("v", "w"), ("c", "site"), ("w", "end")],
            not_causes=[("u", "w"), ("q", "q"), ("smoking", "alb"), ("site", "ward"), ("k", "l"), ("l", "k")],
            covariates=["sex", "site", "ward"],
        )
    )
    assert message.splitlines() == [
        "8 things are wrong:",
        "(1) 'sex' is in covariates and in first: keep one of them",
        "(2) 'age' is in first and in tier 1: keep one of them",
        "(3) 'bmi' is in tier 1 and in tier 2: keep one of them",
        "(4) not_causes names 'q' together with itself: leave that pair out",
        "(5) causes puts 'bili' before 'age', but 'age' is in first, and 'bili' is in tier 2: leave that "
        "pair out, or move one of them",
        "(6) causes puts 'c' before 'site', but 'site' is a covariate, and 'c' is in no tier, so in the last "
        "one: leave that pair out, or move one of them",
        "(7) these go round in a circle: 'u' before 'v' (causes), 'v' before 'w' (causes), 'w' before 'u' "
        "(not_causes); leave one of them out",
        "(8) not_causes says that neither of 'l' and 'k' causes the other, but an order has to put one of "
        "them first, so that it cannot hold both: leave one pair out, or leave out both and make one of "
        "these columns a covariate",
    ]


def test_an_unlisted_column_belongs_to_the_last_tier() -> None:
    message = refused(lambda: Knowledge(tiers=[["bmi"], ["bili"]], causes=[("new", "bmi"), ("new", "bili")]))
    assert message == (
        "causes puts 'new' before 'bmi', but 'bmi' is in tier 1, and 'new' is in no tier, so in the last "
        "one: put 'new' into a tier"
    )


def test_a_pair_both_ways_is_a_circle_that_names_its_rules() -> None:
    message = refused(lambda: Knowledge(causes=[("a", "b")], not_causes=[("a", "b")]))
    assert message == (
        "these go round in a circle: 'a' before 'b' (causes), 'b' before 'a' (not_causes); leave one of them "
        "out"
    )


def test_of_circles_that_share_a_rule_the_shortest_is_named() -> None:
    message = refused(lambda: Knowledge(causes=[("a", "b"), ("b", "c"), ("c", "a"), ("b", "a")]))
    assert "circle: 'a' before 'b' (causes), 'b' before 'a' (causes); leave" in message


def test_circles_that_share_no_rule_are_all_named() -> None:
    ring = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "c"), ("x", "y"), ("y", "x"), ("a", "x")]
    message = refused(lambda: Knowledge(causes=ring))
    assert message.startswith("3 things are wrong")
    for pair in ring[:-1]:
        assert f"'{pair[0]}' before '{pair[1]}' (causes)" in message
    assert "'a' before 'x'" not in message


def test_one_tier_alone_and_empty_tiers_say_nothing_and_are_taken() -> None:
    alone = Knowledge(first=["c"], tiers=[["a"]]).precedence(["a", "b", "c"])
    assert alone.stage.tolist() == [2, 2, 1]  # in no tier is in the last, here the only one
    gaps = Knowledge(tiers=[[], ["a"], [], ["b"]]).precedence(["a", "b", "c"])
    assert np.diff(gaps.stage[[0, 1]]) > 0 and gaps.stage[1] == gaps.stage[2]


def test_what_others_imply_is_no_contradiction() -> None:
    Knowledge(
        first=["age"],
        tiers=[["a", "b"], ["c"]],
        causes=[("age", "a"), ("a", "c"), ("site", "age"), ("a", "b"), ("a", "new")],
        not_causes=[("c", "a"), ("b", "a")],
        covariates=["site"],
    )


@pytest.mark.parametrize("place", ["first", "covariates"])
def test_pairs_within_first_and_within_covariates_contradict_nothing(place: str) -> None:
    """None of these causes another, so that nothing has to be kept to; a path is still kept to."""
    both = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")]
    names = ["a", "b", "c", "d"]
    known = Knowledge(**{place: names[:3], "not_causes": both})
    assert known.precedence(names).before.tolist() == []
    known = Knowledge(**{place: names[:3], "causes": [("c", "a")], "not_causes": [("a", "b")]})
    found = known.precedence(names)
    assert set(zip(found.before.tolist(), found.after.tolist(), strict=True)) == {(2, 0), (1, 0)}
    message = refused(lambda: Knowledge(**{place: names[:3], "causes": [("a", "b"), ("b", "a")]}))
    assert "go round in a circle" in message
    message = refused(lambda: Knowledge(**{place: ["a"], "not_causes": [("a", "a")]}))
    assert "together with itself" in message


def test_very_many_contradictions_are_counted() -> None:
    backwards = Knowledge(tiers=[["a"], ["b"]], causes=[("a", f"c{k}") for k in range(300)])
    message = refused(lambda: Knowledge(tiers=[["a"], ["b"]], causes=[(b, a) for a, b in backwards.causes]))
    assert len(message.splitlines()) == 1 + SAID_AT_MOST + 1
    assert message.endswith(f"and {300 - SAID_AT_MOST} more contradictions of these kinds")
    both = [(f"a{k}", f"b{k}") for k in range(30)]
    message = refused(lambda: Knowledge(causes=both, not_causes=both))
    assert message.endswith(f"{2 * (30 - CIRCLES_AT_MOST)} more rules go round in circles")


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12), st.data())
@settings(deadline=None)
def test_what_is_taken_has_an_order_and_what_is_refused_has_none(
    pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Against all orders of six columns, with each pair said in one of two ways."""
    said = [data.draw(st.booleans()) for _ in pairs]
    tiers = data.draw(st.sampled_from([[], [[0, 1], [2, 3]], [[4], []], [[0], [1], [2]]]))
    first = data.draw(st.sampled_from([[], [5]]))
    last = max(1, len(tiers))
    stage = [
        0 if c in first else next((1 + t for t, tier in enumerate(tiers) if c in tier), last)
        for c in range(6)
    ]

    def fits(order: tuple[int, ...]) -> bool:
        place = {column: at for at, column in enumerate(order)}
        in_stages = all(place[a] < place[b] for a, b in product(range(6), repeat=2) if stage[a] < stage[b])
        return in_stages and all(place[a] < place[b] for a, b in pairs)

    fields = {
        "first": first,
        "tiers": tiers,
        "causes": [pair for pair, plain in zip(pairs, said, strict=True) if plain],
        "not_causes": [pair[::-1] for pair, plain in zip(pairs, said, strict=True) if not plain],
    }
    orders = [order for order in permutations(range(6)) if fits(order)]
    try:
        found = Knowledge(**fields).precedence([f"x{c}" for c in range(6)])
    except InputError:
        assert not orders
    else:
        assert orders
        for order in permutations(range(6)):
            assert found.holds(np.array(order)) == fits(order)


@given(st.integers(1, 60), st.data())
@settings(deadline=None)
def test_rules_are_complete(p: int, data: st.DataObject) -> None:
    """Against a closure one pair after the other."""
    order = data.draw(st.permutations(range(p)))
    place = st.integers(0, p - 1)
    drawn = data.draw(st.lists(st.tuples(place, place), max_size=20))
    pairs = [(order[a], order[b]) for a, b in drawn if a < b]
    closed, before = set(pairs), 0
    while len(closed) > before:
        before = len(closed)
        closed |= {(a, d) for a, b in closed for c, d in closed if b == c}
    found = Precedence.of(np.full(p, 2), pairs)
    assert list(zip(found.before.tolist(), found.after.tolist(), strict=True)) == sorted(closed)


def test_chains_that_say_too_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rootcausal.method.ordering.precedence.MOST_PAIRS", 100)
    long = Knowledge(causes=list(pairwise(range(40))))
    assert "say it by tiers instead" in refused(lambda: long.precedence([f"x{k}" for k in range(40)]))
    # The limit is on what follows, not on what is said: 10 pairs of a chain of 5, and 15 of one of 6.
    monkeypatch.setattr("rootcausal.method.ordering.precedence.MOST_PAIRS", 10)
    names = [f"x{k}" for k in range(6)]
    assert Knowledge(causes=list(pairwise(range(5)))).precedence(names).before.size == 10
    assert "say it by" in refused(lambda: Knowledge(causes=list(pairwise(range(6)))).precedence(names))


def test_the_examples_of_the_docstrings_hold() -> None:
    assert doctest.testmod(knowledge).attempted > 3
    assert not doctest.testmod(knowledge).failed


# --- names ----------------------------------------------------------------------------------------------


def test_unknown_names_come_all_at_once_with_the_nearest() -> None:
    known = Knowledge(first=["Age"], causes=[("smokin", "bili"), ("died", "zzzz")])
    message = refused(lambda: known.precedence(["age", "smoking", "bili"], {"died": "the target"}))
    assert message == (
        "knowledge names columns that are no variable of the table: 'Age' (did you mean 'age'?), 'smokin' "
        "(did you mean 'smoking'?), 'died' (it is the target), 'zzzz'; the variables are 'age', 'smoking', "
        "'bili'"
    )


def test_numbers_are_for_arrays() -> None:
    message = refused(lambda: Knowledge(first=[7]).precedence(["age", "sex"]))
    assert "'x7' (numbers are for arrays without names: give the name)" in message
    assert "numbers are" not in refused(lambda: Knowledge(first=[7]).precedence(["x0", "x1"]))


def test_an_empty_name_is_a_comma_too_many() -> None:
    assert "'' (an empty name" in refused(lambda: Knowledge(first=["age", ""]).precedence(["age"]))


def test_very_many_unknown_names_are_counted() -> None:
    message = refused(lambda: Knowledge(first=[f"n{k}" for k in range(UNKNOWN_SAID + 4)]).precedence(["a"]))
    assert f"'n{UNKNOWN_SAID - 1}' and 4 more; the variables are 'a'" in message


def test_contradictions_and_unknown_names_are_one_error() -> None:
    fields = {"first": ["a", "nobody"], "covariates": ["a"], "causes": [["b", "b"]]}
    message = refused(lambda: precedence_of(fields, ["a", "b"]))
    assert message.startswith("3 things are wrong:\n(1) 'a' is in covariates and in first")
    assert "(2) causes names 'b' together with itself" in message and "(3) knowledge names a" in message
    assert precedence_of({}, ["a"]) is None and precedence_of(Knowledge(), ["a"]) is None
    found = precedence_of({"first": ["a"]}, ["b", "a"])
    assert found is not None and found.stage.tolist() == [2, 1]


def test_a_table_of_covariates_alone_is_refused() -> None:
    assert "none is left" in refused(lambda: Knowledge(covariates=["a"]).precedence(["a"]))


HOSTILE = [
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "\x1b[31mred",
    "a,b:c<d",
    "n" * 10_000,
    "'\"\n",
    "",
]


def test_hostile_names_stay_harmless(tmp_path: Path) -> None:
    known = Knowledge(first=HOSTILE[:2], tiers=[HOSTILE[2:4], HOSTILE[4:]])
    assert known.precedence(HOSTILE).stage.tolist() == [1, 1, 2, 2, 3, 3, 3]
    known.to_json(tmp_path / "known.json")
    assert Knowledge.from_json(tmp_path / "known.json") == known
    for text in (
        known.in_words(),
        refused(lambda: known.precedence(["\x1b[2J"])),
        refused(lambda: Knowledge(causes=[(name, name) for name in HOSTILE])),
    ):
        assert len(text) < 2000 and "\x1b" not in text


def test_similar_names_are_looked_for_while_that_is_quick() -> None:
    names = [f"column {k}" for k in range(30)]
    few = refused(lambda: Knowledge(first=[f"colum {k}" for k in range(30)]).precedence(names))
    assert few.count("did you mean") == UNKNOWN_SAID
    long = "x" * knowledge.LONGEST_COMPARED
    assert "did you mean" in refused(lambda: Knowledge(first=[long]).precedence([long[:-1] + "y"]))
    assert "did you mean" not in refused(lambda: Knowledge(first=[long + "x"]).precedence([long + "y"]))


# --- JSON -----------------------------------------------------------------------------------------------

columns = st.lists(st.text(), unique=True, min_size=6, max_size=9)


@given(columns, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_json_comes_back_equal(names: list[str], random: Any) -> None:
    cut = random.randint(1, 4)
    known = Knowledge(
        first=names[:cut],
        tiers=[[names[-1]], names[cut : cut + 1]],
        causes=[(names[0], names[-2])],
        not_causes=[(names[-2], names[-1])],
    )
    text = known.to_json()
    assert Knowledge.from_json(text) == known
    assert json.loads(text) == known.to_dict()
    assert Knowledge.of(json.loads(text)) == known


def test_json_holds_half_characters(tmp_path: Path) -> None:
    known = Knowledge(first=["\ud800", "größe"])
    known.to_json(tmp_path / "known.json")
    assert Knowledge.from_json(tmp_path / "known.json") == known
    assert "größe" in Knowledge(first=["größe"]).to_json()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"frist": []}', "unknown key 'frist': the keys are first, tiers"),
        ('{"first": "age"}', "first must be a list, not a text"),
        ('{"first": 3}', "first must be a list, not a number"),
        ('{"first": null}', "first must be a list, not null"),
        ("[]", "this JSON is no object, as in"),
        ('{"patients": {"Smith": 1}}', "about something else: the keys are first, tiers"),
        ('{"first": [{"Smith": 1, "Smith": 2}]}', "a key is there more than once"),
        ('{"first": {"age": 1}}', "first must be a list"),
        ('{"causes": [["a"]]}', "causes takes pairs"),
        ('{"first": [1.5]}', "first names columns"),
        ('{"first": [], "first": ["a"]}', "the key 'first' is there more than once"),
        ('{"first": [}', "no JSON"),
        ('{"first": ' + "[" * 100_000, "this JSON is none"),
        ('{"first": [' + "9" * 10_000 + "]}", "this JSON is none"),
    ],
)
def test_json_that_is_none_is_refused(text: str, part: str, tmp_path: Path) -> None:
    assert part in refused(lambda: Knowledge.from_json(text))
    (tmp_path / "known.json").write_text(text, encoding="utf-8")
    for read in (Knowledge.from_json, fields_of_file):
        if read is fields_of_file and part in ("causes takes pairs", "first names columns"):
            continue
        message = refused(lambda read=read: read(tmp_path / "known.json"))
        assert part in message and message.count("known.json") == 1 and "Smith" not in message


def test_json_may_be_the_dict_itself() -> None:
    assert Knowledge.from_json(KNOWN.to_dict()) == KNOWN
    for wrong in (5, None, ["first"]):
        assert "the path of a file" in refused(lambda given=wrong: Knowledge.from_json(given))


def test_files_that_cannot_be_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for reader in (Knowledge.from_json, Knowledge.from_tetrad, fields_of_file):
        said = refused(lambda read=reader: read(tmp_path / "nowhere.json"))
        assert "there is no such file" in said and said.count("nowhere.json") == 1
        assert "it is a folder" in refused(lambda read=reader: read(tmp_path))
        for content, part in ((b"\xff\xfe{}", "no text in UTF-8"), (b"\xef\xbb\xbf \n", "holds nothing")):
            (tmp_path / "known").write_bytes(content)
            assert part in refused(lambda read=reader: read(tmp_path / "known"))
    for text in ("[1]", "null", '"age"', "3"):
        (tmp_path / "list.json").write_text(text, encoding="utf-8")
        for reader in (Knowledge.from_json, fields_of_file):
            assert "no object" in refused(lambda read=reader: read(tmp_path / "list.json"))
    monkeypatch.setattr("rootcausal.files.tables.MOST_BYTES", 1 << 3)
    assert "larger than" in refused(lambda: Knowledge.from_json(file_of_known(tmp_path)))
    assert "no folder' does not exist" in refused(
        lambda: KNOWN.to_json(tmp_path / "no folder" / "known.json")
    )


def test_a_wrong_file_is_never_quoted(tmp_path: Path) -> None:
    """It may hold patients."""
    patients = "id,name,age\n" + "".join(f"{k},Smith,{k}\n" for k in range(400))
    for text in (patients, patients.replace(",", " "), "Smith\n" * 9, '"Smith"\n1 Smith\n'):
        (tmp_path / "cohort.csv").write_text(text, encoding="utf-8")
        said = refused(lambda: fields_of_file(tmp_path / "cohort.csv"))
        assert "neither JSON" in said and "nor a knowledge file of Tetrad" in said
        for reader in (Knowledge.from_tetrad, Knowledge.from_json):
            said += refused(lambda read=reader: read(tmp_path / "cohort.csv"))
        assert "Smith" not in said and "\n" not in said
    for section in ("addtemporal", "forbiddirect", "requiredirect", ""):
        text = f"/knowledge\n{section}\n" + "Smith 7 8\n" * 400
        said = refused(lambda given=text: of_tetrad(tmp_path, given))
        assert "Smith" not in said and "\n" not in said and "lines 3, 4, 5 and 397 more: " in said


def file_of_known(folder: Path) -> Path:
    KNOWN.to_json(folder / "known.json")
    return folder / "known.json"


# --- lingam ---------------------------------------------------------------------------------------------


def as_lingam_makes_it(p: int, exogenous: Any = (), sinks: Any = (), paths: Any = (), none: Any = ()) -> Any:
    """What lingam's ``make_prior_knowledge`` makes: pairs are (cause, effect), cells [effect, cause]."""
    matrix = np.full((p, p), -1)
    for cause, effect in none:
        matrix[effect, cause] = 0
    for cause, effect in paths:
        matrix[effect, cause] = 1
    matrix[:, list(sinks)] = 0
    matrix[list(exogenous)] = 0
    np.fill_diagonal(matrix, -1)
    return matrix


def test_lingam_says_effect_then_cause() -> None:
    matrix = as_lingam_makes_it(3, paths=[(0, 2)], none=[(2, 1)])
    assert Knowledge.from_lingam(matrix, ["a", "b", "c"]) == Knowledge(
        causes=[("a", "c")], not_causes=[("c", "b")]
    )
    np.fill_diagonal(matrix, 7)
    assert Knowledge.from_lingam(matrix.tolist(), [0, 1, 2]).causes == (("x0", "x2"),)
    one = Knowledge.from_lingam(as_lingam_makes_it(4, exogenous=[1]), list("abcd")).precedence(list("abcd"))
    assert Opening(one).among(np.arange(4)).tolist() == [False, True, False, False]


def test_no_paths_that_go_round_are_not_used_and_named() -> None:
    matrix = as_lingam_makes_it(5, exogenous=[0, 2], sinks=[4], paths=[(0, 1)])
    with pytest.warns(UserWarning, match=r"not used: 'a' and 'c'; columns that nothing else causes"):
        known = Knowledge.from_lingam(matrix, list("abcde"))
    assert known.causes == (("a", "b"),)
    found = known.precedence(list("abcde"))
    assert Opening(found).among(np.arange(5)).tolist() == [True, False, True, False, False]
    assert Opening(found).among(np.array([3, 4])).tolist() == [True, False]


def test_a_circle_with_a_path_is_refused() -> None:
    matrix = as_lingam_makes_it(3, paths=[(0, 1), (1, 2)], none=[(0, 2)])
    message = refused(lambda: Knowledge.from_lingam(matrix, list("abc")))
    assert all(f"'{name}'" in message for name in "abc") and "circle" in message


@pytest.mark.parametrize(
    ("matrix", "names", "part"),
    [
        (np.zeros((2, 3)), "ab", "the matrix is 2 x 3"),
        (np.zeros((2, 2)), "abc", "there are 3 names"),
        (np.zeros((2, 2)), "aa", "names gives 2 names, of which 1 are different"),
        ([[-1, 0], [0]], "ab", "the matrix is none: it must be 2 x 2"),
        (3, "ab", "a number"),
        ([[-1, 2], [0, -1]], "ab", "the matrix holds '2' for the effect of 'b' on 'a'"),
        ([[-1, np.nan], [0, -1]], "ab", "'nan'"),
        ([[-1, "1"], [0, -1]], "ab", "may hold 1"),
    ],
)
def test_matrices_that_are_none_are_refused(matrix: Any, names: str, part: str) -> None:
    assert part in refused(lambda: Knowledge.from_lingam(matrix, list(names)))


# --- Tetrad ---------------------------------------------------------------------------------------------

TETRAD = """/knowledge
// made by hand
addtemporal

1 age\tsex
2
3 "body mass" bili
requiredirect
age bili
forbiddirect
bili "body mass"
"""


def of_tetrad(folder: Path, text: str) -> Knowledge:
    (folder / "known.txt").write_text(text, encoding="utf-8")
    return Knowledge.from_tetrad(folder / "known.txt")


def test_tetrad(tmp_path: Path) -> None:
    expected = Knowledge(
        tiers=[["age", "sex"], ["body mass", "bili"]],
        causes=[("age", "bili")],
        not_causes=[("bili", "body mass")],
    )
    assert of_tetrad(tmp_path, TETRAD) == expected
    assert of_tetrad(tmp_path, "\ufeff" + TETRAD.replace("\n", "\r\n")) == expected
    assert of_tetrad(tmp_path, "forbiddirect\na b\n") == Knowledge(not_causes=[("a", "b")])
    assert of_tetrad(tmp_path, "/knowledge\n") == Knowledge()
    # Tiers come by their numbers, wherever they stand, and may take several lines.
    by_number = of_tetrad(tmp_path, "addtemporal\n10 c\n9 b\n2 a\n9 d\n")
    assert by_number.tiers == (("a",), ("b", "d"), ("c",))


def test_comments_and_keywords_of_tetrad(tmp_path: Path) -> None:
    text = """# made by hand
  #without a blank
/KNOWLEDGE // of ours
ADDTEMPORAL # two tiers
1 age "#rbc" // and sex
2 bili#1 #wbc a//b # all others
ForbidDirect
"//x" y //
"""
    expected = Knowledge(tiers=[["age", "#rbc"], ["bili#1", "#wbc", "a//b"]], not_causes=[("//x", "y")])
    assert of_tetrad(tmp_path, text) == expected
    assert Knowledge.of(fields_of_file(tmp_path / "known.txt")) == expected


def test_what_tetrad_forbids_both_ways_is_not_used(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="not used: 'a' and 'b'") as caught:
        assert of_tetrad(tmp_path, "forbiddirect\na b\nb a\nb c\n") == Knowledge(not_causes=[("b", "c")])
    assert {warning.filename for warning in caught} == {__file__}


def test_what_no_order_can_hold_is_refused_by_line(tmp_path: Path) -> None:
    text = """/knowledge
addtemporal
1* a b
2 c
x d
forbiddirect
c d e
c
forbiddengroup
a b
c d
requiregroup
a b
/data
1 2 3
"""
    lines = refused(lambda: of_tetrad(tmp_path, text)).splitlines()
    assert lines[0].endswith("known.txt': 5 things are wrong:")
    for line, number in zip(lines[1:], ("3", "5", "s 7, 8", "s 9, 12", "14"), strict=True):
        assert f" line{number if number[0] == 's' else f' {number}'}: " in line
    assert "groups are not supported" in lines[4]
    message = refused(lambda: of_tetrad(tmp_path, "addtemporal\n1 a\n2 b\nforbiddirect\na b\n"))
    assert "line 5: a column of an earlier tier" in message and "'a' to cause 'b'" in message
    assert "line 2: a minus" in refused(lambda: of_tetrad(tmp_path, "addtemporal\n1- a\n2 b\n"))
    endless = f"addtemporal\n{'1' * 5000} a\n2 b\n"
    assert "line 2: a tier begins with its number" in refused(lambda: of_tetrad(tmp_path, endless))
    assert of_tetrad(tmp_path, "addtemporal\n1 a\n").tiers == (("a",),)
