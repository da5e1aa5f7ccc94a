"""Departure from a reference group: which mechanisms a row does not follow, whatever is predicted by it."""
