"""Exit codes of the commands, where they are not 0 for success and 1 for what failed. Those of pytest agree."""

from __future__ import annotations

BAD_INPUT = 2
"""What was asked for cannot be done; the message says what to change."""

INTERRUPTED = 130
"""Ctrl-C, as shells have it."""
