"""What a table alone shows of its columns: leaks and duplicates, asked once, read by look, fit and check."""
