"""Everything between a case and something that can run: casebook, programs, GLSL, SPIR-V, input data.

PYTEST_DONT_REWRITE: see ``cts``.
"""
