"""From the parameters of a case to its program and subcases: one module for each family group."""
