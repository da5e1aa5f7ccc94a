"""Real systems with known answers: sources, methods that name root causes, and the card of both."""
