"""The families of SPV_KHR_variable_pointers."""
