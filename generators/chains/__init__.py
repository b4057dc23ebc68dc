"""Chains of multiply-adds, whose order shows in their result."""
