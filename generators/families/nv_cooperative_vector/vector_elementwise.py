"""vector_elementwise: arithmetic, bit operations and functions on the components of vectors of single invocations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from generators.inputs import elementwise as inputs
from generators.inputs import vector_functions
from generators.layouts.vector_arrays import VectorArray
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vectors import COMPONENTS, INVOCATIONS, LENGTH, Vectors
from generators.parameters.vocabulary import BUFFERS, SOURCE_NAMES
from generators.program.builder import U32
from generators.program.elementwise import ARGUMENTS, BitOperator, Operator, VectorFunction, takes
from generators.program.program import Built, Program, Subcase
from generators.program.values import CooperativeVector, CooperativeVectorType, ScalarValue, Value, is_cooperative_vector
from generators.program.vector_builder import VectorBuilder
from generators.routines.invocation_control import DIVERGENT, KEEPING, Control, InvocationCode, Passed, path, run
from generators.types import ComponentType, StorageClass

Operation = Literal[Operator, "negate", "invert", "times_scalar", BitOperator, VectorFunction, "contraction", "chain"]
"""A binary operator, negation or complement, a scalar factor, a function of GLSL.std.450, x * y - z without contraction, or a chain of
operators that feed each other."""

_OPERATORS: tuple[Operator, ...] = get_args(Operator)
_BITS: tuple[BitOperator, ...] = get_args(BitOperator)
_DIVISIONS = ("signed_divide", "unsigned_divide")
_UNARY = ("negate", "invert", "times_scalar", *(name for name, count in ARGUMENTS.items() if count == 1))
_ALONE = ("contraction", "chain")
_MAY_BE_SAME = ("add", "subtract", "multiply", "xor", "Fma")
_SCALED = ("times_scalar", "chain")

_NAMES = ("left", "right", "third")

_SCALAR_SEED, _DEFAULT_SEED, _CONSTANT_SEED = 20, 21, 22
"""Seeds of the scalar that a case fixes, of the default of its specialization constant, and of constant vectors."""


def _several(parameters: Parameters) -> bool:
    """Return whether the operation has more than one vector operand."""
    return parameters.operation not in (*_UNARY, *_ALONE)


@dataclass(frozen=True, kw_only=True)
class Parameters(Vectors):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the vectors", labels=COMPONENTS)
    operation: Operation = parameter("what is computed", then=LENGTH)
    others: Literal["loaded", "constant", "same"] = parameter(
        "what the operands after the first are: loaded, constants of the module, or the first one", default="loaded", applies=_several
    )
    source: Literal["component", SOURCE_NAMES] = parameter(
        "where the scalar comes from: a component of the invocation's second vector, or outside",
        default="component",
        applies=lambda parameters: parameters.operation in _SCALED,
    )
    stores: Literal["result", "all"] = parameter("what is stored: the result, or the operands after it too", default="result")
    control: Control = parameter("the control flow around the operation", default="straight", then=INVOCATIONS)
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=BUFFERS)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["exact", "rounding", "cancel", "range", "random", "edges", "chained"] = parameter("how the operands are drawn")


def _function(operation: Operation) -> VectorFunction | None:
    """Return the GLSL.std.450 function of an operation; None if it is not such a function."""
    return next((name for name in ARGUMENTS if name == operation), None)


def _operation_fits(parameters: Parameters) -> bool:
    """Return whether the operation takes the component type."""
    component, operation = parameters.component, parameters.operation
    function = _function(operation)
    if function is not None:
        return takes(function, component)
    if operation in ("divide", "times_scalar", "contraction"):
        return component.is_float
    if operation in (*_BITS, "invert"):
        return not component.is_float
    if operation in _DIVISIONS:
        return not component.is_float and (operation == "signed_divide" or not component.is_signed)
    return True


def _others_fit(parameters: Parameters) -> bool:
    return parameters.others != "same" or parameters.operation in _MAY_BE_SAME


def _scalar_fits(parameters: Parameters) -> bool:
    """Return whether the scalar may come from its source: the scalar of a chain is the same for all invocations."""
    if parameters.operation == "chain":
        return parameters.source != "component" if parameters.component.is_float else parameters.source == "component"
    return True


def _kept_fits(parameters: Parameters) -> bool:
    return parameters.stores == "result" or parameters.control in KEEPING


def _constants_fit(parameters: Parameters) -> bool:
    return parameters.others != "constant" or parameters.length_from == "literal"


def _pattern_fits(parameters: SubcaseParameters) -> bool:
    component, operation, pattern = parameters.component, parameters.operation, parameters.pattern
    function = _function(operation)
    if operation in _ALONE:
        return pattern == "chained"
    if function is not None:
        return pattern in vector_functions.patterns(function, component)
    if not component.is_float:
        return pattern in inputs.INTEGER_PATTERNS
    if operation == "negate":
        return pattern == "range"
    if parameters.others != "loaded":
        return pattern in ("exact", "rounding")
    return pattern in inputs.FLOAT_PATTERNS and (pattern != "cancel" or operation in ("add", "subtract"))


def _of(*operations: str) -> Callable[[Parameters], bool]:
    """Return a predicate that tells whether the case has one of some operations, for requirements that only such cases cover."""
    return lambda parameters: parameters.operation in operations


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "operation_fits": _operation_fits,
    "others_fit": _others_fit,
    "scalar_fits": _scalar_fits,
    "kept_fits": _kept_fits,
    "constants_fit": _constants_fit,
    "pattern_fits": _pattern_fits,
    "computes": _of(*_OPERATORS, "negate", *_ALONE),
    "bits": _of(*_BITS, "invert"),
    "functions": _of(*ARGUMENTS),
    "diverges": lambda parameters: parameters.control in DIVERGENT or parameters.is_partial,
}


def _loaded(parameters: Parameters) -> tuple[str, ...]:
    """Return the names of the vectors that a case loads."""
    operation = parameters.operation
    if operation == "times_scalar":
        return _NAMES[: 2 if parameters.source == "component" else 1]
    if operation in _ALONE:
        return _NAMES[: 3 if operation == "contraction" else 2]
    return _NAMES[: _count(operation) if parameters.others == "loaded" else 1]


def _count(operation: Operation) -> int:
    """Return the number of vectors that an operation takes; chains are not among the operations."""
    function = _function(operation)
    if function is not None:
        return ARGUMENTS[function]
    return 1 if operation in _UNARY else 2


def _drawn(parameters: Parameters, pattern: str, shape: tuple[int, int], rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Draw the operands of all vectors, of the component's dtype: one for each operand and, if each invocation has its own scalar, a vector
    of scalars."""
    component, operation = parameters.component, parameters.operation
    function = _function(operation)
    if function is not None:
        return vector_functions.arguments(function, component, pattern, shape, rng)
    if operation in _BITS:
        return vector_functions.bit_operands(component, operation, pattern, shape, rng)
    if operation == "contraction":
        return inputs.contraction(component, shape, rng)
    by = "negate" if operation == "invert" else operation
    left, right = (inputs.floats if component.is_float else inputs.integers)(component, by, pattern, shape, rng)
    if operation == "times_scalar":
        right = inputs.scalars(component, math.prod(shape), rng).reshape(shape)
    return left, right


