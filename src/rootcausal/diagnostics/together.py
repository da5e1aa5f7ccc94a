"""Which variables are to be read as one, since their errors stay dependent whatever is tried.

A hidden common cause of two variables draws an arrow between them, and leaves their errors dependent. So the
question of :mod:`.dependence` is asked of pairs that an arrow joins, and of these only where both matter to
the outcome: elsewhere, two values read as one are the value of one of them. Those are few, so that the
correction for many pairs takes little, and more is seen than by the check of all pairs.
"""

from __future__ import annotations

import numpy as np

from ..backends.blas import one_blas_thread
from ..core.linear import LinearMechanism
from ..core.merged import Together, joined
from ..core.table import Index
from . import dependence
from .checked import Checked
from .evidence import Evidence, gather
from .independence import SCALE
from .many_tests import corrected
from .moments import moments_of

# Share of cohorts without a hidden cause in which any pair may be taken for one.
LEVEL = 0.05
# Pairs for which explanations are tried, the least probable first.
TRIED_AT_MOST = 40


def read_together(checked: Checked) -> Together:
    """The sets of variables of a model, by the patients that it was learned from, with their outcomes."""
    with one_blas_thread():  # the same sets on any machine
        evidence = gather(checked, checked.score).of_population()
        pairs = _asked(evidence, checked.model.attribution.notable)
        if not len(pairs):
            return Together((), (), 0)
        found = moments_of(evidence.errors, pairs)
        dependent = [
            m
            for m in np.argsort(found.p_values, kind="stable").tolist()
            if corrected(float(found.p_values[m]), len(pairs)) < LEVEL and found.strength[m] >= SCALE.doubtful
        ]
        # Trials draw straight lines: where the mechanism has bends, these are out of its errors already.
        straight = isinstance(checked.model.mechanism, LinearMechanism)
        trial = dependence.Trial(evidence) if straight else None
        kept = tuple(
            (int(evidence.owner[pairs[m, 0]]), int(evidence.owner[pairs[m, 1]]))
            for m in dependent[:TRIED_AT_MOST]
            if _apart_from_bends(evidence, trial, pairs[m], len(pairs))
        )
    return Together(kept, joined(kept), len(pairs), max(0, len(dependent) - TRIED_AT_MOST))


def _asked(evidence: Evidence, notable: float) -> Index:
    """(m, 2) places of numbers whose order was learned, both of which matter, and which an arrow joins."""
    earlier, later = np.triu_indices(evidence.columns.size, 1)
    may = ~evidence.with_levels & evidence.searched & (evidence.importance >= notable)
    asked = may[earlier] & may[later] & evidence.arrows[later, earlier]
    return np.column_stack([earlier[asked], later[asked]])


def _apart_from_bends(evidence: Evidence, trial: dependence.Trial | None, pair: Index, n_pairs: int) -> bool:
    """Whether the two depend on each other where they were measured, and no bend or left-out column is why.

    Where another order of the two does, which of them acts on the other is not sure: read as one, too.
    """
    found = dependence.explained(evidence, trial, pair, n_pairs, LEVEL)
    return found is not None and found.explanation in ("nothing", "order")
