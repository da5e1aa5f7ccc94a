"""Rows on the workers of a Dask cluster: each sum is one round trip, and only sums travel."""
