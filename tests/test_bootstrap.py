"""Intervals: seeded, the same on any number of jobs, resumable, and never a way out for patients' rows."""

import pickle
import tracemalloc
import zipfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tampering import archive_of, members_of, with_array, with_header

from rootcausal import RCI
from rootcausal.data import simulate
from rootcausal.errors import InputError
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.method.pipeline import ATTRIBUTIONS, Settings
from rootcausal.outcomes.binary import Binary
from rootcausal.resampling import bootstrap as bootstrap_module
from rootcausal.resampling.intervals import interval, ranks, spread_of_values
from rootcausal.resampling.training_rows import TrainingRows


@pytest.fixture(scope="module")
def cohort():
    return simulate(300, 6, random_state=7)


@pytest.fixture(scope="module")
def frame(cohort):
    return pd.DataFrame(cohort.X, columns=cohort.feature_names)


@pytest.fixture(scope="module")
def model(cohort, frame):
    return RCI().fit(frame, cohort.y).bootstrap(40, random_state=5)


def same(a, b) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for x, y in zip(a.models, b.models, strict=True)
        for one, other in ((x.mechanism, y.mechanism), (x.attribution, y.attribution))
        for name in one.ARRAYS
    )


def test_jobs_do_not_change_the_numbers(cohort, frame, model, monkeypatch):
    monkeypatch.setattr(bootstrap_module, "TO_START", 0.0)  # workers are worth it whatever is left
    two = RCI().fit(frame, cohort.y).bootstrap(40, random_state=5, n_jobs=2)
    assert same(model.bootstrap_, two.bootstrap_)


def test_a_longer_run_begins_with_the_shorter_one(cohort, frame, model):
    short = RCI().fit(frame, cohort.y).bootstrap(10, random_state=5)
    assert all(
        np.array_equal(a.attribution.coef, b.attribution.coef)
        for a, b in zip(short.bootstrap_.models, model.bootstrap_.models[:10], strict=True)
    )
    other = RCI().fit(frame, cohort.y).bootstrap(10, random_state=6)
    assert not same(short.bootstrap_, other.bootstrap_)


def test_explanation_carries_the_spread(frame, model):
    explanation = model.explain(frame)
    draws = np.stack([m.shapley(frame.to_numpy()) for m in model.bootstrap_.models])
    lower, upper = np.quantile(draws, [0.025, 0.975], axis=0)
    assert explanation.lower == pytest.approx(np.minimum(lower, model.shapley_values(frame)))
    assert explanation.upper == pytest.approx(np.maximum(upper, model.shapley_values(frame)))
    assert explanation.frequency == pytest.approx((draws > 0).mean(axis=0))
    stated = ranks(model.shapley_values(frame))
    higher = np.stack([(draw > 0) & (ranks(draw) <= stated) for draw in draws])
    assert explanation.rank_stability == pytest.approx(higher.mean(axis=0))


def test_a_dropped_variable_has_no_rank():
    cohort = simulate(200, 20, random_state=3)
    explanation = RCI(attribution="paper").fit(cohort.X, cohort.y).bootstrap(30).explain(cohort.X)
    stated = explanation.values > 0
    assert (explanation.rank_stability <= explanation.frequency)[stated].all()


class Drawn:
    """A resample of which only its Shapley values are known; as in a real one, dropped columns are zero."""

    def __init__(self, values):
        self.values = values
        self.order = np.flatnonzero(values.any(axis=0))

    def shapley(self, X):
        return self.values[X[:, 0].astype(int)]


# Few different numbers, so that ties and zeros are common.
shocks = arrays(float, (3, 4), elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0]))


def before(values, column):
    """How many columns rank before one: larger values, and equal ones further left."""
    return (values[:column] >= values[column]).sum() + (values[column:] > values[column]).sum()


