"""The script of a folder that ``git bisect run`` calls for each commit of a driver."""

from __future__ import annotations

import shlex
from pathlib import Path

from cts.devices.device import DeviceDescription
from cts.repro.program_files import COMPILE, PROGRAM, template

BISECTION = "bisect.sh"


def write_bisection(folder: Path, id_: str, device: DeviceDescription | None = None) -> None:
    """Write the script beside the C program of a folder, executable.

    Args:
        folder: the folder.
        id_: the id of the case.
        device: the Vulkan device on which the case failed, which the script runs; None if the user must choose one.

    Raises:
        OSError: it cannot be written.
    """
    loops = "--loop" in (folder / PROGRAM).read_text(encoding="utf-8")
    only = "" if device is None else shlex.quote(named(device))
    script = folder / BISECTION
    text = template("bisect.sh.jinja").render(id=id_, loops=loops, compile=COMPILE, device=device, only=only)
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)


def named(device: DeviceDescription) -> str:
    """Return the name of a Vulkan device for ``--only`` of the C program, which other versions of its driver share.

    It begins with the vendor's and the device's id in hexadecimal. The driver's name follows, with a version that the program ignores.
    The UUID is no part of it: Mesa's llvmpipe has its version there.
    """
    return f"{device.extra['vendor_id']:x}:{device.extra['device_id']:x}:{device.driver}"
