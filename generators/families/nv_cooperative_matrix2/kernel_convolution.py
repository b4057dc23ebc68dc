"""kernel_convolution: convolutions as matrix products, with views of an image as patches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.engine_kernels.epilogues import Epilogue, epilogue_data
from generators.engine_kernels.parts import LOOP, KernelWriter, LoopParameters, opened, sliced, workgroups_of
from generators.inputs import kernels
from generators.layouts.tensors import row_major, shared_tensor
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.parameters.vocabulary import parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, ScalarValue, TensorView, TensorViewType
from generators.types import ClampMode, Use


@dataclass(frozen=True)
class _Padding:
    """The surroundings of the image.

    Attributes:
        width: number of padding elements at the start of the first patch.
        clamp: their values.
    """

    width: int
    clamp: ClampMode


_PADDINGS: Mapping[str, _Padding] = MappingProxyType(
    {
        "zeros": _Padding(1, ClampMode.CONSTANT),
        "none": _Padding(0, ClampMode.CONSTANT),
        "edge": _Padding(1, ClampMode.CLAMP_TO_EDGE),
        "mirrored": _Padding(1, ClampMode.REPEAT_MIRRORED),
        "repeat": _Padding(1, ClampMode.REPEAT),
    }
)


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow, LoopParameters):
    """The parameters of a case."""

    form: Literal["taps", "patches"] = parameter(
        "what an iteration multiplies: all channels of one tap of the filter, or all taps of a block of channels", default="taps"
    )
    filter: tuple[int, int] = parameter("height and width of the filter", default="2x2", decode=parse_shape)
    blocks: int = parameter("blocks of channels", default=2, applies=lambda parameters: parameters.form == "patches")
    patch: Literal["wide", "tall"] = parameter("whether the pixels of a tile are two rows or two columns", default="wide")
    grid: tuple[int, int] = parameter("patches, down and across", default="2x2", decode=parse_shape)
    stride: int = parameter("pixels of the image between neighbouring pixels of the result", default=1)
    dilation: int = parameter("pixels of the image between neighbouring taps", default=1)
    padding: _Padding = parameter("what surrounds the image", default="zeros", labels=_PADDINGS)
    tail: Literal["all", "none"] = parameter("whether sides, channels and filters are less than what the tiles hold", default="all")
    epilogue: Literal["none", "bias", "limit"] = parameter("how sums are changed before they are stored", default="none", then=LOOP)


def _fits(parameters: Parameters) -> bool:
    """Tell whether one matrix can have all taps of a filter with some channels as its columns."""
    height, width = parameters.filter
    return parameters.form == "taps" or (parameters.row.k // 2) % (height * width) == 0


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "divides": lambda parameters: workgroups_of(parameters.grid, parameters.instances) > 0,
    "fits": _fits,
}


class _Convolution:
    """Writes the kernel of a case, and draws its data.

    An image (H, W, C) and filters (taps, C, N) give (OH, OW, N). A tile of the product has the pixels of a patch as rows. With ``taps``,
    each iteration multiplies all channels of one tap. With ``patches``, it multiplies all taps of a block of channels; a view with
    overlapping lines makes them one matrix.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.row = row = parameters.row
        self.scope = parameters.scope
        self.patch = (2, row.m // 2) if parameters.patch == "wide" else (row.m // 2, 2)
        self.filter, self.grid = parameters.filter, parameters.grid
        self.stride, self.dilation = parameters.stride, parameters.dilation
        self.by_taps = parameters.form == "taps"
        taps, cut = self.filter[0] * self.filter[1], parameters.tail == "all"
        self.each = row.k if self.by_taps else row.k // taps
        self.trips = taps if self.by_taps else parameters.blocks
        self.channels = self.each * (1 if self.by_taps else self.trips) - (1 if cut else 0)
        self.filters = row.n - (3 if cut else 0)
        self.pad = parameters.padding.width
        self.out = tuple(size * count - (1 if cut else 0) for size, count in zip(self.patch, self.grid, strict=True))
        reach = [self.dilation * (size - 1) + 1 for size in self.filter]
        self.image = tuple(max(3, (size - 1) * self.stride + taken - 2 * self.pad) for size, taken in zip(self.out, reach, strict=True))
        inner = (1, 1) if self.by_taps else self.filter
        self.inner = inner
        self.span = tuple((size - 1) * self.stride + (taken - 1) * self.dilation + 1 for size, taken in zip(self.patch, inner, strict=True))
        self.builder = ProgramBuilder(self.scope, parameters.subgroups, workgroups_of(self.grid, parameters.instances))
        self.writer = KernelWriter(self.builder, parameters)
        self.tensors = {
            "image": shared_tensor(self.builder, "image", row.a, (*self.image, self.channels)),
            "filters": shared_tensor(self.builder, "filters", row.b, (taps, self.channels, self.filters)),
            "result": shared_tensor(self.builder, "result", row.result, (*self.out, self.filters), role="output"),
        }
        self.epilogue = Epilogue(self.writer, parameters.epilogue, row.result, row.m, self.filters)

    def write(self) -> Program:
        """Write the whole kernel."""
        writer, builder, row = self.writer, self.builder, self.row
        modes = {"image": self.parameters.padding.clamp, "filters": ClampMode.CONSTANT, "result": ClampMode.CONSTANT}
        self.layouts = {name: opened(writer, self.tensors[name], f"{name}_layout", mode) for name, mode in modes.items()}
        self.view = self._view()
        self.begin = self._tile()
        accumulator = MatrixType(row.result, self.scope, row.m, row.n, Use.ACCUMULATOR)
        (total,) = writer.repeat(self.trips, [writer.zero("start", accumulator)], self._step)
        zero = writer.literal(0)
        total = self.epilogue.apply(total, zero, zero)
        pixels = tuple(zip(self.begin, self.patch, strict=True))
        cut = sliced(writer, self.layouts["result"], *pixels, (zero, row.n))
        writer.store(total, self.tensors["result"], cut)
        return builder.build()

    def _view(self) -> TensorView | None:
        """Return a view with the dimensions pixel, tap and channel; None if the slice is already the matrix."""
        if self.by_taps and self.stride == 1:
            return None
        lines = row_major((*self.span, self.each))
        sizes = [*self.patch, *self.inner, self.each]
        strides = [line * self.stride for line in lines[:2]] + [line * self.dilation for line in lines[:2]] + [1]
        if self.by_taps:
            del sizes[2:4], strides[2:4]
        kind = TensorViewType(tuple(range(len(sizes))), has_dimensions=True)
        return self.writer.view("patches", kind, ("dimension", sizes), ("stride", strides))

    def _tile(self) -> tuple[ScalarValue, ScalarValue]:
        """Return the first pixel of this instance's patch."""
        writer, builder = self.writer, self.builder
        if builder.instances == 1:
            return writer.literal(0), writer.literal(0)
        width = writer.number("grid_width", self.grid[1], signed=False)
        instance = builder.instance_index()
        down, across = writer.divided(instance, width, ("patch_row", "patch_column"))
        return writer.scaled("y", down, self.patch[0]), writer.scaled("x", across, self.patch[1])

    @cached_property
    def _width(self) -> ScalarValue:
        """The width of the filter, one operand for all iterations."""
        return self.writer.number("filter_width", self.filter[1], signed=False)

    def _step(self, index: ScalarValue, current: Sequence[Matrix]) -> list[Matrix]:
        writer, row = self.writer, self.row
        zero = writer.literal(0)
        # Padding makes the first offsets negative; they are computed modulo 2^32.
        first = [writer.scaled("corner", begin, self.stride, -self.pad % (1 << 32)) for begin in self.begin]
        channel: ScalarValue = zero
        filters: list[tuple[ScalarValue, int]]
        if self.by_taps:
            steps = (self.builder.arithmetic(writer.name(operator), operator, index, self._width) for operator in ("divide", "modulo"))
            first = [
                writer.sum("offset", corner, writer.scaled("tap", step, self.dilation)) for corner, step in zip(first, steps, strict=True)
            ]
            filters = [(index, 1), (zero, row.k), (zero, row.n)]
        else:
            channel = writer.scaled("channel", index, self.each)
            filters = [(zero, self.filter[0] * self.filter[1]), (channel, self.each), (zero, row.n)]
        pixels = tuple(zip(first, self.span, strict=True))
        a = self._load("image", MatrixType(row.a, self.scope, row.m, row.k, Use.A), self.view, *pixels, (channel, self.each))
        b = self._load("filters", MatrixType(row.b, self.scope, row.k, row.n, Use.B), None, *filters)
        total = current[0]
        return [self.builder.muladd(writer.name("sum"), total.type, a, b, total, row.operands or None)]

    def _load(self, name: str, type_: MatrixType, view: TensorView | None, *slices: tuple[ScalarValue, int]) -> Matrix:
        writer, tensor = self.writer, self.tensors[name]
        result, before = writer.name(f"{name}_matrix"), writer.zero(f"{name}_before", type_)
        return tensor.load(result, type_, writer.literal(tensor.first), before, sliced(writer, self.layouts[name], *slices), view)

    def draw(self, name: str, _parameters: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        """Draw whole numbers whose sums are exact in any order."""
        row = self.row
        budget = kernels.budget(row)
        shapes = {name: self.tensors[name].sizes for name in ("image", "filters")}
        if row.result.is_float:
            each = budget // 2 // (row.k * self.trips)
            side = max(1, int(each**0.5))
            image = kernels.signed_whole(shapes["image"], side, row.a, rng)
            filters = kernels.signed_whole(shapes["filters"], max(1, each // side), row.b, rng)
        else:
            image = kernels.any_whole(shapes["image"], row.a, rng)
            filters = kernels.any_whole(shapes["filters"], row.b, rng)
        inputs = {
            "image": self.tensors["image"].contents(image.astype(row.a.dtype), rng),
            "filters": self.tensors["filters"].contents(filters.astype(row.b.dtype), rng),
        }
        inputs |= epilogue_data(program, row.result, budget, rng)
        return Subcase(name, inputs)


def build(parameters: Parameters) -> Built:
    """Build a case."""
    kernel = _Convolution(parameters)
    return Built(kernel.write(), kernel.draw)
