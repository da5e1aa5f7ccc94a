"""The exceptions InputError and MissingExtraError: a call is wrong, and that is nobody's bug."""


class InputError(ValueError):
    """The data or an option cannot be used as given; the message says which and what to do."""


class MissingExtraError(ImportError):
    """A backend or a bridge was asked for whose library is not installed; the message names the extra."""
