"""elementwise: arithmetic on the elements of matrices: negation, binary operators, a scalar factor, and chains of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from generators.inputs import elementwise as inputs
from generators.layouts.matrix_arrays import WORKGROUP_BYTES, Tiles, matrix_sources, matrix_targets, tiled
from generators.layouts.placement import fills
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, SCOPE, SOURCE_NAMES, STORAGE_CLASSES, USES, Scoped, parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.elementwise import Operator
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, Operand, ScalarValue
from generators.routines.scaling import scaled
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass, Use

_COMPONENTS = {name: component for name, component in COMPONENT_TYPES.items() if component.has_arithmetic}
_BINARY: tuple[Operator, ...] = get_args(Operator)
_INTEGER_DIVISIONS = ("signed_divide", "unsigned_divide")
_SCALED = ("times_scalar", "chain")
_SEVERAL = ("chain", "contraction")

_SCALAR_SEED, _DEFAULT_SEED = 20, 21
"""Seeds of the scalar that a case fixes, and of the default of its specialization constant."""

Operation = Literal[Operator, "negate", "times_scalar", "chain", "contraction"]
"""The operations: a binary operator, negation, a scalar factor, a chain of these, or x * y - z, which a compiler may contract."""


def _takes_a_scalar(parameters: Parameters) -> bool:
    return parameters.operation in _SCALED


def _contracts(parameters: Parameters) -> bool:
    """Tell whether there are several operations, which a compiler may contract."""
    return parameters.operation in _SEVERAL


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrices", labels=_COMPONENTS)
    use: Use = parameter("use of the matrices", default="acc", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrices", default="16x16", decode=parse_shape, then=SCOPE)
    operation: Operation = parameter("what is computed")
    form: Literal["plain", "same", "kept"] = parameter(
        "whether both operands are one object, or the operands are stored after the result", default="plain"
    )
    source: SOURCE_NAMES = parameter("where the scalar comes from", default="literal", applies=_takes_a_scalar)
    decoration: Literal["none", "no_contraction"] = parameter("decoration of the operations", default="none", applies=_contracts)
    load: Layout = parameter("layout of the loads", default="row", labels=LAYOUTS)
    store: Layout = parameter("layout of the stores", default="row", labels=LAYOUTS)
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["exact", "rounding", "cancel", "range", "random", "edges", "chained"] = parameter("how the operands are drawn")


def _operands(parameters: Parameters) -> tuple[str, ...]:
    """Return the names of the matrices that a case loads."""
    if parameters.operation == "contraction":
        return "left", "right", "third"
    single = parameters.operation in ("negate", "times_scalar") or parameters.form == "same"
    return ("left",) if single else ("left", "right")


def _results(parameters: Parameters) -> tuple[str, ...]:
    """Return the names of the matrices that a case stores: if an operand is kept, it is stored after the result."""
    kept = tuple(f"{name}_after" for name in _operands(parameters)) if parameters.form == "kept" else ()
    return ("result", *kept)


def _tiles(parameters: Parameters, layout: Layout) -> Tiles:
    type_ = MatrixType(parameters.component, parameters.scope, *parameters.shape, parameters.use)
    return tiled(type_, layout, False, (parameters.instances, 1))


def _fits(parameters: Parameters) -> bool:
    """Tell whether workgroup memory holds all arrays."""
    if parameters.storage is not StorageClass.WORKGROUP:
        return True
    arrays = len(_operands(parameters)) + len(_results(parameters))
    return arrays * _tiles(parameters, parameters.load).bytes <= WORKGROUP_BYTES


def _operation_fits(parameters: Parameters) -> bool:
    """Tell whether the operation takes the type: OpFDiv and contraction take floats, OpSDiv integers, OpUDiv unsigned integers."""
    component, operation = parameters.component, parameters.operation
    if operation in ("divide", "contraction"):
        return component.is_float
    if operation in _INTEGER_DIVISIONS:
        return not component.is_float and (operation == "signed_divide" or not component.is_signed)
    return True


def _form_fits(parameters: Parameters) -> bool:
    return parameters.form != "same" or parameters.operation in _BINARY


def _pattern_fits(parameters: SubcaseParameters) -> bool:
    operation, pattern = parameters.operation, parameters.pattern
    if operation in _SEVERAL:
        return pattern == "chained"
    if not parameters.component.is_float:
        return pattern in inputs.INTEGER_PATTERNS
    if operation == "negate":
        return pattern == "range"
    if parameters.form == "same":
        return pattern in ("exact", "rounding")
    return pattern in inputs.FLOAT_PATTERNS and (pattern != "cancel" or operation in ("add", "subtract"))


def _scales(parameters: Parameters) -> bool:
    """Return whether the case uses OpMatrixTimesScalar."""
    return parameters.operation == "times_scalar" or (parameters.operation == "chain" and parameters.component.is_float)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits_workgroup_memory": _fits,
    "form_fits": _form_fits,
    "operation_fits": _operation_fits,
    "pattern_fits": _pattern_fits,
    "scales": _scales,
    "scales_integers": lambda parameters: parameters.operation == "times_scalar" and not parameters.component.is_float,
}


def fixed_scalar(component: ComponentType, operation: str, seed: int = _SCALAR_SEED) -> int:
    """Return the scalar of a case whose scalar is a constant, as bits."""
    rng = np.random.default_rng(seed)
    return inputs.chain(component, (1,), rng)[2] if operation == "chain" else inputs.scalar(component, rng)


class _ArithmeticWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.component = parameters.component
        self.builder = builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
        self.tiles, stored = _tiles(parameters, parameters.load), _tiles(parameters, parameters.store)
        self.sources = matrix_sources(builder, dict.fromkeys(_operands(parameters), self.tiles), parameters.storage)
        self.targets = matrix_targets(builder, dict.fromkeys(_results(parameters), stored), parameters.storage)
        self.first: ScalarValue = builder.literal(0)
        if builder.instances > 1:
            self.first = builder.arithmetic("first", "multiply", builder.instance_index(), builder.literal(self.tiles.pitch))

    def scalar(self) -> Operand:
        """Return the scalar factor."""
        operation = self.parameters.operation
        value, default = (fixed_scalar(self.component, operation, seed) for seed in (_SCALAR_SEED, _DEFAULT_SEED))
        return self.builder.operand("scalar", self.component, self.parameters.source, value, default)

    def compute(self, left: Matrix, right: Matrix, third: Matrix | None) -> Matrix:
        """Compute the result of the case's operation; ``right`` is ``left`` if the case has one operand."""
        builder, operation = self.builder, self.parameters.operation
        alone = self.parameters.decoration == "no_contraction"
        match operation:
            case "negate":
                return builder.negate("negated", left)
            case "times_scalar":
                return builder.times_scalar("scaled", left, self.scalar())
            case "contraction":
                assert third is not None
                product = builder.elementwise("product", "multiply", left, right, alone)
                return builder.elementwise("difference", "subtract", product, third, alone)
            case "chain":
                total = builder.elementwise("total", "add", left, right, alone)
                product = builder.elementwise("product", "multiply", total, left, alone)
                multiple = scaled(builder, "scaled", product, self.scalar(), alone)
                difference = builder.elementwise("difference", "subtract", multiple, right, alone)
                negated = builder.negate("negated", difference)
                if self.component.is_float:
                    return negated
                division: Operator = "signed_divide" if self.component.is_signed else "unsigned_divide"
                return builder.elementwise("quotient", division, negated, right)
            case _:
                return builder.elementwise("combined", operation, left, right)

    def write(self) -> Program:
        """Write the program."""
        loaded = {name: source.load(at=self.first) for name, source in self.sources.items()}
        left = loaded["left"]
        self.targets["result"].store(self.compute(left, loaded.get("right", left), loaded.get("third")), self.first)
        if self.parameters.form == "kept":
            for name, matrix in loaded.items():
                self.targets[f"{name}_after"].store(matrix, self.first)
        for target in self.targets.values():
            target.finish(self.builder)
        return self.builder.build()


def build(parameters: Parameters) -> Built:
    """Build a case. The operands of its operation and pattern are drawn for every scope instance."""
    writer = _ArithmeticWriter(parameters)
    component, operation, tiles = parameters.component, parameters.operation, writer.tiles

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        shape = (program.instances, 1, tiles.rows, tiles.columns)
        scalar = inputs.scalar(component, rng)
        drawn: dict[str, np.ndarray] = {}
        if operation == "contraction":
            drawn["left"], drawn["right"], drawn["third"] = inputs.contraction(component, shape, rng)
        elif operation == "chain":
            drawn["left"], drawn["right"], scalar = inputs.chain(component, shape, rng)
        else:
            pair = inputs.floats if component.is_float else inputs.integers
            drawn["left"], drawn["right"] = pair(component, operation, parameters.pattern, shape, rng)
        if parameters.form == "same":
            # The right operand is a valid divisor of any value, including itself.
            drawn["left"] = drawn["right"]
        arrays = {array: tiles.contents(drawn[array], rng) for array in writer.sources}
        operands = run_time_operands(program, {"scalar": scalar})
        return Subcase(name, arrays | fills(program, rng), operands)

    return Built(writer.write(), draw)
