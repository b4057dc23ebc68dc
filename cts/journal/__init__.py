"""The journal of a run: a line for each verdict, and how lines are read again."""
