"""Arithmetic, comparisons, logic, conversions and extended instructions, on scalars, vectors and elements of matrices."""
