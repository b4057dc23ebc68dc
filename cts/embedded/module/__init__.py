"""The module of a kernel: its structure, its declarations, and the translation of its instructions."""