@settings(deadline=None)  # the first call compiles
@given(shocks, st.lists(shocks, min_size=2, max_size=5))
def test_ranks_are_stable_where_the_variable_is_a_root_cause_of_that_rank(stated, draws):
    X = np.arange(3.0)[:, None]
    spread = spread_of_values([Drawn(draw) for draw in draws], X, stated)
    assert (spread.rank_stability <= spread.frequency).all()
    for row, column in np.ndindex(stated.shape):
        stated_place, *places = (before(values[row], column) for values in (stated, *draws))
        causes = [draw[row, column] > 0 for draw in draws]
        held = [cause and place <= stated_place for cause, place in zip(causes, places, strict=True)]
        assert spread.rank_stability[row, column] == pytest.approx(np.mean(held))


def test_blocks_of_patients_do_not_change_the_spread(frame, model, monkeypatch):
    whole = model.explain(frame)
    monkeypatch.setattr("rootcausal.resampling.intervals.VALUES_A_BLOCK", 40 * 5 * 7)
    pieces = model.explain(frame)
    for name in ("lower", "upper", "frequency", "rank_stability"):
        assert np.array_equal(getattr(whole, name), getattr(pieces, name))


def test_blocks_of_patients_do_not_change_what_if(frame, model, monkeypatch):
    explanation = model.explain(frame)
    column = int(model.causal_order_[0])
    draws = [m.with_shock(frame.to_numpy(), column, 1.5) for m in model.bootstrap_.models]
    monkeypatch.setattr("rootcausal.resampling.intervals.VALUES_A_BLOCK", 40 * 5 * 7)
    answer = explanation.what_if(column, error=1.5)
    expected = interval(np.stack([log_odds for log_odds, _ in draws]))
    assert answer.log_odds_interval == pytest.approx(expected, rel=1e-12, abs=1e-12)
    expected = interval(np.stack([data for _, data in draws]))
    assert answer.data_interval == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_what_if_holds_a_block_of_draws_and_its_answer(frame, model, monkeypatch):
    many = model.explain(pd.concat([frame] * 20))
    block = 20_000
    monkeypatch.setattr("rootcausal.resampling.intervals.VALUES_A_BLOCK", block)
    tracemalloc.start()
    answer = many.what_if("x0")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = sum(array.nbytes for array in vars(answer).values() if isinstance(array, np.ndarray))
    # A block of draws, and what one model at a time says of it; the stated answer needs errors.
    assert peak < held + 2 * block * 8 + 4 * many.data.nbytes


def test_without_a_bootstrap_nothing_is_claimed(cohort, frame):
    explanation = RCI().fit(frame, cohort.y).explain(frame)
    assert explanation.lower is explanation.upper is explanation.frequency is None
    assert explanation.rank_stability is None
    assert "lower" not in explanation.to_frame().columns
    assert all(cause.lower is None for causes in explanation.root_causes() for cause in causes)
    assert explanation.what_if("x0").probability_interval is None


@pytest.mark.filterwarnings("ignore")  # shap and what it imports are not ours
def test_frame_root_causes_and_shap_agree(frame, model):
    explanation = model.explain(frame)
    table = explanation.to_frame()
    assert list(table.columns[-4:]) == ["lower", "upper", "frequency", "rank_stability"]
    assert (table.lower <= table.shapley).all() and (table.shapley <= table.upper).all()
    assert table.frequency.to_numpy().reshape(frame.shape) == pytest.approx(explanation.frequency)
    row = next(k for k, causes in enumerate(explanation.root_causes()) if causes)
    cause = explanation.root_causes()[row][0]
    column = frame.columns.get_loc(cause.variable)
    assert (cause.lower, cause.upper) == (explanation.lower[row, column], explanation.upper[row, column])
    shap = explanation.to_shap()
    assert np.array_equal(shap.lower_bounds, explanation.lower)
    assert np.array_equal(shap.upper_bounds, explanation.upper)


