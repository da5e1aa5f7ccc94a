"""What names of columns suggest about the causal order, and the option that would say so."""
