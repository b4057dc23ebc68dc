"""Finds what starts a chip's driver without the chip: the driver's manifest, the library to preload, and the variables of the child."""

from __future__ import annotations

import os
import platform
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from cts.devices import driver_files
from cts.devices.compile_only.missing import Missing, NotInstalled
from cts.devices.compile_only.stand_in import built_stand_in
from cts.devices.device import DeviceError
from generators.document import Element, read_document

FILE = Path(__file__).with_name("chips.yaml")

LIBRARY_FOLDERS = tuple(
    Path(base, folder)
    for base in ("/usr/local", "/usr")
    for folder in (f"lib/{sysconfig.get_config_var('MULTIARCH') or '.'}", "lib64", "lib")
)
"""The folders where the dynamic linker looks for libraries of this machine's architecture, on Debian and elsewhere."""


@dataclass(frozen=True)
class Driver:
    """A driver of Mesa, and what it needs to start without its hardware.

    Attributes:
        name: ``radv``, ``nvk`` or ``anv``.
        manifest: the name of the loader's manifest, without ``_icd.json``.
        package: the Debian package with the driver.
        library: the file name of the library to preload; empty if the suite builds its own.
        library_package: the Debian package with the library.
    """

    name: str
    manifest: str
    package: str
    library: str
    library_package: str


@dataclass(frozen=True)
class Chip:
    """A chip whose driver can compile for it without it.

    Attributes:
        name: as in ``--device compile-only:CHIP``.
        vendor, architecture: in words (AMD, RDNA4).
        variables: the environment variables by which driver and library know the chip.
    """

    name: str
    vendor: str
    architecture: str
    driver: Driver
    variables: Mapping[str, str]

    @property
    def device(self) -> str:
        """The value of ``--device`` for this chip."""
        return f"compile-only:{self.name}"


@cache
def load_chips() -> Mapping[str, Chip]:
    """Return all chips by name, in the order of lists."""
    return read(FILE)


def read(path: Path) -> Mapping[str, Chip]:
    """Read a file of chips.

    Raises:
        CasebookError: the file is not a list of chips.
    """
    top = read_document(path).fields(("drivers", "chips"))
    drivers = {name: _driver(name, element) for name, element in top["drivers"].entries().items()}
    return MappingProxyType({name: _chip(name, element, drivers) for name, element in top["chips"].entries().items()})


def _driver(name: str, element: Element) -> tuple[Driver, dict[str, str]]:
    found = element.fields(("manifest", "package"), ("library", "library_package", "variables"))
    library, library_package = (found[key].text() if key in found else "" for key in ("library", "library_package"))
    if bool(library) != bool(library_package):
        raise element.error("library and library_package belong together")
    return Driver(name, found["manifest"].text(), found["package"].text(), library, library_package), _variables(found.get("variables"))


def _chip(name: str, element: Element, drivers: Mapping[str, tuple[Driver, dict[str, str]]]) -> Chip:
    found = element.fields(("vendor", "architecture", "driver", "variables"))
    driver = drivers.get(found["driver"].text())
    if driver is None:
        raise found["driver"].error(f"unknown driver; expected one of {', '.join(drivers)}")
    variables = MappingProxyType({**driver[1], **_variables(found["variables"])})
    return Chip(name, found["vendor"].text(), found["architecture"].text(), driver[0], variables)


def _variables(element: Element | None) -> dict[str, str]:
    return {name: value.text() for name, value in element.entries().items()} if element is not None else {}


def chip_named(name: str) -> Chip:
    """Return the chip with this name.

    Raises:
        DeviceError: there is no such chip.
    """
    chips = load_chips()
    if name not in chips:
        raise DeviceError(f"--device compile-only:{name}: there is no such chip; the chips are {', '.join(chips)}")
    return chips[name]


def obstacles(environment: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return why drivers cannot start without their hardware, by the driver's name; ``find`` can start the chips of all others."""
    first = {chip.driver.name: chip for chip in reversed(list(load_chips().values()))}
    why: dict[str, str] = {}
    for name, chip in reversed(first.items()):
        try:
            find(chip, environment)
        except DeviceError as error:
            why[name] = str(error)
    return why


def installed(environment: Mapping[str, str] = os.environ) -> list[Chip]:
    """Return the chips that ``find`` can start, in the order of lists."""
    why = obstacles(environment)
    return [chip for chip in load_chips().values() if chip.driver.name not in why]


def find(chip: Chip, environment: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return the variables to set for a child process in which the chip's driver starts without the chip.

    They are for the child alone: a preloaded library answers system calls of every process that has it.

    Args:
        environment: the variables that say where drivers and libraries are. VK_DRIVER_FILES, VK_ADD_DRIVER_FILES and LD_LIBRARY_PATH may
            name a driver and a library that the user built.

    Raises:
        NotInstalled: the driver, the library, or what builds the library is missing.
    """
    missing: list[Missing] = []
    manifest, library = _manifest(chip.driver, environment), None
    if manifest is None:
        missing.append(Missing(f"{chip.driver.manifest}_icd.json (Vulkan driver {chip.driver.name})", (chip.driver.package,)))
    try:
        library = _library(chip.driver, environment) if chip.driver.library else built_stand_in(environment)
    except NotInstalled as error:
        missing += error.missing
    if manifest is None and (named := environment.get(driver_files.VARIABLE)):
        raise DeviceError(
            f"--device {chip.device}: {driver_files.VARIABLE} is {named}, which names no manifest {chip.driver.manifest}_icd.json: "
            "name one, or unset the variable"
        )
    if manifest is None or library is None:
        raise NotInstalled(f"--device {chip.device}: {NotInstalled.of(missing)}", missing)
    if set(str(library)) & set(" :"):
        raise DeviceError(f"--device {chip.device}: LD_PRELOAD cannot name {library}, which has a space or colon: choose another folder")
    # A library that the user preloads (a sanitizer's) still comes after it.
    preloaded = " ".join([str(library), *environment.get("LD_PRELOAD", "").split()])
    return MappingProxyType(
        {driver_files.VARIABLE: str(manifest), **chip.variables, "LD_PRELOAD": preloaded, "MESA_SHADER_CACHE_DISABLE": "true"}
    )


def _manifest(driver: Driver, environment: Mapping[str, str]) -> Path | None:
    """Return the first manifest of a driver for this machine's architecture; Mesa's build folder has NAME_devenv_icd.ARCHITECTURE.json."""
    names = {f"{driver.manifest}{kind}_icd{end}.json" for kind in ("", "_devenv") for end in ("", f".{platform.machine()}")}
    return next((path for path in driver_files.find(environment) if path.name in names), None)


def _library(driver: Driver, environment: Mapping[str, str]) -> Path:
    named = [Path(folder) for folder in environment.get("LD_LIBRARY_PATH", "").split(":") if folder]
    found = next((path for folder in (*named, *LIBRARY_FOLDERS) if (path := folder / driver.library).is_file()), None)
    if found is None:
        raise NotInstalled.of([Missing(driver.library, (driver.library_package,))])
    return found
