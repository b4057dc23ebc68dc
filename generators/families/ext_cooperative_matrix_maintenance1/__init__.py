"""Families of SPV_EXT_cooperative_matrix_maintenance1."""
