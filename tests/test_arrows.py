"""Arrows of the graph: how often resamples have them; what was given, learned or unsure; where it shows."""

from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from command_line import ok
from level_cohort import VARIABLES, WARD, draw, fitted, frame_of, layout_of, learn_from
from page_facts import facts_of

from rootcausal import RCI, DirectLiNGAM, plots
from rootcausal.cli.console import words_of_model
from rootcausal.cli.fit import ARROWS_SHOWN, say_arrows
from rootcausal.data import simulate
from rootcausal.explaining.graph import Arrow, Graph, arrows_to_outcome, graph_of, graph_without_outcome
from rootcausal.method.ordering.precedence import Precedence
from rootcausal.plots.graph import arc_ends, draw_graph


def knowing(model: RCI, stage, pairs=()) -> RCI:
    """The same fit, with rules as its layout carries them."""
    layout = model._encoding.layout.knowing(Precedence.of(np.array(stage), pairs))
    told = copy(model)
    told.bootstrap_ = model.bootstrap_
    told._model = replace(model._model, layout=layout)
    return told


def by_order(model: RCI, *sizes: int) -> np.ndarray:
    """Stages from 1 that the learned order obeys, of so many variables each; others belong to the last."""
    stage = np.full(model._model.n_variables, len(sizes))
    ends = np.cumsum(sizes)
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False), start=1):
        stage[model.causal_order_[start:end]] = number
    return stage


@pytest.fixture(scope="module")
def with_levels() -> RCI:
    """Few patients, a nominal variable, and resamples that drop variables."""
    X, y = draw(150)
    model = RCI(alpha=0.2, backend="numpy").fit(frame_of(X), y).bootstrap(25)
    survival = model.bootstrap_.selection_frequency
    assert model._model.layout.grouped and ((survival > 0) & (survival < 1)).any()
    return model


@pytest.fixture(scope="module")
def resampled() -> RCI:
    cohort = simulate(300, 9, random_state=4)
    X = pd.DataFrame(cohort.X, columns=[f"lab{c}" for c in range(8)])
    return RCI(variant="plus", backend="numpy").fit(X, cohort.y).bootstrap(20)


def size_of(effects) -> float:
    return float(np.sqrt(sum(effect**2 for effect in np.ravel(effects))))


def test_frequencies_are_those_of_a_plain_loop(with_levels):
    resamples, p = with_levels.bootstrap_, len(VARIABLES)
    edges, outcome = np.zeros((p, p)), np.zeros(p)
    for model in resamples.models:
        owner = model.layout.variable[model.column_order]
        effects = model.mechanism.direct_effects()
        moved = model.mechanism.slopes() * model.mechanism.scale[:, None] @ model.attribution.unit_effects
        for i in range(p):
            outcome[i] += size_of(moved[owner == i]) >= 0.1
            for j in range(p):
                edges[i, j] += i != j and size_of(effects[owner == i][:, owner == j]) >= 0.1
    np.testing.assert_array_equal(resamples.edge_frequency, edges / 25)
    np.testing.assert_array_equal(resamples.outcome_frequency, outcome / 25)
    assert 0 < edges[:, WARD].max() < 25 and 0 < outcome.max() <= 25
    some = np.array([4, 2, 0])
    np.testing.assert_array_equal(resamples.edge_counts(some), edges[np.ix_(some, some)])
    np.testing.assert_array_equal(resamples.outcome_counts(some), outcome[some])


def test_wide_tables_need_no_square_of_all_variables(resampled):
    resamples = resampled.bootstrap_
    columns = np.arange(8) * 100_000
    wide = replace(resamples, models=tuple(m.on_columns(columns, 800_000) for m in resamples.models))
    np.testing.assert_array_equal(wide.edge_counts(columns), resamples.edge_counts(np.arange(8)))
    np.testing.assert_array_equal(wide.outcome_counts(columns), resamples.outcome_counts(np.arange(8)))


