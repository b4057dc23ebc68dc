"""The journal of a run: a line for each verdict, and the reading of these lines."""
