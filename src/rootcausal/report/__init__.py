"""The page about patients: one HTML file that works offline."""

from .page import write_report

__all__ = ["write_report"]
