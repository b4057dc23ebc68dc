"""Names the parts that a driver needs to start without its hardware and that the machine lacks, and the packages that have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cts.devices.device import DeviceError


@dataclass(frozen=True)
class Missing:
    """A part that is not installed.

    Attributes:
        what: the file or program.
        packages: the Debian packages that bring it.
    """

    what: str
    packages: tuple[str, ...]


class NotInstalled(DeviceError):
    """A driver, or what starts it without its hardware, is not installed.

    Attributes:
        missing: the parts that are not installed.
    """

    def __init__(self, message: str, missing: Sequence[Missing] = ()) -> None:
        super().__init__(message)
        self.missing = tuple(missing)

    @classmethod
    def of(cls, missing: Sequence[Missing]) -> NotInstalled:
        """Return the error that names these parts and the packages to install."""
        packages = dict.fromkeys(package for part in missing for package in part.packages)
        names = " and ".join(part.what for part in missing)
        verb = "is" if len(missing) == 1 else "are"
        return cls(f"{names} {verb} not installed: apt install {' '.join(packages)}", missing)
