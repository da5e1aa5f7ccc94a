"""Nonlinear mechanisms: x = f(causes) + g(causes) · error, heteroscedastic, their graph, and risks."""
