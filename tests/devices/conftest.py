from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cts.devices.device import DeviceDescription, MatrixRow
from generators.dispatch import kernel
from generators.kernel import Kernel
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.values import Extent, MatrixType, Value
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Layout, MatrixOperands, Scope, StorageClass, Use

MulAdd = Callable[..., Kernel]


@pytest.fixture(autouse=True)
def _fakes_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make fake_devices importable by name in child processes."""
    monkeypatch.syspath_prepend(Path(__file__).parent)


@pytest.fixture(scope="session")
def muladd() -> MulAdd:
    """Return a kernel that computes A x B + C of row-major, tightly packed matrices."""

    def make(
        m: int = 8,
        n: int = 8,
        k: int = 8,
        types: str = "f16 f16 f32 f32",
        flags: MatrixOperands = MatrixOperands.NONE,
        scope: Scope = Scope.SUBGROUP,
        subgroups: int = 1,
        m_from_constant: bool = False,
        storage: StorageClass = StorageClass.STORAGE_BUFFER,
        repeat: bool = False,
    ) -> Kernel:
        builder = ProgramBuilder(scope, subgroups)
        a, b, c, result = (COMPONENT_TYPES[name] for name in types.split())
        rows: Extent = builder.operand("rows", COMPONENT_TYPES["u32"], "specialization", m, default=2 * m) if m_from_constant else m
        loaded = []
        for name, component, use, shape, count in (
            ("a", a, Use.A, (rows, k), m * k),
            ("b", b, Use.B, (k, n), k * n),
            ("c", c, Use.ACCUMULATOR, (rows, n), m * n),
        ):
            array = builder.array(f"{name}_in", Pointee(component), count, storage, "input")
            type_ = MatrixType(component, scope, shape[0], shape[1], use)
            stride = builder.literal(shape[1])
            loaded.append(builder.load(name, type_, array, builder.literal(0), stride, Layout.ROW_MAJOR))
        out = builder.array("out", Pointee(result), m * n, storage, "output")
        type_ = MatrixType(result, scope, rows, n, Use.ACCUMULATOR)
        if repeat:
            times = builder.operand("times", COMPONENT_TYPES["u32"], "push_constant")
            d = _repeated(builder, type_, loaded, times)
        else:
            d = builder.muladd("d", type_, *loaded, flags)
        builder.store(d, out, builder.literal(0), builder.literal(n), Layout.ROW_MAJOR)
        program = builder.build()
        return kernel(program, emit(program))

    return make


def _repeated(builder, type_, loaded, times):
    from generators.program.control_flow import Carried

    a, b, c = loaded
    current = Value("current", type_)
    carried: list[Carried] = []
    with builder.loop(Value("i", COMPONENT_TYPES["u32"]), times, carried):
        following = builder.muladd("following", type_, a, b, current, MatrixOperands.NONE)
        carried.append(Carried(c, current, following))
    return current


FEATURES = """cooperativeMatrix vulkanMemoryModel maintenance4 shaderFloat16 shaderInt8 shaderInt16 shaderInt64
storageBuffer16BitAccess storageBuffer8BitAccess uniformAndStorageBuffer16BitAccess uniformAndStorageBuffer8BitAccess
bufferDeviceAddress"""


@pytest.fixture(scope="session")
def describe() -> Callable[..., DeviceDescription]:
    def make(*rows: MatrixRow, without: str = "", features: str = "", **changes: object) -> DeviceDescription:
        supported = {name: True for name in f"{FEATURES} {features}".split() if name != without}
        values: dict[str, object] = {
            "name": "a device",
            "driver": "a driver 1.0",
            "uuid": "00",
            "kind": "vulkan",
            "api_version": "1.3.0",
            "subgroup_size": 32,
            "max_workgroup_invocations": 1024,
            "max_shared_memory": 49152,
            "features": supported,
            "rows": rows,
        }
        return DeviceDescription(**(values | changes))  # type: ignore[arg-type]

    return make
