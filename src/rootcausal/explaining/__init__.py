"""What a model says about patients: values, root causes, what if, and the graph behind them."""
