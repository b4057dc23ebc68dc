"""elementwise: arithmetic on the elements of matrices: negation, binary operators, a scalar factor, and chains of them.

Axis values are those of cases/khr_cooperative_matrix/elementwise.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import get_args

import numpy as np

from generators.inputs import elementwise as inputs
from generators.layouts.placement import Target, fills, stage_in, stage_out
from generators.layouts.tiles import WORKGROUP_BYTES, Tiles, tiled
from generators.parameters.vocabulary import LAYOUTS, SCOPES, SOURCES, STORAGE, SUBGROUPS, USES, TakenValues, Values, instances, shape_of
from generators.program.builder import ProgramBuilder
from generators.program.elementwise import Operator
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, MatrixType, Operand, Scalar
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass

_COMPONENTS = tuple(name for name, component in COMPONENT_TYPES.items() if component.has_arithmetic)
_BINARY: tuple[Operator, ...] = get_args(Operator)
_INTEGER_DIVISIONS = ("signed_divide", "unsigned_divide")
_SCALED = ("times_scalar", "chain")
_SEVERAL = ("chain", "contraction")


_SCALAR_SEED, _DEFAULT_SEED = 20, 21
"""Of the scalar that a case fixes, and of the default of its specialization constant."""


def _component(values: Values) -> ComponentType:
    return COMPONENT_TYPES[values["component"]]


def _operands(values: Values) -> tuple[str, ...]:
    """The matrices that a case loads."""
    operation = values["operation"]
    if operation == "contraction":
        return "left", "right", "third"
    single = operation in ("negate", "times_scalar") or values["form"] == "same"
    return ("left",) if single else ("left", "right")


def _results(values: Values) -> tuple[str, ...]:
    """The matrices that a case stores: an operand that is kept is stored after the result."""
    kept = tuple(f"{name}_after" for name in _operands(values)) if values["form"] == "kept" else ()
    return ("result", *kept)


def _tiles(values: Values, direction: str) -> Tiles:
    rows, columns = shape_of(values)
    return tiled(_component(values), (rows, columns), LAYOUTS[values[direction]], False, (instances(values), 1))


def _fits(values: Values) -> bool:
    """Workgroup memory holds all arrays."""
    if values["storage"] != "workgroup":
        return True
    arrays = len(_operands(values)) + len(_results(values))
    return arrays * _tiles(values, "load").length * _component(values).bytes <= WORKGROUP_BYTES


def _operation_fits(values: Values) -> bool:
    """OpFDiv and contraction are for floats, the other divisions for integers, OpUDiv for types without sign."""
    component, operation = _component(values), values["operation"]
    if operation in ("divide", "contraction"):
        return component.is_float
    if operation in _INTEGER_DIVISIONS:
        return not component.is_float and (operation == "signed_divide" or not component.is_signed)
    return True


def _form_fits(values: Values) -> bool:
    return values["form"] != "same" or values["operation"] in _BINARY


def _pattern_fits(values: Values) -> bool:
    operation, pattern = values["operation"], values["pattern"]
    if operation in _SEVERAL:
        return bool(pattern == "chained")
    if not _component(values).is_float:
        return pattern in inputs.INTEGER_PATTERNS
    if operation == "negate":
        return bool(pattern == "range")
    if values["form"] == "same":
        return pattern in ("exact", "rounding")
    return pattern in inputs.FLOAT_PATTERNS and (pattern != "cancel" or operation in ("add", "subtract"))


AXES: TakenValues = {
    "component": _COMPONENTS,
    "use": USES.keys(),
    "shape": re.compile(r"\d+x\d+"),
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "operation": (*_BINARY, "negate", "times_scalar", *_SEVERAL),
    "form": ("plain", "same", "kept"),
    "source": SOURCES,
    "decoration": ("none", "no_contraction"),
    "load": LAYOUTS.keys(),
    "store": LAYOUTS.keys(),
    "storage": STORAGE,
    "pattern": (*inputs.FLOAT_PATTERNS, *inputs.INTEGER_PATTERNS, "chained"),
}

PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "fits_workgroup_memory": _fits,
    "form_fits": _form_fits,
    "operation_fits": _operation_fits,
    "pattern_fits": _pattern_fits,
    "takes_a_scalar": lambda values: values["source"] == "literal" or values["operation"] in _SCALED,
    "contracts": lambda values: values["decoration"] == "none" or values["operation"] in _SEVERAL,
}


def fixed_scalar(component: ComponentType, operation: str, seed: int = _SCALAR_SEED) -> int:
    """The scalar of a case whose scalar is a constant, as bits."""
    rng = np.random.default_rng(seed)
    return inputs.chain(component, (1,), rng)[2] if operation == "chain" else inputs.scalar(component, rng)


class _Writer:
    """Writes the program of one case."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.component = _component(values)
        self.scope = SCOPES[values["scope"]]
        self.builder = ProgramBuilder(self.scope, subgroups=int(values["subgroups"]))
        self.load_tiles, self.store_tiles = _tiles(values, "load"), _tiles(values, "store")
        storage, pointee = StorageClass(values["storage"]), Pointee(self.component)
        self.sources: dict[str, Array] = {
            name: stage_in(self.builder, name, pointee, self.load_tiles.length, storage) for name in _operands(values)
        }
        self.targets: dict[str, Target] = {
            name: stage_out(self.builder, name, pointee, self.store_tiles.length, storage) for name in _results(values)
        }
        builder = self.builder
        self.first: Operand | Scalar = builder.literal(0)
        if builder.instances > 1:
            self.first = builder.arithmetic("first", "multiply", builder.instance_index(), builder.literal(self.load_tiles.pitch))

    def load(self, name: str) -> Matrix:
        """The matrix of array ``name``."""
        tiles = self.load_tiles
        type_ = MatrixType(self.component, self.scope, tiles.rows, tiles.columns, USES[self.values["use"]])
        return self.builder.load(f"matrix_{name}", type_, self.sources[name], self.first, self.builder.literal(tiles.stride), tiles.layout)

    def scalar(self) -> Operand:
        """The scalar factor."""
        operation = self.values["operation"]
        value, default = (fixed_scalar(self.component, operation, seed) for seed in (_SCALAR_SEED, _DEFAULT_SEED))
        return self.builder.operand("scalar", self.component, self.values["source"], value, default)

    def compute(self, left: Matrix, right: Matrix, third: Matrix | None) -> Matrix:
        """The result of the case's operation; ``right`` is ``left`` where the case has one operand."""
        builder, operation = self.builder, self.values["operation"]
        alone = self.values["decoration"] == "no_contraction"
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
                scaled = builder.times_scalar("scaled", product, self.scalar(), alone)
                difference = builder.elementwise("difference", "subtract", scaled, right, alone)
                negated = builder.negate("negated", difference)
                if self.component.is_float:
                    return negated
                division: Operator = "signed_divide" if self.component.is_signed else "unsigned_divide"
                return builder.elementwise("quotient", division, negated, right)
            case _:
                return builder.elementwise("combined", operation, left, right)

    def store(self, matrix: Matrix, name: str) -> None:
        """Stores ``matrix`` to array ``name``."""
        tiles = self.store_tiles
        self.builder.store(matrix, self.targets[name].array, self.first, self.builder.literal(tiles.stride), tiles.layout)

    def write(self) -> Program:
        """The program."""
        loaded = {name: self.load(name) for name in _operands(self.values)}
        left = loaded["left"]
        self.store(self.compute(left, loaded.get("right", left), loaded.get("third")), "result")
        if self.values["form"] == "kept":
            for name, matrix in loaded.items():
                self.store(matrix, f"{name}_after")
        for target in self.targets.values():
            target.finish(self.builder)
        return self.builder.build()


def program(values: Values) -> Program:
    """The program of a case."""
    return _Writer(values).write()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Operands of the case's operation and pattern, drawn anew for every scope instance."""
    component, operation, tiles = _component(values), values["operation"], _tiles(values, "load")
    shape = (program.instances, 1, tiles.rows, tiles.columns)
    scalar = inputs.scalar(component, rng)
    drawn: dict[str, np.ndarray] = {}
    if operation == "contraction":
        drawn["left"], drawn["right"], drawn["third"] = inputs.contraction(component, shape, rng)
    elif operation == "chain":
        drawn["left"], drawn["right"], scalar = inputs.chain(component, shape, rng)
    else:
        draw = inputs.floats if component.is_float else inputs.integers
        drawn["left"], drawn["right"] = draw(component, operation, values["pattern"], shape, rng)
    if values["form"] == "same":
        # What may divide itself is what may divide.
        drawn["left"] = drawn["right"]
    arrays = {array: tiles.place(np.ascontiguousarray(drawn[array]), rng) for array in _operands(values)}
    operands = {operand.name: scalar for operand in program.operands if operand.source in ("push_constant", "buffer")}
    return Subcase(name, arrays | fills(program, rng), operands)
