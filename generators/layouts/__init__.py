"""How matrices, tensors and blocks are laid out in arrays."""
