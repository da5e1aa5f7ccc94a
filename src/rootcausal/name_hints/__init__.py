"""What names of columns mean: ids, dates, endpoints, visits, and what they suggest about the causal order."""
