"""What the model hears of RADV's system calls, and the library that tells it."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys

import pytest

from cts.devices.compile_only.library import built_library
from cts.devices.device import DeviceError
from cts.devices.executed import submissions
from cts.devices.executed.environment import SOURCE, executing
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.submissions import Fences

NULL_KERNEL = """
#include <stdarg.h>
#include <stdint.h>
int ioctl(int descriptor, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  uint32_t *argument = va_arg(arguments, uint32_t *);
  if (descriptor == 9) return -1;
  if ((request & 0xff) == 0x40) *argument = 77;
  return 0;
}
"""

HEARS = """
import ctypes, sys
seen = []
def hear(descriptor, number, first, argument):
    seen.append([descriptor, number, first, ctypes.c_uint32.from_address(argument).value])
    return 62 if number == 0xC3 else 0
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p)
library = ctypes.CDLL(None, use_errno=True)
listener = kind(hear)
def call(descriptor, request, value):
    words = (ctypes.c_uint64 * 4)(value)
    return library.ioctl(descriptor, ctypes.c_ulong(request), words)
results = [call(3, 0xC0206440, 5)]
library.executed_listen(listener)
results += [call(3, 0xC0206440, 4096), call(3, 0xC0206445, 1), call(9, 0xC0206440, 1), call(3, 0xC02864C3, 2), ctypes.get_errno()]
library.executed_listen(kind())
results += [call(3, 0xC0206440, 6)]
print([results, seen])
"""


def test_the_library_tells_of_calls_that_succeeded_and_returns_the_errors_of_its_listener(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("this machine has no C compiler")
    library = built_library("submissions", [SOURCE], {}, {**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    (tmp_path / "null.c").write_text(NULL_KERNEL)
    null = tmp_path / "null.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(null), str(tmp_path / "null.c")], check=True)
    preload = {**os.environ, "LD_PRELOAD": f"{library} {null}"}
    done = subprocess.run([sys.executable, "-c", HEARS], env=preload, capture_output=True, text=True, check=True)
    # Each argument is what the kernel made of it; the first eight bytes are from before.
    assert done.stdout.strip() == str([[0, 0, 0, -1, -1, errno.ETIME, 0], [[3, 0x40, 4096, 77], [3, 0xC3, 2, 2]]])


class Calls:
    """Makes requests for synchronization objects."""

    def __init__(self) -> None:
        self.fences = Fences()

    def create(self, signaled: bool = False) -> int:
        words = (ctypes.c_uint32 * 2)(1, signaled)
        assert self.fences.hear(submissions.SYNCOBJ_CREATE, ctypes.addressof(words)) == 0
        return words[0]

    def wait(self, *handles: int, everything: bool = False) -> int:
        of = (ctypes.c_uint32 * len(handles))(*handles)
        wait = (ctypes.c_uint64 * 4)(ctypes.addressof(of), 0, len(handles) | everything << 32)
        return self.fences.hear(submissions.SYNCOBJ_WAIT, ctypes.addressof(wait))

    def reset(self, *handles: int) -> None:
        of = (ctypes.c_uint32 * len(handles))(*handles)
        words = (ctypes.c_uint64 * 2)(ctypes.addressof(of), len(handles))
        assert self.fences.hear(submissions.SYNCOBJ_RESET, ctypes.addressof(words)) == 0


def test_each_object_has_its_own_handle_and_state():
    calls = Calls()
    first, second = calls.create(), calls.create(signaled=True)
    assert first != second
    assert (calls.wait(first), calls.wait(second)) == (errno.ETIME, 0)


def test_a_submission_signals_and_a_reset_takes_it_back():
    calls = Calls()
    fence = calls.create()
    calls.fences.signal([fence])
    assert calls.wait(fence) == 0
    calls.reset(fence)
    assert calls.wait(fence) == errno.ETIME


def test_a_wait_is_for_one_or_for_all():
    calls = Calls()
    first, second = calls.create(), calls.create(signaled=True)
    assert calls.wait(first, second) == 0
    assert calls.wait(first, second, everything=True) == errno.ETIME


def test_a_transfer_gives_the_state_to_another_object():
    calls = Calls()
    first, second = calls.create(signaled=True), calls.create()
    words = (ctypes.c_uint32 * 2)(first, second)
    calls.fences.hear(submissions.SYNCOBJ_TRANSFER, ctypes.addressof(words))
    assert calls.wait(second) == 0


def test_an_unknown_request_is_an_error():
    with pytest.raises(NotModelled) as raised:
        Fences().hear(0xCB, ctypes.addressof(ctypes.c_uint64()))
    assert raised.value.part == "request 0xcb"


def test_only_chips_of_radv_are_executed():
    with pytest.raises(DeviceError):
        executing("nvk-ada", {})
