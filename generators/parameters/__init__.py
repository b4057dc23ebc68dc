"""Typed parameters of cases: how a family declares them, and the vocabulary that families share."""
