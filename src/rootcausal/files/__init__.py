"""Reading and writing: tables, results, models; whole or not at all, and nothing in a file is believed."""
