"""The families of SPV_KHR_untyped_pointers."""
