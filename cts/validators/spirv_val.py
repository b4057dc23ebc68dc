"""spirv-val of SPIRV-Tools."""

from __future__ import annotations

import re
import shutil
import subprocess

from cts.devices.device import DeviceCrash, DeviceDescription, DeviceError, DeviceTimeout, Finding
from cts.validators.validator import Answer

NAME = "spirv-val"
TARGET = "vulkan1.3"
SECONDS = 60.0

OLDEST = (2026, 4)
"""The oldest version that knows all extensions of the suite, with their rules."""

_VERSION = re.compile(r"v(\d+\.\d+\S*)")
_NUMBERS = re.compile(r"SPIRV-Tools (\d+)\.(\d+)")
_UNKNOWN = re.compile(r"Invalid (opcode|[^:]* operand): \d+")
"""How the parser of SPIRV-Tools refuses a number that its version has no name for."""


def is_unknown(message: str) -> bool:
    """Tell whether a message of SPIRV-Tools, also in one of the validation layer, says that it does not know a number in the module."""
    return bool(_UNKNOWN.search(message))


class ValidatorMissing(DeviceError):
    """spirv-val is not installed."""


class SpirvVal:
    """Runs spirv-val.

    Args:
        target: the environment.
        options: further options.

    Raises:
        DeviceError: spirv-val is not installed, or does not start.
    """

    def __init__(self, target: str = TARGET, options: tuple[str, ...] = ()) -> None:
        path = shutil.which(NAME)
        if path is None:
            raise ValidatorMissing("--device spirv-val: spirv-val is not on PATH: install SPIRV-Tools 2026.4 or newer (spirv-tools)")
        self._path = path
        self.description = DeviceDescription(
            name=NAME,
            driver=f"SPIRV-Tools {self._version()}",
            uuid="",
            kind=NAME,
            api_version="1.3",
            subgroup_size=0,
            max_workgroup_invocations=0,
            max_shared_memory=0,
            features={},
            extra={"target_env": target, "path": path},
        )
        self._command = [path, "--target-env", target, *options, "-"]

    def validate(self, module: bytes) -> Answer:
        """Return the answer of spirv-val for ``module``.

        Raises:
            DeviceCrash: spirv-val died of a signal.
            DeviceTimeout: spirv-val did not finish.
        """
        try:
            done = subprocess.run(self._command, input=module, capture_output=True, check=False, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise DeviceTimeout(f"spirv-val took longer than {SECONDS:g} s") from None
        message = (done.stdout + done.stderr).decode(errors="replace").strip()
        if done.returncode < 0:
            raise DeviceCrash(f"spirv-val died of signal {-done.returncode}: {message}")
        accepted = done.returncode == 0
        found = _NUMBERS.match(self.description.driver)
        old = found is not None and (int(found[1]), int(found[2])) < OLDEST
        return Answer(accepted, message, knows=accepted or not (old or is_unknown(message)))

    def close(self) -> tuple[Finding, ...]:
        """Return nothing: each module gets a separate process."""
        return ()

    def _version(self) -> str:
        try:
            done = subprocess.run([self._path, "--version"], capture_output=True, text=True, check=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            raise DeviceError(f"{self._path} does not start: {error}; install SPIRV-Tools again (spirv-tools)") from error
        found = _VERSION.search(done.stdout)
        return found[1] if found else done.stdout.partition("\n")[0].strip()
