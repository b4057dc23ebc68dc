"""Builds the library that stands in for the kernel drivers of Intel GPUs, since no distribution has one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from cts.devices.compile_only.missing import Missing, NotInstalled
from cts.devices.device import DeviceError

SOURCES = Path(__file__).with_name("intel_stand_in")
HEADERS = MappingProxyType(
    {"drm.h": "struct drm_version", "i915_drm.h": "struct drm_i915_query", "xe_drm.h": "struct drm_xe_query_uc_fw_version"}
)
"""The kernel's headers that the sources include, in the folder drm, with a type that each of them has since Linux 6.8."""

# Some compilers fortify by default, and then the headers define functions that the library defines too.
_OPTIONS = ("-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-U_FORTIFY_SOURCE")


def built_stand_in(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the library, built on first use into the user's cache folder.

    Args:
        environment: XDG_CACHE_HOME and HOME say where the cache folder is, CC names a compiler other than ``cc``, PATH says where it is.

    Raises:
        NotInstalled: a C compiler or the kernel's headers are missing.
        DeviceError: the compiler fails, or the folder cannot be written.
    """
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in _files("*.[ch]"))).hexdigest()[:16]
    library = _folder(environment) / f"libintel_stand_in-{digest}.so"
    if not library.is_file():
        _build(library, environment)
    return library


def _files(pattern: str) -> list[Path]:
    return sorted(SOURCES.glob(pattern))


def _folder(environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME") or os.path.expanduser("~")
    return Path(environment.get("XDG_CACHE_HOME") or Path(home) / ".cache") / "vulkan-cooperative-cts"


def _build(library: Path, environment: Mapping[str, str]) -> None:
    """Build the library under another name first, so another process never loads half of it."""
    name = environment.get("CC") or "cc"
    compiler = shutil.which(name, path=environment.get("PATH"))
    if compiler is None:
        raise NotInstalled.of([Missing(f"a C compiler ({name})", ("gcc", "libc6-dev"))])
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent, prefix="build-") as folder:
            built = Path(folder) / library.name
            command = [compiler, *_OPTIONS, "-o", str(built), *map(str, _files("*.c"))]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode == 0:
                built.replace(library)
    except OSError as error:
        raise DeviceError(f"{library} cannot be written: {error}: name another folder with XDG_CACHE_HOME") from error
    if done.returncode:
        missing = [header for header, type_ in HEADERS.items() if not _has(compiler, header, type_)]
        if missing:
            raise NotInstalled.of([Missing(f"header drm/{missing[0]} of Linux 6.8 or newer", ("linux-libc-dev",))])
        raise DeviceError(f"'{' '.join(command)}' ended with exit code {done.returncode}: {done.stderr.strip()}")


def _has(compiler: str, header: str, type_: str) -> bool:
    """Return whether the compiler finds one of these headers, and its type."""
    source = f"#include <drm/{header}>\n{type_} one;\n"
    command = [compiler, "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(command, input=source, text=True, capture_output=True, check=False).returncode == 0
