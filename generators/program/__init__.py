"""The typed description of a case's shader.

GLSL, SPIR-V and the expected result are three readings of it. Operations are frozen dataclasses, one module per group of instructions; each
reading has a module of the same name.
"""
