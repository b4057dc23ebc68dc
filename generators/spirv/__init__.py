"""The SPIR-V reading of a program: assembled directly, without an external compiler."""
