"""How matrices, tensors and blocks lie in arrays."""