def test_what_if_has_intervals(frame, model):
    explanation = model.explain(frame)
    variable = explanation.feature_names[model.causal_order_[0]]
    answer = explanation.what_if(variable, error=0.0)
    low, high = answer.probability_interval
    assert ((low <= answer.probability) & (answer.probability <= high)).all()
    assert answer.data_interval.shape == (2, *frame.shape)
    # Without the shock, its own share of the log-odds is gone and nothing else.
    column = frame.columns.get_loc(variable)
    assert answer.log_odds == pytest.approx(explanation.log_odds - model.shapley_values(frame)[:, column])


def test_interval_is_that_of_the_draws():
    draws = np.linspace(1.0, 2.0, 101)[:, None]
    assert interval(draws).ravel() == pytest.approx([1.025, 1.975])


def test_variables_survival_and_places(model):
    resamples = model.bootstrap_
    assert len(resamples) == 40
    expected = np.mean([[c in m.order for c in range(5)] for m in resamples.models], axis=0)
    assert resamples.selection_frequency == pytest.approx(expected)
    low, middle, high = resamples.place_quantiles(0.025, 0.5, 0.975)
    seen = resamples.selection_frequency > 0
    assert ((low <= middle) & (middle <= high))[seen].all()
    assert np.isnan(middle[~seen]).all()


def test_saved_with_the_model(tmp_path, frame, model):
    model.save(tmp_path / "model.rci")
    again = RCI.load(tmp_path / "model.rci")
    assert again.bootstrap_.random_state == 5
    assert again.provenance_["bootstrap"] == {"resamples": 40, "random_state": 5, "unsettled": 0}
    assert np.array_equal(again.explain(frame).lower, model.explain(frame).lower)
    with pytest.raises(InputError, match="fit it in memory before bootstrap"):
        again.bootstrap(10)


def test_damaged_resamples_are_refused(tmp_path, model):
    model.save(tmp_path / "model.rci")
    members = members_of((tmp_path / "model.rci").read_bytes())
    del members["bootstrap_attribution_coef.npy"]
    (tmp_path / "bad.rci").write_bytes(archive_of(members))
    with pytest.raises(InputError, match=r"damaged \(it lacks 'bootstrap_attribution_coef'\)"):
        RCI.load(tmp_path / "bad.rci")


def test_patients_do_not_travel_with_the_model(tmp_path, cohort, frame):
    marked = frame.copy()
    marked.iloc[0, 0] = 12345.678901234
    model = RCI(alpha=0.2).fit(marked, cohort.y)
    needle = np.float64(12345.678901234).tobytes()
    assert needle not in pickle.dumps(model)
    with pytest.raises(InputError, match="no cohort at hand"):
        pickle.loads(pickle.dumps(model)).bootstrap(5)
    model.bootstrap(5, resume=tmp_path / "boot.npz").save(tmp_path / "model.rci")
    for file in ("boot.npz", "model.rci"):
        with zipfile.ZipFile(tmp_path / file) as archive:
            assert all(needle not in archive.read(name) for name in archive.namelist())


def test_interrupted_work_goes_on(tmp_path, cohort, frame, model, monkeypatch):
    boot = tmp_path / "boot.npz"
    calls: list[int] = []
    learn = bootstrap_module.resample

    def interrupted(cohort, random_state, number, alone):
        calls.append(number)
        if len(calls) == 16:
            raise KeyboardInterrupt
        return learn(cohort, random_state, number, alone)

    monkeypatch.setattr(bootstrap_module, "resample", interrupted)
    fitted = RCI().fit(frame, cohort.y)
    with pytest.raises(KeyboardInterrupt):
        fitted.bootstrap(40, random_state=5, resume=boot)
    assert fitted.bootstrap_ is None
    resumed = fitted.bootstrap(40, random_state=5, resume=boot)
    assert calls == [*range(16), *range(15, 40)]
    assert same(resumed.bootstrap_, model.bootstrap_)


