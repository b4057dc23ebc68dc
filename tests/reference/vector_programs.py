"""Small programs with cooperative vectors, for one workgroup of invocations that each have their own vector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from cts.reference.evaluate import evaluate
from cts.verdict.expected import Expected, Placed
from generators.layouts.vector_arrays import VectorArray
from generators.program.builder import U32, ProgramBuilder
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVector, CooperativeVectorType, Value
from generators.program.vector_builder import VectorBuilder
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, ComponentType, Interpretation, Scope, StorageClass, VectorMatrixLayout
from tests.reference.programs import as_bits, as_bytes, flags

BUFFER = StorageClass.STORAGE_BUFFER
MATRIX_AT, BIAS_AT = 64, 16
"""Offsets of matrices and biases in their arrays."""


class Lanes:
    """A program in which each invocation has a row of each array, and the inputs of the program.

    Attributes:
        builder, vectors: add operations, within ``inside``.
        me: the number of the invocation.
        inputs: array name -> contents.
    """

    def __init__(self, count: int, workgroups: int = 1) -> None:
        shape = WorkgroupShape(invocations=count // workgroups)
        self.builder = ProgramBuilder(Scope.WORKGROUP, workgroups=workgroups, shape=shape)
        self.vectors = VectorBuilder(self.builder)
        self.count, self.size = count, count // workgroups
        self.me = Value("me", U32)
        self.inputs: dict[str, np.ndarray] = {}

    @contextmanager
    def inside(self) -> Iterator[None]:
        with self.builder.per_invocation(self.me, self.size):
            yield

    def loaded(self, name: str, component: ComponentType | str, rows: Any) -> CooperativeVector:
        """Load a vector for each invocation; ``rows`` are numbers or bits, as in as_bits."""
        type_ = COMPONENT_TYPES[component] if isinstance(component, str) else component
        bits = as_bits(rows, type_)
        assert len(bits) == self.count
        place = VectorArray(CooperativeVectorType(type_, bits.shape[1]), self.count)
        array = place.declare(self.builder, f"{name}_in", "input")
        self.inputs[array.name] = place.pack(bits)
        return self.vectors.load(name, place.type, array, place.offset(self.builder, f"{name}_at", self.me))

    def scalar(self, name: str, values: Sequence[int]) -> Value[ComponentType]:
        """Read a number for each invocation, u32."""
        array = self.builder.array(f"{name}_in", Pointee(U32), self.count, BUFFER, "input")
        self.inputs[array.name] = as_bytes(np.array(values, np.uint32))
        return self.builder.read_scalar(name, array, self.me)

    def stored(self, vector: CooperativeVector, name: str = "d_out") -> None:
        place = VectorArray(vector.type, self.count)
        array = place.declare(self.builder, name, "output")
        self.vectors.store(vector, array, place.offset(self.builder, f"{name}_at", self.me))

    def array(self, name: str, component: ComponentType, data: np.ndarray, role: Any = "input") -> Array:
        """Declare an array with these bytes."""
        self.inputs[name] = data
        return self.builder.array(name, Pointee(component), len(data) // component.bytes, BUFFER, role)

    def opaque(self, name: str, component: ComponentType, matrices: Any, layout: VectorMatrixLayout, role: Any = "input") -> Array:
        """Declare an array of matrices (count, rows, columns) in an optimal layout."""
        bits = as_bits(matrices, component)
        self.inputs[name] = as_bytes(bits)
        count, rows, columns = bits.shape
        return self.vectors.opaque(name, component, rows, columns, layout, count, role)

    def matrix(
        self, rows: Any, interpretation: Interpretation, layout: VectorMatrixLayout, stride: int | None = None, transpose: bool = False
    ) -> MatrixInMemory:
        """Return a matrix with these rows as an operand of a multiply."""
        component, literal = interpretation.component, self.builder.literal
        bits = as_bits(rows, component)
        if layout.is_optimal:
            array = self.opaque("matrix_in", component, (bits.T if transpose else bits)[None].astype(object), layout)
            # ``opaque`` took the bits as numbers, so the bits themselves are stored here.
            self.inputs["matrix_in"] = as_bytes(bits.T if transpose else bits)
            return MatrixInMemory(array, literal(0), interpretation, layout, literal(0xFFF0), transpose)
        assert stride is not None
        lines = bits if layout is VectorMatrixLayout.ROW_MAJOR else np.ascontiguousarray(bits.T)
        data = np.full(MATRIX_AT + len(lines) * stride, 0x6B, np.uint8)
        for number, line in enumerate(lines):
            start = MATRIX_AT + number * stride
            data[start : start + line.nbytes] = as_bytes(line)
        array = self.array("matrix_in", component, data)
        return MatrixInMemory(array, literal(MATRIX_AT), interpretation, layout, literal(stride))

    def bias(self, values: Any, interpretation: Interpretation) -> BiasInMemory:
        component = interpretation.component
        data = np.concatenate([np.full(BIAS_AT, 0x6B, np.uint8), as_bytes(as_bits(values, component)), np.full(16, 0x6B, np.uint8)])
        return BiasInMemory(self.array("bias_in", component, data), self.builder.literal(BIAS_AT), interpretation)

    def case(self) -> tuple[Program, Subcase]:
        return self.builder.build(), Subcase("one", self.inputs)

    def expected(self) -> Expected:
        return evaluate(*self.case())

    def placed(self) -> Placed:
        (found,) = self.expected().placed
        return found

    def rows(self) -> list[list[Any]]:
        """Return the only expected values: a row of numbers for each invocation."""
        placed = self.placed()
        assert placed.expected.KIND == "exact"
        return placed.expected.bits.view(placed.component.dtype)[:, 0].tolist()


def conversion(vector: Mapping[str, Any]) -> tuple[Program, Subcase]:
    """Return a program that multiplies the inputs of a golden vector by the identity."""
    source, interpretation = COMPONENT_TYPES[vector["types"][0]], INTERPRETATIONS[vector["types"][1]]
    columns = vector.get("columns", len(vector["from"]))
    target = interpretation.component
    identity = np.eye(columns).astype(int).tolist()
    layout = VectorMatrixLayout.INFERENCING_OPTIMAL if target.is_float and target.bits == 8 else VectorMatrixLayout.ROW_MAJOR
    lanes = Lanes(1)
    matrix = INTERPRETATIONS[target.name]
    with lanes.inside():
        x = lanes.loaded("x", source, [vector["from"]])
        given = lanes.matrix(identity, matrix, layout, 64)
        result = COMPONENT_TYPES["f16" if target.is_float else "s32"]
        operands = flags([*vector.get("operands", []), *([] if target.is_float else ["RESULT_SIGNED"])])
        lanes.stored(lanes.vectors.matmul("y", result, x, interpretation, given, None, columns, columns, operands or None))
    return lanes.case()


def multiply(vector: Mapping[str, Any]) -> tuple[Program, Subcase]:
    """Return a program that computes a golden vector's product in each of three invocations."""
    types = vector["types"]
    lanes = Lanes(3)
    rows, columns = len(vector["matrix"]), vector.get("columns", len(vector["input"]))
    with lanes.inside():
        x = lanes.loaded("x", types["input"], [vector["input"]] * 3)
        layout = VectorMatrixLayout[vector["layout"]]
        matrix = lanes.matrix(
            vector["matrix"], INTERPRETATIONS[types["matrix"]], layout, vector.get("stride"), vector.get("transpose", False)
        )
        bias = lanes.bias(vector["bias"], INTERPRETATIONS[types["bias"]]) if "bias" in vector else None
        result, operands = COMPONENT_TYPES[types["result"]], flags(vector.get("operands", [])) or None
        interpretation = INTERPRETATIONS[types["interpretation"]]
        lanes.stored(lanes.vectors.matmul("y", result, x, interpretation, matrix, bias, rows, columns, operands))
    return lanes.case()


