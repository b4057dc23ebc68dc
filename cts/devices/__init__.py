"""Anything that runs a kernel and can say what it supports."""
