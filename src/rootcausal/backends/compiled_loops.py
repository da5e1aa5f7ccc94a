"""The loops of :mod:`rootcausal.core.loops`, compiled; each has a plain twin of its name in the core."""

from __future__ import annotations

from ..core.loops import Loops
from .effect_kernels import fit_effects, spared, trace_back
from .race_kernels import ACCOUNTS
from .screen_kernels import class_test, take_out

COMPILED = Loops(fit_effects, spared, trace_back, ACCOUNTS, take_out, class_test)
