"""Parquet files as one dask dataframe, once all of them are known to hold the same columns."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike, fspath
from typing import Any

import dask.dataframe as dd
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError
from .arrow import is_numeric, is_text
from .header import without_blanks

# Rows are read in pieces of about this size, whatever the size of the files.
PIECE = "64MiB"
FOOTERS_AT_ONCE = 16


def dask_frame(paths: Sequence[str | PathLike[str]]) -> Any:
    """Read files, globs and folders lazily, as one table."""
    asked = [fspath(path) for path in paths]
    fs, files = _files(asked)
    check_same_columns(fs, files)
    frame = dd.read_parquet(
        [fs.unstrip_protocol(file) for file in files], blocksize=PIECE, split_row_groups="adaptive"
    )
    written = [name for name in frame.columns if isinstance(name, str)]
    named = dict(zip(written, without_blanks(asked[0], written), strict=True))
    return frame if [*named] == [*named.values()] else frame.rename(columns=named)


def _files(asked: list[str]) -> tuple[Any, list[str]]:
    fs, _, found = fsspec.get_fs_token_paths(asked)
    files: list[str] = []
    for path in found:
        inside = [one for one in sorted(fs.find(path)) if one.endswith((".parquet", ".parq", ".pq"))]
        files += inside if fs.isdir(path) else [path]
    if not files:
        raise InputError(f"there are no Parquet files at {', '.join(map(repr, asked))}")
    return fs, files


def check_same_columns(fs: Any, files: Sequence[str]) -> None:
    """Refuse a file whose columns, or whose kinds of values, differ from those of the first file."""

    def kinds(file: str) -> dict[str, str]:
        try:
            with fs.open(file, "rb") as handle:
                return {field.name: _kind(field.type) for field in pq.read_schema(handle)}
        except FileNotFoundError:
            raise InputError(f"there is no Parquet file {file!r}") from None
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{file!r} is not a readable Parquet file: {error}") from error

    with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
        first, *others = pool.map(kinds, files)
    for file, other in zip(files[1:], others, strict=True):
        lacking, extra = sorted(first.keys() - other.keys()), sorted(other.keys() - first.keys())
        differing = [name for name in first if name in other and first[name] != other[name]]
        if lacking or extra:
            what = [f"it lacks {name!r}" for name in lacking[:3]] + [
                f"it adds {name!r}" for name in extra[:3]
            ]
        elif differing:
            what = [f"{name!r} holds {other[name]} instead of {first[name]}" for name in differing[:3]]
        else:
            continue
        raise InputError(f"{file!r} does not match {files[0]!r}: {', '.join(what)}")


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _kind(kind.value_type)
    if is_numeric(kind) and not pa.types.is_null(kind):
        return "numbers"
    if is_text(kind):
        return "text"
    return str(kind)
