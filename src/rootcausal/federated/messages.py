"""What travels between a coordinator and its sites: plain data, and nothing that could run.

A message is a header in JSON and arrays of little-endian numbers, with a digest of both at the end:

    RCS1 | zlib(length of the header | header | arrays, one after the other) | SHA-256 of all before

Of an array the first bytes of all numbers come first, then the second ones, which zlib packs better. The
header says the session, the number of the message in it, the site, and the steps, each with its fields and
the type and shape of its arrays. Nothing of it is believed: a message that is cut short, changed, of
another version, too large, or of other types than numbers is refused with a sentence.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..method.table import F64
from ..wording import quoted, shown

MAGIC = b"RCS1"
VERSION = 3
# A header lists steps and the levels of columns; arrays are sums over rows.
MOST_HEADER = 1 << 24
MOST_BYTES = 1 << 28
MOST_STEPS = 1 << 12
MOST_DIMENSIONS = 4
DTYPES = ("<f8", "<i8", "<u8", "|u1")
DIGEST = hashlib.sha256().digest_size
# What headers have in common, so that they pack to little.
USUAL = (
    b'[["gradient","|u1",[],["among","|u1",[],["across","|u1",[],["of_baseline","|u1",[],["beside","|u1",[0,6]],'
    b'{"do":"logit sums","fields":{"table":0},"arrays":[["cols","<i8",[]],["beta","<f8",[]]]}]}'
    b'"arrays":[["roots","<i8",[]],["place","<i8",[]],["i","<i8",[]],["j","<i8",[]]]}]}'
    b'{"do":"regress out","fields":{"table":0,"root":1},"arrays":[["cols","<i8",[]]]},'
    b'{"do":"residual sums","fields":{},"arrays":[["sums","|u1",[,2,3]]]}]}'
    b'"why":"","have":null,"steps":[{"do":'
    b'{"version":3,"kind":"request","session":"","number":,"site":"","of":"","why":"","have":null,"steps":['
    b'{"version":3,"kind":"answer","session":"'
)

Kind = Literal["request", "answer", "refusal"]
KINDS: tuple[Kind, ...] = ("request", "answer", "refusal")


class MessageError(ValueError):
    """A message cannot be used; the sentence says why."""


@dataclass(frozen=True, eq=False)
class Step:
    """One thing that is asked for, or its answer.

    Attributes
    ----------
    do : its name among the requests (see :mod:`.requests`).
    fields : plain values.
    arrays : numbers.
    """

    do: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Message:
    """A request of the coordinator, or what a site says to it.

    Attributes
    ----------
    kind : what it is.
    session : of which joint fit, 32 hexadecimal digits.
    number : its place in the session, from 1; an answer has that of its request.
    site : who answers; empty in a request, which is the same for all sites.
    steps : what is asked for, or the answers of those steps that have any.
    of : of an answer, the digest of its request.
    why : of a refusal, a sentence.
    have : of a refusal, the last message of the session that the site has; None where that is not the matter.
    """

    kind: Kind
    session: str
    number: int
    site: str = ""
    steps: Sequence[Step] = ()
    of: str = ""
    why: str = ""
    have: int | None = None

    def encoded(self) -> bytes:
        """As it travels."""
        plain, chunks = [], []
        for step in self.steps:
            arrays = []
            for name, array in step.arrays.items():
                whole = np.asarray(array, order="C")
                kind = "|u1" if whole.dtype == np.uint8 else f"<{whole.dtype.kind}8"
                arrays.append([name, kind, list(whole.shape)])
                flat = whole.astype(kind, copy=False).ravel()
                chunks.append(flat.view(np.uint8).reshape(flat.size, flat.itemsize).T.tobytes())
            plain.append({"do": step.do, "fields": dict(step.fields), "arrays": arrays})
        header = {
            "version": VERSION,
            "kind": self.kind,
            "session": self.session,
            "number": self.number,
            "site": self.site,
            "of": self.of,
            "why": self.why,
            "have": self.have,
            "steps": plain,
        }
        text = json.dumps(header, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()
        packing = zlib.compressobj(zdict=USUAL)
        plain_bytes = b"".join([struct.pack("<I", len(text)), text, *chunks])
        body = MAGIC + packing.compress(plain_bytes) + packing.flush()
        return body + hashlib.sha256(body).digest()


def digest_of(encoded: bytes) -> str:
    """By which an answer says what it is the answer to."""
    return hashlib.sha256(encoded).hexdigest()[:32]


def decoded(encoded: bytes) -> Message:
    """The message; MessageError where it is none."""
    if len(encoded) > MOST_BYTES:
        raise MessageError(f"it has {len(encoded):,} bytes, more than any message")
    if len(encoded) < len(MAGIC) + DIGEST or not encoded.startswith(MAGIC):
        raise MessageError("it is no message, or only the beginning of one")
    body, digest = encoded[:-DIGEST], encoded[-DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        raise MessageError("it was cut short or changed on its way")
    plain = _unpacked(body[len(MAGIC) :])
    length = int.from_bytes(plain[:4], "little")
    if len(plain) < 4 or length > min(MOST_HEADER, len(plain) - 4):
        raise MessageError("its header is longer than it is")
    try:
        header = json.loads(plain[4 : 4 + length], parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise MessageError("its header is no JSON") from None
    return _checked(header, plain[4 + length :])


def _unpacked(packed: bytes) -> bytes:
    unpacking = zlib.decompressobj(zdict=USUAL)
    try:
        plain = unpacking.decompress(packed, MOST_BYTES)
    except zlib.error:
        raise MessageError("what it holds is not packed as messages are") from None
    if not unpacking.eof or unpacking.unused_data:
        raise MessageError("it holds more than any message, or only the beginning of one")
    return plain


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def _checked(header: Any, data: bytes) -> Message:
    if not isinstance(header, dict) or header.get("version") != VERSION:
        found = header.get("version") if isinstance(header, dict) else None
        raise MessageError(
            f"it is of version {found!r}, and this program speaks version {VERSION}: install the same "
            "version of rootcausal everywhere"
        )
    texts = {name: header.get(name) for name in ("kind", "session", "site", "of", "why")}
    if not all(isinstance(text, str) for text in texts.values()) or texts["kind"] not in KINDS:
        raise MessageError("its header lacks what a header has")
    number: Any = header.get("number")
    have, steps = header.get("have"), header.get("steps")
    if not _is_count(number) or number < 1 or not (have is None or _is_count(have)):
        raise MessageError("its number is none")
    if not isinstance(steps, list) or len(steps) > MOST_STEPS:
        raise MessageError("its steps are no list")
    read, at = [], 0
    for step in steps:
        one, at = _step(step, data, at)
        read.append(one)
    if at != len(data):
        raise MessageError("it holds more numbers than it says")
    return Message(number=number, have=have, steps=tuple(read), **texts)  # type: ignore[arg-type]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40


def _step(step: Any, data: bytes, at: int) -> tuple[Step, int]:
    if not isinstance(step, dict) or not isinstance(step.get("do"), str):
        raise MessageError("one of its steps is none")
    fields, arrays = step.get("fields"), step.get("arrays")
    if not isinstance(fields, dict) or not isinstance(arrays, list):
        raise MessageError("one of its steps lacks what a step has")
    found: dict[str, np.ndarray] = {}
    for one in arrays:
        name, kind, shape = one if isinstance(one, list) and len(one) == 3 else (None, None, None)
        if not isinstance(name, str) or name in found or kind not in DTYPES or not isinstance(shape, list):
            raise MessageError("one of its arrays is none")
        if len(shape) > MOST_DIMENSIONS or not all(_is_count(length) for length in shape):
            raise MessageError(f"the array {quoted(name)} has no shape")
        count, wide = math.prod(shape), np.dtype(kind).itemsize
        size = wide * count
        if size > len(data) - at:
            raise MessageError(f"the array {quoted(name)} is longer than the message")
        apart = np.frombuffer(data, dtype=np.uint8, count=size, offset=at).reshape(wide, count)
        values = np.ascontiguousarray(apart.T).view(kind).reshape(shape)
        found[name] = values.astype(values.dtype.newbyteorder("="))
        at += size
    return Step(step["do"], fields, found), at


# Secure aggregation: numbers that only the sum over all sites makes sense of.
#
# Each site writes its sums as whole numbers of a fixed unit, modulo 2^128, and adds masks to them: one for
# each other site, which that site takes away from its own. In the sum over sites they cancel, to the last
# bit; what one site sends is, to whoever lacks the key of the sites, noise. The masks are drawn by
# SHAKE-256 from a key that the sites share and the coordinator does not have, and from the request that is
# answered, so that no mask is ever used twice (as a one-time pad must not be).
#
# Where the size of sums is known beforehand, as it is of standardized columns, they travel in fewer bytes:
# as whole numbers modulo 2^64, or less, of a unit that is small beside the number of rows. Eight bytes lose
# no digit of a float; statistics that only decide who comes first take five.
#
# This is additive masking by pairs (Bonawitz et al. 2017) with one key that the sites agree on beforehand,
# in place of one for each pair: sites trust each other with their masks, and nobody else.

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
