"""Makes a failing case small: its parameters, then its dispatches and data."""
