"""Our own files: a zip of plain arrays and one JSON text. Nothing in them can run, and nothing is believed.

Layout: ``rootcausal.json`` first, one ``.npy`` member for each array, and last ``sha256``, a checksum of the
members before it. What a file declares is checked before it is read, so that a small file
cannot take much memory; all that is wrong with it ends as one InputError.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

import numpy as np

from ..errors import InputError
from ..method.layout import Layout
from ..method.linear import MOST_COLUMNS, LinearMechanism
from ..method.model import CausalModel
from ..method.model_parts import Attribution, Mechanism, Part, flattened, names_of, taken, unflattened
from ..nonlinear.attribution import nonlinear_kind
from ..nonlinear.mechanism import NonlinearMechanism
from ..outcomes import OUTCOMES
from ..version import __version__
from ..wording import one_line, shown
from .writing import atomic_write

HEADER, CHECKSUM = "rootcausal.json", "sha256"
# Fixed, so that the same content is always the same bytes.
TIMESTAMP = (1980, 1, 1, 0, 0, 0)
# What the members may inflate to: arrays of numbers hardly shrink, so a file that grows more is a bomb.
# The header is stored as it is, since Python needs up to 30 times its bytes for what is in it.
FREE_BYTES, MOST_INFLATION = 16 << 20, 8
FREE_HEADER_BYTES = 4 << 20
END_OF_ARCHIVE, END_LENGTH = b"PK\5\6", 22
ENCRYPTED = 0x1
# Just what numpy writes for an array of ours.
NPY_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)"
    rb"\{'descr': '(?P<dtype><[fi]8)', 'fortran_order': False, 'shape': \((?P<shape>[0-9, ]{0,40})\), \} *\n",
    re.DOTALL,
)
NPY_PREFIX = 10  # bytes before what the length counts
# What zipfile, zlib, json and numpy raise for a file that is not as it should be.
DAMAGE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    ArithmeticError,
    RuntimeError,
    EOFError,
    MemoryError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)

Restored = TypeVar("Restored")


@dataclass(frozen=True)
class FileKind:
    """One of our kinds of file.

    Attributes
    ----------
    format, version : what its header says.
    name : what to call it in a message, such as "model file".
    what : what a file that is none of them is not, such as "a rootcausal model".
    arrays : the names of all arrays that such a file may hold.
    compressed : whether its arrays are worth the time.
    """

    format: str
    version: int
    name: str
    what: str
    arrays: Callable[[], Collection[str]]
    compressed: bool


def write_archive(
    path: str | PathLike[str], kind: FileKind, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write the file whole or not at all."""
    about = {"format": kind.format, "version": kind.version, "rootcausal": __version__, **header}
    digest = hashlib.sha256()
    with atomic_write(path) as handle, zipfile.ZipFile(handle, "w") as archive:

        def add(name: str, content: bytes, compressed: bool = False) -> None:
            info = zipfile.ZipInfo(name, TIMESTAMP)
            info.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            archive.writestr(info, content)
            _count(digest, name, content)

        add(HEADER, json.dumps(about, indent=1, allow_nan=False).encode("ascii"))
        for name, array in arrays.items():
            buffer = io.BytesIO()
            plain = np.ascontiguousarray(array, dtype="<f8" if array.dtype.kind == "f" else "<i8")
            np.lib.format.write_array(buffer, plain, version=(1, 0), allow_pickle=False)
            add(f"{name}.npy", buffer.getvalue(), kind.compressed)
        add(CHECKSUM, digest.hexdigest().encode("ascii"))


def read_archive(
    path: str | PathLike[str],
    kind: FileKind,
    restore: Callable[[dict[str, Any], dict[str, np.ndarray]], Restored],
) -> Restored:
    """Read the header and the arrays, and make something of them.

    ``restore`` raises ValueError, or what wrong types raise, where they do not fit together. A file that is
    damaged, not ours, or of another version is an InputError.
    """
    if not os.path.exists(path):
        raise InputError(f"there is no {kind.name} {shown(path)}")
    if not Path(path).is_file():
        other = "a folder" if Path(path).is_dir() else "not a regular file"
        raise InputError(f"{shown(path)} is {other}, not a {kind.name}")
    try:
        with open(path, "rb") as handle:
            return restore(*_read(handle, kind, path))
    except InputError:
        raise
    except DAMAGE as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise InputError(
            f"{shown(path)} is not {kind.what}, or it is damaged ({one_line(why, 200)})"
        ) from error


