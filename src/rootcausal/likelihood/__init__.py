"""The outcome on all columns at once, without a prior on effects: what the default attribution shrinks."""
