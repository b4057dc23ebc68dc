"""Chips whose drivers compile without them: the data, what is said when something is missing, and the child's environment."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from cts.devices.child import ChildProcess
from cts.devices.compile_only import chips
from cts.devices.compile_only.chips import Chip, chip_named, find, installed, load_chips, obstacles, read
from cts.devices.compile_only.missing import NotInstalled
from cts.devices.device import DeviceError
from cts.devices.listing import list_vulkan
from generators.errors import CasebookError

VENDORS = {"AMD", "NVIDIA", "Intel"}
ARCHITECTURES = {"RDNA3", "RDNA3.5", "RDNA4", "Turing", "Ampere", "Ada", "Blackwell", "Xe-HPG", "Xe-LPG+", "Xe2", "Xe3"}
NAMES = (
    *("gfx1201", "navi31", "navi33", "phoenix", "strix1"),
    *("nvk-turing", "nvk-turing-tu102", "nvk-ampere", "nvk-ada", "nvk-blackwell"),
    *("dg2", "arl", "lnl", "bmg", "ptl"),
)
LIBRARIES = {"radv": "libamdgpu_noop_drm_shim.so", "nvk": "libnouveau_noop_drm_shim.so"}
MANIFESTS = {"radv": "radeon_icd.json", "nvk": "nouveau_icd.json", "anv": "intel_icd.json"}


class Machine:
    """A machine with these files, and nothing from the machine that runs the test."""

    def __init__(self, folder: Path, *files: str) -> None:
        self.folder = folder
        (folder / "icd.d").mkdir()
        # The loader looks for the folder vulkan/icd.d.
        (folder / "vulkan").symlink_to(folder)
        (folder / "bin").mkdir()
        for file in files:
            self.add(file)

    def add(self, file: str, text: str = "") -> Path:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "XDG_DATA_DIRS": str(self.folder),
            "LD_LIBRARY_PATH": str(self.folder / "lib"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "PATH": str(self.folder / "bin"),
            **more,
        }


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Return a function that makes a machine; the linker's own folders are hidden."""
    monkeypatch.setattr(chips, "LIBRARY_FOLDERS", ())
    return lambda *files: Machine(tmp_path, *files)


def whole(chip: Chip) -> tuple[str, str]:
    return f"icd.d/{MANIFESTS[chip.driver.name]}", f"lib/{chip.driver.library}"


def test_every_chip_with_matrices_is_known():
    assert tuple(load_chips()) == NAMES


@pytest.mark.parametrize("chip", load_chips().values(), ids=lambda chip: chip.name)
def test_a_chip_is_described(chip):
    assert chip.vendor in VENDORS
    assert chip.architecture in ARCHITECTURES
    assert f"{chip.driver.manifest}_icd.json" == MANIFESTS[chip.driver.name]
    assert chip.driver.library == LIBRARIES.get(chip.driver.name, "")
    assert chip.variables


def test_no_two_chips_have_the_same_variables():
    assert len({tuple(sorted(chip.variables.items())) for chip in load_chips().values()}) == len(NAMES)


def test_an_unknown_chip_is_an_error_with_the_known_ones():
    with pytest.raises(DeviceError) as raised:
        chip_named("navi99")
    assert all(name in str(raised.value) for name in NAMES)


@pytest.mark.parametrize("name", ["gfx1201", "nvk-ada"])
def test_the_environment_starts_one_driver_over_its_library(bare, name):
    chip = chip_named(name)
    machine = bare(*whole(chip))
    found = find(chip, machine.environment())
    manifest, library = str(machine.folder / "vulkan" / whole(chip)[0]), str(machine.folder / whole(chip)[1])
    assert found == {"VK_DRIVER_FILES": manifest, "LD_PRELOAD": library, "MESA_SHADER_CACHE_DISABLE": "true", **chip.variables}


def test_a_library_that_the_user_preloads_is_kept(bare):
    chip = chip_named("gfx1201")
    machine = bare(*whole(chip))
    found = find(chip, machine.environment(LD_PRELOAD="/opt/libasan.so"))
    assert found["LD_PRELOAD"].split() == [str(machine.folder / "lib" / chip.driver.library), "/opt/libasan.so"]


