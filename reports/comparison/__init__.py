"""Compares runs by their journals: new failures, fixed failures, other changes, and slower cases."""
