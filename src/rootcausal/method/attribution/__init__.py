"""What each error adds to the outcome: the paper's regression, and the sparse default."""
