"""A running workgroup: its invocations, its pointers, and which of them holds which element of a matrix."""
