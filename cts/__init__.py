"""Runs cases on devices and judges them."""
