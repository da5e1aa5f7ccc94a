"""What models say of every cohort of the zoo of designs: from fit to file, page and new patients."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from design_zoo import DESIGN_REFUSED, DESIGN_ZOO, Designed
from page_facts import facts_of
from zoo_fits import assert_no_nan, assert_well_said, finite

from rootcausal import InputError

every_animal = pytest.mark.parametrize("animal", DESIGN_ZOO, ids=lambda animal: animal.name)


@cache
def heard_fit(animal: Designed) -> tuple[Any, tuple[str, ...]]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = animal.estimator(**animal.options)
        model.fit(animal.X, *animal.outcome, **animal.beside)
    return model, tuple(str(warning.message) for warning in heard)


def fitted(animal: Designed) -> Any:
    return heard_fit(animal)[0]


@every_animal
def test_fit(animal: Designed) -> None:
    model, heard = heard_fit(animal)
    assert [message for message in heard if not message.startswith(animal.warns or "\0")] == []
    assert finite(model.coef_, model.intercept_) and model.causal_order_.size
    assert_no_nan(model.provenance_)
    names = list(animal.X)
    for column in animal.raises:
        assert model.coef_[names.index(column)] > 0
    for column in animal.lowers:
        assert model.coef_[names.index(column)] < 0


@every_animal
def test_explanations_add_up_and_resamples_hold_them(animal: Designed) -> None:
    model, _ = heard_fit(animal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        resampled = animal.estimator(**animal.options).fit(animal.X, *animal.outcome, **animal.beside)
        resampled.bootstrap(2)
    explained = resampled.explain(animal.X, **animal.of_patients)
    assert finite(explained.values, explained.predictor, explained.lower, explained.upper)
    added = explained.base_value + explained.values.sum(axis=1)
    assert added == pytest.approx(explained.predictor, abs=1e-9)
    assert explained.values == pytest.approx(model.explain(animal.X, **animal.of_patients).values)


@every_animal
def test_checks_page_and_file(animal: Designed, tmp_path: Path) -> None:
    model = fitted(animal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        diagnosis = model.diagnose(animal.X, *animal.outcome, **animal.known)
        assert_well_said(diagnosis, model)
        figures = model.cross_validate(3)
        model.report(animal.X, tmp_path / "p.html", *animal.outcome, **animal.known)
    assert finite(*figures.values())
    assert_no_nan(facts_of(tmp_path / "p.html"))
    model.save(tmp_path / "m.rci")
    again = animal.estimator.load(tmp_path / "m.rci")
    few = animal.X.head(20)
    some = {name: value[:20] for name, value in animal.of_patients.items()}
    assert np.array_equal(again.explain(few, **some).values, model.explain(few, **some).values)
    assert [one.verdict for one in again.diagnose(animal.X, *animal.outcome, **animal.known).checks] == [
        one.verdict for one in diagnosis.checks
    ]


@pytest.mark.parametrize("animal", DESIGN_REFUSED, ids=lambda animal: animal.name)
def test_what_is_no_such_design_is_refused(animal: Designed) -> None:
    with pytest.raises(InputError, match=animal.refused):
        animal.estimator(**animal.options).fit(animal.X, *animal.outcome, **animal.beside)
