"""Cohorts that come with the package: generators, the paper's and a nonlinear one, and two real ones."""

from .cohorts import RealCohort, load_framingham, load_pbc
from .nonlinear_truth import NonlinearTruth
from .simulate import SimulatedCohort, simulate
from .simulate_nonlinear import NonlinearCohort, simulate_nonlinear

__all__ = [
    "NonlinearCohort",
    "NonlinearTruth",
    "RealCohort",
    "SimulatedCohort",
    "load_framingham",
    "load_pbc",
    "simulate",
    "simulate_nonlinear",
]