def test_resamples_of_something_else_are_refused(tmp_path, cohort, frame):
    boot = tmp_path / "boot.npz"
    RCI().fit(frame, cohort.y).bootstrap(3, resume=boot)
    before = boot.read_bytes()
    for other, seed in ((RCI(alpha=0.1), 0), (RCI(attribution="paper"), 0), (RCI(), 1)):
        with pytest.raises(
            InputError, match="another cohort, other options, other knowledge of the order or another seed"
        ):
            other.fit(frame, cohort.y).bootstrap(3, random_state=seed, resume=boot)
    assert boot.read_bytes() == before
    boot.write_bytes(before[:200])
    with pytest.raises(InputError, match="not a file of finished resamples, or it is damaged"):
        RCI().fit(frame, cohort.y).bootstrap(3, resume=boot)


def test_resamples_of_other_rows_are_refused(tmp_path, cohort):
    boot, X, y = tmp_path / "boot.npz", cohort.X, cohort.y
    RCI().fit(X, y).bootstrap(2, resume=boot)
    other_X, other_y = X.copy(), y.copy()
    other_X[17, 1] = np.nextafter(X[17, 1], np.inf)
    other_y[[np.argmin(y), np.argmax(y)]] = 1, 0
    for rows, labels in ((other_X, y), (X, other_y)):
        with pytest.raises(
            InputError, match="another cohort, other options, other knowledge of the order or another seed"
        ):
            RCI().fit(rows, labels).bootstrap(2, resume=boot)


def test_asking_for_fewer_keeps_all_that_are_finished(tmp_path, cohort, frame, model, monkeypatch):
    boot = tmp_path / "boot.npz"
    fitted = RCI().fit(frame, cohort.y)
    fitted.bootstrap(20, random_state=5, resume=boot)
    before = boot.read_bytes()
    assert len(fitted.bootstrap(5, random_state=5, resume=boot).bootstrap_) == 5
    assert boot.read_bytes() == before
    monkeypatch.setattr(bootstrap_module, "resample", lambda *_: pytest.fail("learned again"))
    again = fitted.bootstrap(20, random_state=5, resume=boot).bootstrap_
    assert same(again, bootstrap_module.Bootstrap(model.bootstrap_.models[:20], 5))


def test_resamples_of_another_version_are_refused(tmp_path, cohort, frame, monkeypatch):
    boot = tmp_path / "boot.npz"
    fitted = RCI().fit(frame, cohort.y).bootstrap(3, resume=boot)
    before = boot.read_bytes()
    monkeypatch.setattr(bootstrap_module, "__version__", "99.0")
    with pytest.raises(InputError, match=r"made by rootcausal .*, and this is 99.0, .*: choose another file"):
        fitted.bootstrap(4, resume=boot)
    assert boot.read_bytes() == before


def test_the_fingerprint_is_pinned():
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1] * 3, dtype=np.int64)
    settings = Settings(VARIANTS["local_plus"], 0.2, ATTRIBUTIONS["sharp"])
    assert (
        TrainingRows(X, y, settings, "auto").fingerprint(7)
        == "2af6a00bce5dbcd2b14473a3b658487ddea004a4968d3e4f89de9c29a18bf675"
    )


def test_a_drawn_seed_is_named_and_saved(tmp_path, cohort, frame):
    model = RCI().fit(frame, cohort.y).bootstrap(3, random_state=None, resume=tmp_path / "boot.npz")
    seed = model.provenance_["bootstrap"]["random_state"]
    assert type(seed) is int and seed == model.bootstrap_.random_state
    model.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    assert loaded.provenance_ == model.provenance_ and loaded.bootstrap_.random_state == seed
    # None goes on with what is there, and the seed gives the same numbers again.
    longer = RCI().fit(frame, cohort.y).bootstrap(5, random_state=None, resume=tmp_path / "boot.npz")
    assert same(longer.bootstrap_, RCI().fit(frame, cohort.y).bootstrap(5, random_state=seed).bootstrap_)
    other = RCI().fit(frame, cohort.y).bootstrap(3, random_state=None)
    assert other.bootstrap_.random_state != seed


