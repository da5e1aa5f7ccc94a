"""A file that holds a table, and what the user says of how the table is written in it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from os import PathLike
from typing import Any


@dataclass(frozen=True)
class TableFile(PathLike[str]):
    """A path; whoever only opens or names the file takes it for one.

    Attributes
    ----------
    path : of the file.
    header : whether the first row holds the names of the columns; None: that is seen by itself.
    sheet : which sheet of a workbook is read; None: the first.
    seen : what was found of the file by who looked at its first lines, so that nobody has to look again.
    """

    path: str | PathLike[str]
    header: bool | None = None
    sheet: str | None = None
    seen: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, path: str | PathLike[str]) -> TableFile:
        return path if isinstance(path, cls) else cls(path)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return os.fspath(self.path)
