"""Twins: cases that must give the same values, and whose compiled code is compared on a driver that only compiles."""
