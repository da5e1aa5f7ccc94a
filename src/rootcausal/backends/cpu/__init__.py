"""Rows in memory, summed by compiled loops on all cores."""
