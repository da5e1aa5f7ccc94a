"""Validation: whatever holds patients becomes a validated cohort, or one error lists all that is wrong."""
