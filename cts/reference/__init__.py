"""The specification model: the required results of a program, computed with numpy over whole matrices."""
