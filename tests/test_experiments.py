"""The experiments: seeded, resumed, honest about failures; and the statistics in their tables."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from rootcausal.errors import InputError
from rootcausal.estimators.classifier import RCI
from rootcausal.experiments import paper, tables
from rootcausal.experiments import runner as tasks
from rootcausal.experiments import tables as nonlinear_tables
from rootcausal.experiments.methods import METHODS, families, find_method
from rootcausal.experiments.outputs import rows_of
from rootcausal.experiments.rows import Row, RowFile, read_rows
from rootcausal.experiments.runner import Accuracy, Timing, run
from rootcausal.experiments.sources import Bent, Resampled, Sample, Synthetic, framingham_truth, pbc_truth
from rootcausal.experiments.spec import EXPERIMENTS, Scope
from rootcausal.experiments.summary import mean_of, paired, ratio_of_means, summarise
from rootcausal.experiments.tables import ResultTable, Text
from rootcausal.metrics import rank_biased_overlap


def small_tasks(*methods: str, sets: int = 3) -> list[Accuracy]:
    return [
        Accuracy(Synthetic(100, p), number, family, seed=0)
        for p in (6, 12)
        for number in range(sets)
        for family in families(methods)
    ]


def without_times(rows: list[Row]) -> list[Row]:
    return [replace(row, seconds=None) for row in rows]


def all_rows(folder: Path) -> list[Row]:
    return [row for path in sorted(folder.glob("*.parquet")) for row in read_rows(path)]


def test_rows_are_the_same_for_any_number_of_jobs_and_alone(tmp_path: Path) -> None:
    wanted = small_tasks("RCI", "ICA", "TT", "LR", "CO", "own_methods:ByChance", sets=2)
    run(wanted, tmp_path / "one", seed=0, jobs=1, progress=False)
    run(wanted[::-1], tmp_path / "two", seed=0, jobs=2, progress=False)
    rows = without_times(all_rows(tmp_path / "one"))
    assert len(rows) == 2 * 2 * 6
    assert all(row.error is None and 0 <= row.overlap <= 1 and row.mse > 0 for row in rows)
    assert rows == without_times(all_rows(tmp_path / "two"))
    alone = without_times(wanted[-1].run())
    assert alone == [row for row in rows if row in alone]


def test_methods_that_share_a_graph_score_as_they_do_alone() -> None:
    source = Synthetic(200, 8)
    together = Accuracy(source, 0, ("LR", "CO", "MS"), seed=0).run()
    alone = [Accuracy(source, 0, (name,), seed=0).run()[0] for name in ("LR", "CO", "MS")]
    assert without_times(together) == without_times(alone)


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = small_tasks("RCI", "TT")
    run(wanted, tmp_path, seed=0, jobs=1, progress=False)
    whole = all_rows(tmp_path)
    lost = tmp_path / "synthetic-n100-p12.parquet"
    keeper = RowFile(lost, 0)
    del keeper.rows[1, "TT"]
    keeper.add([])
    keeper.freeze()
    done = []
    monkeypatch.setattr(
        tasks, "rank_biased_overlap", lambda *a, **k: done.append(1) or 0.5
    )  # counts, and shows that the row is new
    run(wanted, tmp_path, seed=0, jobs=1, progress=False)
    assert len(done) == 1
    changed = [(a.number, a.method) for a, b in zip(whole, all_rows(tmp_path), strict=True) if a != b]
    assert changed == [(1, "TT")]


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(small_tasks("own_methods:Interrupted"), tmp_path, seed=0, jobs=1, progress=False)
    assert [row.p for row in all_rows(tmp_path)] == [6, 6, 6]
    assert not list(tmp_path.glob(".rootcausal-*"))


def test_a_killed_run_loses_no_row_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "synthetic-n100-p6.parquet"
    first, second = (Accuracy(Synthetic(100, 6), number, ("TT",), seed=0).run() for number in (0, 1))
    killed = RowFile(path, 0)
    killed.add(first)
    killed.add(second)
    torn = killed.journal.read_text(encoding="utf-8")
    killed.journal.write_text(torn[:-20], encoding="utf-8")
    again = RowFile(path, 0)
    assert list(again.rows.values()) == first
    again.add(second)
    again.freeze()
    assert read_rows(path, 0) == [*first, *second]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    again.add(first)
    with pytest.raises(InputError, match="was made from seed 0, not 5"):
        RowFile(path, 5)
    again.journal.write_text("{}\n{}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"p6\.journal' does not hold result rows"):
        RowFile(path, 0)


def test_a_failure_is_kept_counted_shown_and_tried_again(tmp_path: Path) -> None:
    name = "own_methods:FailsOnWide"
    wanted = small_tasks("RCI", name)
    run(wanted, tmp_path, seed=0, jobs=1, progress=False)
    rows = rows_of(wanted, tmp_path, 0)
    failed = [row for row in rows if row.error]
    assert {row.error for row in failed} == {"ValueError: too wide | <b>for</b> me"}
    assert {(row.p, row.method) for row in failed} == {(12, name)} and len(failed) == 3
    assert RowFile(tmp_path / "synthetic-n100-p12.parquet", 0).lacks(0, name)
    # As if it were a cell of the paper, so that the table shows it.
    shown = tables.overlap_table([replace(row, p=10) for row in rows if row.p == 12], ("RCI", name))
    text = shown.to_markdown()
    assert "3 of 6 cells failed, and are in no mean" in text
    assert (
        "3 × own\\_methods:FailsOnWide on synthetic-n100-p12: ValueError: too wide \\| &lt;b&gt;for" in text
    )
    assert "| failed |" in text


@pytest.mark.parametrize(("score", "why"), [(np.nan, "NaN"), (1e200, "OverflowError: mse not finite")])
def test_scores_that_are_not_numbers_are_a_failure(score: float, why: str) -> None:
    class Nothing:
        def fit(self, X: np.ndarray, y: np.ndarray) -> Nothing:
            return self

        def scores(self, X: np.ndarray) -> np.ndarray:
            return np.full(X.shape, score)

    METHODS["nothing"] = replace(METHODS["TT"], make=lambda seed: Nothing())
    try:
        (row,) = Accuracy(Synthetic(50, 5), 0, ("nothing",), seed=0).run()
    finally:
        del METHODS["nothing"]
    assert row.overlap is None and why in row.error


def test_a_full_disk_is_named_with_the_journal(tmp_path: Path) -> None:
    file = RowFile(tmp_path / "synthetic.parquet", 0)
    file.journal.symlink_to("/dev/full")
    with pytest.raises(OSError) as caught:
        file.add([Row("synthetic", 9, 3, 0, "RCI", 1.0, None, None, None, None, "1")])
    assert caught.value.strerror == f"cannot write '{file.journal}': No space left on device."


def test_a_second_command_on_the_same_rows_is_refused(tmp_path: Path) -> None:
    tmp_path.joinpath("rows").mkdir()
    handle = os.open(tmp_path / "rows", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another command is at work in"):
            run(small_tasks("TT", sets=1), tmp_path / "rows", seed=0, jobs=1, progress=False)
    finally:
        os.close(handle)


def test_data_that_cannot_be_drawn_are_a_failure_of_every_method() -> None:
    class Dry(Synthetic):
        def draw(self, seed: np.random.SeedSequence) -> Sample:
            raise MemoryError("too large")

    rows = [
        *Accuracy(Dry(100, 6), 0, ("RCI", "TT"), seed=0).run(),
        *Timing(Dry(100, 6), 0, ("plus", "original"), seed=0).run(),
    ]
    assert [row.method for row in rows] == ["RCI", "TT", "plus", "original"]
    assert {row.error for row in rows} == {"MemoryError: too large"}


def test_rows_of_another_seed_and_other_files_are_refused(tmp_path: Path) -> None:
    wanted = small_tasks("TT", sets=1)
    run(wanted, tmp_path, seed=0, jobs=1, progress=False)
    with pytest.raises(InputError, match="was made from seed 0, not 1"):
        run(wanted, tmp_path, seed=1, jobs=1, progress=False)
    (tmp_path / "synthetic-n100-p6.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(InputError, match=r"synthetic-n100-p6\.parquet' does not hold result rows"):
        run(wanted, tmp_path, seed=0, jobs=1, progress=False)


def test_timings_compare_the_same_pairs_each_time() -> None:
    task = Timing(Synthetic(200, 12), 0, paper.VARIANTS, seed=0)
    first, second = task.run(), task.run()
    assert without_times(first) == without_times(second)
    pairs = {row.method: row.pairs for row in first}
    assert pairs["original"] == sum(k * (k - 1) // 2 for k in range(1, 12))
    assert pairs["local_plus"] <= pairs["local"] <= pairs["original"]
    assert all(row.seconds > 0 for row in first)


def test_pbc_truth_follows_the_cut_off() -> None:
    X = np.array([[1.9, 7.0, 50.0], [2.0, 7.0, 50.0]])
    assert pbc_truth(X, ["bili", "chol", "age"]).tolist() == [[1, 0, 2], [2, 0, 1]]


def test_framingham_truth_ranks_first_period_z_scores() -> None:
    X = np.array([[1.0, 30.0, 9.0], [2.0, 10.0, 8.0], [3.0, 20.0, 7.0]])
    truth = framingham_truth(X, ["AGE_1", "SYSBP_1", "SYSBP_2"])
    assert truth.tolist() == [[1, 2, 0], [2, 1, 0], [2, 1, 0]]


def test_resamples_shuffle_patients_and_columns() -> None:
    source = Resampled("pbc")
    assert source.shape == (258, 11)
    first, again, second = (source.draw(tasks.data_seed(source, number, 0)) for number in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    assert sorted(first.X.mean(axis=0).round(2)) != sorted(second.X.mean(axis=0).round(2))
    assert not first.weighted
    positive = first.truth > 0
    assert (positive.sum(axis=1) == 2).all() and (positive.any(axis=0).sum() == 2)
    assert (positive.any(axis=0) != (second.truth > 0).any(axis=0)).any()


def test_paired_is_scipys_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 30))
    first, second = (dict(enumerate(values)) for values in (a, b))
    found = paired(first, second | {99: 5.0})
    assert found.p_value == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-9)
    assert found.mean == pytest.approx((a - b).mean())
    assert paired(first, first).p_value == 1.0
    assert np.isnan(paired({0: 1.0}, {0: 2.0}).p_value)
    assert paired({0: 1.0, 1: 2.0}, {0: 0.0, 1: 1.0}).p_value == 0.0


def test_bold_is_the_best_and_what_cannot_be_told_from_it() -> None:
    rng = np.random.default_rng(1)
    base = rng.random(40)
    found = {"best": base + 0.1, "as good": base + 0.1 + rng.normal(0, 0.2, 40), "worse": base - 0.2}
    blank = Row("s", 1, 1, 0, "m", None, None, None, None, None, "0")
    rows = [
        replace(blank, number=k, method=method, overlap=float(value))
        for method, values in found.items()
        for k, value in enumerate(values)
    ]
    high = summarise(rows, list(found), "overlap", larger_is_better=True)
    assert [high[name].best for name in found] == [True, True, False]
    low = summarise(rows, list(found), "overlap", larger_is_better=False)
    assert [low[name].best for name in found] == [False, False, True]
    assert high["worse"].mean == pytest.approx((base - 0.2).mean())
    assert high["worse"].standard_error == pytest.approx(stats.sem(base))
    low, high_end = stats.t.interval(0.95, 39, loc=0, scale=stats.sem(base))
    assert high["worse"].half_width == pytest.approx((high_end - low) / 2)


def test_one_lucky_success_is_not_bold() -> None:
    blank = Row("s", 1, 1, 0, "good", 0.9, None, None, None, None, "0")
    rows = [replace(blank, number=k, overlap=0.9 + k / 100) for k in range(5)]
    rows += [replace(blank, method="fails", number=k, overlap=None, error="no") for k in range(1, 5)]
    rows += [replace(blank, method="fails", overlap=0.1)]
    found = summarise(rows, ["good", "fails"], "overlap", larger_is_better=True)
    assert found["good"].best and not found["fails"].best
    assert found["fails"].failed == 4


def test_ratio_of_means_and_its_error() -> None:
    rng = np.random.default_rng(2)
    below = rng.uniform(1, 2, 400)
    above = 3 * below + rng.normal(0, 0.5, 400)
    ratio, error = ratio_of_means(dict(enumerate(above)), dict(enumerate(below)))
    assert ratio == pytest.approx(above.mean() / below.mean())
    draws = [rng.integers(400, size=400) for _ in range(2000)]
    by_bootstrap = np.std([above[d].mean() / below[d].mean() for d in draws])
    assert error == pytest.approx(by_bootstrap, rel=0.1)


def test_means_of_nothing_and_of_one_value() -> None:
    assert np.isnan(mean_of([])).all()
    assert mean_of([2.0])[0] == 2.0 and np.isnan(mean_of([2.0])[1])


def test_a_fit_that_diverged_is_named_beside_the_table() -> None:
    blank = Row("s", 100, 10, 0, "RCI", 0.5, 0.1, None, None, None, "0")
    rows = [replace(blank, number=k, mse=1e6 if k == 3 else 0.1 + k / 100) for k in range(9)]
    notes = " ".join(tables.error_table(rows, ("RCI",)).notes)
    assert "RCI at n = 100, p = 10: 1 of 9 fits have more than 100 times the median error" in notes
    assert f"mean of the others is {np.mean([0.1 + k / 100 for k in range(9) if k != 3]):.2e}" in notes


def test_tables_in_markdown_and_latex_escape_names() -> None:
    table = ResultTable(
        "a_b & 5 %", ["x|y", "my_method"], [[Text("1"), Text("0.5 ± 0.1", bold=True)]], ["<i>"]
    )
    assert table.to_markdown() == (
        "**a\\_b &amp; 5 %**\n\n"
        "| x\\|y | my\\_method |\n| --- | --- |\n| 1 | **0.5 ± 0.1** |\n\n"
        "- &lt;i&gt;\n"
    )
    latex = table.to_latex()
    assert r"\caption{a\_b \& 5 \%}" in latex
    assert r"my\_method" in latex
    assert r"\textbf{0.5 $\pm$ 0.1}" in latex
    assert "\\footnotesize <i>" in latex


def test_the_paper_says_that_rci_is_ahead_everywhere_but_in_one_cell() -> None:
    behind = [cell for cell in paper.CELLS if paper.OVERLAP[cell][0] < max(paper.OVERLAP[cell][1:])]
    assert behind == [(100, 100)]
    behind = [
        cell for cell in paper.CELLS if paper.SQUARED_ERROR[cell][0] > min(paper.SQUARED_ERROR[cell][1:])
    ]
    assert behind == [(100, 100)]
    assert set(paper.LOCAL_PLUS_SECONDS) == set(paper.SCALING_CELLS)


def test_the_papers_numbers_add_up() -> None:
    # Sums of the columns of the printed tables, read from the source of the paper.
    overlap = [7.197, 3.785, 3.098, 2.796, 5.715, 5.111, 4.981]
    assert np.sum(list(paper.OVERLAP.values()), axis=0) == pytest.approx(overlap)
    error = [0.265504, 16.9916, 0.9158, 6.3292]
    assert np.sum(list(paper.SQUARED_ERROR.values()), axis=0) == pytest.approx(error)
    assert np.sum(list(paper.SPEED_UP.values()), axis=0) == pytest.approx([784.5, 440.57, 15.91, 9.0])
    assert sum(paper.LOCAL_PLUS_SECONDS.values()) == pytest.approx(1628.588)


def test_experiments_share_rows() -> None:
    scope = Scope(reps=2)
    overlap = {(t.file, t.number, m) for t in EXPERIMENTS["rbo"].tasks(scope) for m in t.methods}
    error = {(t.file, t.number, m) for t in EXPERIMENTS["mse"].tasks(scope) for m in t.methods}
    assert error < overlap
    assert len(overlap) == 9 * 2 * 8


def test_what_two_experiments_want_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    monkeypatch.setattr(tasks, "shapley_mse", lambda *a: done.append(1) or 0.5)
    both = [*small_tasks("RCI", "TT", sets=1), *small_tasks("TT", sets=1)]
    run(both, tmp_path, seed=0, jobs=1, progress=False)
    assert len(done) == len(all_rows(tmp_path)) == 4


def test_only_cases_are_scored_where_relations_bend_and_the_choice_is_kept() -> None:
    source = Bent(300, 6, heteroscedastic=True)
    sample = source.draw(tasks.data_seed(source, 1, 0))
    rows = {row.method: row for row in Accuracy(source, 1, nonlinear_tables.METHODS, seed=0).run()}
    model = RCI(mechanism="nonlinear").fit(sample.X, sample.y)
    cases = sample.y == 1
    expected = rank_biased_overlap(sample.truth[cases], model.scores(sample.X[cases]))
    assert rows["RCI nonlinear"].overlap == pytest.approx(expected, abs=1e-9)
    assert rows["RCI nonlinear"].overlap != rows["RCI linear"].overlap
    assert rows["RCI linear"].mechanism is rows["RCI nonlinear"].mechanism is None
    taken = rows["RCI auto"].mechanism
    assert taken in ("linear", "nonlinear") and rows["RCI auto"].overlap == rows[f"RCI {taken}"].overlap


def test_goals_of_bent_relations_are_met_or_missed_by_the_mean() -> None:
    goal = nonlinear_tables.GOALS[0]
    blank = Row(goal.source.name, goal.source.n, goal.source.p, 0, "", 0.0, 0.1, 1.0, None, None, "0")
    rows = [
        replace(blank, number=k, method=f"RCI {name}", overlap=overlap + k / 100, mechanism=taken)
        for k in range(3)
        for name, overlap, taken in (
            ("linear", 0.72, None),
            ("nonlinear", 0.785, None),
            ("auto", 0.785, "nonlinear" if k else "linear"),
        )
    ]
    table = nonlinear_tables.gain_table(rows, nonlinear_tables.METHODS)
    cells = dict(zip(table.header, [cell.text for cell in table.rows[0]], strict=True))
    assert cells["RCI nonlinear"] == "0.795 ± 0.006" and cells["overlap goal"] == "missed (≥ 0.80)"
    assert cells["gain"] == "+0.065 ± 0.000" and cells["gain goal"] == "missed (≥ 0.08)"
    assert cells["auto took nonlinear"] == "2 of 3" and cells["sets"] == "3"
    better = [replace(row, overlap=row.overlap + 0.1 * (row.method == "RCI nonlinear")) for row in rows]
    cells = [cell.text for cell in nonlinear_tables.gain_table(better, nonlinear_tables.METHODS).rows[0]]
    assert "met (≥ 0.80)" in cells and "met (≥ 0.08)" in cells

    straight = Synthetic(100, 10)
    on_lines = [replace(row, source=straight.name, n=100) for row in rows]
    (line,) = nonlinear_tables.lines_table(on_lines).rows
    assert [cell.text for cell in line][-3:] == ["+0.065 ± 0.000", "met (≥ -0.01)", "2 of 3"]


def test_own_methods_are_found_by_their_path() -> None:
    assert find_method("own_methods:ByChance").make(3).fit(np.eye(2), [0, 1]) is not None
    with pytest.raises(InputError, match="unknown method 'XYZ': choose from RCI, ICA"):
        find_method("XYZ")
    with pytest.raises(InputError, match="cannot load the method 'no_such_module:A'"):
        find_method("no_such_module:A")
    with pytest.raises(InputError, match="cannot load the method 'own_methods:Nobody'"):
        find_method("own_methods:Nobody")
    with pytest.raises(InputError, match="'own_methods:WithoutScores' has no scores"):
        find_method("own_methods:WithoutScores")
