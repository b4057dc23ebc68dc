"""From a case's axis values to its program and subcases: one module for each family group."""