def accumulation(vector: Mapping[str, Any]) -> tuple[Program, Subcase]:
    """Return a program that adds a golden vector's terms to ``sums``: an outer product or one row."""
    component = COMPONENT_TYPES[vector["type"]]
    lanes = Lanes(len(vector.get("a", vector.get("vectors"))))
    before = as_bits(vector["before"], component)
    with lanes.inside():
        if "vectors" in vector:
            data = np.concatenate([np.full(16, 0x6B, np.uint8), as_bytes(before), np.full(32 - before.nbytes, 0x6B, np.uint8)])
            array = lanes.array("sums", component, data, "inout")
            lanes.vectors.reduce_sum(array, lanes.builder.literal(16), lanes.loaded("v", component, vector["vectors"]))
        else:
            layout = VectorMatrixLayout.TRAINING_OPTIMAL
            a, b = (lanes.loaded(name, "f16", vector[name]) for name in "ab")
            array = lanes.opaque("sums", component, [vector["before"]], layout, "inout")
            lanes.vectors.outer_product(array, lanes.builder.literal(0), a, b, layout, INTERPRETATIONS[vector["type"]], None)
    return lanes.case()


def function_program(vector: Mapping[str, Any]) -> tuple[Program, Subcase]:
    """Return a program that computes a golden vector's function in one invocation."""
    lanes = Lanes(1)
    with lanes.inside():
        arguments = [lanes.loaded(f"x{number}", vector["type"], [one]) for number, one in enumerate(vector["arguments"])]
        lanes.stored(lanes.vectors.function("y", vector["function"], *arguments))
    return lanes.case()
