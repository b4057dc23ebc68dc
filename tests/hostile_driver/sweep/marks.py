"""A plugin of pytest that writes into the layer's trace which request to the device's process the following calls serve.

Requests and calls alternate, so the order of the lines says during which request each call was made.
"""

from __future__ import annotations

import os
import zlib
from functools import wraps
from pathlib import Path
from typing import Any

from cts.devices.child import ChildProcess

MARK = "= "
"""Begins a line of the trace that is no call."""


def _write(words: str) -> None:
    with (Path(os.environ["HOSTILE_STATE"]) / "trace").open("a", encoding="utf-8") as file:
        file.write(f"{MARK}{words}\n")


def _described(request: tuple[Any, ...]) -> str:
    """Return the request's name and the CRC-32 of its shader, if it has one."""
    code = next((part.spirv for part in request if hasattr(part, "spirv")), b"")
    return f"{request[0]} {zlib.crc32(code):08x}" if code else str(request[0])


def pytest_configure() -> None:
    ask = ChildProcess.ask

    @wraps(ask)
    def marked(self: ChildProcess, request: tuple[Any, ...], *arguments: Any, **named: Any) -> Any:
        _write(_described(request))
        return ask(self, request, *arguments, **named)

    ChildProcess.ask = marked  # type: ignore[method-assign]
