"""Which known defects explain a failure."""
