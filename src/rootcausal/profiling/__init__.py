"""What a table holds, and what to doubt in it, said before anything is fitted."""
