"""Families of SPV_NV_cooperative_vector."""
