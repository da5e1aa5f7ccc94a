"""Rows on an NVIDIA GPU: they stay there, and the host sees only sums."""
