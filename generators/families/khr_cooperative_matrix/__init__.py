"""The families of SPV_KHR_cooperative_matrix."""
