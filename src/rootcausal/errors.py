"""InputError and MissingExtraError: a call is wrong, and that is nobody's bug; and what is warned of."""

import sys
import warnings


class InputError(ValueError):
    """The data or an option cannot be used as given; the message says which and what to do.

    Several texts are several things that are wrong: the message numbers them.
    """

    def __str__(self) -> str:
        if len(self.args) < 2:
            return super().__str__()
        lines = [f"({number}) {one}" for number, one in enumerate(self.args, start=1)]
        return "\n".join([f"{len(lines)} things are wrong:", *lines])


class MissingExtraError(ImportError):
    """A backend or a bridge was asked for whose library is not installed; the message names the extra."""


class RootCausalWarning(UserWarning):
    """Something to know about a cohort, a model or an answer, which is given all the same."""


class SeparationWarning(RootCausalWarning):
    """Errors, or a level, tell the outcome of all patients: what they add has no finite estimate."""


class LabelWarning(RootCausalWarning):
    """Labels do not say which of them is the disease, or the event: one was taken for it."""


class ReadingWarning(RootCausalWarning):
    """A file was read in one of several ways in which it might be meant."""


class UnlikeCohortWarning(RootCausalWarning):
    """Numbers of new patients are unlike those of the cohort: in another unit, most likely.

    Attributes
    ----------
    columns : their names.
    """

    def __init__(self, message: str, columns: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.columns = columns


def warn(said: str | Warning) -> None:
    """Warn whoever called this package."""
    warnings.warn(said, RootCausalWarning, stacklevel=caller())


def caller() -> int:
    """How far up the stack, seen from who warns, the code lies that asked: the first outside this package.

    Nor is it scikit-learn, which wraps methods of estimators, nor what enters a ``with``.
    """
    between = (__name__.partition(".")[0], "sklearn", "contextlib")
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in between:
        frame, level = frame.f_back, level + 1
    return level
