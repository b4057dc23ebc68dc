"""large_buffers: the wrong addresses of a device that computes with too few bits are also in a window, and give wrong results."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import arrange
from cts.kinds.kernel_reproduction import write_reproduction
from cts.repro.folder import DESCRIPTION
from generators.casebook import BuiltCase, build, expand
from generators.dispatch import kernel
from generators.families.vulkan.large_buffers import geometry
from generators.kernel import Kernel
from generators.spirv.emit import emit
from tests.suite import casebook

_LIMITS = {"1GiB": 1 << 30, "2GiB": 1 << 31, "4GiB": 1 << 32}


@cache
def sample() -> tuple[BuiltCase, ...]:
    """Return cases for every access, every limit, and every way to exceed it."""
    cases = list(expand(casebook().family("large_buffers"), "full"))
    random.Random(7).shuffle(cases)
    found = {tuple(case.named[name] for name in ("access", "beyond", "by", "indexing")): case for case in cases}
    return tuple(build(case) for case in found.values())


def built(case: BuiltCase) -> Kernel:
    return kernel(case.program, emit(case.program))


def wide_profile(**limits: int):
    profile = load_profile("universal")
    return replace(profile, limits=dict(profile.limits) | limits)


def test_every_access_goes_beyond_its_limit() -> None:
    for case in sample():
        assert geometry(case.case.parameters).end > _LIMITS[case.case.named["beyond"]]


def test_narrow_indexing_stays_below_32_bits() -> None:
    for case in sample():
        if not case.program.wide_indexing:
            assert geometry(case.case.parameters).end <= 1 << 32


def test_a_case_holds_kilobytes_of_gigabytes() -> None:
    for case in sample():
        plan = arrange(case)
        assert all(contents.size < 1 << 16 for dispatch in plan.dispatches for contents in dispatch.contents)
        assert max(slot.span for slot in built(case).buffers) > 1 << 30


def test_wrapped_addresses_are_held_and_have_other_bits() -> None:
    """A device that computes a line's place with only as many bits as the limit reads another line of the source."""
    for case in sample():
        if not case.case.named["access"].endswith("load"):
            continue
        at, limit = geometry(case.case.parameters), _LIMITS[case.case.named["beyond"]]
        windows = case.program.array("source").windows
        source = next(iter(case.subcases(case.program))).inputs["source"]
        first = at.pointer + at.first
        places = first + at.stride * np.arange(at.lines)[:, None] + np.arange(at.line)
        beyond = places[places[:, 0] >= limit]
        right, wrapped = windows.held(beyond), windows.held(beyond % limit)
        assert len(beyond)
        assert (right >= 0).all()
        assert (wrapped >= 0).all()
        assert (source[right] != source[wrapped]).any(axis=1).all()


@pytest.mark.parametrize("limit", ["maxBufferSize", "maxMemoryAllocationSize", "memoryHeapSize"])
def test_too_little_memory_is_reported_in_bytes(limit) -> None:
    case = built(sample()[0])
    needed = max(slot.span for slot in case.buffers)
    missing = EmbeddedDevice(wide_profile(**{limit: needed - 1})).missing(case)
    assert missing is not None
    assert missing.code == f"missing.limit.{limit}"
    assert f"{needed:,} bytes" in missing.text
    assert EmbeddedDevice(wide_profile(**{limit: needed})).missing(case) is None


def test_sparse_buffers_need_addresses_in_place_of_memory() -> None:
    case = built(sample()[0])
    profile = load_profile("universal")
    limits = dict(profile.limits) | {"queueFlags": 0xF, "memoryHeapSize": 1 << 20, "sparseAddressSpaceSize": 1 << 40}
    sparse = replace(profile, limits=limits, features=profile.features | {"sparseBinding", "sparseResidencyBuffer"})
    assert EmbeddedDevice(sparse).missing(case) is None


def test_a_device_without_64_bit_indexing_lacks_the_feature() -> None:
    profile = load_profile("universal")
    narrow = EmbeddedDevice(replace(profile, features=profile.features - {"shader64BitIndexing"}))
    for case in sample():
        missing = narrow.missing(built(case))
        assert (missing is not None and missing.code == "missing.feature.shader64BitIndexing") or not case.program.wide_indexing


def test_a_reproduction_says_where_windows_are(tmp_path) -> None:
    case = sample()[0]
    write_reproduction(case.case, tmp_path, "spirv")
    text = json.loads((tmp_path / DESCRIPTION).read_text())
    assert any("windows" in slot for slot in text["buffers"])
