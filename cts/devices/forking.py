"""The process that forks children: what a spawner (cts.devices.spawner) runs.

It has one thread, so a fork copies nothing half done. It keeps the number of an ended child until nobody may send it signals any more.
"""

from __future__ import annotations

import errno
import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from cts.devices.spawner import EARLY, MOST_DESCRIPTORS, NUMBER

Child = Callable[[Sequence[int], bool], None]
"""Runs in a child. It takes the child's descriptors except its output, and whether to open a device at once."""


@dataclass
class _Forked:
    """A child, and the socket to the process that wants to know when it ends.

    Attributes:
        is_wanted: whether that process still wants the child. Otherwise it is killed.
        has_ended: whether the child has ended, which was told.
    """

    pid: int
    told: socket.socket
    is_wanted: bool = True
    has_ended: bool = False


def fork_children(control: socket.socket, child: Child) -> None:
    """Fork a child for each request, and return when nobody can make one or waits for the end of a child. Return in each child, too.

    Args:
        control: where the requests come from.
        child: what each child does.
    """
    gc.collect()
    gc.freeze()
    # A child has handlers of its own, and the process that asks for it ends it.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # What this process has written until now belongs to the first child.
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)
    children: list[_Forked] = []
    while control.fileno() >= 0 or any(one.is_wanted for one in children):
        ready = _ready([control.fileno(), woken, *(one.told.fileno() for one in children if one.is_wanted)])
        if woken in ready:
            os.read(woken, select.PIPE_BUF)
        for one in children:
            _attend(one, ready)
        children = [one for one in children if one.is_wanted or not one.has_ended]
        if control.fileno() not in ready:
            continue
        request, descriptors, flags, _ = socket.recv_fds(control, 1, MOST_DESCRIPTORS)
        if not request:
            control.close()
            continue
        try:
            if flags & socket.MSG_CTRUNC:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            told, output, *given = descriptors
            pid = os.fork()
        except OSError:
            # Closing its socket says that there is no such child.
            for end in descriptors:
                os.close(end)
            continue
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for one in children:
                one.told.close()
            control.close()
            os.close(woken)
            os.close(wakes)
            os.close(told)
            _begin(output)
            child(given, request == EARLY)
            return
        for end in (output, *given):
            os.close(end)
        children.append(_Forked(pid, socket.socket(fileno=told)))
        with suppress(OSError):
            children[-1].told.send(NUMBER.pack(pid))


def _ready(descriptors: Iterable[int]) -> set[int]:
    poll = select.poll()
    for descriptor in descriptors:
        if descriptor >= 0:
            poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll()}


def _attend(one: _Forked, ready: set[int]) -> None:
    """Kill a child that is not wanted any more, and tell of one that has ended. Reap it when both have happened."""
    # Nobody sends anything on this socket, so its other end is shut.
    if one.is_wanted and one.told.fileno() in ready:
        one.is_wanted = False
        # A child that has just been forked does not lead its group yet.
        for kill in (os.kill, os.killpg):
            with suppress(OSError):
                kill(one.pid, signal.SIGKILL)
        if one.has_ended:
            os.waitpid(one.pid, 0)
    # A parent that hears of the end of a child that it had killed may rely on it: no process has the number any more.
    options = os.WEXITED | os.WNOHANG | (os.WNOWAIT if one.is_wanted else 0)
    if not one.has_ended and (ended := os.waitid(os.P_PID, one.pid, options)) is not None:
        one.has_ended = True
        with suppress(OSError):
            one.told.send(NUMBER.pack(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status))
    if one.has_ended and not one.is_wanted:
        one.told.close()


def _begin(output: int) -> None:
    """Become a process of its own, whose standard output and error is ``output``."""
    os.setsid()
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    sys.stdout, sys.stderr = open(1, "w", buffering=1, closefd=False), open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
