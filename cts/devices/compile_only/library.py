"""Builds a library to preload from its sources in C, on first use, into the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from cts.devices.compile_only.missing import Missing, NotInstalled
from cts.devices.device import DeviceError

# Some compilers fortify by default, and then the headers define functions that a library defines too.
_OPTIONS = ("-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-U_FORTIFY_SOURCE")


def built_library(name: str, sources: Sequence[Path], headers: Mapping[str, str], environment: Mapping[str, str]) -> Path:
    """Return the library, under a name with the digest of its sources.

    Args:
        name: the library's name, without ``lib`` and ``.so``.
        sources: its files; those that end in ``.c`` are compiled.
        headers: the kernel's headers that they include, in the folder drm, with a type that each of them has.
        environment: XDG_CACHE_HOME and HOME say where the cache folder is, CC names a compiler other than ``cc``, PATH says where it is.

    Raises:
        NotInstalled: a C compiler or the kernel's headers are missing.
        DeviceError: the compiler fails, or the folder cannot be written.
    """
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    library = _folder(environment) / f"lib{name}-{digest}.so"
    if not library.is_file():
        _build(library, [path for path in sources if path.suffix == ".c"], headers, environment)
    return library


def _folder(environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME") or os.path.expanduser("~")
    return Path(environment.get("XDG_CACHE_HOME") or Path(home) / ".cache") / "vulkan-cooperative-cts"


def _build(library: Path, sources: Sequence[Path], headers: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Build the library under another name first, so another process never loads half of it."""
    name = environment.get("CC") or "cc"
    compiler = shutil.which(name, path=environment.get("PATH"))
    if compiler is None:
        raise NotInstalled.of([Missing(f"a C compiler ({name})", ("gcc", "libc6-dev"))])
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent, prefix="build-") as folder:
            built = Path(folder) / library.name
            command = [compiler, *_OPTIONS, "-o", str(built), *map(str, sources)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode == 0:
                built.replace(library)
    except OSError as error:
        raise DeviceError(f"{library} cannot be written: {error}: name another folder with XDG_CACHE_HOME") from error
    if done.returncode:
        missing = [header for header, type_ in headers.items() if not _has(compiler, header, type_)]
        if missing:
            raise NotInstalled.of([Missing(f"header drm/{missing[0]} of Linux 6.8 or newer", ("linux-libc-dev",))])
        raise DeviceError(f"'{' '.join(command)}' ended with exit code {done.returncode}: {done.stderr.strip()}")


def _has(compiler: str, header: str, type_: str) -> bool:
    """Return whether the compiler finds one of these headers, and its type."""
    source = f"#include <drm/{header}>\n{type_} one;\n"
    command = [compiler, "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(command, input=source, text=True, capture_output=True, check=False).returncode == 0
