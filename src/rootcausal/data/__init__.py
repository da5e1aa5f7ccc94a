"""Cohorts to learn from: the paper's generator, and its two real data sets."""

from rootcausal.data.cohorts import RealCohort, load_framingham, load_pbc
from rootcausal.data.simulate import Cohort, simulate

__all__ = ["Cohort", "RealCohort", "load_framingham", "load_pbc", "simulate"]
