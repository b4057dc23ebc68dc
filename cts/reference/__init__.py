"""The specification model: what a program must compute, in numpy over whole matrices."""
