"""Instructions on cooperative matrices, and the functions that they call for elements."""
