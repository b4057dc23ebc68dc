"""Finds the known defects that explain a failure."""
