"""vector_composites: vectors of single invocations, constructed from components, taken apart, changed, copied and selected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs.patterns import normal_bits, tame_bits
from generators.layouts.vector_arrays import VectorArray
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vectors import COMPONENTS, INVOCATIONS, LENGTH, Vectors
from generators.parameters.vocabulary import SOURCE_NAMES
from generators.program.builder import U32
from generators.program.control_flow import Carried, Condition
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.values import CooperativeVector, CooperativeVectorType, Operand, ScalarValue, Value, is_cooperative_vector
from generators.program.vector_builder import VectorBuilder
from generators.routines.invocation_control import DIVERGENT, KEEPING, Control, InvocationCode, Passed, path, run
from generators.types import ComponentType, StorageClass

Form = Literal[
    "both",
    "reverse",
    "select",
    "extract",
    "insert",
    "exchange",
    "construct",
    "splat",
    "replicated_splat",
    "constant",
    "replicated_constant",
    "null",
    "undefined",
    "copy",
]
"""construct: a vector from the components of two vectors. splat: a vector of one component, or of a scalar from outside. constant: a
constant of the module. null: OpConstantNull. undefined: OpUndef with all components replaced. exchange: a component at a constant index of
another vector. extract, insert, both: a component taken from a run-time index of another vector, put at a run-time index, and both.
reverse: reverse as many components as the index says, by a loop with run-time indices. copy: OpCopyObject with one component replaced.
select: one of two vectors, chosen by the index."""

_MADE: tuple[Form, ...] = ("constant", "replicated_constant", "null")
"""Forms that read no data, so the arms of a branch would have equal results."""

_CONSTANTS: tuple[Form, ...] = ("constant", "replicated_constant")
_SPLATS: tuple[Form, ...] = ("splat", "replicated_splat")
_REPLICATED: tuple[Form, ...] = ("replicated_splat", "replicated_constant")
_INDEXED: tuple[Form, ...] = ("extract", "insert", "both", "reverse", "select")
_PLACED: tuple[Form, ...] = (*_SPLATS, "exchange", "extract", "insert", "copy")
_BY_CONSTITUENTS: tuple[Form, ...] = ("construct", "splat", "constant", "undefined")
_ONE_ARM: tuple[Control, ...] = ("straight", "half", "switch", "function", "variable")
_WITHOUT_ZEROS: tuple[Control, ...] = ("straight", "half", "function")

_CONSTANT_SEED, _SCALAR_SEED, _DEFAULT_SEED = 31, 32, 33
"""Seeds of the components of constants, of a scalar that a case fixes, and of defaults of specialization constants."""


@dataclass(frozen=True, kw_only=True)
class Parameters(Vectors):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the vectors", labels=COMPONENTS)
    form: Form = parameter("how the result is made", then=LENGTH)
    position: Literal["last", "first", "middle"] = parameter(
        "the component at a constant index", default="last", applies=lambda parameters: parameters.form in _PLACED
    )
    source: Literal["invocation", SOURCE_NAMES] = parameter(
        "where the index, or the scalar of a splat, comes from: the invocation's own, or outside",
        default="invocation",
        applies=lambda parameters: parameters.form in (*_INDEXED, *_SPLATS),
    )
    values: Literal["literal", "specialization", "mixed"] = parameter(
        "where the components of constants come from", default="literal", applies=lambda parameters: parameters.form in _CONSTANTS
    )
    place: Literal["module", "function"] = parameter(
        "where OpUndef is", default="module", applies=lambda parameters: parameters.form == "undefined"
    )
    stores: Literal["result", "all"] = parameter("what is stored: the result, or the operands after it too", default="result")
    control: Control = parameter("the control flow around the code", default="straight", then=INVOCATIONS)


def _constituents_fit(parameters: Parameters) -> bool:
    """Return whether the number of constituents is known: one constituent for each component needs a literal length."""
    return parameters.length_from == "literal" or parameters.form not in _BY_CONSTITUENTS


def _control_fits(parameters: Parameters) -> bool:
    """Return whether the arms of the control flow give different results; one arm of a switch gives zeros, and a variable holds zeros at
    first."""
    if parameters.form == "null":
        return parameters.control in _WITHOUT_ZEROS
    own = parameters.form not in _MADE and (parameters.form not in _SPLATS or parameters.source == "invocation")
    return own or parameters.control in _ONE_ARM


def _kept_fits(parameters: Parameters) -> bool:
    return parameters.stores == "result" or (parameters.control in KEEPING and parameters.form not in _MADE)


def _source_fits(parameters: Parameters) -> bool:
    """Return whether an index from outside has several values to choose from."""
    return parameters.form not in _INDEXED or parameters.source == "invocation" or parameters.form == "select" or parameters.length > 1


def _positions_fit(parameters: Parameters) -> bool:
    """Return whether the positions name different components."""
    return parameters.position == "last" or parameters.length > 2


def _values_fit(parameters: Parameters) -> bool:
    """Return whether constants have components of both kinds."""
    return parameters.values != "mixed" or (parameters.form == "constant" and parameters.length > 1)


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "constituents_fit": _constituents_fit,
    "control_fits": _control_fits,
    "kept_fits": _kept_fits,
    "source_fits": _source_fits,
    "positions_fit": _positions_fit,
    "values_fit": _values_fit,
    "diverges": lambda parameters: parameters.control in DIVERGENT or parameters.is_partial,
}


def _bits(parameters: Parameters, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw ``count`` components. Replication is not listed as bit-preserving, so its floats are neither denormal nor zero (C16, C29)."""
    return (tame_bits if parameters.form in _REPLICATED else normal_bits)(parameters.component, count, rng)


