"""The loops of :mod:`rootcausal.method.loops`, compiled; each has a plain twin of its name in the core."""

from __future__ import annotations

from ...method.loops import Loops
from .effect_kernels import trace_back
from .race_kernels import ACCOUNTS
from .screen_kernels import class_test, take_out
from .sparse_kernels import infer

COMPILED = Loops(infer, trace_back, ACCOUNTS, take_out, class_test)
