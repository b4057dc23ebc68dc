"""From a case to something that can run: casebook, programs, GLSL, SPIR-V, input data."""
