"""Our files taken apart and put together again with something wrong in them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

HEADER, CHECKSUM = "rootcausal.json", "sha256"


def members_of(content: bytes) -> dict[str, bytes]:
    """Members by name, without the checksum."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != CHECKSUM}


def archive_of(members: Mapping[str, bytes], *, checksum: bool = True) -> bytes:
    """An archive of these members, with a checksum that fits them: the hard case for a reader."""
    buffer, digest = io.BytesIO(), hashlib.sha256()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
            digest.update(f"{name} {len(content)}\n".encode() + content)
        if checksum:
            archive.writestr(CHECKSUM, digest.hexdigest())
    return buffer.getvalue()


def array_bytes(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array))
    return buffer.getvalue()


def array_in(content: bytes) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(content))


def with_header(path: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """Rewrite a file after ``change`` was made to its header, in place or as a new one."""
    members = members_of(path.read_bytes())
    header = json.loads(members[HEADER])
    changed = change(header)
    members[HEADER] = json.dumps(header if changed is None else changed).encode()
    path.write_bytes(archive_of(members))
    return path


def with_array(path: Path, name: str, change: Callable[[np.ndarray], Any]) -> Path:
    """Rewrite a file after ``change`` was made to one of its arrays, in place or as a new one."""
    members = members_of(path.read_bytes())
    array = array_in(members[f"{name}.npy"])
    changed = change(array)
    members[f"{name}.npy"] = array_bytes(array if changed is None else changed)
    path.write_bytes(archive_of(members))
    return path
