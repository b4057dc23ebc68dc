"""Profiles: what they say about a device, and the kernels that the device does not support."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.devices.device import MatrixRow
from cts.embedded.device import EmbeddedDevice, UnknownMapping
from cts.embedded.profile import PROFILES, ProfileError, UnknownProfile, load_profile
from generators.types import COMPONENT_TYPES

SMALL = """\
name: small
driver: none
api_version: 1.3.0
subgroup_size: 8
max_workgroup_invocations: 128
max_shared_memory: 1024
features: [cooperativeMatrix]
rows:
  - sizes: [8x8x16, 8x8x8]
    scopes: [subgroup, workgroup]
    invocations: [8, 16]
    flexible: true
    a: [s8, u8]
    b: [s8]
    c: [s32]
    result: [s32]
  - {sizes: [8x8x8], types: [f16.f16.f32.f32], saturating: [false]}
"""


def load(tmp_path: Path, text: str):
    path = tmp_path / "profile.yaml"
    path.write_text(text)
    return load_profile(str(path))


def test_rows_are_the_product_of_their_lists(tmp_path) -> None:
    rows = load(tmp_path, SMALL).rows
    assert len(rows) == 2 * 2 * 3 + 1
    assert MatrixRow(8, 8, 16, "u8", "s8", "s32", "s32", False, 2, True, 16) in rows
    assert MatrixRow(8, 8, 8, "f16", "f16", "f32", "f32", False, 3) in rows


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("subgroup_size: 8", "subgroup_size: 12", "not a power of two"),
        ("subgroup_size: 8\n", "", "key 'subgroup_size' is missing"),
        ("driver: none", "drivers: none", "drivers: unknown key"),
        ("driver: none", "driver: [5]", "driver: expected text, found a list"),
        ("8x8x16", "8x8", "size '8x8' must be MxNxK"),
        ("workgroup]", "quad]", "unknown scope 'quad'"),
        ("[s32]", "[i32]", "unknown component type 'i32'"),
        ("f16.f16.f32.f32", "f16.f32.f32", "must be four"),
        ("saturating: [false]", "saturating: no", "expected a list of true and false"),
        ("    a: [s8, u8]\n", "", "'a' is missing"),
        ("sizes: [8x8x8], types", "size: [8x8x8], types", "size: unknown key"),
        ("name: small", "name: [", "malformed YAML"),
        ("features: [cooperativeMatrix]", "features: [[a]]", "features[0]: expected the name of a feature, found a list"),
        ("max_shared_memory: 1024", "max_shared_memory: -1", "expected an integer from 0 to"),
        ("invocations: [8, 16]", "invocations: 8", "expected a list of counts"),
        ("sizes: [8x8x16, 8x8x8]", f"sizes: [{'8x8x8, ' * 30_000}8x8x8]", "more than 100,000 rows"),
        ("sizes: [8x8x16, 8x8x8]", f"sizes: [{'9' * 10_000}x8x8]", "must be MxNxK"),
    ],
)
def test_a_mistake_is_named(tmp_path, before, after, says) -> None:
    with pytest.raises(ProfileError, match=r"profile\.yaml") as caught:
        load(tmp_path, SMALL.replace(before, after, 1))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_profile_names_those_there_are() -> None:
    with pytest.raises(UnknownProfile) as caught:
        load_profile("voodoo")
    assert caught.value.known == tuple(sorted(path.stem for path in PROFILES.glob("*.yaml")))
    assert "universal" in caught.value.known


def test_an_unknown_mapping_is_refused() -> None:
    with pytest.raises(UnknownMapping):
        EmbeddedDevice(load_profile("universal"), "spiral")


def test_the_universal_profile_has_every_component_type_in_every_use_and_scope() -> None:
    rows = load_profile("universal").rows
    for scope in 2, 3:
        for types in (
            {r.a for r in rows if r.scope == scope},
            {r.b for r in rows if r.scope == scope},
            {r.c for r in rows if r.scope == scope},
            {r.result for r in rows if r.scope == scope},
        ):
            assert types == set(COMPONENT_TYPES)


@pytest.mark.parametrize(
    ("name", "exact", "flexible"), [("llvmpipe", 4, 4), ("nvidia-h200", 11, 25), ("intel-xe2", 6, 0), ("intel-xe-hpg", 4, 0)]
)
def test_profiles_of_real_devices_have_their_rows(name, exact, flexible) -> None:
    rows = load_profile(name).rows
    assert (sum(not r.flexible for r in rows), sum(r.flexible for r in rows)) == (exact, flexible)


def test_a_profile_describes_a_device() -> None:
    description = EmbeddedDevice(load_profile("nvidia-h200")).description
    assert description.kind == "embedded"
    assert description.subgroup_size == 32
    assert description.features["cooperativeMatrixWorkgroupScope"]


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_profile_that_stands_in_for_a_device_lists_its_extensions(path: Path) -> None:
    """Without a list it would claim every extension, although it does not support them all."""
    assert (load_profile(path.stem).extensions is None) == (path.stem == "universal")
