"""Finds out whether this machine can compile the C program of a reproduction, and runs it on lavapipe."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.lavapipe import MATRICES, compiler_obstacle, driver_obstacle, manifest

COMPILE = (
    "cc",
    "-std=c99",
    "-O1",
    "-Wall",
    "-Wextra",
    "-Wno-missing-field-initializers",
    "-Werror",
    "-o",
    "repro",
    "repro.c",
    "-lvulkan",
    "-lm",
)


def obstacle(*features: str) -> str:
    """Return the requirements that this machine lacks; empty if there are none.

    Args:
        features: the features that the program needs, or else ends as ``not_supported``.
    """
    return compiler_obstacle("vulkan_core.h", MATRICES if features else 0) or driver_obstacle(*features)


def environment() -> Mapping[str, str]:
    """Return an environment in which lavapipe is the only driver, and compiles fast."""
    return {**os.environ, "VK_DRIVER_FILES": str(manifest()), "GALLIVM_PERF": "nopt"}


@dataclass(frozen=True)
class Ended:
    """The end of a program: its exit code, negative for a signal, and its output."""

    code: int
    output: str

    @property
    def verdict(self) -> str:
        """Return the code in the last line of the output; ``crash`` if a signal ended the program."""
        return "crash" if self.code < 0 else self.output.splitlines()[-1].partition(":")[0]


def compiled_and_run(folder: Path, *arguments: str, numbered: bool = True) -> Ended:
    """Compile the program of a folder, allowing no warnings, and run it with further arguments.

    Args:
        folder: the folder.
        arguments: of the program.
        numbered: whether to run it on the first device, with the tests' limit for a dispatch.
    """
    done = subprocess.run(COMPILE, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    command = ["./repro", *arguments, *(("0", "200") if numbered else ())]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment(), timeout=240)
    return Ended(ran.returncode, ran.stdout)
