"""Arithmetic on numbers of component types: formats, rounding, exact sums, error bounds. Nothing here knows of programs."""
