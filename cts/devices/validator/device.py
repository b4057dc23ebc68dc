"""spirv-val of SPIRV-Tools: a device that says whether a module is valid."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cts.devices.device import DeviceCrash, DeviceDescription, DeviceError, DeviceTimeout, Finding
from cts.verdict.codes import Code, Reason
from generators.kernel import Dispatch, Kernel, Outcome

KIND = "spirv-val"
TARGET = "vulkan1.3"
SECONDS = 60.0

_VERSION = re.compile(r"v(\d+\.\d+\S*)")


@dataclass(frozen=True)
class Answer:
    """What a validator makes of a module: whether it is valid, and the message if it is not."""

    accepted: bool
    message: str = ""


class ValidatorDevice:
    """spirv-val for the Vulkan 1.3 environment.

    Raises:
        DeviceError: it is not installed, or does not start.
    """

    def __init__(self) -> None:
        path = shutil.which("spirv-val")
        if path is None:
            raise DeviceError("--device spirv-val: spirv-val is not on PATH: install SPIRV-Tools 2026.4 or newer (spirv-tools)")
        self._path = path
        self.description = DeviceDescription(
            name=KIND,
            driver=f"SPIRV-Tools {self._version()}",
            uuid="",
            kind=KIND,
            api_version="1.3",
            subgroup_size=0,
            max_workgroup_invocations=0,
            max_shared_memory=0,
            features={},
            extra={"target_env": TARGET, "path": path},
        )

    def missing(self, kernel: Kernel) -> Reason:  # noqa: ARG002 (whichever it is)
        """Return that it runs no kernel at all."""
        return Reason(Code.MISSING_JUDGE.of("kernel"), "spirv-val runs no shaders")

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:  # noqa: ARG002 (it runs none)
        """Never.

        Raises:
            DeviceError: always.
        """
        raise DeviceError(self.missing(kernel).text)

    def validate(self, module: bytes) -> Answer:
        """What it makes of ``module``.

        Raises:
            DeviceCrash: it died of a signal; DeviceTimeout: it did not end.
        """
        try:
            done = subprocess.run(
                [self._path, "--target-env", TARGET, "-"], input=module, capture_output=True, check=False, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            raise DeviceTimeout(f"spirv-val took longer than {SECONDS:g} s") from None
        message = (done.stdout + done.stderr).decode(errors="replace").strip()
        if done.returncode < 0:
            raise DeviceCrash(f"spirv-val died of signal {-done.returncode}: {message}")
        return Answer(done.returncode == 0, message)

    @property
    def last_steps(self) -> Mapping[str, float]:
        """Nothing: it runs no kernel."""
        return {}

    def close(self) -> tuple[Finding, ...]:
        """Nothing is open."""
        return ()

    def _version(self) -> str:
        try:
            done = subprocess.run([self._path, "--version"], capture_output=True, text=True, check=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            raise DeviceError(f"{self._path} does not start: {error}; install SPIRV-Tools anew (spirv-tools)") from error
        found = _VERSION.search(done.stdout)
        return found[1] if found else done.stdout.partition("\n")[0].strip()
