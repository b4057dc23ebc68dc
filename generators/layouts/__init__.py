"""Layouts of matrices, tensors and blocks in arrays."""
