"""A SPIR-V interpreter with a sanitizer: a reading of the specification of its own."""
