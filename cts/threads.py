"""How many threads a process computes with."""

from __future__ import annotations

import os

_VARIABLE = "OPENBLAS_NUM_THREADS"


def use_one_thread() -> None:
    """Keep numpy's matrix products to one thread, in this process and in those that it starts, unless the environment has another number.

    OpenBLAS starts a thread for each core, and its threads wait for work in a loop. A run has a process for each core, so on 16 cores there
    would be 256 such threads. OpenBLAS reads the variable when numpy is first imported, so call this before.
    """
    os.environ.setdefault(_VARIABLE, "1")
