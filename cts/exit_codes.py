"""Exit codes of the commands, other than 0 for success and 1 for a failure. Those of pytest agree."""

from __future__ import annotations

import signal

BAD_INPUT = 2
"""The request cannot be carried out; the message says what to change."""

_SIGNALLED = 128


def interrupted(interrupt: KeyboardInterrupt) -> int:
    """Return the exit code of a command that a signal ended, as shells have it: 130 for Ctrl-C, 143 for SIGTERM."""
    return _SIGNALLED + getattr(interrupt, "number", signal.SIGINT)
