"""A fitted model and what can be done with it: fit, score, diagnose, stream, explain."""
