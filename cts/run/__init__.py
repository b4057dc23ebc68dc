"""A run: the selection and order of its cases, the processes that judge them, and its output."""