def test_numpy_scalars_resume_what_plain_numbers_began(tmp_path, cohort, frame):
    boot = tmp_path / "boot.npz"
    RCI(variant="plus", alpha=1).fit(frame, cohort.y).bootstrap(3, random_state=2, resume=boot)
    model = RCI(variant=np.str_("plus"), alpha=np.float64(1)).fit(frame, cohort.y)
    assert len(model.bootstrap(3, random_state=np.int64(2), resume=boot).bootstrap_) == 3


@pytest.mark.parametrize("seed", [-1, 2.5, "three", np.random.RandomState(0)])
def test_seeds_are_checked(cohort, frame, seed):
    with pytest.raises(InputError, match="random_state must be a whole number"):
        RCI().fit(frame, cohort.y).bootstrap(3, random_state=seed)


def put(value):
    def change(array):
        array[0] = value

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("attribution_coef", put(np.nan)),
        ("mechanism_mean", put(np.inf)),
        ("mechanism_sd", put(0.0)),
        ("mechanism_mixing", put(-1.0)),
        ("mechanism_mixing", put(0.0)),
        ("mechanism_mixing", put(1e-7)),
        ("mechanism_mixing", put(50.0)),
        ("mechanism_mixing", put(np.nan)),
        ("mechanism_order", lambda order: np.zeros_like(order)),
        ("mechanism_order", put(5)),
        ("sizes", put(2**62)),
        ("sizes", lambda sizes: np.zeros(20_000, dtype=int)),
        ("attribution_intercept", put(np.nan)),
        ("attribution_intercept", lambda intercept: np.append(intercept, 0.0)),
        ("attribution_coef", lambda coef: np.append(coef, 0.0)),
        ("attribution_coef", lambda coef: coef[None]),
        ("attribution_coef", lambda coef: coef.astype(int)),
    ],
)
def test_resamples_that_nobody_learned_are_refused(tmp_path, cohort, frame, name, change):
    boot = tmp_path / "boot.npz"
    fitted = RCI(alpha=1.0).fit(frame, cohort.y).bootstrap(2, resume=boot)
    fitted.save(tmp_path / "model.rci")
    with pytest.raises(InputError, match="damaged"):
        fitted.bootstrap(2, resume=with_array(boot, f"bootstrap_{name}", change))
    with pytest.raises(InputError, match="damaged"):
        RCI.load(with_array(tmp_path / "model.rci", f"bootstrap_{name}", change))


def test_resamples_of_a_table_with_another_number_of_columns_are_refused(tmp_path, cohort, frame):
    boot, saved = tmp_path / "boot.npz", tmp_path / "model.rci"
    fitted = RCI(alpha=1.0).fit(frame, cohort.y).bootstrap(2, resume=boot)
    fitted.save(saved)
    for file in (boot, saved):
        with_header(file, lambda header: header | {"n_columns": header["n_columns"] + 1})
    with pytest.raises(InputError, match="resamples of another cohort"):
        fitted.bootstrap(2, resume=boot)
    with pytest.raises(InputError, match="its variables and its columns differ in number"):
        RCI.load(saved)


def test_resamples_of_another_file_version_are_refused_by_a_sentence(tmp_path, cohort, frame):
    boot = tmp_path / "boot.npz"
    fitted = RCI(alpha=1.0).fit(frame, cohort.y).bootstrap(2, resume=boot)
    with_header(boot, lambda header: header | {"version": 3})
    with pytest.raises(InputError, match=r"is a file of finished resamples of version 3, .* reads version 1"):
        fitted.bootstrap(2, resume=boot)


@pytest.mark.parametrize(
    "about", [None, {"random_state": "x"}, {"random_state": -1}, {"random_state": 0, "unsettled": 3}]
)
def test_a_model_file_says_where_its_resamples_come_from(tmp_path, cohort, frame, about):
    RCI(alpha=1.0).fit(frame, cohort.y).bootstrap(2).save(tmp_path / "model.rci")
    with pytest.raises(InputError, match="damaged"):
        RCI.load(with_header(tmp_path / "model.rci", lambda header: header | {"bootstrap": about}))


