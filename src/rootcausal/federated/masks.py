"""Secure aggregation: numbers that only the sum over all sites makes sense of.

Each site writes its sums as whole numbers of a fixed unit, modulo 2^128, and adds masks to them: one for each
other site, which that site takes away from its own. In the sum over sites they cancel, to the last bit; what
one site sends is, to whoever lacks the key of the sites, noise. The masks are drawn by SHAKE-256 from a key
that the sites share and the coordinator does not have, and from the request that is answered, so that no
mask is ever used twice (as a one-time pad must not be).

Where the size of sums is known beforehand, as it is of standardized columns, they travel in fewer bytes: as
whole numbers modulo 2^64, or less, of a unit that is small beside the number of rows. Eight bytes lose no
digit of a float; statistics that only decide who comes first take five.

This is additive masking by pairs (Bonawitz et al. 2017) with one key that the sites agree on beforehand, in
place of one for each pair: sites trust each other with their masks, and nobody else.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..method.table import F64
from ..wording import shown

U64 = NDArray[np.uint64]
U8 = NDArray[np.uint8]

#: Of the key, in bytes.
KEY_BYTES = 32
# A number is this many units: sums of standardized columns stay below 2^63, and keep 19 digits behind the
# point.
BITS_BEHIND = 64
# Of 128 bits one is the sign, and some are for adding up sites.
MOST_BITS = 119
TOO_LARGE = "a sum is too large, or no number, and cannot be masked: give columns another unit"


def new_key() -> str:
    """A key for the sites of a study, as text."""
    return secrets.token_hex(KEY_BYTES)


def key_of(path: Path) -> bytes:
    """The key that a file holds."""
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise InputError(
            f"{shown(path)} holds no key of a study: make one with rootcausal site key, and give the same "
            "to every site, and to nobody else"
        )
    return key


@dataclass(frozen=True)
class Narrow:
    """How numbers travel whose size is known beforehand.

    Attributes
    ----------
    bytes : of each.
    spare : they are at most 2^spare times as large as rows are many.
    whole : whether they are counts, which have nothing behind the point.
    """

    bytes: int = 8
    spare: int = 0
    whole: bool = False

    def bits(self, room: int) -> int:
        """How many bits they have behind the point; ``room`` is what the number of rows needs before it."""
        return 0 if self.whole else self.most_bits - self.spare - room

    @property
    def most_bits(self) -> int:
        """One is the sign, and one is for the rounding of sums."""
        return 8 * self.bytes - 2

    def fits(self, values: F64, room: int, n_sites: int) -> bool:
        """Whether values can be masked, and the sums of so many sites."""
        return bool((np.abs(values) < np.ldexp(1.0, self.most_bits - self.bits(room)) / n_sites).all())

    def fixed(self, values: F64, room: int, n_sites: int) -> U64:
        """(...) of values (...): whole numbers of 2^-bits, modulo 2^64."""
        if not self.fits(values, room, n_sites):
            raise InputError(TOO_LARGE)
        return np.rint(np.ldexp(values, self.bits(room))).astype(np.int64).view(np.uint64)

    def packed(self, whole: U64) -> U8:
        """(..., bytes) of numbers (...) modulo 2^(8 bytes)."""
        apart = np.ascontiguousarray(whole, dtype="<u8").reshape(*whole.shape, 1).view(np.uint8)
        return apart[..., : self.bytes]

    def total(self, parts: Sequence[U8], room: int) -> F64:
        """(...) the values that the sum of what all sites sent stands for."""
        padded = np.zeros((len(parts), *parts[0].shape[:-1], 8), dtype=np.uint8)
        padded[..., : self.bytes] = parts
        whole = np.sum(padded.view("<u8")[..., 0].astype(np.uint64), axis=0, dtype=np.uint64)
        unused = 64 - 8 * self.bytes
        signed = np.asarray(np.left_shift(whole, np.uint64(unused))).view(np.int64) >> unused
        return np.ldexp(signed.astype(np.float64), -self.bits(room))


def room_of(n_rows: int, n_sites: int) -> int:
    """How many bits sums over so many rows need before the point, and their masked parts."""
    return n_rows.bit_length() + n_sites.bit_length()


@dataclass(frozen=True)
class Masks:
    """What one site adds to its answers.

    Attributes
    ----------
    key : that of the sites.
    site : its place among the sites of the session.
    n_sites : how many these are.
    """

    key: bytes
    site: int
    n_sites: int

    def hide(self, values: F64, request: str, name: str, bits: int = BITS_BEHIND) -> U64:
        """(..., 2) of values (...), the answer to a request with this digest, or a part of it by name."""
        total = fixed(values, bits)
        for mask, sign in self._masks(f"{request}|{name}", 2 * values.size):
            mask = mask.reshape(total.shape)
            total = added(total, mask if sign > 0 else negated(mask))
        return total

    def hide_narrow(self, values: F64, request: str, name: str, narrow: Narrow, room: int) -> U8:
        """(..., bytes) of values (...)."""
        total = narrow.fixed(values, room, self.n_sites)
        for mask, sign in self._masks(f"{request}|{name}", values.size):
            mask = mask.reshape(total.shape)
            total = total + mask if sign > 0 else total - mask
        return narrow.packed(total)

    def _masks(self, what: str, size: int) -> Iterator[tuple[U64, int]]:
        """(size,) for each other site, with the sign that it has here."""
        for other in range(self.n_sites):
            if other == self.site:
                continue
            low, high = sorted((self.site, other))
            stream = hashlib.shake_256(self.key + f"{low}|{high}|{what}".encode()).digest(8 * size)
            mask = np.frombuffer(stream, dtype="<u8").astype(np.uint64)
            yield mask, 1 if self.site == low else -1


def fixed(values: F64, bits: int = BITS_BEHIND) -> U64:
    """(..., 2) of values (...): low and high half of whole numbers of 2^-bits, modulo 2^128."""
    size = np.abs(values)
    if not (size < 2.0 ** (MOST_BITS - bits)).all():
        raise InputError(TOO_LARGE)
    scaled = np.ldexp(size, bits - 64)  # exact, as are all steps: a power of two changes no digit
    high = np.floor(scaled)
    low = np.floor(np.ldexp(scaled - high, 64))
    whole = np.stack([low.astype(np.uint64), high.astype(np.uint64)], axis=-1)
    return np.where((values < 0)[..., None], negated(whole), whole)


def numbers(whole: U64, bits: int = BITS_BEHIND) -> F64:
    """(...) the values that (..., 2) stand for."""
    negative = whole[..., 1] >> np.uint64(63) == 1
    size = np.where(negative[..., None], negated(whole), whole)
    value = np.ldexp(size[..., 1].astype(np.float64), 64 - bits) + np.ldexp(
        size[..., 0].astype(np.float64), -bits
    )
    return np.where(negative, -value, value)


def added(one: U64, other: U64) -> U64:
    """Their sum, modulo 2^128."""
    with np.errstate(over="ignore"):  # which NumPy says of single numbers
        low = one[..., 0] + other[..., 0]
        carry = (low < one[..., 0]).astype(np.uint64)
        return np.stack([low, one[..., 1] + other[..., 1] + carry], axis=-1)


def negated(whole: U64) -> U64:
    """What adds up to zero with it, modulo 2^128."""
    with np.errstate(over="ignore"):
        low = ~whole[..., 0] + np.uint64(1)
        carry = (low == 0).astype(np.uint64)
        return np.stack([low, ~whole[..., 1] + carry], axis=-1)


def total(parts: Sequence[U64]) -> U64:
    """The sum of what all sites sent."""
    result = parts[0]
    for part in parts[1:]:
        result = added(result, part)
    return result
