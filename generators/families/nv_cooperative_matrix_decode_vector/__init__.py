"""Families of SPV_NV_cooperative_matrix_decode_vector."""
