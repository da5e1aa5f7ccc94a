"""Sites in this process: for tests, for a dry run, and to see what a fit would ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import uuid4

from .asking import Accept, Save

#: What answers a request: :meth:`.site.Site.answer`.
Answer = Callable[[bytes], bytes]


class InProcess:
    """Answers by call, one site after the other."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers = dict(answers)

    def begin(self, names: Sequence[str], anew: bool) -> str:
        return uuid4().hex

    def ask(self, number: int, request: bytes, names: Sequence[str], accept: Accept) -> dict[str, bytes]:
        said = {name: self._answers[name](request) for name in names}
        return {name: answer for name, answer in said.items() if not accept(name, answer)}

    def finish(self, sentence: str, save: Save | None = None) -> None:
        """Nobody waits."""
