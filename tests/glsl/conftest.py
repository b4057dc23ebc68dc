"""Small programs, and the tools that judge the shaders made from them."""

import shutil
import subprocess
from collections.abc import Callable

import pytest

from generators.glsl.compile import compile_glsl, find_glslang
from generators.glsl.emit import emit
from generators.program.builder import U32, ProgramBuilder
from generators.program.load_store import MemoryOperand
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.values import MatrixType
from generators.routines.workgroup import copy
from generators.types import COMPONENT_TYPES, Layout, MatrixOperands, Scope, StorageClass, Use

SB = StorageClass.STORAGE_BUFFER


def _matrix_copy(
    component: str = "f16",
    *,
    use: Use = Use.ACCUMULATOR,
    scope: Scope = Scope.SUBGROUP,
    rows: int = 16,
    columns: int = 16,
    source: StorageClass = SB,
    target: StorageClass = SB,
    pointee: Pointee | None = None,
    stride_type: str = "u32",
    first_type: str = "u32",
    stride_source: str = "literal",
    load_memory: MemoryOperand | None = None,
    store_memory: MemoryOperand | None = None,
    layout: Layout = Layout.ROW_MAJOR,
    array_stride: int | None = None,
) -> Program:
    """Return a program that loads a matrix from ``source`` and stores it to ``target``. Workgroup arrays are staged through buffers."""
    type_ = MatrixType(COMPONENT_TYPES[component], scope, rows, columns, use)
    pointee = pointee or Pointee(COMPONENT_TYPES[component])
    builder = ProgramBuilder(scope)
    length = 64 * 64 * 8 // pointee.bytes
    loaded = builder.array("source", pointee, length, SB if source is StorageClass.WORKGROUP else source, "input", array_stride)
    stored = result = builder.array("target", pointee, length, SB if target is StorageClass.WORKGROUP else target, "output")
    if source is StorageClass.WORKGROUP:
        staged = builder.array("source_shared", pointee, length, source, "scratch")
        copy(builder, staged, loaded)
        loaded = staged
    if target is StorageClass.WORKGROUP:
        stored = builder.array("target_shared", pointee, length, target, "scratch")
        copy(builder, stored, result)
    if StorageClass.WORKGROUP in (source, target):
        builder.barrier()
    tight = columns * type_.component.bytes // pointee.bytes
    stride = builder.operand("stride", COMPONENT_TYPES[stride_type], stride_source, tight, 2 * tight)
    first = builder.operand("first", COMPONENT_TYPES[first_type], stride_source, 0, 8)
    matrix = builder.load("matrix", type_, loaded, first, stride, layout, load_memory)
    builder.store(matrix, stored, builder.literal(0), builder.literal(tight), layout, store_memory)
    if target is StorageClass.WORKGROUP:
        builder.barrier()
        copy(builder, result, stored)
    return builder.build()


def _multiply(
    a: str = "f16",
    b: str = "f16",
    c: str = "f32",
    result: str | None = None,
    operands: MatrixOperands | None = None,
    scope: Scope = Scope.SUBGROUP,
) -> Program:
    """Return a program with one multiply-add of 16x16x16."""
    builder = ProgramBuilder(scope)

    def matrix(name: str, component: str, use: Use) -> MatrixType:
        return MatrixType(COMPONENT_TYPES[component], scope, 16, 16, use)

    loaded = {}
    for name, component, use in (("a", a, Use.A), ("b", b, Use.B), ("c", c, Use.ACCUMULATOR)):
        array = builder.array(f"{name}_data", Pointee(COMPONENT_TYPES[component]), 256, SB, "input")
        loaded[name] = builder.load(name, matrix(name, component, use), array, builder.literal(0), builder.literal(16), Layout.ROW_MAJOR)
    output = builder.array("d_data", Pointee(COMPONENT_TYPES[result or c]), 256, SB, "output")
    type_ = matrix("d", result or c, Use.ACCUMULATOR)
    product = builder.muladd("d", type_, loaded["a"], loaded["b"], loaded["c"], operands)
    builder.store(product, output, builder.literal(0), builder.literal(16), Layout.COLUMN_MAJOR)
    return builder.build()


@pytest.fixture
def matrix_copy() -> Callable[..., Program]:
    return _matrix_copy


@pytest.fixture
def multiply() -> Callable[..., Program]:
    return _multiply


@pytest.fixture
def u32_pointee() -> Pointee:
    return Pointee(U32)


@pytest.fixture
def module(tmp_path) -> Callable[[Program], bytes]:
    """Return a function that compiles a program's shader and has spirv-val judge the module."""
    validator = shutil.which("spirv-val")
    if find_glslang() is None or validator is None:
        pytest.skip("glslang and spirv-val are not installed")

    def build(program: Program) -> bytes:
        spirv = compile_glsl(emit(program))
        path = tmp_path / "module.spv"
        path.write_bytes(spirv)
        done = subprocess.run([validator, "--target-env", "vulkan1.3", str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{emit(program)}"
        return spirv

    return build
