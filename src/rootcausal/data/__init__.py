"""Cohorts that come with the package: the paper's generator, and its two real data sets."""

from .cohorts import RealCohort, load_framingham, load_pbc
from .simulate import SimulatedCohort, simulate

__all__ = ["RealCohort", "SimulatedCohort", "load_framingham", "load_pbc", "simulate"]
