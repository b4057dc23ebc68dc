"""Devices that misbehave. A child process imports the function that makes each of them by name."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import socket
import struct
import sys
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from cts.devices.device import DeviceDescription, DeviceError, DeviceLost, DriverRefused, Listings, OutOfMemory, Step, ValidationMessage
from cts.devices.messages import frame
from cts.verdict.machine import ElementPlace, MachineWalk
from cts.verdict.sizes import Statistics
from generators.kernel import Dispatch, Kernel, Outcome


class Obedient:
    """A device that takes its behaviour from the name of the kernel's entry point."""

    def __init__(self) -> None:
        self.runs = 0
        self.last_steps: dict[str, float] = {}
        self.last_statistics: Statistics = {}
        self.announce: Callable[[Step | None], None] = lambda step: None
        self.forward: Callable[[str], None] = lambda text: None

    @property
    def description(self) -> DeviceDescription:
        return DeviceDescription("fake", "1", "", "vulkan", "1.3.0", 8, 8, 8, {"cooperativeMatrix": True})

    def missing(self, kernel: Kernel) -> None:
        return None

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        self.runs += 1
        self.last_steps = {"pipeline": 0.25, "dispatch": 0.5}
        self.last_statistics = {"compute": {"Instructions": 20 + self.runs, "Occupancy": 0.5, "Spills": False}}
        getattr(self, f"do_{kernel.entry_point}", lambda: None)()
        # The id of the process, and the number of its runs so far.
        return [Outcome({"out": np.array([os.getpid(), self.runs]).view(np.uint8), "in": dispatch.contents[0]}) for dispatch in dispatches]

    def listings(self, kernel: Kernel) -> Listings:
        return {"compute": {"Assembly": f"call {kernel.entry_point}"}}

    def walk(self, kernel: Kernel, dispatch: Dispatch, place: ElementPlace, number: int = 0) -> MachineWalk:
        return MachineWalk(f"{place.array} after {number}")

    def do_kill_itself(self) -> None:
        print("famous last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)

    def do_exit(self) -> None:
        os._exit(3)

    def do_hang(self) -> None:
        time.sleep(60)

    def do_hang_in_step(self) -> None:
        self.announce(Step.PIPELINE)
        self.announce(Step.DISPATCH)
        time.sleep(60)

    def do_hang_in_pipeline(self) -> None:
        self.announce(Step.PIPELINE)
        time.sleep(60)

    def do_hang_after_step(self) -> None:
        self.announce(Step.PIPELINE)
        self.announce(None)
        time.sleep(60)

    def do_kill_itself_in_step(self) -> None:
        self.announce(Step.PIPELINE)
        os.kill(os.getpid(), signal.SIGSEGV)

    def do_step(self) -> None:
        self.announce(Step.PIPELINE)

    def do_speak_and_die(self) -> None:
        self.announce(Step.PIPELINE)
        self.forward("fine so far")
        self.announce(None)
        self.announce(Step.DISPATCH)
        self.forward("Invalid access chain type\x1b[31m")
        os.kill(os.getpid(), signal.SIGSEGV)

    def do_speak_and_refuse(self) -> None:
        self.announce(Step.PIPELINE)
        self.forward("out of registers")
        self.announce(None)
        raise DriverRefused("vkCreateComputePipelines returned VK_ERROR_UNKNOWN", step=Step.PIPELINE)

    def do_speak_and_hang(self) -> None:
        self.announce(Step.PIPELINE)
        self.forward("spilling")
        time.sleep(60)

    def do_speak_for_ever(self) -> None:
        self.announce(Step.PIPELINE)
        while True:
            self.forward("and")

    def do_speak_later(self) -> None:
        """Say something between two requests, in another thread, as a driver's own thread may."""
        _after_answer(threading.Thread(target=self.forward, args=("too late",)).start)

    def do_lose(self) -> None:
        raise DeviceLost("vkQueueSubmit returned VK_ERROR_DEVICE_LOST")

    def do_refuse(self) -> None:
        raise DriverRefused("vkCreateComputePipelines returned VK_ERROR_UNKNOWN")

    def do_complain(self) -> None:
        raise ValidationMessage("VUID-1\nVUID-2")

    def do_raise(self) -> None:
        raise ZeroDivisionError("in the middle")

    def do_print(self) -> None:
        os.write(1, b"a driver's chatter " * 10000)

    def do_write_on_every_descriptor(self) -> None:
        for descriptor in range(3, 64):
            with suppress(OSError):
                os.write(descriptor, b"\0\1\2 a driver's debugging output")

    def do_truncate_every_descriptor(self) -> None:
        for descriptor in range(3, 64):
            with suppress(OSError):
                os.ftruncate(descriptor, 0)

    def do_overwrite_answer(self) -> None:
        _overwrite_answer()

    def do_write_later(self) -> None:
        """Write garbage after the answer."""
        _write_on_sockets_after_answer()

    def do_answer_with_a_pickle(self) -> None:
        _instead_of_answer(pickle.dumps(("answer", _Code())))

    def do_answer_with_a_text(self) -> None:
        _instead_of_answer(b"\x92\xa6answer\xa4text")

    def do_die_after_answering(self) -> None:
        _after_answer(lambda: os.kill(os.getpid(), signal.SIGKILL))

    def do_close_every_descriptor(self) -> None:
        os.closerange(3, 64)

    def do_answer_twice(self) -> None:
        """Fork like a driver that returns into the caller in both processes. The child answers and ends; then the parent answers."""
        if (pid := os.fork()) == 0:
            _after_answer(lambda: os._exit(0))
            return
        os.waitpid(pid, 0)

    def do_fork_and_kill_itself(self) -> None:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGSEGV)

    def do_fork(self) -> None:
        if (pid := os.fork()) == 0:
            time.sleep(60)
            os._exit(0)
        self.runs = pid

    def do_exit_with_success(self) -> None:
        os._exit(0)

    def do_flood(self) -> None:
        for _ in range(1000):
            os.write(2, b"a driver's flood of output\n" * 1000)
        os.write(2, b"the last line\n")
        os.kill(os.getpid(), signal.SIGSEGV)

    def do_flood_for_ever(self) -> None:
        while True:
            os.write(1, b"a driver's flood of output\n" * 1000)

    def do_flood_later(self) -> None:
        """Write from a thread that fills the pipe while nothing waits for the device."""
        threading.Thread(target=lambda: os.write(1, b"x" * 1_000_000), daemon=True).start()

    def do_raise_terminate(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(os.getpid(), number)

    def do_spend(self) -> None:
        raise DriverRefused("vkQueueSubmit returned VK_ERROR_UNKNOWN", step=Step.DISPATCH, spent=True)

    def do_run_out_of_memory(self) -> None:
        raise OutOfMemory("vkAllocateMemory returned VK_ERROR_OUT_OF_DEVICE_MEMORY")

    def do_raise_memory_error(self) -> None:
        raise MemoryError

    def do_die_at_exit(self) -> None:
        atexit.register(os.kill, os.getpid(), signal.SIGSEGV)

    def do_hang_at_exit(self) -> None:
        atexit.register(time.sleep, 60)

    def do_fail_at_exit(self) -> None:
        atexit.register(os._exit, 5)

    def close(self) -> tuple[()]:
        return ()


class HangsOnClose(Obedient):
    def close(self) -> None:
        time.sleep(60)


class DiesOnClose(Obedient):
    def close(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)


class FailsOnClose(Obedient):
    def close(self) -> None:
        raise DeviceLost("vkDeviceWaitIdle returned VK_ERROR_DEVICE_LOST")


def _after_answer(do: Callable[[], None]) -> None:
    """Make the child do something after it has answered the current request."""
    serving = sys.modules["cts.devices.isolation_child"]
    send = serving.send

    def sending(channel: socket.socket, number: int, message: tuple[str, object], memory: np.ndarray) -> None:
        send(channel, number, message, memory)
        if message[0] == "answer":
            do()

    serving.send = sending


class _Code:
    """Its pickle makes the folder $FAKE_FOLDER in the process that reads it."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (os.environ["FAKE_FOLDER"],)


def _instead_of_answer(payload: bytes) -> None:
    """Make the child send a payload, in a correct frame, instead of its answer to the current request."""

    def framed(number: int, message: tuple[str, object], memory: np.ndarray) -> bytes:
        fields = struct.pack("<4sIQIQQQ", frame(0, ("", None))[:4], number, len(payload), zlib.crc32(payload), 0, 0, 0)
        return fields + struct.pack("<I", zlib.crc32(fields)) + payload

    _answer_with(framed)


def _answer_with(framed: Callable[[int, tuple[str, object], np.ndarray], bytes]) -> None:
    """Make the child send these bytes as its answer: the function gets number, message and shared memory."""
    serving = sys.modules["cts.devices.isolation_child"]
    send = serving.send

    def sending(channel: socket.socket, number: int, message: tuple[str, object], memory: np.ndarray) -> None:
        if message[0] == "answer":
            channel.sendall(framed(number, message, memory))
        else:
            send(channel, number, message, memory)

    serving.send = sending


def _overwrite_answer() -> None:
    """Change the shared memory when the message that belongs to it is complete."""

    def framed(number: int, message: tuple[str, object], memory: np.ndarray) -> bytes:
        data = frame(number, message, memory)
        memory[50_000:60_000] = 7
        return data

    _answer_with(framed)


def _write_on_sockets_after_answer() -> None:
    def write() -> None:
        for descriptor in range(3, 64):
            with suppress(OSError):
                os.write(descriptor, b"a driver's debugging output")

    _after_answer(write)


def obedient() -> Obedient:
    return Obedient()


def dies_on_close() -> Obedient:
    return DiesOnClose()


def fails_on_close() -> Obedient:
    return FailsOnClose()


def dies_when_opened() -> Obedient:
    """Open a device that dies as soon as its description has been sent."""
    _after_answer(lambda: os.kill(os.getpid(), signal.SIGKILL))
    return Obedient()


def lacks_a_feature() -> Obedient:
    """Open a device that lacks the feature that the others have."""
    device = Obedient()
    described = replace(device.description, features={"cooperativeMatrix": False})
    type(device).description = property(lambda self: described)  # type: ignore[assignment]
    return device


def says_its_driver_files() -> Obedient:
    print(f"VK_DRIVER_FILES={os.environ.get('VK_DRIVER_FILES')}", flush=True)
    os._exit(1)


def hangs_on_open() -> Obedient:
    time.sleep(60)
    return Obedient()


def hangs_on_close() -> Obedient:
    return HangsOnClose()


def cannot_open() -> Obedient:
    raise DeviceError("no such device: use another")


def dies_on_open() -> Obedient:
    os.kill(os.getpid(), signal.SIGABRT)
    return Obedient()
