"""What imputation is for: draws that know the diagnosis, how many, and who may see random values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tampering import with_array

import rootcausal.estimators.base
import rootcausal.resampling.bootstrap as learning
from rootcausal import RCI
from rootcausal.backends.choose import incomplete_part
from rootcausal.diagnostics import Checked, Diagnosis, diagnose
from rootcausal.errors import InputError
from rootcausal.method.layout import Layout
from rootcausal.method.missing import imputation as imputation_module
from rootcausal.method.missing.imputation import Imputed, impute, worth_filling
from rootcausal.method.missing.sums import DRAWS
from rootcausal.method.moments import describe_columns
from rootcausal.method.pipeline import learn
from rootcausal.outcomes.binary import Binary


def half_measured(n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """A cause of D that half of the patients lack, and a column that has nothing to do with either."""
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(n, 2))
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * X[:, 0]))).astype(np.intp)
    X[rng.random(n) < 0.5, 0] = np.nan
    return X, y


def imputed(X: np.ndarray, y: np.ndarray, alpha: float = 0.2, local: bool = False) -> Imputed:
    raw, layout, outcome = incomplete_part("numpy", X, y), Layout.numbers(X.shape[1]), Binary.of(y)
    columns = describe_columns(raw)
    to_fill = worth_filling(columns, layout, alpha, local, outcome)
    return impute(raw, columns, layout, to_fill, 0, outcome)


def test_draws_know_the_diagnosis() -> None:
    X, y = half_measured()
    measured = np.nanmean(X[y == 1, 0]) - np.nanmean(X[y == 0, 0])
    moments = imputed(X, y).columns.moments
    mean = moments.total[:, 0] / moments.count
    # Drawn without D, half of the patients would show no difference at all.
    assert mean[1] - mean[0] == pytest.approx(measured, rel=0.1)


def test_each_hole_is_drawn_five_times() -> None:
    X, y = half_measured(200)
    assert DRAWS == 5
    assert RCI().fit(X, y).provenance_["missing"]["draws"] == 5


@pytest.mark.parametrize(("alpha", "level"), [(0.05, 0.4), (0.2, 0.4), (0.3, 0.6)])
def test_columns_are_looked_at_well_above_alpha(alpha: float, level: float) -> None:
    assert imputed(*half_measured(200), alpha, local=True).imputation.level == level


def test_a_completion_holds_at_most_500_columns() -> None:
    X = np.random.default_rng(0).standard_normal((40, 520))
    model = RCI(alpha=0.01).fit(X, np.arange(40) % 2)
    assert model._completion is not None and model._completion.columns.size == 500


def test_quantiles_of_the_cohort_are_those_of_patients_not_of_expectations() -> None:
    X, y = half_measured()
    model = RCI(variant="plus").fit(X, y)
    assert model._quantiles is not None
    of_cause = model._quantiles.values[:, list(model.causal_order_).index(0)]
    low, high = np.nanquantile(X[:, 0], [0.25, 0.75])
    assert of_cause[75] - of_cause[25] == pytest.approx(high - low, rel=0.3)


def test_checks_see_values_that_vary_as_patients_do(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = half_measured()
    model, seen = RCI(variant="plus").fit(X, y), list[Checked]()

    def seeing(checked: Checked) -> Diagnosis:
        seen.append(checked)
        return diagnose(checked)

    monkeypatch.setattr(rootcausal.diagnostics, "diagnose", seeing)
    model.diagnose(X, y)
    gone = np.isnan(X[:, 0])
    assert seen[0].X[gone, 0].std() > 0.7 * np.nanstd(X[:, 0])
    assert seen[0].missing is not None and (seen[0].missing[:, 0] == gone).all()


@pytest.mark.parametrize("correlation", [2.0, -2.0])
def test_a_covariance_beyond_its_variances_is_refused(tmp_path: Path, correlation: float) -> None:
    X, y = half_measured(200)
    RCI(variant="plus").fit(X, y).save(tmp_path / "m.rci")

    def spoil(covariance: np.ndarray) -> None:
        covariance[0, 1] = covariance[1, 0] = correlation * np.sqrt(covariance[0, 0] * covariance[1, 1])

    with pytest.raises(InputError, match="covariance"):
        RCI.load(with_array(tmp_path / "m.rci", "completion_covariance", spoil))


def test_each_resample_draws_with_a_seed_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = list[int]()

    def noting(raw, columns, settings, on_round, layout, outcome):
        seeds.append(settings.imputation_seed)
        return learn(raw, columns, settings, on_round, layout, outcome)

    model = RCI().fit(*half_measured(200))
    monkeypatch.setattr(learning, "learn_mechanism", noting)
    model.bootstrap(3, n_jobs=1)
    assert len(set(seeds)) == 3


def test_resamples_whose_imputation_did_not_settle_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    model = RCI().fit(*half_measured(200))
    monkeypatch.setattr(imputation_module, "MAX_ROUNDS", 1)
    with pytest.warns(UserWarning, match="2 of 2 resamples"):
        model.bootstrap(2, n_jobs=1)
