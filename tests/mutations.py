"""Damaged and forged files: seeded mutations of bytes, members, numbers and headers."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from tampering import CHECKSUM, HEADER, archive_of, array_bytes, array_in, members_of

Rng = np.random.Generator
Mutation = Callable[[bytes, Rng], bytes]

NUMBERS = (np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 0.5, 2.0, 1e-5, 5e-324, 1e-300, 1e300, 1.7e308, 2.0**62)
JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 10**10, 2**63, 10**400, 0.5, -0.5, 1e-320, 1e308, float("nan")),
    *(float("inf"), "", "0", "x", "\ud800", "\x00\x1b[2J", "x" * 100_000, "<U9", "|O", "auto", "local"),
    *([], {}, [None], [[]], ["a", "a"], ["a", "b"], [0, 1], {"random_state": 0}, {"a": {"b": []}}),
)


def mutated_archive(content: bytes, rng: Rng) -> bytes:
    """A damaged or forged copy of a model file or of a file of finished resamples."""
    ways = (mutated_bytes, _other_members, _other_numbers, _other_header, _other_zip)
    return _one_of(ways, rng)(content, rng)


def mutated_journal(content: bytes, rng: Rng) -> bytes:
    """A damaged or forged copy of a journal, which has one JSON text a line."""
    return _one_of((mutated_bytes, _other_line), rng)(content, rng)


def mutated_bytes(content: bytes, rng: Rng) -> bytes:
    """Bytes flipped, cut out, doubled, overwritten, put in, before or after."""
    start, end = sorted(rng.integers(0, len(content) + 1, 2))
    end = min(int(end), int(start) + int(rng.choice([1, 4, 64, 100_000])))
    noise = rng.bytes(int(rng.integers(1, 40)))
    match rng.integers(8):
        case 0 | 1:
            flipped = bytearray(content)
            for place in rng.integers(0, len(content), int(rng.choice([1, 1, 2, 8]))):
                flipped[place] ^= 1 << rng.integers(8)
            return bytes(flipped)
        case 2:
            return content[:start]
        case 3:
            return content[:start] + content[end:]
        case 4:
            return content[:end] + content[start:]
        case 5:
            return content[:start] + bytes([rng.choice([0, 255])]) * (end - start) + content[end:]
        case 6:
            return content[:start] + noise + content[start:]
        case _:
            return noise + content if rng.random() < 0.5 else content + noise


def _one_of(choices: tuple[Any, ...], rng: Rng) -> Any:
    return choices[rng.integers(len(choices))]


def _rebuilt(members: dict[str, bytes], original: bytes) -> bytes:
    return archive_of(members, checksum=CHECKSUM.encode() in original)


def _other_members(content: bytes, rng: Rng) -> bytes:
    """Members dropped, exchanged, renamed, put in another order, or with other bytes; the checksum fits."""
    members = members_of(content)
    one, other = (str(name) for name in rng.choice(list(members), 2))
    match rng.integers(6):
        case 0:
            del members[one]
        case 1:
            members[one], members[other] = members[other], members[one]
        case 2:
            members = {("other.npy" if name == one else name): members[name] for name in members}
        case 3:
            members = {str(name): members[str(name)] for name in rng.permutation(list(members))}
        case 4:
            members[one] = mutated_bytes(members[one], rng)
        case _:
            members[f"../{one}"] = members[one]
    return _rebuilt(members, content)


def _other_numbers(content: bytes, rng: Rng) -> bytes:
    """One array with other values, another shape or another type; the checksum fits."""
    members = members_of(content)
    name = str(rng.choice([name for name in members if name.endswith(".npy")]))
    array = array_in(members[name])
    members[name] = _one_of((_values, _values, _shape, _type), rng)(array, rng)
    return _rebuilt(members, content)


def _values(array: np.ndarray, rng: Rng) -> bytes:
    flat = array.ravel()
    if flat.size:
        place = int(rng.integers(flat.size))
        with np.errstate(all="ignore"):
            match rng.integers(5):
                case 0 | 1:
                    flat[place] = np.float64(_one_of(NUMBERS, rng)).astype(array.dtype)
                case 2:
                    flat.view(np.int64)[place] ^= np.int64(1) << np.int64(rng.integers(63))
                case 3:
                    rng.shuffle(flat)
                case _:
                    flat *= np.asarray(_one_of((-1, 0, 2, 3), rng), dtype=array.dtype)
    return array_bytes(flat.reshape(array.shape))


def _shape(array: np.ndarray, rng: Rng) -> bytes:
    lies = (b"(10000000000,)", b"(0,)", b"(-1,)", b"()", b"(1, 99999999999)", b"(" * 99, b"(1e3,)")
    match rng.integers(5):
        case 0:
            return array_bytes(array[:-1])
        case 1:
            return array_bytes(np.concatenate([array, array]))
        case 2:
            return array_bytes(array[None])
        case 3:
            return array_bytes(np.zeros((0, *array.shape[1:]), dtype=array.dtype))
        case _:
            header = str(array.shape).encode()
            return array_bytes(array).replace(header, _one_of(lies, rng), 1)


def _type(array: np.ndarray, rng: Rng) -> bytes:
    kind = _one_of((">f8", "<f4", "<f2", "<i4", ">i8", "<u8", "|b1", "<c16", "<U4", "<f8", "<i8"), rng)
    with np.errstate(all="ignore"):
        other = np.nan_to_num(array).astype(kind)
    whole = array_bytes(np.asfortranarray(other) if rng.random() < 0.2 else other)
    lies = {b"'<f8'": b"'|O8'", b"False": b"True", b"\x93NUMPY\x01": b"\x93NUMPY\x02"}
    if rng.random() < 0.3:
        old = _one_of(tuple(lies), rng)
        whole = whole.replace(old, lies[old], 1)
    return whole


def _other_header(content: bytes, rng: Rng) -> bytes:
    """The header with something else in one place, or no header at all; the checksum fits."""
    members = members_of(content)
    text = members[HEADER]
    match rng.integers(8):
        case 0:
            text = mutated_bytes(text, rng)
        case 1:
            text = _one_of((b"[" * 100_000, b'{"a":' * 100_000, b"", b"null", b" " * (1 << 20), b"\xff"), rng)
        case _:
            header = json.loads(text)
            _replace_one(header, rng)
            text = json.dumps(header).encode()
    members[HEADER] = text
    return _rebuilt(members, content)


def _replace_one(value: Any, rng: Rng) -> None:
    """Put junk, or a value from elsewhere, somewhere into nested lists and objects."""
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    place = _one_of(tuple(places), rng)
    inner = value[place]
    if isinstance(inner, dict | list) and inner and rng.random() < 0.6:
        _replace_one(inner, rng)
    elif isinstance(value, dict) and rng.random() < 0.15:
        del value[place]
    else:
        value[place] = value[_one_of(tuple(places), rng)] if rng.random() < 0.15 else _one_of(JUNK, rng)


def _other_zip(content: bytes, rng: Rng) -> bytes:
    """Other numbers in the directory of the zip, or a member that inflates to far more than it should."""
    if rng.random() < 0.3:
        return _bomb(content, rng)
    start = content.find(b"PK\x01\x02")
    entries = []
    while start >= 0:
        entries.append(start)
        start = content.find(b"PK\x01\x02", start + 1)
    forged = bytearray(content)
    entry = int(_one_of(tuple(entries), rng))
    local = struct.unpack_from("<I", content, entry + 42)[0]
    # Flags, method, date, checksum, sizes, lengths and offset, in the directory and before the member.
    field, width = _one_of(((8, 2), (10, 2), (12, 4), (16, 4), (20, 4), (24, 4), (28, 2), (42, 4)), rng)
    value = int(_one_of((0, 1, 8, 9, 12, 14, 99, 0x7FFF, 0xFFFF, int(rng.integers(2**16))), rng))
    value = value if width == 2 else int(_one_of((value, 2**31 - 1, 2**32 - 1, 10**9), rng))
    forged[entry + field : entry + field + width] = value.to_bytes(width, "little")
    if field < 28 and rng.random() < 0.7:
        forged[local + field - 2 : local + field - 2 + width] = value.to_bytes(width, "little")
    return bytes(forged)


@cache
def _deflated(filler: bytes, megabytes: int) -> tuple[bytes, int, int]:
    """A raw deflate stream of many equal bytes, their number and their CRC."""
    packer, crc, piece = zlib.compressobj(1, zlib.DEFLATED, -15), 0, filler * (1 << 20)
    parts = []
    for _ in range(megabytes):
        parts.append(packer.compress(piece))
        crc = zlib.crc32(piece, crc)
    return b"".join([*parts, packer.flush()]), megabytes << 20, crc


def _bomb(content: bytes, rng: Rng) -> bytes:
    """A member, the header or an array, that inflates to 10 to 400 MB, whether it says so or not."""
    members = members_of(content)
    target = str(rng.choice(list(members)))
    filler = b" " if target == HEADER else b"\0"
    packed, size, crc = _deflated(filler, int(_one_of((10, 100, 400), rng)))
    declared = size if rng.random() < 0.7 else len(members[target])
    parts, directory, offset = [], [], 0
    for name, member in members.items():
        data, length, check = member, len(member), zlib.crc32(member)
        method = 0
        if name == target:
            data, length, check, method = packed, declared, crc, 8
        fields = (20, 0, method, 0, 33, check, len(data), length, len(name), 0)
        head = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", *fields) + name.encode()
        directory.append(
            struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, *fields, 0, 0, 0, 0, offset) + name.encode()
        )
        parts += [head, data]
        offset += len(head) + len(data)
    listing = b"".join(directory)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, len(directory), len(directory), len(listing), offset, 0)
    return b"".join([*parts, listing, end])


def _other_line(content: bytes, rng: Rng) -> bytes:
    lines = content.splitlines(keepends=True)
    place = int(rng.integers(len(lines)))
    match rng.integers(6):
        case 0:
            lines[place] = mutated_bytes(lines[place], rng)
        case 1:
            long = (b"[" * 200_000, b" " * (4 << 20), b'"' + b"x" * (4 << 20) + b'"', b"9" * 100_000, b"null")
            lines[place] = _one_of(long, rng) + b"\n"
        case 2:
            lines *= 1 + int(rng.integers(40))
        case _:
            row = json.loads(lines[place])
            if rng.random() < 0.7:
                row.pop("crc32")
            _replace_one(row, rng)
            lines[place] = json.dumps(row).encode() + b"\n"
    return b"".join(lines)
