"""Several hospitals, one answer: sites that keep their rows answer requests for sums."""

from .fitting import fit
from .in_process import InProcess
from .site import Policy, Site

__all__ = ["InProcess", "Policy", "Site", "fit"]
