"""The GLSL reading of a program: printed as a programmer would have written it."""
