"""The animals of the zoo as parameters of tests, each fitted once."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from zoo import ZOO, Animal

from rootcausal import RCI, Explanation
from rootcausal.diagnostics.diagnosis import VERDICTS, Diagnosis

RESAMPLES = 5
PATIENTS_A_CLASS = 10

every_animal = pytest.mark.parametrize("animal", ZOO, ids=lambda animal: animal.name)
# To order and unmix a hundred columns that nothing screens takes as long as the rest of the zoo.
UNSCREENED = [animal for animal in ZOO if min(animal.X.shape) < 99]
# Methods beside RCI take numbers only.
every_animal_of_numbers = pytest.mark.parametrize(
    "animal", [animal for animal in ZOO if animal.numbers_only], ids=lambda animal: animal.name
)
every_unscreened_animal_of_numbers = pytest.mark.parametrize(
    "animal", [animal for animal in UNSCREENED if animal.numbers_only], ids=lambda animal: animal.name
)


@cache
def heard_fit(animal: Animal, variant: str, attribution: str) -> tuple[RCI, tuple[str, ...]]:
    """A fitted model, and the warnings that were heard."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = RCI(variant=variant, attribution=attribution, mechanism="linear").fit(animal.X, animal.y)
    return model, tuple(str(warning.message) for warning in heard)


def fitted(animal: Animal, attribution: str = "sharp") -> RCI:
    return heard_fit(animal, "local_plus", attribution)[0]


@contextmanager
def documented_warnings(animal: Any) -> Iterator[None]:
    """Let pass what is documented for this animal; any other warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for beginning in animal.warns:
            warnings.filterwarnings("ignore", message=beginning, category=UserWarning)
        yield


@cache
def resampled(animal: Animal) -> RCI:
    with documented_warnings(animal):
        return RCI(mechanism="linear").fit(animal.X, animal.y).bootstrap(RESAMPLES)


@cache
def explained(animal: Animal) -> Explanation:
    return resampled(animal).explain(animal.X)


def finite(*values: Any) -> bool:
    return all(np.isfinite(np.asarray(value)).all() for value in values)


def a_few(animal: Animal) -> pd.DataFrame:
    """Some controls and some cases: a page about the whole cohort takes long."""
    return animal.table.groupby("ill").head(PATIENTS_A_CLASS)


def assert_no_nan(facts: Any) -> None:
    json.dumps(facts, allow_nan=False)


def assert_well_said(diagnosis: Diagnosis, model: Any) -> None:
    """Whatever the checks found, they say it whole: verdicts, numbers, limits and advice fit together."""
    assert diagnosis.verdict in VERDICTS
    assert all(check.limit in diagnosis.to_text() for check in diagnosis.limits)
    assert diagnosis.to_text().startswith(
        f"overall{', as far as it was checked' * bool(diagnosis.not_made)}: "
    )
    assert diagnosis.limits == tuple(check for check in diagnosis.worst_first if check.limit)
    assert all(check.limit in diagnosis.summary() for check in diagnosis.limits)
    assert diagnosis.reading == diagnosis.worst_first[0].reading
    json.dumps(diagnosis.to_dict(), allow_nan=False, default=str)
    encoding = model._encoding
    for check in diagnosis.checks:
        assert check.p_value is None or 0 <= check.p_value <= 1
        assert abs(check.number) < 1e4 or np.isnan(check.number)
        assert check.smallest is None or check.smallest >= 0
        assert not (check.verdict == "fine" and (check.advice or check.limit or check.touches))
        assert check.verdict == "fine" or check.advice
        assert check.verdict == "fine" or check.limit or check.name == "independent"  # which others explain
        assert check.verdict != "broken" or not check.limit or check.limit.startswith("Do not read")
        assert set(check.variables) <= {*encoding.column_names, *encoding.names}
