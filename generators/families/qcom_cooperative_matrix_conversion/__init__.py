"""Families of SPV_QCOM_cooperative_matrix_conversion."""
