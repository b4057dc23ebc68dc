"""Validators, which judge modules without running them."""
