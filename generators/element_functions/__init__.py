"""Functions that instructions call for elements."""
