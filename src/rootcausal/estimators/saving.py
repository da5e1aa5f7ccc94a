"""A fitted estimator as a file, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..backends.blas import one_blas_thread
from ..diagnostics.diagnosis import Found
from ..errors import InputError
from ..files import model_file, reference_file
from ..files.model_file import Levels, SavedModel, SavedResamples
from ..files.reference_file import SavedReference
from ..inputs.encoding import Encoding
from ..inputs.from_frame import names_of
from ..inputs.infer_types import put_on_log_scale
from ..inputs.kinds import ColumnHints, Variable
from ..inputs.knowledge import Knowledge
from ..inputs.measurement import limits_by_place, put_limits
from ..inputs.naming import namings_of
from ..inputs.rules import IN_PYTHON, Findings
from ..inputs.target import may_be_called
from ..likelihood.effects import Effects
from ..likelihood.recalibration import Calibration
from ..method.layout import Layout
from ..method.ordering.precedence import Precedence
from ..outcomes import OUTCOMES
from ..outcomes.ordinal import StageAttribution
from ..resampling.bootstrap import Bootstrap
from ..resampling.halves import Halves

if TYPE_CHECKING:
    from .base import Estimator
    from .outliers import RootCauseOutliers

    Fitted = TypeVar("Fitted", bound=Estimator)
    Reference = TypeVar("Reference", bound=RootCauseOutliers)


def save(model: Estimator, path: str | PathLike[str]) -> None:
    """Write a fitted model whole or not at all."""
    resamples, kept = model.bootstrap_, None
    if resamples is not None:
        kept = SavedResamples(resamples.models, resamples.random_state, resamples.unsettled)
    saved = SavedModel(
        model=model._model,
        margins=model.margins_,
        ancestor_probability=model.ancestor_probability_,
        quantiles=model._quantiles,
        resamples=kept,
        classes=getattr(model, "classes_", np.empty(0)),
        n_variables=model.n_features_in_,
        feature_names=getattr(model, "feature_names_in_", None),
        with_levels=with_levels_of(model._encoding),
        completion=model._completion,
        provenance=model.provenance_,
        sets=model.merged_sets_,
        set_quantiles=model._set_quantiles,
        shared=model._shared,
    )
    model_file.write(path, saved)


def load(estimator: type[Fitted], path: str | PathLike[str]) -> Fitted:
    """Read a model; a damaged, foreign or newer file is refused."""
    return load_as(lambda outcome: estimator, path)


def load_as(choose: Callable[[str], type[Fitted]], path: str | PathLike[str]) -> Fitted:
    """Read a model as the estimator that is chosen by the name of its outcome."""
    with one_blas_thread():  # as resamples were learned: else their last bit may differ
        return model_file.read(path, lambda saved: _restored(choose, saved), _known)


def _known(knowledge: Any, names: Sequence[str]) -> Precedence | None:
    """The rules of what was known; ValueError where these are none."""
    try:
        known = None if knowledge is None else Knowledge.of(knowledge)
        return known.precedence(names, outcome=None) if known else None
    except InputError as error:
        raise ValueError(str(error)) from None  # an InputError of reading names the file


def _encoding(
    names: Sequence[str], saved: SavedModel | SavedReference, layout: Layout, hints: ColumnHints
) -> Encoding:
    """What the columns stand for; ValueError where that cannot be."""
    variables = [Variable(name, "number") for name in names]
    for place, (kind, levels) in saved.with_levels.items():
        variables[place] = Variable(variables[place].name, kind, levels)
    findings = Findings()
    decimal_comma = saved.provenance.get("reading", {}).get("decimal_comma", False)
    encoding = Encoding(tuple(variables), layout.precedence, decimal_comma)
    encoding = put_on_log_scale(encoding, hints.logs, IN_PYTHON, findings)
    encoding = put_limits(encoding, limits_by_place(hints.limits, encoding.names, findings), findings)
    if findings:
        raise ValueError("a variable that it takes the logarithm of, or that has a limit, is none")
    labels = saved.provenance.get("labels", {})
    if not isinstance(labels, dict):  # never a path that a file would have us read
        raise ValueError("its labels are none")
    try:
        encoding = encoding.called(namings_of(labels))
    except InputError as error:
        raise ValueError(str(error)) from None
    if saved.provenance["kinds"] != encoding.described():
        raise ValueError("its variables are not those that it remembers")
    return encoding


def save_reference(model: RootCauseOutliers, path: str | PathLike[str]) -> None:
    """Write a fitted model of a reference group whole or not at all."""
    saved = SavedReference(
        reference=model._reference,
        completion=model._completion,
        classes=getattr(model, "classes_", np.empty(0)),
        n_variables=model.n_features_in_,
        feature_names=getattr(model, "feature_names_in_", None),
        with_levels=with_levels_of(model._encoding),
        provenance=model.provenance_,
    )
    reference_file.write(path, saved)


def load_reference(estimator: type[Reference], path: str | PathLike[str]) -> Reference:
    """Read a model of a reference group; a damaged, foreign or newer file is refused."""

    def restored(saved: SavedReference) -> Reference:
        model = estimator(**saved.provenance["parameters"])
        try:
            hints = model._check_parameters()
            if model.knowledge is not None:
                model.knowledge = Knowledge.of(model.knowledge)
        except InputError as error:
            raise ValueError(str(error)) from None
        model.n_features_in_ = saved.n_variables
        if saved.feature_names is not None:
            model.feature_names_in_ = saved.feature_names
        model._encoding = _encoding(names_of(model), saved, saved.reference.layout, hints)
        if saved.classes.size:
            model.classes_ = saved.classes
        model.provenance_ = saved.provenance
        model._set_model(saved.reference, saved.completion)
        return model

    return reference_file.read(path, restored, _known)


def with_levels_of(encoding: Encoding) -> dict[int, Levels]:
    """Kind and levels of the variables that are no numbers, by their places."""
    return {
        place: (encoding.variables[place].kind, encoding.variables[place].levels)
        for place in encoding.with_levels
    }


def _restored(choose: Callable[[str], type[Fitted]], saved: SavedModel) -> Fitted:
    """The estimator that was saved; ValueError where its parameters or its variables are none."""
    outcome = saved.model.attribution.outcome
    estimator = choose(outcome)
    if outcome not in estimator.outcomes:
        found = OUTCOMES[outcome]
        raise InputError(
            f"this is a model of {found.called}, which {found.estimator}.load reads, and "
            f"{estimator.__name__} is for {OUTCOMES[estimator.outcomes[0]].called}"
        )
    model = estimator(**saved.provenance["parameters"])
    try:
        _, hints = model._check_parameters()
        if model.knowledge is not None:
            model.knowledge = Knowledge.of(model.knowledge)
    except InputError as error:
        raise ValueError(str(error)) from None
    positive = saved.provenance["parameters"].get("positive")
    if positive is not None and not may_be_called(positive, saved.classes[1]):
        raise ValueError("its second class is not the one that was chosen")
    model.n_features_in_ = saved.n_variables
    if saved.feature_names is not None:
        model.feature_names_in_ = saved.feature_names
    assert saved.model.layout is not None, "files say what the columns stand for"
    model._encoding = _encoding(names_of(model), saved, saved.model.layout, hints)
    if saved.classes.size:
        model.classes_ = saved.classes
    model.provenance_ = saved.provenance
    Found.of(saved.provenance)
    Calibration.of_dict(saved.provenance.get("calibration", {}))
    if "halves" in saved.provenance:
        Halves.of_dict(saved.provenance["halves"])
    if "effects" in saved.provenance:
        Effects.of_dict(saved.provenance["effects"], saved.model.n_columns)
    if outcome not in model._asked_for:
        raise ValueError("its outcome is not the one that it was made for")
    attribution = saved.model.attribution.of_outcome
    if isinstance(attribution, StageAttribution) and saved.classes.size != attribution.thresholds.size + 1:
        raise ValueError("its stages and its thresholds differ in number")
    model._set_model(saved.model, saved.margins, saved.ancestor_probability, saved.completion)
    model._shared = saved.shared
    model._keep_quantiles(saved.quantiles)
    names = [[model._encoding.names[place] for place in some] for some in saved.sets]
    if names != saved.provenance.get("merged", {"sets": []})["sets"] or (names and model.confounding is None):
        raise ValueError("its sets are not those that it remembers")
    model.merged_sets_, model._set_quantiles = saved.sets, saved.set_quantiles
    if saved.resamples is not None:
        kept = saved.resamples
        model.bootstrap_ = Bootstrap(kept.models, kept.random_state, kept.unsettled)
    return model
