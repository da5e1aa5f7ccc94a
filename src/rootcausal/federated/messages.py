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
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..wording import quoted

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
