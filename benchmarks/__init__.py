"""Measurements of the suite's costs."""
