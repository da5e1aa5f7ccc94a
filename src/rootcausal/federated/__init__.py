"""Several hospitals, one answer: sites that keep their rows answer requests for sums."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fitting import fit
    from .folder import FolderTransport, InProcess, serve_folder
    from .site import Policy, Site

__all__ = ["FolderTransport", "InProcess", "Policy", "Site", "fit", "serve_folder"]

# Whoever only carries messages, as Flower's apps do for each of them anew, waits for none of the method.
_HOMES = {
    "FolderTransport": "folder",
    "InProcess": "folder",
    "Policy": "site",
    "Site": "site",
    "fit": "fitting",
    "serve_folder": "folder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
