"""Judges, shows, pins and reproduces cases: a module for each kind of case, and a table of the kinds."""
