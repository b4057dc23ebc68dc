"""A process that has loaded what every worker needs, and forks the workers of pytest-xdist:

    python -m cts.run.fork_server FD ROOT N [CASE-LIST]

It has one thread, so a fork copies nothing half done. It listens on the socket FD, loads the cases below ROOT, or only the families of the
cases in CASE-LIST, and ends when its input ends: when the process that started it is gone. It forks N workers before they are asked for,
and starts the processes of their devices before it loads the cases.
"""

from __future__ import annotations

import gc
import inspect
import os
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from cts.devices.early_child import Early, adopt, forget, start_early
from cts.engine.garbage import all_kept
from cts.run.fork_client import STREAMS, is_own
from generators.errors import CtsError

_LOADED = ("cts.run.judging", "cts.engine.plan", "cts.engine.setup", "execnet.gateway_base", "pytest")
"""What workers import before they judge. Plugins of pytest are not among it: a worker imports them as any other run does."""

_INPUT = 0
_ENDING: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


def main() -> None:
    """Run the program."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    # Ctrl-C goes to all processes of a terminal. The process that started this one ends it.
    handlers = {number: handler for number, handler in _ENDING.items() if signal.getsignal(number) is not signal.SIG_IGN}
    for number in handlers:
        signal.signal(number, signal.SIG_IGN)
    children = _start_children(int(sys.argv[3]), listener)
    _load(Path(sys.argv[2]), *map(Path, sys.argv[4:]))
    # Nobody waits for the workers.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    early: list[socket.socket] = []
    while children:
        ours, theirs = socket.socketpair()
        child = children.pop()
        if os.fork() == 0:
            # Only the server may hold the other ends: then this worker learns when it ends.
            for end in (listener, ours, *early):
                end.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for other in children:
                forget(other)
            adopt(child)
            _, received, _, _ = socket.recv_fds(theirs, 16, 1 + len(STREAMS))
            theirs.close()
            if len(received) == 1 + len(STREAMS):
                _become(socket.socket(fileno=received[0]), received[1:], handlers)
            return
        theirs.close()
        forget(child)
        early.append(ours)
    while True:
        ready, _, _ = select.select([_INPUT, listener.fileno()], [], [])
        if _INPUT in ready:
            return
        connection, _ = listener.accept()
        if is_own(connection):
            _, streams, _, _ = socket.recv_fds(connection, 16, len(STREAMS))
            if len(streams) == len(STREAMS) and not _is_handed(connection, streams, early) and os.fork() == 0:
                for end in (listener, *early):
                    end.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _become(connection, streams, handlers)
                return
            for stream in streams:
                os.close(stream)
        connection.close()


def _start_children(number: int, listener: socket.socket) -> list[Early]:
    """Start the processes of the workers' devices. None of them may keep the listener open."""
    if not number:
        return []
    from cts.device_process import serve

    def serve_alone(control: socket.socket) -> None:
        listener.close()
        serve(control)

    return start_early(number, serve_alone)


def _is_handed(connection: socket.socket, streams: list[int], early: list[socket.socket]) -> bool:
    """Hand a connection to a worker that waits, and tell whether there was one."""
    while early:
        with early.pop(0) as worker, suppress(OSError):
            socket.send_fds(worker, [b"worker"], [connection.fileno(), *streams])
            return True
    return False


def _load(root: Path, listed: Path | None = None) -> None:
    """Load what every worker needs. A worker reports what is wrong with the cases, so nothing is said here."""
    with all_kept():
        for name in _LOADED:
            import_module(name)
        from cts.engine.case_list import read_case_list
        from cts.engine.setup import casebook_of
        from generators.casebook import load_families
        from generators.casebook.ids import family_of

        with suppress(CtsError):
            casebook = casebook_of(root)
            if listed is None:
                load_families(casebook)
            else:
                for name in dict.fromkeys(map(family_of, read_case_list(listed))):
                    casebook.family(name)
        _execnet()
    gc.collect()
    gc.freeze()


@cache
def _execnet() -> tuple[str, CodeType]:
    """Return the text with which execnet begins the program of each worker, and its code: workers start one after another, and compiling
    the text takes 20 ms."""
    text = inspect.getsource(import_module("execnet.gateway_base"))
    return text, compile(text, "<string>", "exec")


def _become(connection: socket.socket, streams: list[int], handlers: dict[signal.Signals, Any]) -> None:
    """Become a worker: do what ``python -u -c 'import sys;exec(eval(sys.stdin.readline()))'`` does on these streams.

    Args:
        handlers: the handlers of signals that a worker has.
    """
    for number, handler in handlers.items():
        signal.signal(number, handler)
    for stream, own in zip(streams, STREAMS, strict=True):
        os.dup2(stream, own)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = open(0, closefd=False), open(1, "w", closefd=False), open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    sys.argv = ["-c"]
    sys.modules["__main__"] = ModuleType("__main__")
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    connection.sendall(b"1")
    program, names = eval(sys.stdin.readline()), vars(sys.modules["__main__"])
    known, code = _execnet()
    if program.startswith(known):
        program = program[len(known) :]
        exec(code, names)
    exec(program, names)


def _end_with(connection: socket.socket) -> None:
    """End this process when the other end of the connection ends: who kills that program means this worker."""
    with suppress(OSError):
        connection.recv(1)
    os._exit(1)


if __name__ == "__main__":
    main()
