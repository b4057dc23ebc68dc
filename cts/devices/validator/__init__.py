"""Validators as devices: they judge modules and run none."""
