"""The estimators of scikit-learn's style: a cohort in, a fitted model out, saved and loaded."""
