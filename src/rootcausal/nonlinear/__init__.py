"""Bent relations and uneven spread: x = f(causes) + g(causes) · error, its graph, and risks through it."""
