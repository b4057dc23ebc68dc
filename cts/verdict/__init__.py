"""Verdicts: what is expected, how outputs are compared with it, and what a failure tells."""