@pytest.mark.parametrize("name", [f"radeon_icd.{platform.machine()}.json", f"radeon_devenv_icd.{platform.machine()}.json"])
def test_a_manifest_may_name_the_architecture(bare, name):
    chip = chip_named("navi31")
    machine = bare(f"icd.d/{name}", whole(chip)[1])
    assert Path(find(chip, machine.environment())["VK_DRIVER_FILES"]).name == name


def test_a_driver_with_a_similar_name_is_another_driver(bare):
    with pytest.raises(NotInstalled) as raised:
        find(chip_named("dg2"), bare("icd.d/intel_hasvk_icd.json").environment())
    assert "intel_icd.json" in {part.what.split()[0] for part in raised.value.missing}


def packages(error: NotInstalled) -> list[str]:
    return [package for part in error.missing for package in part.packages]


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("gfx1201", ("icd.d/radeon_icd.json",), ["mesa-drm-shim"]),
        ("gfx1201", ("lib/libamdgpu_noop_drm_shim.so",), ["mesa-vulkan-drivers"]),
        ("nvk-ada", ("icd.d/radeon_icd.json", "lib/libamdgpu_noop_drm_shim.so"), ["mesa-vulkan-drivers", "mesa-drm-shim"]),
        ("bmg", (), ["mesa-vulkan-drivers", "gcc", "libc6-dev"]),
        ("bmg", ("icd.d/intel_icd.json",), ["gcc", "libc6-dev"]),
    ],
)
def test_the_sentence_names_each_package_that_is_missing(bare, name, has, lacks):
    with pytest.raises(NotInstalled) as raised:
        find(chip_named(name), bare(*has).environment())
    assert packages(raised.value) == lacks
    assert str(raised.value).startswith(f"--device compile-only:{name}: ")
    assert str(raised.value).endswith(f": apt install {' '.join(lacks)}")


def test_chips_of_an_installed_driver_are_listed(bare):
    machine = bare(*whole(chip_named("navi31")), "icd.d/nouveau_icd.json")
    assert [chip.name for chip in installed(machine.environment())] == list(NAMES[:5])


def test_a_driver_that_cannot_start_has_a_sentence(bare):
    why = obstacles(bare(*whole(chip_named("navi31")), "icd.d/nouveau_icd.json").environment())
    assert list(why) == ["nvk", "anv"]
    assert why["nvk"].endswith("apt install mesa-drm-shim")


def test_a_path_that_cannot_be_preloaded_is_an_error(bare):
    chip = chip_named("gfx1201")
    machine = bare(f"icd.d/{MANIFESTS['radv']}", f"my libraries/{chip.driver.library}")
    with pytest.raises(DeviceError) as raised:
        find(chip, machine.environment(LD_LIBRARY_PATH=str(machine.folder / "my libraries")))
    assert not isinstance(raised.value, NotInstalled)


DRIVERS = "drivers:\n  radv: {manifest: radeon, package: mesa, library: a.so, library_package: shim}\n"
CHIP = "chips:\n  x: {vendor: AMD, architecture: RDNA9, driver: radv, variables: {A: b}}\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (DRIVERS + CHIP.replace("driver: radv", "driver: anv"), "chips.x.driver"),
        (DRIVERS + CHIP.replace("vendor: AMD, ", ""), "chips.x"),
        (DRIVERS + CHIP.replace("RDNA9", "RDNA9, year: 2030"), "chips.x.year"),
        (DRIVERS.replace(", library_package: shim", "") + CHIP, "drivers.radv"),
    ],
)
def test_a_mistake_in_the_data_names_its_place(tmp_path, text, place):
    file = tmp_path / "chips.yaml"
    file.write_text(text)
    with pytest.raises(CasebookError, match=f"chips.yaml:[0-9]+: {place}: "):
        read(file)


@pytest.mark.parametrize("chip", load_chips().values(), ids=lambda chip: chip.name)
def test_the_real_driver_starts_without_the_chip(chip):
    try:
        variables = find(chip)
    except NotInstalled as missing:
        pytest.skip(f"this machine lacks what the test needs: {missing}")
    found = list_vulkan(start=lambda more: ChildProcess({**more, **variables}))
    assert [device.description.features.get("cooperativeMatrix") for device in found.devices] == [True]
