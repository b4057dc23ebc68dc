"""Small programs that the tests of the SPIR-V reading share, and the tools of SPIRV-Tools."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from generators.program.builder import ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.load_store import MemoryOperand
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.values import Extent, MatrixType, Source, Value
from generators.routines.workgroup import copy
from generators.types import COMPONENT_TYPES, Layout, MatrixOperands, MemoryAccess, Scope, StorageClass, Use

U32 = COMPONENT_TYPES["u32"]

Tool = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def load_store() -> Callable[..., Program]:
    """Return a program that loads one matrix and stores it."""

    def build(
        component: str = "f16",
        use: Use = Use.A,
        scope: Scope = Scope.SUBGROUP,
        storage: StorageClass = StorageClass.STORAGE_BUFFER,
        pointee: Pointee | None = None,
        source: Source = "literal",
        integer: str = "u32",
        mask: MemoryAccess | None = None,
        alignment: int | None = None,
        layout: Layout = Layout.ROW_MAJOR,
        array_stride: int | None = None,
        pointer_stride: int | None = None,
        subgroups: int = 1,
    ) -> Program:
        builder = ProgramBuilder(scope, subgroups)
        type_ = MatrixType(COMPONENT_TYPES[component], scope, 16, 16, use)
        element = pointee or Pointee(COMPONENT_TYPES[component])
        length = 4096 // element.bytes
        stride = builder.operand("stride", COMPONENT_TYPES[integer], source, 16, 32)
        first = builder.operand("first", COMPONENT_TYPES[integer], source, 0 if source == "literal" else 16, 32)
        write = None if mask is None else MemoryOperand(mask & ~MemoryAccess.MAKE_POINTER_VISIBLE, alignment)
        read = None if mask is None else MemoryOperand(mask & ~MemoryAccess.MAKE_POINTER_AVAILABLE, alignment)
        if storage is StorageClass.WORKGROUP:
            given = builder.array("given", element, length, StorageClass.STORAGE_BUFFER, "input")
            taken = builder.array("taken", element, length, StorageClass.STORAGE_BUFFER, "output")
            scratch = builder.array("scratch", element, length, storage, "scratch")
            copy(builder, scratch, given)
            builder.barrier()
            builder.store(builder.load("matrix", type_, scratch, first, stride, layout, read), scratch, first, stride, layout, write)
            builder.barrier()
            copy(builder, taken, scratch)
        else:
            given = builder.array("given", element, length, storage, "input", array_stride, pointer_stride)
            taken = builder.array("taken", element, length, storage, "output", array_stride, pointer_stride)
            builder.store(builder.load("matrix", type_, given, first, stride, layout, read), taken, first, stride, layout, write)
        return builder.build()

    return build


@pytest.fixture
def muladd() -> Callable[..., Program]:
    """Return a program that multiplies in a loop with a carried accumulator, and stores each scope instance's result."""

    def build(
        a: str = "f16",
        b: str = "f16",
        c: str = "f32",
        result: str | None = None,
        operands: MatrixOperands | None = None,
        scope: Scope = Scope.SUBGROUP,
        trip_source: Source = "push_constant",
        extents: Source = "literal",
    ) -> Program:
        builder = ProgramBuilder(scope, subgroups=2, workgroups=2)
        m, n, k = (_extent(builder, extents, name, size) for name, size in (("m", 16), ("n", 32), ("k", 8)))
        types = [
            MatrixType(COMPONENT_TYPES[a], scope, m, k, Use.A),
            MatrixType(COMPONENT_TYPES[b], scope, k, n, Use.B),
            MatrixType(COMPONENT_TYPES[c], scope, m, n, Use.ACCUMULATOR),
        ]
        layout = builder.operand("layout", U32, "specialization", 1, 0)
        instance = builder.instance_index()
        loaded = []
        for name, type_ in zip("abc", types, strict=True):
            array = builder.array(name, Pointee(type_.component), 1 << 14, StorageClass.STORAGE_BUFFER, "input")
            first = builder.offset(f"{name}_first", builder.literal(0), instance, 1024)
            loaded.append(builder.load(f"matrix_{name}", type_, array, first, builder.literal(32), layout))
        matrix_a, matrix_b, matrix_c = loaded
        result_type = MatrixType(COMPONENT_TYPES[result or c], scope, m, n, Use.ACCUMULATOR)
        if result_type == types[2]:
            trips = builder.operand("trips", U32, trip_source, 3, 2)
            accumulator = Value("accumulator", result_type)
            carried: list[Carried] = []
            with builder.loop(Value("step", U32), trips, carried):
                following = builder.muladd("following", result_type, matrix_a, matrix_b, accumulator, operands)
                carried.append(Carried(matrix_c, accumulator, following))
        else:
            accumulator = builder.muladd("accumulator", result_type, matrix_a, matrix_b, matrix_c, operands)
        target = builder.array("d", Pointee(result_type.component), 1 << 14, StorageClass.PHYSICAL_STORAGE_BUFFER, "output")
        place = builder.offset("d_first", builder.literal(0), instance, 1024)
        builder.store(accumulator, target, place, builder.literal(32), Layout.ROW_MAJOR)
        return builder.build()

    return build


def _extent(builder: ProgramBuilder, source: Source, name: str, size: int) -> Extent:
    return size if source == "literal" else builder.operand(name, U32, source, size, 8)


def _tool(name: str) -> Tool:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} (SPIRV-Tools) is not installed")

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([path, *arguments], capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def spirv_val() -> Tool:
    """Run spirv-val."""
    return _tool("spirv-val")


@pytest.fixture
def spirv_dis() -> Tool:
    """Run spirv-dis."""
    return _tool("spirv-dis")


@pytest.fixture
def spirv_as() -> Tool:
    """Run spirv-as."""
    return _tool("spirv-as")
