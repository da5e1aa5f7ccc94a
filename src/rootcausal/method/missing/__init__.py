"""Missing values: imputation seen through sums over rows, and the completion of new patients."""
