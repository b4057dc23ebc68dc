"""The families of SPV_NV_cooperative_matrix2 and SPV_NV_tensor_addressing."""