def format_of(path: str | PathLike[str]) -> str | None:
    """Which format a file says that it has; None where it is no file of ours that can be read."""
    try:
        with open(path, "rb") as handle, zipfile.ZipFile(handle) as archive:
            members = archive.infolist()
            _check_members(members, handle.seek(0, os.SEEK_END))
            header = json.loads(_content(archive, members[0], hashlib.sha256()).decode("ascii"))
            said = header.get("format")
    except (*DAMAGE, AttributeError):
        return None
    return said if isinstance(said, str) else None


def _read(
    handle: BinaryIO, kind: FileKind, path: str | PathLike[str]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    size = handle.seek(0, os.SEEK_END)
    _check_end(handle, size)
    with zipfile.ZipFile(handle) as archive:
        members = archive.infolist()
        _check_members(members, size)
        digest = hashlib.sha256()
        header = _header(_content(archive, members[0], digest), kind, path)
        checksum = members.pop()
        if checksum.filename != CHECKSUM:
            raise ValueError("its checksum is missing")
        arrays, allowed = {}, kind.arrays()
        for member in members[1:]:
            name = member.filename.removesuffix(".npy")
            if name not in allowed or name == member.filename:
                raise ValueError(f"it holds {member.filename!r}, which is none of its arrays")
            arrays[name] = _array(_content(archive, member, digest))
        expected = digest.hexdigest().encode()
        if _content(archive, checksum, digest) != expected:
            raise ValueError("its checksum differs")
    return header, arrays


def _check_end(handle: BinaryIO, size: int) -> None:
    """Refuse an archive with a comment, or with more bytes after it, with which zipfile is content."""
    handle.seek(max(0, size - END_LENGTH))
    end = handle.read(END_LENGTH)
    if not (end.startswith(END_OF_ARCHIVE) and end.endswith(b"\0\0")):
        raise ValueError("it is cut off, or something follows its end")


def _check_members(members: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Refuse what does not look like an archive of ours before any of it is inflated."""
    names = [member.filename for member in members]
    if len(names) < 2 or names[0] != HEADER or members[0].header_offset != 0:
        raise ValueError("it does not begin with a header")
    if len(set(names)) < len(names):
        raise ValueError("two of its members have the same name")
    for member in members:
        if member.flag_bits & ENCRYPTED or member.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise ValueError(f"its member {member.filename!r} is encrypted or compressed in another way")
    if members[0].file_size > max(FREE_HEADER_BYTES, size):
        raise ValueError("its header is too large")
    check_inflation(sum(member.file_size for member in members), size)


def check_inflation(declared: int, size: int) -> None:
    """Raise ValueError where a file of ``size`` bytes declares that it holds far more."""
    if declared > max(FREE_BYTES, MOST_INFLATION * size):
        raise ValueError("it would take far more memory than a file of its size can need")


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, digest: hashlib._Hash) -> bytes:
    with archive.open(member) as stream:
        # Asked for the rest, zipfile would inflate all that is there, whatever the declared size.
        content = stream.read(member.file_size)
    if len(content) != member.file_size:
        raise ValueError(f"its member {member.filename!r} is cut off")
    _count(digest, member.filename, content)
    return content


def _count(digest: hashlib._Hash, name: str, content: bytes) -> None:
    digest.update(f"{name} {len(content)}\n".encode())
    digest.update(content)


def _header(content: bytes, kind: FileKind, path: str | PathLike[str]) -> dict[str, Any]:
    header = json.loads(content.decode("ascii"), parse_constant=_refuse_constant)
    if not isinstance(header, dict) or header.get("format") != kind.format:
        raise ValueError("its header is that of another format")
    version = header.get("version")
    if type(version) is not int:
        raise ValueError("its header has no version")
    if version != kind.version:
        raise InputError(
            f"{shown(path)} is a {kind.name} of version {version}, written by rootcausal "
            f"{one_line(header.get('rootcausal'))}, and this rootcausal ({__version__}) reads version "
            f"{kind.version} alone: read it with the one that wrote it, or make it anew"
        )
    return header


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"its header holds {name}")


def _array(content: bytes) -> np.ndarray:
    found = NPY_HEADER.match(content)
    if found is None or int.from_bytes(found["length"], "little") != found.end() - NPY_PREFIX:
        raise ValueError("an array is of a kind that is not written here")
    shape = tuple(int(length) for length in found["shape"].split(b",") if length.strip())
    numbers = np.frombuffer(content, dtype=found["dtype"].decode(), offset=found.end())
    return numbers.reshape(shape).copy()


# Models of one kind as flat arrays of a file, named by the part of the model that they belong to.

# The kinds of parts that files know, by the names of their headers: a new one is entered here.
MECHANISM_KINDS: dict[str, type[Mechanism]] = {
    kind.kind: kind for kind in (LinearMechanism, NonlinearMechanism)
}
ATTRIBUTION_KINDS: dict[str, type[Attribution]] = {
    **{one.attribution.kind: one.attribution for one in OUTCOMES.values()},
    **{(kind := nonlinear_kind(one.attribution)).kind: kind for one in OUTCOMES.values()},
}
# Arrays of the model itself, which are whole, and those of resamples.
FITTED, RESAMPLES = "", "bootstrap_"
MECHANISM, ATTRIBUTION, SIZES = "mechanism_", "attribution_", "sizes"
# Each becomes several objects: a file of a few bytes must not become millions of them.
MOST_RESAMPLES = 10_000


def kinds_of(model: CausalModel) -> dict[str, Any]:
    """What a header says of the parts."""
    return {
        "n_columns": model.n_columns,
        "mechanism": model.mechanism.kind,
        "attribution": model.attribution.kind,
    }


def pack(models: Sequence[CausalModel], prefix: str = RESAMPLES) -> dict[str, np.ndarray]:
    """Flat arrays of models of one kind, of which :func:`unpack` makes the same models."""
    parts = {
        MECHANISM: flattened([one.mechanism for one in models], all_of_it=prefix == FITTED),
        ATTRIBUTION: flattened([one.attribution for one in models], all_of_it=prefix == FITTED),
    }
    packed = {prefix + part + name: array for part, some in parts.items() for name, array in some.items()}
    return packed | {prefix + SIZES: np.array([one.column_order.size for one in models])}


def unpack(
    header: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    layout: Layout | None = None,
    prefix: str = RESAMPLES,
) -> list[CausalModel]:
    """Models from flat arrays, of one layout; a ValueError says what does not fit.

    To the last bit resamples are the models that were packed if linear algebra has one thread, as it had when
    they were learned.
    """
    mechanism, attribution = _kinds(header)
    sizes = taken(arrays, prefix + SIZES, arrays[prefix + SIZES].size, whole=True)
    if not (1 <= sizes.size <= MOST_RESAMPLES and sizes.min() >= 0 and sizes.max() <= MOST_COLUMNS):
        raise ValueError("the numbers of variables in its models are out of range")

    def fields_of(part: str, kind: type[Mechanism] | type[Attribution]) -> list[dict[str, Any]]:
        named = {name: arrays[prefix + part + name] for name in names_of(kind, all_of_it=prefix == FITTED)}
        return unflattened(kind, named, sizes, all_of_it=prefix == FITTED)

    models = []
    for one, other in zip(fields_of(MECHANISM, mechanism), fields_of(ATTRIBUTION, attribution), strict=True):
        first = mechanism.of_fields(one, header["n_columns"])
        model = CausalModel(first, attribution.of_fields(other, first), layout)
        model.check()
        models.append(model)
    return models


def array_names(prefix: str) -> set[str]:
    """Of all arrays that models of any kind can have."""
    known: list[tuple[str, type[Part]]] = [(MECHANISM, kind) for kind in MECHANISM_KINDS.values()]
    known += [(ATTRIBUTION, kind) for kind in ATTRIBUTION_KINDS.values()]
    return {prefix + SIZES} | {
        prefix + part + name for part, kind in known for name in names_of(kind, all_of_it=prefix == FITTED)
    }


def outcome_told_by(attribution: Any) -> str | None:
    """The name of the outcome that an attribution of this kind is of; None where the kind is not known."""
    known = attribution in list(ATTRIBUTION_KINDS)
    return ATTRIBUTION_KINDS[attribution].outcome if known else None


def is_seed(value: Any) -> bool:
    """Whether resamples can have been drawn with it."""
    return isinstance(value, int) and value >= 0


def _kinds(header: Mapping[str, Any]) -> tuple[type[Mechanism], type[Attribution]]:
    mechanism, attribution = header["mechanism"], header["attribution"]
    if mechanism not in list(MECHANISM_KINDS) or attribution not in list(ATTRIBUTION_KINDS):
        raise ValueError("its mechanism or its attribution is of a kind that is not known here")
    return MECHANISM_KINDS[mechanism], ATTRIBUTION_KINDS[attribution]
