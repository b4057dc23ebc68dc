"""Arithmetic on numbers of component types: formats, rounding, exact sums, error bounds. Nothing here depends on programs."""
