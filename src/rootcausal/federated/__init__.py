"""Several hospitals, one answer: sites that keep their rows answer requests for sums."""

from .fitting import fit
from .folder import FolderTransport, serve_folder
from .in_process import InProcess
from .site import Policy, Site

__all__ = ["FolderTransport", "InProcess", "Policy", "Site", "fit", "serve_folder"]
