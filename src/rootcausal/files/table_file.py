"""A file that holds a table, and what the user says of how the table is written in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from os import PathLike


@dataclass(frozen=True)
class TableFile(PathLike[str]):
    """A path; whoever only opens or names the file takes it for one.

    Attributes
    ----------
    path : of the file.
    header : whether the first row holds the names of the columns; None: that is seen by itself.
    sheet : which sheet of a workbook is read; None: the first.
    """

    path: str | PathLike[str]
    header: bool | None = None
    sheet: str | None = None

    @classmethod
    def of(cls, path: str | PathLike[str]) -> TableFile:
        return path if isinstance(path, cls) else cls(path)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return os.fspath(self.path)
