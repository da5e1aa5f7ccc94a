"""The page in a browser that leads from a file to its patients: served on this machine only."""

from .server import serve

__all__ = ["serve"]
