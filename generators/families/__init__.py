"""Builders that make programs and subcases from the parameters of a case: one module for each family."""
