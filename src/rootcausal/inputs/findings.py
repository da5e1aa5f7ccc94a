"""All that is wrong with a table, in one error: not the first thing, and the next once that is mended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import InputError


class Findings:
    """What the rules refused so far."""

    def __init__(self) -> None:
        self._sentences: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._sentences)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Keep what a rule refuses for later, and go on."""
        try:
            yield
        except InputError as error:
            self._sentences.append(str(error))

    def refuse(self) -> None:
        """Raise one InputError with all that was noted, if anything was."""
        if len(self._sentences) == 1:
            raise InputError(self._sentences[0])
        if self._sentences:
            parts = [f"({n}) {one.rstrip('.')}" for n, one in enumerate(self._sentences, start=1)]
            raise InputError(f"{len(parts)} things are wrong: {'; '.join(parts)}.")
