"""kernel_attention: blocks of attention with a running maximum, where every power is an exact power of two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.engine_kernels.parts import GAPS, LOOP, KernelWriter, LoopParameters, opened, sliced, transposing
from generators.families.nv_cooperative_matrix2.kernel_attention.functions import LOWEST, SCALE, SpreadFunctions
from generators.inputs import kernels
from generators.inputs.whole_numbers import any_signs, few
from generators.layouts.matrix_arrays import MatrixArray, matrix_out, matrix_scratch, tight
from generators.layouts.tensors import shared_tensor
from generators.numerics.exactness import PERMITTED_PRECISION, permitted_precision
from generators.numerics.formats import bits_of
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.program.builder import ProgramBuilder
from generators.program.callbacks import PerElement, Reduce
from generators.program.conversion import MatrixConvert, UseConvert, conversions
from generators.program.functions import Function
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, ScalarValue, Value
from generators.property_rows import PropertyRow
from generators.types import ClampMode, Layout, ReduceMode, Use

_FEW = 0.12
"""Share of nonzero values if a multiply-add may keep only few bits."""


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow, LoopParameters):
    """The parameters of a case."""

    workgroups: int = parameter("workgroups", default=2)
    group: int = parameter("heads that share keys", default=1)
    blocks: int = parameter("blocks of keys", default=3)
    access: Literal["tensor", "plain"] = parameter("whether matrices are loaded and stored by tensor addressing", default="tensor")
    tail: Literal["none", "keys", "queries", "both"] = parameter("which counts are not multiples of the tile's size", default="none")
    mask: Literal["keys", "causal", "none"] = parameter(
        "which scores do not count: scores of missing keys; with a causal mask, also scores of later keys; or none", default="keys"
    )
    spread: Literal["smear", "own"] = parameter(
        "how the output is rescaled: by a factor that a reduction brings to its width, or by its own running maximum", default="smear"
    )
    rescale: Literal["called", "arithmetic"] = parameter(
        "whether a function of elements rescales, or arithmetic on whole matrices", default="called"
    )
    sum: Literal["reduce", "ones"] = parameter("how rows are summed: by a reduction, or as a product with ones", default="reduce")
    to_a: Literal["convert", "split", "memory"] = parameter(
        "how the weights become an A: by a conversion, by a conversion and a change of use, or through workgroup memory",
        default="convert",
    )
    gap: bool = parameter("whether elements that belong to no tensor follow each line", default="none", labels=GAPS, then=LOOP)

    @property
    def heads(self) -> int:
        """Number of heads, one for each scope instance."""
        return self.workgroups * self.instances


def _types_fit(parameters: Parameters) -> bool:
    """Tell whether the types fit: integers are shifted, not multiplied, and a matrix with the component type of A changes only its use."""
    if not parameters.row.result.is_float and parameters.rescale == "arithmetic":
        return False
    return _narrows(parameters) or parameters.to_a != "split"


def _narrows(parameters: Parameters) -> bool:
    """Tell whether the weights change their component type to become a factor."""
    return parameters.row.a is not parameters.row.result


def _changes_use_alone(parameters: Parameters) -> bool:
    """Tell whether an instruction changes the use of the weights but not their component type."""
    return parameters.to_a == "split" or (parameters.to_a == "convert" and not _narrows(parameters))


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "changes_use_alone": _changes_use_alone,
    "narrows": _narrows,
    "types_fit": _types_fit,
    "grouped": lambda parameters: parameters.heads % parameters.group == 0,
}


class _Attention:
    """Writes the kernel of a case, and draws its data.

    Each scope instance computes a head: O = P x V and L = sum of P over all keys, P = 2^(Q x K^T - M), with the running maximum M.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.row = row = parameters.row
        self.scope = parameters.scope
        self.queries_tile, self.keys_tile, self.depth = row.m, row.n, row.k
        self.blocks, tail = parameters.blocks, parameters.tail
        self.keys = self.keys_tile * self.blocks - (3 if tail in ("keys", "both") else 0)
        # If no key is missing, the mask hides the last ones, so a mask always has an effect.
        self.counted = self.keys - (3 if parameters.mask == "keys" and tail not in ("keys", "both") else 0)
        self.queries = self.queries_tile - (3 if tail in ("queries", "both") else 0)
        # A causal mask cuts the last block for about half of the queries, and leaves the first key to every query.
        self.first = max(0, self.keys - self.queries_tile // 2)
        self.heads, self.group = parameters.heads, parameters.group
        self.builder = ProgramBuilder(self.scope, parameters.subgroups, parameters.workgroups)
        self.writer = KernelWriter(self.builder, parameters)
        self.by_tensor = parameters.access == "tensor"
        gap = 16 // row.a.bytes if parameters.gap else 0
        # Plain loads have no bounds: the keys that they read beyond the last one exist, and are masked.
        keys = self.keys if self.by_tensor else self.keys_tile * self.blocks
        queries = self.queries if self.by_tensor else self.queries_tile
        sizes = {"q": (self.heads, queries), "k": (self.heads // self.group, keys), "v": (self.heads // self.group, keys)}
        self.tensors = {name: shared_tensor(self.builder, name, row.a, (*size, self.depth), gap) for name, size in sizes.items()}
        gap = 16 // row.result.bytes if parameters.gap else 0
        self.tensors["o"] = shared_tensor(self.builder, "o", row.result, (self.heads, queries, self.depth), gap, "output")
        self.functions = SpreadFunctions(row.result, parameters.mask == "causal")

    def _accumulator(self, columns: int) -> MatrixType:
        return MatrixType(self.row.result, self.scope, self.queries_tile, columns, Use.ACCUMULATOR)

    def _splat(self, name: str, type_: MatrixType, value: float) -> Matrix:
        return self.builder.splat(self.writer.name(name), type_, self.builder.literal(bits_of(type_.component, value), type_.component))

    def write(self) -> Program:
        """Write the whole kernel."""
        writer, builder = self.writer, self.builder
        self.head: ScalarValue = builder.instance_index() if self.heads > 1 else writer.literal(0)
        self.key_head = self.head
        if self.group > 1:
            self.key_head = builder.arithmetic("key_head", "divide", self.head, writer.number("group", self.group, signed=False))
        self.limit = writer.number("keys", self.counted, signed=False)
        self.first_query = writer.number("first_query", self.first, signed=False)
        if self.by_tensor:
            self.layouts = {name: opened(writer, tensor, f"{name}_layout", ClampMode.CONSTANT) for name, tensor in self.tensors.items()}
            self.transposing = transposing(writer, 3)
        if self.parameters.to_a == "memory":
            self._declare_exchange()
        q = self._load("q", MatrixType(self.row.a, self.scope, self.queries_tile, self.depth, Use.A), self.head, writer.literal(0))
        narrow, wide = self._accumulator(self.keys_tile), self._accumulator(self.depth)
        start = [
            self._splat("output", wide, 0),
            self._splat("total", narrow, 0),
            self._splat("most", narrow, LOWEST),
        ]
        if self.parameters.spread == "own":
            start.append(self._splat("most_wide", wide, LOWEST))
        output, total, most, *_ = writer.repeat(self.blocks, start, lambda index, current: self._block(q, index, current))
        self._store(output)
        matrix_out(builder, "l", total)
        matrix_out(builder, "m", most)
        return builder.build()

    def _load(self, name: str, type_: MatrixType, head: ScalarValue, line: ScalarValue) -> Matrix:
        """Load the lines of a head that begin at ``line``: rows of the matrix, or columns if it is K."""
        writer, tensor = self.writer, self.tensors[name]
        lines = self.queries_tile if name == "q" else self.keys_tile
        if self.by_tensor:
            result = writer.name(name)
            cut = sliced(writer, self.layouts[name], (head, 1), (line, lines), (writer.literal(0), self.depth))
            return writer.load(name, result, type_, tensor, cut, self.transposing if name == "k" else None)
        layout = Layout.COLUMN_MAJOR if name == "k" else Layout.ROW_MAJOR
        return self.builder.load(writer.name(name), type_, tensor.array, self._first(name, head, line), self._stride(name), layout)

    def _first(self, name: str, head: ScalarValue, line: ScalarValue) -> ScalarValue:
        tensor, writer = self.tensors[name], self.writer
        begin = writer.scaled(f"{name}_begin", head, tensor.strides[0], tensor.first)
        return writer.sum(f"{name}_first", begin, writer.scaled(f"{name}_line", line, tensor.strides[1]))

    def _stride(self, name: str) -> ScalarValue:
        return self.writer.literal(self.tensors[name].strides[1])

    def _store(self, output: Matrix) -> None:
        writer, tensor = self.writer, self.tensors["o"]
        if self.by_tensor:
            zero = writer.literal(0)
            cut = sliced(writer, self.layouts["o"], (self.head, 1), (zero, self.queries_tile), (zero, self.depth))
            writer.store(output, tensor, cut)
            return
        first = self._first("o", self.head, writer.literal(0))
        self.builder.store(output, tensor.array, first, self._stride("o"), Layout.ROW_MAJOR)

    def _block(self, q: Matrix, index: ScalarValue, current: Sequence[Matrix]) -> list[Matrix]:
        """Process one block of keys."""
        writer, row, functions = self.writer, self.row, self.functions
        output, total, most, *rest = current
        key0 = writer.scaled("key0", index, self.keys_tile)
        k = self._load("k", MatrixType(row.b, self.scope, self.depth, self.keys_tile, Use.B), self.key_head, key0)
        narrow, wide = self._accumulator(self.keys_tile), self._accumulator(self.depth)
        scores = self._muladd("scores", q, k, self._splat("no_scores", narrow, 0))
        if row.result.is_float:
            factor = self.builder.literal(bits_of(row.result, 1 / SCALE), row.result)
            scores = self.builder.times_scalar(writer.name("scaled"), scores, factor)
        if self.parameters.mask != "none":
            scores = self._called(functions.mask, scores, key0, self.limit, *([self.first_query] if functions.causal else []))
        new = self._called(functions.larger, self._reduced(scores, narrow, "most"), most)
        weights = self._called(functions.power, scores, new)
        decay = self._called(functions.decay, most, new)
        following: list[Matrix] = []
        if rest:
            new_wide = self._called(functions.larger, self._reduced(scores, wide, "most"), rest[0])
            decay_wide = self._called(functions.decay, rest[0], new_wide)
            following = [new_wide]
        else:
            decay_wide = self._reduced(decay, wide, "most")
        a = self._to_a(weights)
        v = self._load("v", MatrixType(row.b, self.scope, self.keys_tile, self.depth, Use.B), self.key_head, key0)
        output = self._muladd("output", a, v, self._rescaled(output, decay_wide))
        total = self._rescaled(total, decay)
        if self.parameters.sum == "ones":
            ones = self._splat("ones", MatrixType(row.b, self.scope, self.keys_tile, self.keys_tile, Use.B), 1)
            total = self._muladd("total", a, ones, total)
        else:
            total = self.builder.elementwise(writer.name("total"), "add", total, self._reduced(weights, narrow, "sum"))
        return [output, total, new, *following]

    def _muladd(self, name: str, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
        return self.builder.muladd(self.writer.name(name), c.type, a, b, c, self.row.operands or None)

    def _called(self, function: Function, matrix: Matrix, *extra: Matrix | ScalarValue) -> Matrix:
        return self.builder.result_of(PerElement(Value(self.writer.name(function.name), matrix.type), matrix, function, extra))

    def _reduced(self, matrix: Matrix, type_: MatrixType, what: str) -> Matrix:
        result = Value(self.writer.name(f"row_{what}"), type_)
        return self.builder.result_of(Reduce(result, matrix, ReduceMode.ROW, getattr(self.functions, what)))

    def _rescaled(self, matrix: Matrix, decay: Matrix) -> Matrix:
        if self.parameters.rescale == "arithmetic":
            return self.builder.elementwise(self.writer.name("rescaled"), "multiply", matrix, decay)
        return self._called(self.functions.rescale, matrix, decay)

    def _to_a(self, weights: Matrix) -> Matrix:
        """Convert the weights from an accumulator to an A."""
        writer, builder, form = self.writer, self.builder, self.parameters.to_a
        target = replace(weights.type, component=self.row.a, use=Use.A)
        if form == "convert" and self.row.a is not self.row.result:
            return self._converted(weights, target)
        if self.row.a is not self.row.result:
            weights = self._converted(weights, replace(target, use=Use.ACCUMULATOR))
        if form != "memory":
            return builder.result_of(UseConvert(Value(writer.name("factor"), target), weights))
        self.exchange.store(weights, self.exchange_first)
        builder.barrier()
        result = self.exchange.load(writer.name("factor"), self.exchange_first)
        builder.barrier()
        return result

    def _declare_exchange(self) -> None:
        writer, instances = self.writer, self.parameters.instances
        factor = replace(self._accumulator(self.keys_tile), component=self.row.a, use=Use.A)
        tiles = tight(factor, Layout.ROW_MAJOR, (instances, 1))
        self.exchange: MatrixArray = matrix_scratch(self.builder, "handed", tiles)
        self.exchange_first: ScalarValue = writer.literal(0)
        if instances > 1:
            self.exchange_first = writer.scaled("handed_first", self.builder.built_in("subgroup_index", "subgroup"), tiles.pitch)

    def _converted(self, matrix: Matrix, type_: MatrixType) -> Matrix:
        result = Value(self.writer.name("converted"), type_)
        return self.builder.result_of(MatrixConvert(result, matrix, conversions(matrix.type.component, type_.component)[0]))

    def draw(self, name: str, _parameters: Parameters, _program: Program, rng: np.random.Generator) -> Subcase:
        """Draw operands whose scores are small whole numbers: weights are powers of two, and every sum is exact in any order."""
        row = self.row
        shapes = {name: tensor.sizes for name, tensor in self.tensors.items()}
        # A smaller difference of scores gives a smaller difference of weights.
        keys = 1 if _keeps_few_bits(row) else 2
        numbers = {
            "q": _sparse_queries(row, shapes["q"], rng),
            "k": rng.integers(-keys, keys, shapes["k"], endpoint=True),
            "v": self._values(shapes["v"], rng),
        }
        # Every third query has only negative scores, whatever the other numbers of its keys are.
        numbers["k"][..., 0] = 1
        others = _chosen(row) - 1
        below = numbers["q"][:, ::3]
        below[...] = np.where(few(others, below.shape, rng), below, 0)
        below[..., 0] = -(others * keys + 1) * (SCALE if row.result.is_float else 1)
        inputs = {which: self.tensors[which].contents(matrix.astype(row.a.dtype), rng) for which, matrix in numbers.items()}
        return Subcase(name, inputs)

    def _values(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw values: arbitrary integers, or so few and so small floats that their weighted sums fit the bits that a multiply-add must
        keep."""
        row = self.row
        if not row.result.is_float:
            return kernels.signed_whole(shape, 100, row.b, rng)
        return kernels.signed_whole(shape, 1, row.b, rng) * (rng.random(shape) < (_FEW if _keeps_few_bits(row) else 1))


def _keeps_few_bits(row: PropertyRow) -> bool:
    """Tell whether a multiply-add of floats may keep so few bits that most weights and values must be zero for exact sums."""
    return row.result.is_float and permitted_precision(row.a, row.b, row.c, row.result) < PERMITTED_PRECISION


def _sparse_queries(row: PropertyRow, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw queries with few nonzero numbers, for scores that differ by a few powers of two."""
    return any_signs(few(_chosen(row), shape, rng) * (SCALE if row.result.is_float else 1), rng)


def _chosen(row: PropertyRow) -> int:
    """Return the count of nonzero numbers in a query."""
    return 1 if _keeps_few_bits(row) else 3


def build(parameters: Parameters) -> Built:
    """Build a case."""
    kernel = _Attention(parameters)
    return Built(kernel.write(), kernel.draw)
