"""A run: which cases, in which order, judged where, and what it prints."""
