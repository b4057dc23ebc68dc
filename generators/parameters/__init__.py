"""Typed parameters of cases: their declaration in families, and the vocabulary that families share."""
