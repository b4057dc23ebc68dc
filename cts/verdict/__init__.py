"""Verdicts: expectations, their comparison with outputs, and the description of failures."""
