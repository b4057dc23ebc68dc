"""Functions that instructions call for each element."""
