"""Placements: where a subcase puts the matrices of an array, so wrong addresses, offsets and strides change a result."""
