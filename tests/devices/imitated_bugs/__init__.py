"""Imitated bugs of compilers: each makes one mistake in the modules on their way to a driver."""
