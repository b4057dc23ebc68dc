"""The results of spirv-val and spirv-dis for emitted modules. Besides pytest and numpy, only SPIRV-Tools is needed."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.values import MatrixType
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.spirv.enumerants import Capability, Op
from generators.types import COMPONENT_TYPES, Layout, MatrixOperands, MemoryAccess, Scope, StorageClass, Use

_CAPABILITIES = (Capability.CooperativeMatrixKHR, Capability.Shader)
ENVIRONMENT = ("--target-env", "vulkan1.3")

MASKS = (
    None,
    MemoryAccess.NONE,
    MemoryAccess.VOLATILE,
    MemoryAccess.ALIGNED,
    MemoryAccess.NONTEMPORAL,
    MemoryAccess.NON_PRIVATE_POINTER,
    MemoryAccess.NON_PRIVATE_POINTER | MemoryAccess.MAKE_POINTER_AVAILABLE | MemoryAccess.MAKE_POINTER_VISIBLE,
    MemoryAccess(0x3F),
)


def _load_store_arguments() -> Iterator[dict[str, Any]]:
    uses, scopes = itertools.cycle(Use), itertools.cycle(Scope)
    for component, storage in itertools.product(COMPONENT_TYPES, StorageClass):
        yield {"component": component, "storage": storage, "use": next(uses), "scope": next(scopes)}
    u32, f16, s64 = COMPONENT_TYPES["u32"], COMPONENT_TYPES["f16"], COMPONENT_TYPES["s64"]
    pointees = [Pointee(COMPONENT_TYPES[name], lanes) for name in COMPONENT_TYPES for lanes in (2, 4)]
    pointees += [Pointee(u32), Pointee(u32, 4), Pointee(f16), Pointee(s64)]
    for pointee, storage in itertools.product(pointees, StorageClass):
        yield {"component": "s8", "pointee": pointee, "storage": storage}
    for source, integer in itertools.product(("literal", "specialization", "push_constant", "buffer"), ("u32", "s32", "u64", "s64")):
        for storage in StorageClass:
            yield {"source": source, "integer": integer, "storage": storage}
    for mask, storage in itertools.product(MASKS, StorageClass):
        yield {"mask": mask, "alignment": 16 if mask and mask & MemoryAccess.ALIGNED else None, "storage": storage}
    for storage in (StorageClass.STORAGE_BUFFER, StorageClass.PHYSICAL_STORAGE_BUFFER):
        yield {"array_stride": 64, "storage": storage}
        yield {"pointer_stride": 64, "storage": storage}


MULADDS: tuple[dict[str, Any], ...] = (
    {},
    {"trip_source": "literal"},
    {"trip_source": "specialization", "extents": "specialization"},
    {"trip_source": "buffer", "scope": Scope.WORKGROUP},
    {"operands": MatrixOperands.NONE},
    {"c": "f16", "result": "f32"},
    {"a": "bf16", "b": "bf16"},
    {"a": "e4m3", "b": "e5m2"},
    {"a": "f64", "b": "f64", "c": "f64"},
    {"a": "s8", "b": "u8", "c": "s32", "operands": MatrixOperands.A_SIGNED | MatrixOperands.C_SIGNED | MatrixOperands.RESULT_SIGNED},
    {"a": "u16", "b": "u16", "c": "u64", "operands": MatrixOperands.SATURATING_ACCUMULATION},
)


def _name(arguments: dict[str, Any]) -> str:
    return "-".join(f"{key}={getattr(value, 'name', value)}" for key, value in arguments.items()) or "default"


def _judge(program: Program, tmp_path: Path, spirv_val: Callable[..., Any]) -> str:
    module = tmp_path / "module.spv"
    module.write_bytes(emit(program))
    run = spirv_val(*ENVIRONMENT, module)
    return "" if run.returncode == 0 else run.stdout + run.stderr + disassemble(module.read_bytes())


@pytest.mark.parametrize("arguments", list(_load_store_arguments()), ids=_name)
def test_a_load_and_a_store_are_valid(
    arguments: dict[str, Any], load_store: Callable[..., Program], tmp_path: Path, spirv_val: Callable[..., Any]
) -> None:
    assert _judge(load_store(**arguments), tmp_path, spirv_val) == ""


@pytest.mark.parametrize("arguments", MULADDS, ids=_name)
def test_a_multiply_add_is_valid(
    arguments: dict[str, Any], muladd: Callable[..., Program], tmp_path: Path, spirv_val: Callable[..., Any]
) -> None:
    assert _judge(muladd(**arguments), tmp_path, spirv_val) == ""


@pytest.mark.parametrize("component", COMPONENT_TYPES)
@pytest.mark.parametrize("source", ["literal", "specialization", "push_constant", "buffer"])
def test_a_matrix_made_of_a_scalar_is_valid(component: str, source: Any, tmp_path: Path, spirv_val: Callable[..., Any]) -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    type_ = MatrixType(COMPONENT_TYPES[component], Scope.SUBGROUP, 16, 16, Use.ACCUMULATOR)
    matrix = builder.splat("matrix", type_, builder.operand("value", type_.component, source, 0x3B, 0x35))
    array = builder.array("d", Pointee(type_.component), 256, StorageClass.STORAGE_BUFFER, "output")
    builder.store(matrix, array, builder.literal(0), builder.literal(16), Layout.ROW_MAJOR)
    assert _judge(builder.build(), tmp_path, spirv_val) == ""


def test_an_invalid_module_is_seen(load_store: Callable[..., Program], tmp_path: Path, spirv_val: Callable[..., Any]) -> None:
    declared, repeated = (struct.pack("<2I", 2 << 16 | Op.Capability, capability) for capability in _CAPABILITIES)
    path = tmp_path / "module.spv"
    path.write_bytes(emit(load_store()).replace(declared, repeated))
    assert "CooperativeMatrixKHR" in spirv_val(*ENVIRONMENT, path).stderr


@pytest.mark.parametrize("arguments", MULADDS, ids=_name)
def test_the_disassembly_is_that_of_spirv_dis(
    arguments: dict[str, Any], muladd: Callable[..., Program], tmp_path: Path, spirv_dis: Callable[..., Any]
) -> None:
    module = tmp_path / "module.spv"
    module.write_bytes(emit(muladd(**arguments)))
    assert disassemble(module.read_bytes()) == spirv_dis(module).stdout


def test_the_disassembly_of_uncommon_instructions_is_that_of_spirv_dis(
    tmp_path: Path, spirv_as: Callable[..., Any], spirv_dis: Callable[..., Any]
) -> None:
    module = tmp_path / "uncommon.spv"
    run = spirv_as("--target-env", "spv1.6", Path(__file__).with_name("uncommon.spvasm"), "-o", module)
    assert run.returncode == 0, run.stderr
    assert disassemble(module.read_bytes()) == spirv_dis(module).stdout
