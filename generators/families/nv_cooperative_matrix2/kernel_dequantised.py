"""kernel_dequantised: products with weights that a decode function unpacks as they are loaded.

Axis values are those of cases/nv_cooperative_matrix2/kernel_dequantised.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from generators.engine_kernels.blocks import FORMATS
from generators.engine_kernels.epilogues import Epilogue, epilogue_data, share
from generators.engine_kernels.parts import CARRIES, HINTS, KernelWriter, opened, shared_tensor, sliced, transposing
from generators.inputs import kernels
from generators.layouts.tensor_writer import LayoutStep
from generators.parameters.vocabulary import SCOPES, SOURCES, SUBGROUPS, TakenValues, Values
from generators.program.builder import ProgramBuilder
from generators.program.functions import Function
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.tensor import TensorLayoutType
from generators.program.tensor_access import POINTER_ALIGNMENT, TensorLoad, TensorStore
from generators.program.values import Matrix, MatrixType, ScalarValue
from generators.property_rows import parse_row
from generators.types import COMPONENT_TYPES, ClampMode, StorageClass, Use

_U8 = COMPONENT_TYPES["u8"]

AXES: TakenValues = {
    "row": None,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "workgroups": (1, 2, 3),
    "format": FORMATS.keys(),
    "block": (16, 32, 64),
    "trips": (1, 2, 3, 4),
    "tail": ("all", "none", "n", "k"),
    "weights": ("b", "a"),
    "accumulators": (1, 2),
    "epilogue": ("none", "bias", "limit"),
    "source": SOURCES,
    "carry": CARRIES,
    "hint": HINTS,
}


def _types_fit(values: Values) -> bool:
    """Scales are f16, and integers have none."""
    row = parse_row(values["row"])
    return row.a.name == "f16" if FORMATS[values["format"]].scaled else row.a.name in ("f16", "s8")


def _depth(values: Values) -> int:
    """K of the tensors, which may end inside of a tile."""
    return parse_row(values["row"]).k * int(values["trips"]) - (5 if values["tail"] in ("all", "k") else 0)


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "ends_inside_a_block": lambda values: _depth(values) % int(values["block"]) != 0,
    "types_fit": _types_fit,
}


class _Product:
    """D = A x B with weights in blocks along K: of B, which a view turns, or of A. Each scope instance has columns (of weights B) or
    rows (of weights A) of its own."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.row = row = parse_row(values["row"])
        self.scope = SCOPES[values["scope"]]
        self.format, self.block = FORMATS[values["format"]], int(values["block"])
        self.accumulators, self.trips = int(values["accumulators"]), int(values["trips"])
        tail = values["tail"]
        subgroups = int(values["subgroups"])
        self.builder = ProgramBuilder(self.scope, subgroups, int(values["workgroups"]))
        self.writer = KernelWriter(self.builder, values["source"], values["carry"], values["hint"])
        self.by_b = values["weights"] == "b"
        # Lines of weights, and the other dimension of the result.
        self.line = row.n if self.by_b else row.m
        self.other = row.m if self.by_b else row.n
        self.lines = self.line * self.accumulators * self.builder.instances - (3 if tail in ("all", "n") else 0)
        self.others = self.other - (1 if tail == "all" else 0)
        self.k = _depth(values)
        plain = (self.others, self.k) if self.by_b else (self.k, self.others)
        self.plain = shared_tensor(self.builder, "plain", row.a if self.by_b else row.b, plain)
        self.blocks = self.lines * -(-self.k // self.block)
        size = self.format.block(self.block).bytes * self.blocks
        self.packed = self.builder.array(
            "packed", Pointee(_U8), POINTER_ALIGNMENT + -(-size // 16) * 16, StorageClass.STORAGE_BUFFER, "input"
        )
        result = (self.others, self.lines) if self.by_b else (self.lines, self.others)
        self.result = shared_tensor(self.builder, "result", row.result, result, role="output")
        self.epilogue = Epilogue(self.writer, values["epilogue"], row.result, *result)

    def write(self) -> Program:
        """The whole kernel."""
        writer, row = self.writer, self.row
        steps: list[LayoutStep] = [("block_size", (1, self.block)), ("dimension", (self.lines, self.k))]
        self.weights = writer.layout("weights", TensorLayoutType(2, ClampMode.CONSTANT), *steps)
        self.turning = transposing(writer)
        self.plain_layout = opened(writer, self.plain, "plain_layout", ClampMode.CONSTANT)
        target = opened(writer, self.result, "result_layout", ClampMode.CONSTANT)
        instance: ScalarValue = self.builder.instance_index() if self.builder.instances > 1 else writer.literal(0)
        begins = [writer.scaled("begin", instance, self.line * self.accumulators, i * self.line) for i in range(self.accumulators)]
        accumulator = MatrixType(row.result, self.scope, row.m, row.n, Use.ACCUMULATOR)
        starts = [writer.zero("start", accumulator) for _ in begins]
        sums = writer.repeat(self.trips, starts, lambda index, current: self._step(begins, index, current))
        zero = writer.literal(0)
        for begin, total in zip(begins, sums, strict=True):
            row0, column0 = (zero, begin) if self.by_b else (begin, zero)
            finished = self.epilogue.apply(total, row0, column0)
            cut = sliced(writer, target, (row0, row.m), (column0, row.n))
            self.builder.add(TensorStore(finished, self.result.array, writer.literal(self.result.first), cut))
        return self.builder.build()

    def _step(self, begins: Sequence[ScalarValue], index: ScalarValue, current: Sequence[Matrix]) -> list[Matrix]:
        writer, row = self.writer, self.row
        depth, zero = writer.scaled("depth", index, row.k), writer.literal(0)
        types = {"a": MatrixType(row.a, self.scope, row.m, row.k, Use.A), "b": MatrixType(row.b, self.scope, row.k, row.n, Use.B)}
        slices = [(zero, self.other), (depth, row.k)]
        plain = Matrix(writer.name("plain_matrix"), types["a" if self.by_b else "b"])
        cut = sliced(writer, self.plain_layout, *(slices if self.by_b else slices[::-1]))
        before = writer.zero("plain_before", plain.type)
        self.builder.add(TensorLoad(plain, self.plain.array, writer.literal(self.plain.first), before, cut))
        following = []
        for begin, total in zip(begins, current, strict=True):
            weights = Matrix(writer.name("weights_matrix"), types["b" if self.by_b else "a"])
            cut = sliced(writer, self.weights, (begin, self.line), (depth, row.k))
            view = self.turning if self.by_b else None
            before = writer.zero("weights_before", weights.type)
            first = writer.literal(POINTER_ALIGNMENT)
            self.builder.add(TensorLoad(weights, self.packed, first, before, cut, view, None, self.decode))
            pair = (plain, weights) if self.by_b else (weights, plain)
            following.append(self.builder.muladd(writer.name("sum"), total.type, *pair, total, row.operands or None))
        return following

    @property
    def decode(self) -> Function:
        """The decode function of the weights."""
        return self.format.decode(self.block, self.row.b if self.by_b else self.row.a)


def program(values: Values) -> Program:
    """The program of a case."""
    return _Product(values).write()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Random blocks, and so few numbers beside them in each line that every sum is exact in any order."""
    kernel = _Product(values)
    kernel.write()
    row, component = kernel.row, kernel.plain.component
    budget = kernels.budget(row)
    if row.result.is_float:
        most = share(budget, row.result, values["epilogue"])
        # Along K, with the lines of the result last for the draw.
        numbers = rng.integers(1, 2, (kernel.others, kernel.k), endpoint=True) * rng.choice(np.array([-1, 1]), (kernel.others, kernel.k))
        kept = max(1, most // (2 * kernel.format.largest))
        order = rng.random(numbers.shape).argsort(axis=-1).argsort(axis=-1)
        numbers = numbers * (order < kept)
    else:
        numbers = kernels.any_whole((kernel.others, kernel.k), component, rng)
    plain = numbers if kernel.by_b else numbers.T
    packed = rng.integers(0, 256, kernel.packed.bytes, np.uint8)
    blocks = kernel.format.draw(kernel.blocks, kernel.block, rng).reshape(-1)
    packed[POINTER_ALIGNMENT : POINTER_ALIGNMENT + len(blocks)] = blocks
    inputs = {"plain": kernel.plain.place(plain.astype(component.dtype), rng), "packed": packed}
    inputs |= epilogue_data(program, row.result, budget // 2, rng)
    return Subcase(name, inputs, kernel.writer.operands)
