"""kernel_dequantised: products with weights that a decode function unpacks as they are loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.engine_kernels.blocks import FORMATS, Format
from generators.engine_kernels.epilogues import Epilogue, epilogue_data, share
from generators.engine_kernels.parts import LOOP, KernelWriter, LoopParameters, opened, sliced, transposing
from generators.inputs import kernels
from generators.inputs.whole_numbers import few, up_to
from generators.layouts.row_types import row_type
from generators.layouts.tensor_writer import LayoutStep
from generators.layouts.tensors import Tensor, shared_tensor
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.program.builder import ProgramBuilder
from generators.program.functions import Function
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.tensor_access import POINTER_ALIGNMENT
from generators.program.values import Matrix, ScalarValue, TensorLayoutType
from generators.types import COMPONENT_TYPES, ClampMode, StorageClass

_U8 = COMPONENT_TYPES["u8"]


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow, LoopParameters):
    """The parameters of a case."""

    workgroups: int = parameter("workgroups", default=2)
    format: Format = parameter("how a block of weights is stored", default="halves", labels=FORMATS)
    block: int = parameter("weights of a block", default=32)
    trips: int = parameter("iterations", default=3)
    tail: Literal["all", "none", "n", "k"] = parameter(
        "which sizes are not multiples of the tile's sizes: n for lines of weights, k for their length", default="all"
    )
    strides: Literal["explicit", "default"] = parameter(
        "whether the layout of the weights sets its strides, or keeps those that its dimensions give", default="explicit"
    )
    weights: Literal["b", "a"] = parameter("which factor the weights are", default="b")
    accumulators: int = parameter("accumulators of a scope instance, for weights beside each other", default=1)
    epilogue: Literal["none", "bias", "limit"] = parameter("how sums are changed before they are stored", default="none", then=LOOP)


def _types_fit(parameters: Parameters) -> bool:
    """Tell whether the types fit: scales are f16, and integers have no scales."""
    factor = parameters.row.a.name
    return factor == "f16" if parameters.format.scaled else factor in ("f16", "s8")


def _depth(parameters: Parameters) -> int:
    """Return K of the tensors, which may end inside a tile."""
    return parameters.row.k * parameters.trips - (5 if parameters.tail in ("all", "k") else 0)


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "rounds_strides": lambda parameters: parameters.strides == "default" and _depth(parameters) % parameters.block != 0,
    "types_fit": _types_fit,
}


class _DequantisedProduct:
    """Writes the kernel of a case, and draws its data.

    It computes D = A x B. Either A or B (through a transposing view) holds the weights, in blocks along K. Each scope instance computes its
    own columns of D if the weights are B, and its own rows if they are A.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.row = row = parameters.row
        self.scope = parameters.scope
        self.format, self.block = parameters.format, parameters.block
        self.accumulators, tail = parameters.accumulators, parameters.tail
        self.builder = ProgramBuilder(self.scope, parameters.subgroups, parameters.workgroups)
        self.writer = KernelWriter(self.builder, parameters)
        self.by_b = parameters.weights == "b"
        # The number of lines of weights, and the other dimension of the result.
        self.line = row.n if self.by_b else row.m
        self.other = row.m if self.by_b else row.n
        self.lines = self.line * self.accumulators * self.builder.instances - (3 if tail in ("all", "n") else 0)
        self.others = self.other - (1 if tail == "all" else 0)
        self.k = _depth(parameters)
        plain = (self.others, self.k) if self.by_b else (self.k, self.others)
        self.plain = shared_tensor(self.builder, "plain", row.a if self.by_b else row.b, plain)
        self.line_blocks = -(-self.k // self.block)
        self.blocks = self.lines * self.line_blocks
        size = self.format.block(self.block).bytes * self.blocks
        length = POINTER_ALIGNMENT + -(-size // 16) * 16
        packed = self.builder.array("packed", Pointee(_U8), length, StorageClass.STORAGE_BUFFER, "input")
        self.packed = Tensor(packed, packed, self.builder, _U8, POINTER_ALIGNMENT)
        result = (self.others, self.lines) if self.by_b else (self.lines, self.others)
        self.result = shared_tensor(self.builder, "result", row.result, result, role="output")
        self.epilogue = Epilogue(self.writer, parameters.epilogue, row.result, *result)

    def write(self) -> Program:
        """Write the whole kernel."""
        writer, row = self.writer, self.row
        steps: list[LayoutStep] = [("block_size", (1, self.block)), ("dimension", (self.lines, self.k))]
        if self.parameters.strides == "explicit":
            steps.append(("stride", (self.line_blocks, 1)))
        self.weights = writer.layout("weights", TensorLayoutType(2, ClampMode.CONSTANT), *steps)
        self.transposing = transposing(writer)
        self.plain_layout = opened(writer, self.plain, "plain_layout", ClampMode.CONSTANT)
        target = opened(writer, self.result, "result_layout", ClampMode.CONSTANT)
        instance: ScalarValue = self.builder.instance_index() if self.builder.instances > 1 else writer.literal(0)
        begins = [writer.scaled("begin", instance, self.line * self.accumulators, i * self.line) for i in range(self.accumulators)]
        accumulator = row_type(row, "d", self.scope)
        starts = [writer.zero("start", accumulator) for _ in begins]
        sums = writer.repeat(self.parameters.trips, starts, lambda index, current: self._step(begins, index, current))
        zero = writer.literal(0)
        for begin, total in zip(begins, sums, strict=True):
            row0, column0 = (zero, begin) if self.by_b else (begin, zero)
            finished = self.epilogue.apply(total, row0, column0)
            cut = sliced(writer, target, (row0, row.m), (column0, row.n))
            writer.store(finished, self.result, cut)
        return self.builder.build()

    def _step(self, begins: Sequence[ScalarValue], index: ScalarValue, current: Sequence[Matrix]) -> list[Matrix]:
        writer, row = self.writer, self.row
        depth, zero = writer.scaled("depth", index, row.k), writer.literal(0)
        types = {name: row_type(row, name, self.scope) for name in "ab"}
        slices = [(zero, self.other), (depth, row.k)]
        name = writer.name("plain_matrix")
        cut = sliced(writer, self.plain_layout, *(slices if self.by_b else slices[::-1]))
        plain = writer.load("plain", name, types["a" if self.by_b else "b"], self.plain, cut)
        following = []
        for begin, total in zip(begins, current, strict=True):
            name = writer.name("weights_matrix")
            cut = sliced(writer, self.weights, (begin, self.line), (depth, row.k))
            view = self.transposing if self.by_b else None
            weights = writer.load("weights", name, types["b" if self.by_b else "a"], self.packed, cut, view, self.decode)
            pair = (plain, weights) if self.by_b else (weights, plain)
            following.append(self.builder.muladd(writer.name("sum"), total.type, *pair, total, row.operands or None))
        return following

    @property
    def decode(self) -> Function:
        """The decode function of the weights."""
        return self.format.decode(self.block, self.row.b if self.by_b else self.row.a)

    def draw(self, name: str, _parameters: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        """Draw random blocks, and few nonzero numbers in each line of the other factor: every sum is exact in any order."""
        row, component = self.row, self.plain.component
        budget = kernels.budget(row)
        if row.result.is_float:
            most = share(budget, row.result, self.parameters.epilogue)
            # Each line is a row of A, or a column of B.
            numbers = up_to(2, (self.others, self.k), rng)
            numbers = numbers * few(max(1, most // (2 * self.format.largest)), numbers.shape, rng)
        else:
            numbers = kernels.any_whole((self.others, self.k), component, rng)
        plain = numbers if self.by_b else numbers.T
        packed = rng.integers(0, 256, self.packed.array.bytes, np.uint8)
        blocks = self.format.draw(self.blocks, self.block, rng).reshape(-1)
        packed[POINTER_ALIGNMENT : POINTER_ALIGNMENT + len(blocks)] = blocks
        inputs = {"plain": self.plain.contents(plain.astype(component.dtype), rng), "packed": packed}
        inputs |= epilogue_data(program, row.result, budget // 2, rng)
        return Subcase(name, inputs)


def build(parameters: Parameters) -> Built:
    """Build a case."""
    kernel = _DequantisedProduct(parameters)
    return Built(kernel.write(), kernel.draw)