def _constants(parameters: Parameters) -> list[np.ndarray]:
    """Draw the constant vectors of a case, which follow its first operand, as bits."""
    component, operation = parameters.component, parameters.operation
    function = _function(operation)
    pattern = "rounding" if component.is_float else "random"
    if function is not None:
        pattern = vector_functions.patterns(function, component)[0]
    drawn = _drawn(parameters, pattern, (1, parameters.length), np.random.default_rng(_CONSTANT_SEED))[1:]
    bits = [np.ascontiguousarray(one).view(component.bits_dtype)[0] for one in drawn]
    if operation == "signed_divide":
        # The lowest number divided by -1 is undefined.
        bits = [np.where(one == component.bits_dtype.type((1 << component.bits) - 1), component.bits_dtype.type(3), one) for one in bits]
    return bits


class _VectorElementwiseWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = parameters.builder()
        self.vectors = VectorBuilder(self.builder)
        self.lanes = parameters.lanes
        self.slots = VectorArray(CooperativeVectorType(parameters.component, parameters.length), self.lanes)
        self.type = CooperativeVectorType(parameters.component, parameters.extent(self.builder))
        self.loaded = _loaded(parameters)
        kept = [f"{name}_after" for name in self.loaded] if parameters.stores == "all" else []
        self.sources = {name: self.slots.declare(self.builder, name, "input", parameters.storage) for name in self.loaded}
        self.targets = [self.slots.declare(self.builder, name, "output", parameters.storage) for name in ("result", *kept)]

    def scalar(self) -> ScalarValue:
        """Declare the scalar from outside."""
        component, source, chained = self.parameters.component, self.parameters.source, self.parameters.operation == "chain"
        assert source != "component"

        def fixed(seed: int) -> int:
            rng = np.random.default_rng(seed)
            return inputs.chain(component, (1,), rng)[2] if chained else inputs.scalar(component, rng)

        return self.builder.operand("scalar", component, source, fixed(_SCALAR_SEED), fixed(_DEFAULT_SEED))

    def write(self) -> Program:
        """Write the program."""
        parameters, builder = self.parameters, self.builder
        scaled = parameters.operation in _SCALED and parameters.source != "component"
        outside = (self.scalar(),) if scaled else ()
        me = Value("me", U32)
        with builder.per_invocation(me, parameters.invocations):
            constants = [
                self.vectors.constant(f"constant_{i}", self.type, tuple(builder.literal(int(bits), parameters.component) for bits in one))
                for i, one in enumerate(_constants(parameters) if parameters.others == "constant" else [])
            ]

            def load(prefix: str, slot: ScalarValue) -> tuple[Passed, ...]:
                at = self.slots.offset(builder, f"{prefix}from", slot)
                found = [self.vectors.load(f"{prefix}{name}_operand", self.type, source, at) for name, source in self.sources.items()]
                return *found, *outside

            def store(results: Sequence[CooperativeVector]) -> None:
                to = self.slots.offset(builder, "to", me)
                for vector, target in zip(results, self.targets, strict=True):
                    self.vectors.store(vector, target, to)

            def compute(prefix: str, operands: Sequence[Passed]) -> CooperativeVector:
                return self.compute(prefix, operands, constants)

            code = InvocationCode(load, compute, store, parameters.stores == "all")
            run(builder, parameters.control, code, me, self.lanes, self.type)
        return builder.build()

    def compute(self, prefix: str, operands: Sequence[Passed], constants: Sequence[CooperativeVector]) -> CooperativeVector:
        """Return the result of the case's operation."""
        parameters, v = self.parameters, self.vectors
        operation = parameters.operation
        given = [one for one in operands if is_cooperative_vector(one)] + [*constants]
        scalars = [one for one in operands if not is_cooperative_vector(one)]
        if parameters.others == "same":
            given = [given[0]] * _count(operation)
        left, name = given[0], f"{prefix}computed"
        match operation:
            case "negate":
                return v.negate(name, left)
            case "invert":
                return v.invert(name, left)
            case "times_scalar":
                factor = scalars[0] if scalars else v.extract(f"{prefix}scalar", given[1], parameters.length - 1)
                return v.times_scalar(name, left, factor)
            case "contraction":
                product = v.arithmetic(f"{prefix}product", "multiply", left, given[1], no_contraction=True)
                return v.arithmetic(name, "subtract", product, given[2], no_contraction=True)
            case "chain":
                return self.chain(prefix, left, given[1], scalars)
        function = _function(operation)
        if function is not None:
            return v.function(name, function, *given)
        if operation in _BITS:
            return v.bits(name, operation, left, given[1])
        operator = next(one for one in _OPERATORS if one == operation)
        return v.arithmetic(name, operator, left, given[1])

    def chain(self, prefix: str, left: CooperativeVector, right: CooperativeVector, scalars: Sequence[ScalarValue]) -> CooperativeVector:
        """Compute -((left + right) * left * scalar - right) of floats; for integers without the scalar, divided by right and
        complemented."""
        v, component = self.vectors, self.parameters.component
        total = v.arithmetic(f"{prefix}total", "add", left, right)
        product = v.arithmetic(f"{prefix}product", "multiply", total, left)
        if component.is_float:
            scaled = v.times_scalar(f"{prefix}scaled", product, scalars[0])
            return v.negate(f"{prefix}computed", v.arithmetic(f"{prefix}difference", "subtract", scaled, right))
        negated = v.negate(f"{prefix}negated", v.arithmetic(f"{prefix}difference", "subtract", product, right))
        division: Operator = "signed_divide" if component.is_signed else "unsigned_divide"
        quotient = v.arithmetic(f"{prefix}quotient", division, negated, right)
        return v.bits(f"{prefix}computed", "xor", v.invert(f"{prefix}inverted", quotient), left)


def build(parameters: Parameters) -> Built:
    """Build a case. The operands of its operation and pattern are drawn for every component of every invocation."""
    writer = _VectorElementwiseWriter(parameters)
    component = parameters.component

    def draw(name: str, chosen: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        shape = writer.lanes, parameters.length
        scalar = inputs.scalar(component, rng) if component.is_float else 0
        if parameters.operation == "chain":
            *drawn, scalar = inputs.chain(component, shape, rng)
        else:
            drawn = list(_drawn(parameters, chosen.pattern, shape, rng))
        arrays = {array: writer.slots.pack(np.ascontiguousarray(drawn[i])) for i, array in enumerate(writer.loaded)}
        operands = run_time_operands(program, {"scalar": scalar, **path(int(rng.integers(2)))})
        return Subcase(name, arrays, operands)

    return Built(writer.write(), draw)