def test_the_effect_on_the_disease_holds_all_other_variables_fixed():
    X, y = draw()
    model = learn_from(X, y, layout_of(VARIABLES)).model
    sd = model.mechanism.scale
    gained = []
    for place, column in enumerate(model.column_order):
        moved = X.copy()
        moved[:, column] += sd[place]
        change = model.predictor(moved) - model.predictor(X)
        assert np.ptp(change) < 1e-9
        gained.append(change[0])
    owner = model.layout.variable[model.column_order]
    for variable, effect in zip(model.order, model.effects_on_outcome(), strict=True):
        expected = np.array(gained)[owner == variable]
        assert effect == pytest.approx(expected[0] if expected.size == 1 else size_of(expected))


def test_direct_effects_between_variables_are_those_of_a_plain_loop():
    X, y = draw()
    model = learn_from(X, y, layout_of(VARIABLES)).model
    effects, found = model.mechanism.direct_effects(), model.direct_effects()
    owner = model.layout.variable[model.column_order]
    for i, to in enumerate(model.order):
        for j, of in enumerate(model.order):
            block = effects[owner == to][:, owner == of]
            expected = 0.0 if i == j else block[0, 0] if block.size == 1 else size_of(block)
            assert found[i, j] == pytest.approx(expected)


def test_what_rules_decide():
    stage = [2, 1, 2, 0, 2, 3]
    rules = Precedence.of(np.array(stage), [(0, 2), (2, 4)])
    some = np.array([4, 5, 0, 1, 3])
    pairs = {(0, 2), (2, 4), (0, 4)}
    for i, later in enumerate(some):
        for j, earlier in enumerate(some):
            expected = stage[earlier] < stage[later] or (int(earlier), int(later)) in pairs
            assert rules.known(some)[i, j] == expected


@pytest.mark.parametrize(
    ("arrow", "state", "said"),
    [
        (Arrow(0, 1, 0.3), "learned", "learned"),
        (Arrow(0, 1, 0.3, given=True), "given", "given"),
        (Arrow(0, 1, 0.3, False, 200, 0, 200), "learned", "in 200 of 200 resamples"),
        (Arrow(0, 1, 0.3, False, 160, 0, 200), "learned", "in 160 of 200 resamples, absent in 40"),
        (
            Arrow(0, 1, 0.3, False, 159, 41, 200),
            "unsure",
            "in 159 of 200 resamples, turned round in 41: unsure",
        ),
        (
            Arrow(0, 1, 0.3, False, 143, 30, 200),
            "unsure",
            "in 143 of 200 resamples, turned round in 30, absent in 27: unsure",
        ),
        (Arrow(0, 1, 0.3, True, 90, 0, 200), "given", "given; there in 90 of 200 resamples, absent in 110"),
        (Arrow(0, 1, 0.3, True, 200, 0, 200), "given", "given; there in 200 of 200 resamples"),
    ],
)
def test_given_learned_and_unsure(arrow, state, said):
    assert (arrow.state, arrow.said) == (state, said)


def test_the_graph_knows_what_resamples_and_rules_say(resampled):
    model = knowing(resampled, by_order(resampled, 2, 3, 3), [tuple(resampled.causal_order_[[5, 6]])])
    resamples, rules = model.bootstrap_, model._model.layout.precedence
    shown = np.array([0, 2, 3, 5, 6, 7])
    graph = graph_of(model._model, shown, resamples)
    frequency, on_outcome = resamples.edge_frequency, resamples.outcome_frequency
    for arrow in graph.edges:
        cause, effect = graph.variables[arrow.cause], graph.variables[arrow.effect]
        assert arrow.times == pytest.approx(20 * frequency[effect, cause])
        assert arrow.turned == pytest.approx(20 * frequency[cause, effect])
        by_pair = (cause, effect) == tuple(model.causal_order_[[5, 6]])
        assert arrow.given == (rules.stage[cause] < rules.stage[effect] or by_pair)
        assert (arrow.state == "unsure") == (not arrow.given and arrow.times < 16)
    assert {arrow.state for arrow in graph.edges} >= {"given"}
    strong = np.abs(model._model.effects_on_outcome()[shown]) >= 0.1
    assert sorted(arrow.cause for arrow in graph.into_outcome) == np.flatnonzero(strong).tolist()
    for arrow in graph.into_outcome:
        assert arrow.effect == shown.size and not arrow.given and arrow.turned == 0
        assert arrow.times == pytest.approx(20 * on_outcome[graph.variables[arrow.cause]])
    assert [(band.name, band.first, band.last) for band in graph.bands] == [
        ("first", 0, 0),
        ("tier 1", 1, 2),
        ("tier 2", 3, 5),
    ]


