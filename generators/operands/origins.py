"""Where a matrix comes from that is not loaded: the words of the axis ``origin``, and what each of them makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from generators.numerics.formats import bits_of
from generators.program.builder import ProgramBuilder
from generators.program.construction import MatrixConstant, MatrixNull
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.values import Matrix, MatrixType, Operand, ScalarValue, Source
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass

_CONSTANTS = ("constant", "specialization", "literal_specialization", "replicated", "replicated_specialization")
CONSTANT_ORIGINS = (*_CONSTANTS, "null")
_SPECIALIZED = ("specialization", "replicated_specialization")
_SPLATS = ("literal", "specialization", "push_constant", "buffer", "computed", "element")

ORIGINS = (*_CONSTANTS, "null", *(f"splat_{source}" for source in _SPLATS), *(f"replicate_{source}" for source in _SPLATS))
"""``constant`` to ``replicated_specialization``: constant composites, of a literal or of a specialization constant; ``null``; composites
constructed in the function (``splat``, ``replicate``) of a scalar that is a literal, a specialization constant, from a push constant or a
buffer, ``computed`` (the sum of a push constant and a scalar from a buffer, for integers), or the ``element`` of an array that belongs
to the scope instance, so that instances have different values."""

INTEGERS = tuple(name for name, component in COMPONENT_TYPES.items() if not component.is_float)
"""The components of which scalars can be computed."""


@dataclass(frozen=True)
class Filling:
    """The value of a matrix that is made of one scalar.

    Attributes:
        component: of the matrix.
        bits: in each scope instance; all the same unless the origin is an element.
    """

    component: ComponentType
    bits: tuple[int, ...]

    @property
    def value(self) -> int:
        """Bits in the first scope instance."""
        return self.bits[0]


def default_bits(component: ComponentType) -> int:
    """The default in the module of a specialization constant of data, which is the value of none."""
    return bits_of(component, 2.5) if component.is_float else int.from_bytes(bytes(range(0x2A, 0x2A + component.bytes)), "big")


def varies(origin: str) -> bool:
    """Whether scope instances have different values."""
    return origin.endswith("_element")


def replicates(origin: str) -> bool:
    """Whether an instruction of SPV_EXT_replicated_composites makes the matrix."""
    return origin.startswith("replicate")


def _scalar(builder: ProgramBuilder, name: str, filling: Filling, source: str) -> ScalarValue:
    component = filling.component
    if source == "computed":
        base = builder.operand(f"{name}_base", component, "push_constant")
        return builder.arithmetic(f"{name}_sum", "add", base, builder.operand(f"{name}_addend", component, "buffer"))
    if source == "element":
        array = builder.array(f"{name}_values", Pointee(component), len(filling.bits), StorageClass.STORAGE_BUFFER, "input")
        return builder.scalar_load(f"{name}_element", array, builder.instance_index())
    return _operand(builder, name, filling, source)


def _operand(builder: ProgramBuilder, name: str, filling: Filling, source: str) -> Operand:
    return builder.operand(f"{name}_value", filling.component, cast(Source, source), filling.value, default_bits(filling.component))


def _constant_source(origin: str) -> Source:
    return "specialization" if origin in _SPECIALIZED else "literal"


def _manner(origin: str) -> tuple[bool, bool]:
    """Whether the instruction replicates, and whether it specializes a literal."""
    return origin.startswith("replicated"), origin == "literal_specialization"


def construct(
    builder: ProgramBuilder, name: str, type_: MatrixType, filling: Filling, origin: str, shared: ScalarValue | None = None
) -> Matrix:
    """A matrix filled with ``filling``, or null.

    Args:
        builder: where it is added.
        name: of the matrix, and of what its scalar comes from.
        type_: of the matrix.
        filling: its value. For an element there is one for every scope instance.
        origin: one of ORIGINS.
        shared: the scalar of another matrix, to be used again; None for one of its own.
    """
    if origin == "null":
        return builder.null(name, type_)
    if origin in _CONSTANTS:
        value = _operand(builder, name, filling, _constant_source(origin)) if shared is None else shared
        assert isinstance(value, Operand), f"{name}: a constant is made of a constant"
        return builder.constant(name, type_, value, *_manner(origin))
    instruction, source = origin.split("_", 1)
    scalar = _scalar(builder, name, filling, source) if shared is None else shared
    return builder.splat(name, type_, scalar, instruction == "replicate")


def initializer(builder: ProgramBuilder, name: str, type_: MatrixType, filling: Filling, origin: str) -> MatrixConstant | MatrixNull:
    """The constant matrix, for a variable to start with; ``origin`` is one of CONSTANT_ORIGINS."""
    if origin == "null":
        return MatrixNull(Matrix(name, type_))
    return MatrixConstant(Matrix(name, type_), _operand(builder, name, filling, _constant_source(origin)), *_manner(origin))


def scalar_for(builder: ProgramBuilder, name: str, filling: Filling, origin: str) -> ScalarValue | None:
    """The scalar that several matrices of one component share; None for null, which has none."""
    if origin == "null":
        return None
    if origin in _CONSTANTS:
        return _operand(builder, name, filling, _constant_source(origin))
    return _scalar(builder, name, filling, origin.split("_", 1)[1])


def feed(fillings: Mapping[str, Filling], program: Program) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Arrays and operands of a subcase that give the matrices of ``construct`` their values."""
    arrays: dict[str, np.ndarray] = {}
    operands: dict[str, int] = {}
    declared = {array.name for array in program.arrays}
    outside = {operand.name for operand in program.operands if operand.source in ("push_constant", "buffer")}
    for name, filling in fillings.items():
        component = filling.component
        if f"{name}_values" in declared:
            arrays[f"{name}_values"] = np.array(filling.bits, component.bits_dtype).view(np.uint8)
        addend = int.from_bytes(bytes(range(0x5D, 0x5D + component.bytes)), "big")
        base = (filling.value - addend) % (1 << component.bits)
        fed = {f"{name}_value": filling.value, f"{name}_base": base, f"{name}_addend": addend}
        operands |= {key: value for key, value in fed.items() if key in outside}
    return arrays, operands


def filling(component: ComponentType, bits: Sequence[int], instances: int, origin: str, turn: int = 0) -> Filling:
    """A filling with the ``turn``-th of ``bits``; where instances differ, instance i has the i-th after it."""
    return Filling(component, tuple(bits[(turn + (i if varies(origin) else 0)) % len(bits)] for i in range(instances)))
