"""Where rows are summed: NumPy, compiled loops, a GPU, a cluster. They sum, and decide nothing."""
