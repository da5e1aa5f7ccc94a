"""The loops of :mod:`rootcausal.method.loops`, compiled; each has a plain twin of its name in the core."""

from __future__ import annotations

from ...method.loops import Loops
from .attribution_kernels import infer, trace_back
from .ordering_kernels import ACCOUNTS, class_test, take_out

COMPILED = Loops(infer, trace_back, ACCOUNTS, take_out, class_test)
