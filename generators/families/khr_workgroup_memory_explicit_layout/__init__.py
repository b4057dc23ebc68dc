"""The families of SPV_KHR_workgroup_memory_explicit_layout."""
