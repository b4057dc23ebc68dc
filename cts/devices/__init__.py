"""Devices: anything that runs a kernel and can describe its support."""
