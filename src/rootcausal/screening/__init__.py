"""What a table alone shows of its columns: asked once, and read by look, fit and check."""
