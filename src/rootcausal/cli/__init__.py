"""The command line: what people type, and what they read in return."""

from .application import app, main

__all__ = ["app", "main"]