def test_tiers_have_names_where_there_are_several():
    edges, order = np.zeros((3, 3)), np.arange(3)

    def names(*stage):
        return [
            band.name for band in graph_without_outcome(order, edges, Precedence.of(np.array(stage))).bands
        ]

    assert names(1, 2, 2) == ["first", "all others"]
    assert names(2, 2, 3) == ["tier 1", "tier 2"]
    assert names(1, 2, 4) == ["first", "tier 1", "tier 3"]
    assert names(2, 2, 2) == []
    nothing = graph_without_outcome(order[:0], edges[:0, :0], Precedence.of(np.array([2, 2, 3])))
    assert nothing.bands == []
    assert graph_without_outcome(order, edges, None).bands == []
    rules = Precedence.of(np.array([0, 2, 2]))
    graph = graph_without_outcome(order[1:], edges[1:, 1:], rules)
    assert (graph.bands, graph.covariates, graph.known) == ([], [], True)


def test_a_page_with_tiers_and_no_variable(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    model = RCI(alpha=1e-9, knowledge={"tiers": [["a", "b"], ["c", "d"]]})
    with pytest.warns(UserWarning, match="the outcome depends on no variable"):
        model.fit(X, np.arange(60) % 2)
    model.report(X, tmp_path / "page.html")
    assert model.causal_order_.size == 0 and (tmp_path / "page.html").exists()


def test_the_figure_says_what_was_given_and_what_is_unsure(resampled, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    model = knowing(resampled, by_order(resampled, 2, 6))
    graph = graph_of(model._model, np.arange(8), model.bootstrap_)
    states = [arrow.state for arrow in graph.arrows]
    ax = plots.graph(model)
    texts = [text.get_text() for text in ax.texts]
    assert texts[-1] == "the disease" and {"first", "all others"} <= set(texts)
    assert sum(text.startswith("■") for text in texts) == states.count("given") > 0
    assert sum(text.startswith("?") for text in texts) == states.count("unsure") > 0
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "direction given, not learned" in legend and "unsure: in under 80% of 20 resamples" in legend
    ax.figure.savefig(tmp_path / "graph.svg")
    few = plots.graph(model, top=3)
    shares = [text.get_text().split()[-1] for text in few.texts if text.get_text().endswith("%")]
    drawn = graph_of(model._model, np.sort(np.argsort(-model._model.importance())[:3]), model.bootstrap_)
    assert shares == [f"{100 * arrow.times // 20}%" for arrow in drawn.arrows]


def test_the_figure_rounds_no_share_up():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    arrows = [
        Arrow(0, 1, 0.5, times=159, resamples=200),
        Arrow(0, 2, 0.5, times=160, resamples=200),
        Arrow(1, 2, 0.5, times=199, resamples=200),
    ]
    ax = matplotlib.figure.Figure().subplots()
    draw_graph(ax, Graph(np.arange(3), arrows, None, [], [], False, 200), list("abc"), set(), [])
    assert [text.get_text() for text in ax.texts][:3] == ["? 79%", "80%", "99%"]


def test_arcs_of_one_node_lie_beside_each_other():
    """The longest outermost, whatever the order in which arrows come."""
    pairs = [(0, 1), (0, 3), (2, 3), (0, 2), (1, 3), (1, 2)]
    found = arc_ends([Arrow(cause, effect, 0.5) for cause, effect in pairs])
    starts, ends = (dict(zip(pairs, places, strict=True)) for places in found)
    assert 0 < starts[0, 3] < starts[0, 2] < starts[0, 1] < 0.5
    assert 3 > ends[0, 3] > ends[1, 3] > ends[2, 3] > 2.5
    many = arc_ends([Arrow(0, effect, 0.5) for effect in range(1, 40)])[0]
    assert len(set(many)) == 39 and max(many) < 0.5  # nearer to their own node than to the next


def test_the_figure_names_what_was_adjusted_for():
    pytest.importorskip("matplotlib").use("Agg")
    cohort = simulate(300, 7, random_state=4)

    def title(names: list[str], **known: list[str]) -> str:
        X = pd.DataFrame(cohort.X, columns=names)
        model = RCI(backend="numpy", knowledge=known).fit(X, cohort.y)
        return plots.graph(model).get_legend().get_title().get_text()

    letters = list("abcde$")
    assert title(letters) == title(letters, first=["a"]) == ""
    assert title(letters, covariates=["$"]) == r"adjusted for: \$"
    long = [letter * 30 for letter in "abcdef"]
    assert title(long, covariates=long[:5]) == "adjusted for: 5 covariates"


def test_without_a_disease_covariates_are_nodes_and_nothing_is_adjusted_for():
    pytest.importorskip("matplotlib").use("Agg")
    X = pd.DataFrame(simulate(300, 7, random_state=4).X, columns=list("abcdef"))
    ax = plots.graph(DirectLiNGAM(backend="numpy", knowledge={"covariates": ["f"]}).fit(X))
    assert ax.get_legend().get_title().get_text() == ""
    drawn = {text.get_text() for text in ax.texts}
    assert "f" in drawn and "the disease" not in drawn


def test_the_page_knows_tiers_outcome_and_how_sure(resampled, tmp_path):
    stage = by_order(resampled, 2, 3, 3)
    model = knowing(resampled, stage)
    X = pd.DataFrame(simulate(300, 9, random_state=4).X, columns=model.feature_names_in_)
    model.report(X, tmp_path / "page.html")
    facts = facts_of(tmp_path / "page.html")["graph"]
    graph = graph_of(model._model, np.array(facts["shown"]), model.bootstrap_)
    assert [arrow["said"] for arrow in facts["edges"]] == [arrow.said for arrow in graph.edges]
    assert [arrow["state"] for arrow in facts["into_outcome"]] == [a.state for a in graph.into_outcome]
    assert facts["tiers"][1] == {"name": "tier 1", "first": 2, "last": 4}
    assert facts["known"] and facts["covariates"] == []
    name = model.feature_names_in_[model.causal_order_[-1]]
    adjusting = RCI(variant="plus", backend="numpy", mechanism="linear", knowledge={"covariates": [name]})
    adjusting.fit(X, simulate(300, 9, random_state=4).y).report(X, tmp_path / "page.html")
    assert facts_of(tmp_path / "page.html")["graph"]["covariates"] == [name]


def test_saved_models_have_the_same_graph(with_levels, tmp_path):
    with_levels.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    one, other = with_levels.bootstrap_, loaded.bootstrap_
    np.testing.assert_array_equal(one.edge_frequency, other.edge_frequency)
    np.testing.assert_array_equal(one.outcome_frequency, other.outcome_frequency)
    shown = np.arange(with_levels.causal_order_.size)
    before, after = graph_of(with_levels._model, shown, one), graph_of(loaded._model, shown, other)
    assert before.arrows == after.arrows and before.bands == after.bands == []


def test_fit_prints_arrows_where_resamples_say_how_sure(cohort, capsys):
    out = cohort.with_name("m.rci")
    of_arrows = "direct effects of one standard deviation (SD) of the cause"
    assert of_arrows not in ok("fit", cohort, "--target", "d", "--id", "patient", "--out", out)
    printed = ok("fit", cohort, "--target", "d", "--id", "patient", "--bootstrap", 10, "--out", out)
    assert of_arrows in printed
    model = RCI.load(out)
    graph = graph_of(model._model, np.arange(model.causal_order_.size), model.bootstrap_)
    names = [*(model.feature_names_in_[k] for k in graph.variables), "disease"]
    for arrows in (graph.edges, graph.into_outcome):
        for arrow in arrows[:ARROWS_SHOWN]:
            line = next(
                x for x in printed.splitlines() if f"{names[arrow.cause]} -> {names[arrow.effect]} " in x
            )
            assert line.endswith(arrow.said) and f"{arrow.weight:+.2f}" in line


def test_fit_prints_what_was_given_and_no_sign_of_levels(capsys):
    model = fitted()
    say_arrows(model, words_of_model(model))
    assert capsys.readouterr().out == ""
    stage = by_order(model, 2, 4)
    stage[WARD] = 2
    say_arrows(knowing(model, stage), words_of_model(model))
    lines = capsys.readouterr().out.splitlines()
    assert any(line.endswith("given") for line in lines) and any(line.endswith("learned") for line in lines)
    ward = [line for line in lines if "ward -> " in line]
    assert ward and all("+" not in line and "  -" not in line for line in ward)


def without_effects(model: RCI) -> RCI:
    """A model of the same order in which nothing moves anything else."""
    causal = model._model
    alone, k = np.eye(causal.column_order.size), causal.column_order.size
    halves = (
        replace(causal.mechanism, mixing=alone, unmixing=alone),
        replace(causal.attribution, coef=np.full(k, 0.01)),
    )
    told = copy(model)
    told.bootstrap_ = model.bootstrap_
    told._model = replace(causal, mechanism=halves[0], attribution=halves[1])
    return told


def test_no_heading_without_arrows(resampled, capsys):
    say_arrows(without_effects(resampled), words_of_model(resampled))
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("no direct effect is strong enough to show") and "0.1 log-odds" in line
    pytest.importorskip("matplotlib").use("Agg")
    legend = plots.graph(without_effects(resampled)).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["no direct effect is strong enough to draw"]


def test_fit_tells_direct_from_total_effects_and_what_absent_means(resampled, capsys):
    say_arrows(resampled, words_of_model(resampled))
    lines = capsys.readouterr().out.splitlines()
    assert "direct effects" in lines[0] and "total effects" in lines[-1]
    graph = graph_of(resampled._model, np.arange(8), resampled.bootstrap_)
    shown = [*graph.into_outcome[:ARROWS_SHOWN], *graph.edges[:ARROWS_SHOWN]]
    assert any(arrow.absent for arrow in shown)
    assert "absent: weaker than 0.1, or one of the two was dropped" in lines
    for arrow in shown:
        assert arrow.times + arrow.turned + arrow.absent == 20
    assert all("turned" not in arrow.said for arrow in graph.into_outcome)


def test_fit_says_how_many_arrows_it_does_not_print(resampled, capsys):
    say_arrows(resampled, words_of_model(resampled))
    n_edges = len(graph_of(resampled._model, np.arange(8)).edges)
    assert f"  and {n_edges - ARROWS_SHOWN} weaker ones" in capsys.readouterr().out.splitlines()


def test_hostile_names_stay_one_short_line(capsys):
    X, y = draw(200)
    names = ["\x1b[2Jage\n", "b" * 10_000, "c", "d", "e", "f", "g"]
    model = RCI(variant="plus", backend="numpy").fit(pd.DataFrame(X, columns=names), y).bootstrap(2)
    say_arrows(model, words_of_model(model))
    printed = capsys.readouterr().out
    assert "\x1b" not in printed and max(map(len, printed.splitlines())) < 200


def test_arrows_into_the_disease_come_strongest_first_whatever_their_sign() -> None:
    found = arrows_to_outcome(np.array([4, 7, 9, 2]), np.array([0.2, -0.9, 0.5, -0.05]), None, 0.1)
    assert [(arrow.cause, arrow.effect, arrow.weight) for arrow in found] == [
        (1, 4, -0.9),
        (2, 4, 0.5),
        (0, 4, 0.2),
    ]
