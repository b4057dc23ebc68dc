"""Starts the workers of pytest-xdist by forks of one process, so 16 workers load the suite once."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cts.run import fork_client


def can_fork() -> bool:
    """Tell whether this platform has what a fork server needs. Elsewhere each worker starts by itself."""
    return sys.platform == "linux" and hasattr(socket, "SO_PEERCRED")


class Forking:
    """Registered in the process that hands out the cases.

    Args:
        root: the root of the checkout.
        early: how many workers will surely hold a Vulkan device in a child process: it is started before they are asked for.
        listed: a list of the cases to judge; None if there may be others.
    """

    def __init__(self, root: Path, early: int = 0, listed: Path | None = None) -> None:
        # A pipe can be read only once.
        lists = [os.fspath(listed)] if listed is not None and listed.is_file() else []
        # Loading takes as long as the rest of the start, and needs nothing of it.
        with socket.socket(socket.AF_UNIX) as listener:
            # The kernel chooses the address.
            listener.bind("")
            listener.listen(socket.SOMAXCONN)
            self._name = listener.getsockname()[1:].decode("ascii")
            number = listener.fileno()
            self._server = subprocess.Popen(
                [sys.executable, "-P", "-m", "cts.run.fork_server", str(number), os.fspath(root), str(early), *lists],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
                pass_fds=[number],
            )

    @property
    def pid(self) -> int:
        """The number of the server's process."""
        return self._server.pid

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, specs: Sequence[Any]) -> None:
        """Have the server make the workers that would be plain processes of this Python on this machine."""
        command = [sys.executable, "-I", "-S", fork_client.__file__, self._name]
        for spec in specs:
            if spec.popen and not (spec.python or spec.chdir or spec.via or spec.env):
                spec.python = shlex.join(command)

    def pytest_unconfigure(self) -> None:
        assert self._server.stdin is not None, "it is a pipe"
        self._server.stdin.close()
        self._server.kill()
        self._server.wait()
