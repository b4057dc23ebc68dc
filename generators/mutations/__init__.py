"""Edits that turn a valid module into one that breaks a rule, or into a valid one as close to breaking it as possible."""
