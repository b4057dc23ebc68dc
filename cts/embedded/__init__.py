"""A SPIR-V interpreter with a sanitizer: an independent reading of the specification."""