class _VectorCompositesWriter:
    """Writes the program of one case.

    Attributes:
        loaded: names of the vectors that the case loads.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = parameters.builder()
        self.vectors = VectorBuilder(self.builder)
        self.lanes = parameters.lanes
        count = parameters.length
        self.slots = VectorArray(CooperativeVectorType(parameters.component, count), self.lanes)
        self.length = parameters.extent(self.builder)
        self.type = CooperativeVectorType(parameters.component, self.length)
        self.loaded = ("left", "right")
        kept = [f"{name}_after" for name in self.loaded] if parameters.stores == "all" else []
        self.sources = {name: self.slots.declare(self.builder, name, "input") for name in self.loaded}
        self.targets = [self.slots.declare(self.builder, name, "output") for name in ("result", *kept)]
        self.has_index = parameters.form in _INDEXED
        self.choices = 2 if parameters.form == "select" else count
        """The number of possible indices."""
        self.constants = self.constituents() if parameters.form in _CONSTANTS else ()
        self.indices = None
        if self.has_index and parameters.source == "invocation":
            self.indices = self.builder.array("indices", Pointee(U32), self.lanes, StorageClass.STORAGE_BUFFER, "input")

    def write(self) -> Program:
        """Write the program."""
        parameters, builder = self.parameters, self.builder
        outside = self.outside()
        me = Value("me", U32)
        with builder.per_invocation(me, parameters.invocations):

            def load(prefix: str, slot: ScalarValue) -> tuple[Passed, ...]:
                at = self.slots.offset(builder, f"{prefix}from", slot)
                found = [self.vectors.load(f"{prefix}{name}_operand", self.type, source, at) for name, source in self.sources.items()]
                own = () if self.indices is None else (builder.read_scalar(f"{prefix}index_operand", self.indices, slot),)
                return *found, *own, *outside

            def store(results: Sequence[CooperativeVector]) -> None:
                to = self.slots.offset(builder, "to", me)
                for vector, target in zip(results, self.targets, strict=True):
                    self.vectors.store(vector, target, to)

            code = InvocationCode(load, self.compute, store, parameters.stores == "all")
            run(builder, parameters.control, code, me, self.lanes, self.type)
        return builder.build()

    def outside(self) -> tuple[Operand, ...]:
        """Declare the index or the scalar from outside."""
        parameters = self.parameters
        if parameters.source == "invocation":
            return ()
        if self.has_index:
            # Specialized to the last component, or to the second of two; the default differs.
            index, default = (1, 0) if self.choices == 2 else (self.choices - 2, 1 if self.choices > 3 else 0)
            return (self.builder.operand("index", U32, parameters.source, index, default),)
        bits = [int(_bits(parameters, 1, np.random.default_rng(seed))[0]) for seed in (_SCALAR_SEED, _DEFAULT_SEED)]
        return (self.builder.operand("scalar", parameters.component, parameters.source, *bits),)

    @property
    def position(self) -> int:
        """The component at a constant index."""
        last = self.parameters.length - 1
        return {"first": 0, "middle": last // 2, "last": last}[self.parameters.position]

    def constituents(self) -> tuple[Operand, ...]:
        """Return the constituents of a constant; if literals and specialization constants alternate, a literal is first."""
        parameters = self.parameters
        component, count = parameters.component, 1 if parameters.form == "replicated_constant" else parameters.length
        bits, others = (_bits(parameters, count, np.random.default_rng(seed)) for seed in (_CONSTANT_SEED, _DEFAULT_SEED))
        values = []
        for i in range(count):
            specialized = parameters.values == "specialization" or (parameters.values == "mixed" and i % 2 == 1)
            if specialized:
                values.append(self.builder.operand(f"component_{i}", component, "specialization", int(bits[i]), int(others[i])))
            else:
                values.append(self.builder.literal(int(bits[i]), component))
        return tuple(values)

    def compute(self, prefix: str, operands: Sequence[Passed]) -> CooperativeVector:
        """Return the result of the case's form."""
        parameters, v = self.parameters, self.vectors
        left, right = [one for one in operands if is_cooperative_vector(one)]
        scalars = [one for one in operands if not is_cooperative_vector(one)]
        name, count, position = f"{prefix}made", parameters.length, self.position
        match parameters.form:
            case "construct":
                # Components of both in turns, in reverse.
                sources = [(left, right)[i % 2] for i in range(count)]
                return v.construct(
                    name, self.type, tuple(v.extract(f"{prefix}part_{i}", one, count - 1 - i) for i, one in enumerate(sources))
                )
            case "splat" | "replicated_splat":
                value = scalars[0] if scalars else v.extract(f"{prefix}value", left, position)
                return v.splat(name, self.type, value, parameters.form == "replicated_splat")
            case "constant" | "replicated_constant":
                return v.constant(name, self.type, self.constants, parameters.form == "replicated_constant")
            case "null":
                return v.null(name, self.type)
            case "undefined":
                made = v.undefined(f"{prefix}undefined", self.type, parameters.place)
                for i in range(count):
                    part = v.extract(f"{prefix}part_{i}", (left, right)[i % 2], count - 1 - i)
                    made = v.insert(f"{prefix}with_{i}", made, part, i)
                return made
            case "exchange":
                return v.insert(name, left, v.extract(f"{prefix}part", right, count - 1 - position), position)
            case "extract":
                return v.insert(name, left, v.extract(f"{prefix}part", right, scalars[0]), position)
            case "insert":
                return v.insert(name, left, v.extract(f"{prefix}part", right, position), scalars[0])
            case "both":
                return v.insert(name, left, v.extract(f"{prefix}part", right, scalars[0]), self.mirrored(prefix, scalars[0]))
            case "reverse":
                return self.reverse(prefix, left, right, scalars[0])
            case "copy":
                copied = v.copy(f"{prefix}copied", left)
                changed = v.insert(f"{prefix}changed", copied, v.extract(f"{prefix}part", right, position), position)
                return v.copy(name, changed)
            case "select":
                return v.select(name, Condition(scalars[0], "equal", self.builder.literal(1)), left, right)

    def mirrored(self, prefix: str, index: ScalarValue) -> ScalarValue:
        """Return the mirror image of ``index``: as far from the end as ``index`` is from the beginning."""
        length = self.builder.literal(self.length) if isinstance(self.length, int) else self.length
        assert isinstance(length, Operand), "lengths are numbers or specialization constants"
        last = self.builder.arithmetic(f"{prefix}last", "subtract", length, self.builder.literal(1))
        return self.builder.arithmetic(f"{prefix}mirrored", "subtract", last, index)

    def reverse(self, prefix: str, left: CooperativeVector, right: CooperativeVector, last: ScalarValue) -> CooperativeVector:
        """Return ``right`` with components 0 to ``last`` of the reverse of ``left``. The loop begins with component ``last``, which may
        differ between invocations."""
        builder, v = self.builder, self.vectors
        current, index = Value(f"{prefix}made", self.type), Value(f"{prefix}step", U32)
        steps = builder.arithmetic(f"{prefix}steps", "add", last, builder.literal(1))
        carried: list[Carried] = []
        with builder.loop(index, steps, carried):
            at = builder.arithmetic(f"{prefix}at", "subtract", last, index)
            part = v.extract(f"{prefix}part", left, self.mirrored(prefix, at))
            carried.append(Carried(right, current, v.insert(f"{prefix}following", current, part, at)))
        return current


def build(parameters: Parameters) -> Built:
    """Build a case: its program, random bits without zeros and with few repetitions, and indices that include every component."""
    writer = _VectorCompositesWriter(parameters)
    count, lanes = parameters.length, writer.lanes

    def draw(name: str, _: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = {array: writer.slots.pack(_bits(parameters, lanes * count, rng).reshape(lanes, count)) for array in writer.loaded}
        if writer.indices is not None:
            order = rng.permutation(max(lanes, writer.choices))[:lanes]
            inputs["indices"] = np.ascontiguousarray(order % writer.choices).astype(np.uint32).view(np.uint8)
        least = 32 if writer.choices > 64 else 1
        index = int(rng.integers(least, writer.choices)) if writer.choices > 1 else 0
        scalar = int(_bits(parameters, 1, rng)[0])
        return Subcase(name, inputs, run_time_operands(program, {"index": index, "scalar": scalar, **path(int(rng.integers(2)))}))

    return Built(writer.write(), draw)
