"""What whole kernels have in common: loops that accumulate, tiles of a grid, and tensors that all workgroups share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from generators.layouts.tensor_writer import LayoutStep, TensorWriter
from generators.layouts.tile_arrays import tame_bits
from generators.numerics.formats import bits_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import Constant
from generators.program.control_flow import Carried, Hint
from generators.program.memory import Array, Pointee, Role
from generators.program.tensor import TensorLayout, TensorLayoutType, TensorView, TensorViewType
from generators.program.tensor_access import POINTER_ALIGNMENT
from generators.program.values import Matrix, MatrixType, Operand, Scalar, ScalarValue, Source
from generators.types import ClampMode, ComponentType, StorageClass

CARRIES = ("phi", "variable", "unrolled")
HINTS: tuple[Hint, ...] = ("none", "for", "against")


TAILS = ("none", "m", "n", "k", "all")
"""What an axis ``tail`` takes: the sizes of a product that are no multiple of what a workgroup computes."""

PAIR = re.compile(r"[1-9]x[1-9]")
"""What an axis of counts takes that go down and across."""


def pair(text: str) -> tuple[int, int]:
    """The two numbers of a ``PAIR``."""
    first, second = text.split("x")
    return int(first), int(second)


def with_tail(tail: str, m: int, n: int, k: int) -> tuple[int, int, int]:
    """``m``, ``n`` and ``k`` less what a tail lacks, of each another number."""
    return (
        m - 3 if tail in ("m", "all") else m,
        n - 5 if tail in ("n", "all") else n,
        k - 3 if tail in ("k", "all") else k,
    )


def number(value: float, component: ComponentType) -> Constant:
    """A constant of a function."""
    return Constant(component, bits_of(component, value))


class KernelWriter(TensorWriter):
    """Writes kernels; numbers of a kernel come from one source.

    Args:
        builder, source: see TensorWriter.
        carry: what brings matrices from one iteration to the next: a loop's own values, variables, or no loop at all.
        hint: for the loop.
    """

    def __init__(self, builder: ProgramBuilder, source: Source, carry: str = "phi", hint: Hint = "none") -> None:
        super().__init__(builder, source)
        self.carry = carry
        self.hint = hint
        self._count = 0

    def name(self, what: str) -> str:
        """A name of its own."""
        self._count += 1
        return f"{what}_{self._count}"

    def literal(self, value: int) -> Operand:
        """A literal u32."""
        return self.builder.literal(value)

    def scaled(self, what: str, value: ScalarValue, factor: int, addend: int = 0) -> ScalarValue:
        """``value`` * ``factor`` + ``addend``."""
        if isinstance(value, Operand) and value.source == "literal":
            assert value.value is not None, "a literal has its value"
            return self.literal(value.value * factor + addend)
        product = self.builder.arithmetic(self.name(f"{what}_times"), "multiply", value, self.literal(factor))
        return self.sum(what, product, self.literal(addend)) if addend else product

    def sum(self, what: str, left: ScalarValue, right: ScalarValue) -> ScalarValue:
        """``left`` + ``right``."""
        return self.builder.arithmetic(self.name(what), "add", left, right)

    def zero(self, what: str, type_: MatrixType) -> Matrix:
        """A matrix of zeros."""
        return self.builder.splat(self.name(what), type_, self.builder.literal(0, type_.component))

    def _trip_count(self, trips: int) -> ScalarValue:
        """``trips``. As a specialization constant it has fewer for its default: more add tiles beyond the matrices, zeros."""
        return self.number("trips", trips, signed=False, default=trips - 1 if trips else 1)

    def repeat(
        self, trips: int, initial: Sequence[Matrix], body: Callable[[ScalarValue, Sequence[Matrix]], Sequence[Matrix]]
    ) -> list[Matrix]:
        """Runs ``body`` ``trips`` times: it gets the number of the iteration and the carried matrices, and returns them changed."""
        match self.carry:
            case "phi":
                return self._by_phi(trips, initial, body)
            case "variable":
                return self._by_variables(trips, initial, body)
            case _:
                current = list(initial)
                for i in range(trips):
                    current = list(body(self.literal(i), current))
                return current

    def _by_phi(
        self, trips: int, initial: Sequence[Matrix], body: Callable[[ScalarValue, Sequence[Matrix]], Sequence[Matrix]]
    ) -> list[Matrix]:
        index = Scalar(self.name("i"), U32)
        current = [Matrix(self.name("carried"), matrix.type) for matrix in initial]
        carried: list[Carried] = []
        count = self._trip_count(trips)
        with self.builder.loop(index, count, carried, self.hint):
            following = body(index, current)
            carried += [Carried(*matrices) for matrices in zip(initial, current, following, strict=True)]
        return current

    def _by_variables(
        self, trips: int, initial: Sequence[Matrix], body: Callable[[ScalarValue, Sequence[Matrix]], Sequence[Matrix]]
    ) -> list[Matrix]:
        builder = self.builder
        variables = [builder.variable(self.name("kept"), matrix.type) for matrix in initial]
        for variable, matrix in zip(variables, initial, strict=True):
            builder.set(variable, (), matrix)
        index = Scalar(self.name("i"), U32)
        with builder.loop(index, self._trip_count(trips), [], self.hint):
            current = [builder.get_matrix(self.name("current"), variable) for variable in variables]
            for variable, matrix in zip(variables, body(index, current), strict=True):
                builder.set(variable, (), matrix)
        return [builder.get_matrix(self.name("final"), variable) for variable in variables]


@dataclass(frozen=True)
class SharedTensor:
    """A tensor that all workgroups use.

    Attributes:
        array: where it is. ``component``: of its elements.
        sizes: of its dimensions. ``strides``: between elements of a dimension; the last one is 1.
    """

    array: Array
    component: ComponentType
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def first(self) -> int:
        """The element of the array at which it begins."""
        return POINTER_ALIGNMENT // self.component.bytes

    def steps(self, explicit: bool) -> list[LayoutStep]:
        """What sets dimensions, and strides where they are not the default ones or ``explicit``."""
        steps: list[LayoutStep] = [("dimension", self.sizes)]
        if explicit or self.strides != packed(self.sizes):
            steps.append(("stride", self.strides))
        return steps

    def place(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """``values``, of ``sizes``, as the bytes of the array; finite random numbers around and between them."""
        bits = tame_bits(self.component, self.array.count, rng)
        bits[self.first + self.places()] = np.ascontiguousarray(values).view(self.component.bits_dtype)
        return np.asarray(bits.view(np.uint8))

    def places(self) -> np.ndarray:
        """How far each element is from the first one, int64, of shape ``sizes``."""
        total = np.zeros(self.sizes, np.int64)
        for dimension, (size, stride) in enumerate(zip(self.sizes, self.strides, strict=True)):
            shape = [1] * len(self.sizes)
            shape[dimension] = size
            total = total + (np.arange(size) * stride).reshape(shape)
        return total


def packed(sizes: Sequence[int], gap: int = 0) -> tuple[int, ...]:
    """Strides of a tensor with ``gap`` elements behind each line of its innermost dimension."""
    strides = [1]
    for i, size in enumerate(reversed(sizes[1:])):
        strides.append(strides[-1] * size + (gap if i == 0 else 0))
    return tuple(reversed(strides))


def shared_tensor(
    builder: ProgramBuilder, name: str, component: ComponentType, sizes: Sequence[int], gap: int = 0, role: Role = "input"
) -> SharedTensor:
    """Declares a tensor in a storage buffer."""
    strides = packed(sizes, gap)
    margin = POINTER_ALIGNMENT // component.bytes
    length = margin + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) + 1 + margin
    array = builder.array(name, Pointee(component), length, StorageClass.STORAGE_BUFFER, role)
    return SharedTensor(array, component, tuple(sizes), strides)


def opened(writer: KernelWriter, tensor: SharedTensor, name: str, clamp: ClampMode) -> TensorLayout:
    """The layout of a whole tensor, to be sliced."""
    return writer.layout(name, TensorLayoutType(len(tensor.sizes), clamp), *tensor.steps(explicit=False))


def sliced(writer: KernelWriter, layout: TensorLayout, *slices: tuple[ScalarValue, int]) -> TensorLayout:
    """``layout`` cut to (offset, span) in each dimension."""
    numbers: list[int | ScalarValue] = []
    for offset, span in slices:
        numbers += [offset, writer.literal(span)]
    return writer.changed(writer.name(f"{layout.name}_cut"), layout, ("slice", numbers))


def transposing(writer: KernelWriter, rank: int = 2) -> TensorView:
    """A view that exchanges the two innermost dimensions."""
    order = (*range(rank - 2), rank - 1, rank - 2)
    return writer.view(writer.name("transposing"), TensorViewType(order))
