"""Exit codes of the commands. They agree with pytest's."""

from __future__ import annotations

import signal

PASSED, FAILED = 0, 1

INCOMPLETE = 2
"""Nothing failed, but requested reports could not be written, or cases have no verdict."""

NOTHING_TESTED = 5
"""No case was selected, or the device supports none, or has no memory for any."""

BAD_INPUT = 2
"""The request cannot be carried out; the message says what to change."""

INVALID_MODULE = 6
"""spirv-val rejects the module that should run. pytest has no such code."""

_SIGNALLED = 128


def interrupted(interrupt: KeyboardInterrupt) -> int:
    """Return the exit code of a command that a signal ended, as in shells: 130 for Ctrl-C, 143 for SIGTERM."""
    return _SIGNALLED + getattr(interrupt, "number", signal.SIGINT)
