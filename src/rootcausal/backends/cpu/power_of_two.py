"""Powers of two by shifting bits: exponentials that vectorize without a vendor's library."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# 2^f on |f| ≤ 1/2, minimax (mpmath.chebyfit, 9 terms): absolute error below 9e-13.
C0, C1, C2 = 1.0, 0.6931471805459335, 0.2402265069581299
C3, C4, C5 = 0.05550410941205933, 0.009618129159402558, 0.0013333450568000645
C6, C7, C8 = 0.00015403455852453838, 1.5310079402249296e-05, 1.3255224878668817e-06
LOG2_E = math.log2(math.e)
# Adding this to a small integer k leaves k + 1023, the exponent of 2^k, in the lowest bits.
EXPONENT_IN_LOW_BITS = 1.5 * 2.0**52 + 1023.0
SMALLEST_POWER = -1000.0
# Sums may be reordered (that is what vectorizes them) and multiply-adds fused; infinities stay honest.
FASTMATH = {"reassoc", "contract", "nsz"}


@intrinsic
def _round(typing_context: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.call(builder.module.declare_intrinsic("llvm.rint", [ir.DoubleType()]), args)

    return types.float64(types.float64), emit


@intrinsic
def _low_bits_as_exponent(typing_context: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(args[0], ir.IntType(64))
        return builder.bitcast(builder.shl(bits, ir.Constant(ir.IntType(64), 52)), ir.DoubleType())

    return types.float64(types.float64), emit


@njit(inline="always", fastmath=FASTMATH)
def power_of_two(y: float) -> float:
    """2^y for y in [−1000, 0]; terms are paired so that they do not wait for each other."""
    whole = _round(y)
    f = y - whole
    f2 = f * f
    low = (C0 + C1 * f) + (C2 + C3 * f) * f2
    high = (C4 + C5 * f) + (C6 + C7 * f) * f2 + C8 * (f2 * f2)
    return (low + high * (f2 * f2)) * _low_bits_as_exponent(whole + EXPONENT_IN_LOW_BITS)
