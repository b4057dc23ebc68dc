"""Origins of constructed matrices, and the operations that make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from generators.inputs.patterns import counted_bytes
from generators.numerics.formats import bits_of
from generators.operands.run_time import run_time_operands
from generators.program.builder import ProgramBuilder
from generators.program.construction import MatrixConstant, MatrixNull
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.values import Matrix, MatrixType, Operand, ScalarValue, Source, Value
from generators.types import ComponentType, StorageClass

ScalarSource = Literal["literal", "specialization", "push_constant", "buffer", "computed", "element"]
"""Sources of a matrix's scalar: an operand; ``computed``, the sum of a push constant and a scalar from a buffer, for integers; or the
``element`` of an array that belongs to the scope instance, so instances differ."""


@dataclass(frozen=True)
class Origin:
    """The origin of a constructed matrix.

    Attributes:
        kind: a constant, null, or a composite constructed in the function.
        source: the source of its scalar; null has none. The scalar of a constant is a literal or a specialization constant.
        replicates: whether an instruction of SPV_EXT_replicated_composites makes it.
        specializes: whether it is a specialization-constant composite of a literal.
    """

    kind: Literal["constant", "null", "composite"]
    source: ScalarSource = "literal"
    replicates: bool = False
    specializes: bool = False

    @property
    def is_constant(self) -> bool:
        """Tell whether a variable may start with it."""
        return self.kind != "composite"

    @property
    def is_null(self) -> bool:
        """Tell whether it is null."""
        return self.kind == "null"

    @property
    def varies(self) -> bool:
        """Tell whether scope instances have different values."""
        return self.source == "element"


CONSTANT = Origin("constant")
_SOURCES: tuple[ScalarSource, ...] = get_args(ScalarSource)

ORIGINS: Mapping[str, Origin] = MappingProxyType(
    {
        "constant": CONSTANT,
        "specialization": Origin("constant", "specialization"),
        "literal_specialization": Origin("constant", specializes=True),
        "null": Origin("null"),
        "replicated": Origin("constant", replicates=True),
        "replicated_specialization": Origin("constant", "specialization", replicates=True),
    }
    | {f"splat_{source}": Origin("composite", source) for source in _SOURCES}
    | {f"replicate_{source}": Origin("composite", source, replicates=True) for source in _SOURCES}
)
"""The origins by parameter label."""


@dataclass(frozen=True)
class Filling:
    """The value of a matrix made from one scalar.

    Attributes:
        component: the component type of the matrix.
        bits: the bits of the scalar in each scope instance; all equal unless the origin is an element.
    """

    component: ComponentType
    bits: tuple[int, ...]

    @property
    def value(self) -> int:
        """Bits in the first scope instance."""
        return self.bits[0]


def default_bits(component: ComponentType) -> int:
    """Return the default of a data specialization constant, a value that no case has."""
    return bits_of(component, 2.5) if component.is_float else counted_bytes(component, 0x2A)


def _scalar(builder: ProgramBuilder, name: str, filling: Filling, source: ScalarSource) -> ScalarValue:
    component = filling.component
    if source == "computed":
        base = builder.operand(f"{name}_base", component, "push_constant")
        return builder.arithmetic(f"{name}_sum", "add", base, builder.operand(f"{name}_addend", component, "buffer"))
    if source == "element":
        array = builder.array(f"{name}_values", Pointee(component), len(filling.bits), StorageClass.STORAGE_BUFFER, "input")
        return builder.read_scalar(f"{name}_element", array, builder.instance_index())
    return _operand(builder, name, filling, source)


def _operand(builder: ProgramBuilder, name: str, filling: Filling, source: Source) -> Operand:
    return builder.operand(f"{name}_value", filling.component, source, filling.value, default_bits(filling.component))


def construct(
    builder: ProgramBuilder, name: str, type_: MatrixType, filling: Filling, origin: Origin, shared: ScalarValue | None = None
) -> Matrix:
    """Construct a matrix filled with ``filling``, or null.

    Args:
        builder: gets the operations.
        name: the name of the matrix and of its scalar's source.
        type_: the type of the matrix.
        filling: its value. An element has one value for each scope instance.
        origin: its origin.
        shared: the scalar of another matrix, to use again; None for its own scalar.
    """
    if origin.is_null:
        return builder.null(name, type_)
    scalar = _scalar(builder, name, filling, origin.source) if shared is None else shared
    if origin.is_constant:
        assert isinstance(scalar, Operand), f"{name}: a constant matrix needs a constant scalar"
        return builder.constant(name, type_, scalar, origin.replicates, origin.specializes)
    return builder.splat(name, type_, scalar, origin.replicates)


def initializer(builder: ProgramBuilder, name: str, type_: MatrixType, filling: Filling, origin: Origin) -> MatrixConstant | MatrixNull:
    """Return the constant or null matrix that initializes a variable."""
    if origin.is_null:
        return MatrixNull(Value(name, type_))
    scalar = _scalar(builder, name, filling, origin.source)
    assert isinstance(scalar, Operand), f"{name}: a constant matrix needs a constant scalar"
    return MatrixConstant(Value(name, type_), scalar, origin.replicates, origin.specializes)


def scalar_for(builder: ProgramBuilder, name: str, filling: Filling, origin: Origin) -> ScalarValue | None:
    """Return the scalar that several matrices of one component type share; None for null, which has none."""
    return None if origin.is_null else _scalar(builder, name, filling, origin.source)


def feed(fillings: Mapping[str, Filling], program: Program) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return the arrays and operands of a subcase that supply the values for ``construct``."""
    arrays: dict[str, np.ndarray] = {}
    operands: dict[str, int] = {}
    declared = {array.name for array in program.arrays}
    for name, filling in fillings.items():
        component = filling.component
        if f"{name}_values" in declared:
            arrays[f"{name}_values"] = np.array(filling.bits, component.bits_dtype).view(np.uint8)
        addend = counted_bytes(component, 0x5D)
        base = (filling.value - addend) % (1 << component.bits)
        operands |= {f"{name}_value": filling.value, f"{name}_base": base, f"{name}_addend": addend}
    return arrays, run_time_operands(program, operands)


def filling(component: ComponentType, bits: Sequence[int], instances: int, origin: Origin, turn: int = 0) -> Filling:
    """Return a filling with the ``turn``-th of ``bits``; if instances differ, instance i has the i-th value after it."""
    return Filling(component, tuple(bits[(turn + (i if origin.varies else 0)) % len(bits)] for i in range(instances)))