@pytest.mark.parametrize(
    "change",
    [{"random_state": "x"}, {"unsettled": [2]}, {"unsettled": 1}, {"fingerprint": 5}, {"rootcausal": 5}],
)
def test_a_resume_file_says_what_it_was_made_from(tmp_path, cohort, frame, change):
    fitted = RCI(alpha=1.0).fit(frame, cohort.y).bootstrap(2, resume=tmp_path / "boot.npz")
    with pytest.raises(InputError, match="damaged"):
        fitted.bootstrap(2, resume=with_header(tmp_path / "boot.npz", lambda header: header | change))


def test_resamples_that_did_not_settle_are_counted_among_those_taken(tmp_path, cohort, frame, monkeypatch):
    learn = bootstrap_module.resample

    def second_does_not(cohort, random_state, number, alone):
        return learn(cohort, random_state, number, alone)._replace(converged=number not in (1, 3))

    monkeypatch.setattr(bootstrap_module, "resample", second_does_not)
    fitted = RCI().fit(frame, cohort.y)
    for n, unsettled in ((4, 2), (3, 1), (5, 2)):
        with pytest.warns(UserWarning, match=f"did not converge in {unsettled} of {n} resamples"):
            fitted.bootstrap(n, resume=tmp_path / "boot.npz")
        assert fitted.provenance_["bootstrap"]["unsettled"] == unsettled


def test_pickles_are_not_loaded(tmp_path, cohort, frame):
    np.savez(tmp_path / "boot.npz", bootstrap_coef=np.array([Path], dtype=object))
    with pytest.raises(InputError, match="not a file of finished resamples"):
        RCI().fit(frame, cohort.y).bootstrap(3, resume=tmp_path / "boot.npz")


@pytest.mark.parametrize("variant", ["local_plus", "plus"])
def test_a_rare_finding_may_be_missing_from_a_resample(cohort, frame, variant):
    rare = frame.assign(rare=(np.arange(len(frame)) == 3).astype(float))
    # One patient has the finding, so nothing but the prior keeps its coefficient finite where it is kept.
    said = pytest.warns(
        UserWarning, match="the only patient with 'rare' = '1' (has|does not have) the disease"
    )
    with said if variant == "plus" else nullcontext():
        model = RCI(alpha=0.2, variant=variant).fit(rare, cohort.y).bootstrap(12)
    assert np.isfinite(model.explain(rare).lower).all()
    if variant == "plus":
        survival = model.bootstrap_.selection_frequency[-1]
        assert 0 < survival < 1


def test_few_cases_are_resampled_until_both_classes_are_there():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 3))
    y = np.zeros(60, dtype=int)
    y[:2] = 1
    model = RCI(alpha=1.0).fit(X, y).bootstrap(5)
    assert len(model.bootstrap_) == 5


def test_every_resample_has_two_rows_of_each_class():
    y = np.repeat([0, 1], [58, 2])
    for seed in range(40):
        rows = bootstrap_module._draw_rows(y, np.random.default_rng(seed), Binary.of(y))
        assert np.bincount(y[rows], minlength=2).min() >= 2


@pytest.mark.parametrize("n", [1, 0, 2.5, "many"])
def test_number_of_resamples_is_checked(cohort, frame, n):
    with pytest.raises(InputError, match="at least 2 resamples"):
        RCI().fit(frame, cohort.y).bootstrap(n)


def test_fitting_again_forgets_the_old_resamples(cohort, frame):
    model = RCI().fit(frame, cohort.y).bootstrap(3)
    assert model.fit(frame, cohort.y).bootstrap_ is None
    assert "bootstrap" not in model.provenance_


def test_a_resume_file_that_cannot_be_written_is_said_before_the_work(tmp_path, cohort, frame, monkeypatch):
    model = RCI().fit(frame, cohort.y)
    monkeypatch.setattr(bootstrap_module, "resample", None)  # no resample may be begun
    with pytest.raises(OSError, match="nowhere"):
        model.bootstrap(3, resume=tmp_path / "nowhere" / "boot.npz")
    assert model.bootstrap_ is None
