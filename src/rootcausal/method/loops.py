"""What is computed between two looks at the rows, in steps so short that calls of NumPy are most of the time.

Whoever holds the rows offers it with them: these plain loops, or their compiled twins. They read no rows, and
nothing but speed depends on whose they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .attribution.ancestors import Traced, trace_back
from .attribution.spike_slab import Posterior, Prior, infer
from .moments import ClassTest, TakeOut, class_test, take_out
from .ordering.search import PLAIN as PLAIN_ACCOUNTS
from .ordering.search import Accounts
from .table import F64


class Loops(NamedTuple):
    """Those of the sharp attribution, each as its namesake in :mod:`rootcausal.method.attribution.spike_slab`
    and :mod:`rootcausal.method.attribution.ancestors`.

    And the accounts of a search by pairs (:mod:`rootcausal.method.ordering.search`), and the moments
    between two rounds.
    """

    infer: Callable[[F64, F64, Prior, Posterior, bool, int], Posterior]
    trace_back: Callable[[F64, float, F64, int], Traced]
    accounts: Accounts
    take_out: TakeOut
    class_test: ClassTest


PLAIN = Loops(infer, trace_back, PLAIN_ACCOUNTS, take_out, class_test)
