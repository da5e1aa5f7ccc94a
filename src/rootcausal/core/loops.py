"""What is computed between two looks at the rows, in steps so short that calls of NumPy are most of the time.

Whoever holds the rows offers it with them: these plain loops, or their compiled twins. They read no rows, and
nothing but speed depends on whose they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .moments import ClassTest, TakeOut, class_test, take_out
from .pair_search import PLAIN as PLAIN_ACCOUNTS
from .pair_search import Accounts
from .susie import SingleEffects, Sparsity, fit_effects, spared
from .table import F64
from .tracing import Traced, trace_back


class Loops(NamedTuple):
    """Those of the sharp attribution, each as the function of its name in :mod:`.susie`, :mod:`.tracing`.

    And the accounts of a search by pairs (:mod:`.pair_search`), and the moments between two rounds.
    """

    fit_effects: Callable[[F64, F64, Sparsity, SingleEffects | None, float], SingleEffects]
    spared: Callable[[SingleEffects, SingleEffects, F64, Sparsity], float]
    trace_back: Callable[[F64, float, SingleEffects, int], Traced]
    accounts: Accounts
    take_out: TakeOut
    class_test: ClassTest


PLAIN = Loops(fit_effects, spared, trace_back, PLAIN_ACCOUNTS, take_out, class_test)
