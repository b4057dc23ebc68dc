"""A random chain of the operations of SPV_EXT_cooperative_matrix_maintenance1, as data, and its program: changes of use and component,
reductions, functions of elements, and coordinates. A matrix goes through the steps, and the last result is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.element_functions.functions import Combination, combining
from generators.fuzz.tensor_addressing import Written
from generators.layouts.matrix_arrays import Tiles, matrix_source, matrix_target, tight
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import PerElement, Reduce
from generators.program.conversion import Conversion, MatrixConvert, UseConvert, agrees, conversions
from generators.program.elements import ComponentsPlaced, CoordinateUse
from generators.program.expressions import Binary, Converted, constant, element_function
from generators.program.program import Program
from generators.program.values import Matrix, MatrixType, Value
from generators.routines.elements import place_components
from generators.types import COMPONENT_TYPES, ComponentType, Layout, ReduceMode, Scope, Use

DRAWS_PER_FORM = 10
"""Number of draws that share a program."""

_SIZES = (8, 16, 32)
_MOST_STEPS = 5
_SMALL = 100
"""The largest initial number of elements that do not use all bits."""
_LARGEST_WEIGHT = 5
_BITWISE: Sequence[Combination] = ("and", "or", "xor")


@dataclass(frozen=True)
class Numbers:
    """The integers that elements may be, both ends included. Floats continue only if none is 0, since the sign of a zero is uncertain."""

    low: int
    high: int


@dataclass(frozen=True)
class Changed:
    """A step that changes the use and the component type of the matrix."""

    component: str
    use: Use


@dataclass(frozen=True)
class Reduced:
    """A step that reduces the matrix to a number of rows and columns."""

    mode: ReduceMode
    combination: Combination
    rows: int
    columns: int


@dataclass(frozen=True)
class Numbered:
    """A step that adds to each element its row times ``row`` and its column times ``column``, by a function of elements."""

    row: int
    column: int


@dataclass(frozen=True)
class Placed:
    """A step in which each invocation asks for the coordinates of its components."""

    what: CoordinateUse


Step = Changed | Reduced | Numbered | Placed


@dataclass(frozen=True)
class Chain:
    """One drawn chain.

    Attributes:
        component, rows, columns, use: the type of the first matrix.
        numbers: the range of its elements.
        steps: the operations, in order.
        layouts: the layouts of the load and of the store.
        scope, subgroups: the scope of the matrices, and the number of subgroups in the workgroup.
        number: decides the data.
    """

    component: str
    rows: int
    columns: int
    use: Use
    numbers: Numbers
    steps: tuple[Step, ...]
    layouts: tuple[Layout, Layout]
    scope: Scope
    subgroups: int
    number: int = 0

    @property
    def form(self) -> Chain:
        """The input that decides the module: the chain without its data."""
        return replace(self, number=0)

    @property
    def type(self) -> MatrixType:
        """The type of the first matrix."""
        return MatrixType(COMPONENT_TYPES[self.component], self.scope, self.rows, self.columns, self.use)

    @property
    def source(self) -> Tiles:
        """The positions of the first matrices."""
        return tight(self.type, self.layouts[0], (self.subgroups if self.scope is Scope.SUBGROUP else 1, 1))


def draw(seed: int, index: int) -> Chain:
    """Draw chain ``index``; consecutive draws share their form."""
    return replace(_form(np.random.default_rng([seed, index // DRAWS_PER_FORM])), number=index)


def _form(rng: np.random.Generator) -> Chain:
    component = COMPONENT_TYPES[str(rng.choice(list(COMPONENT_TYPES)))]
    rows, columns = (int(rng.choice(_SIZES)) for _ in range(2))
    scope, subgroups = (Scope.WORKGROUP if rng.random() < 0.2 else Scope.SUBGROUP), int(rng.integers(1, 3))
    layouts = _layout(rng), _layout(rng)
    chain = Chain(component.name, rows, columns, Use(int(rng.integers(3))), _first_numbers(component, rng), (), layouts, scope, subgroups)
    type_, numbers = chain.type, chain.numbers
    steps: list[Step] = []
    for _ in range(int(rng.integers(1, _MOST_STEPS + 1))):
        possible = [(step, found) for step in _candidates(type_, rng) if (found := following(type_, numbers, step)) is not None]
        if not possible:
            break
        # Choose by kind: otherwise the many changes of component would crowd out the kinds that occur once.
        kind = str(rng.choice(sorted({_kind(type_, step) for step, _ in possible})))
        own = [one for one in possible if _kind(type_, one[0]) == kind]
        step, (type_, numbers) = own[int(rng.integers(len(own)))]
        steps.append(step)
    return replace(chain, steps=tuple(steps))


def _kind(type_: MatrixType, step: Step) -> str:
    match step:
        case Changed(component, use):
            return f"component {component != type_.component.name}, use {use is not type_.use}"
        case Reduced(mode):
            return f"reduced by {mode.name}"
        case _:
            return type(step).__name__


def _layout(rng: np.random.Generator) -> Layout:
    return Layout.ROW_MAJOR if rng.random() < 0.5 else Layout.COLUMN_MAJOR


def _first_numbers(component: ComponentType, rng: np.random.Generator) -> Numbers:
    if not component.is_float and rng.random() < 0.5:
        return _all_of(component)
    return Numbers(1, min(_SMALL, _most(component)))


def _all_of(component: ComponentType) -> Numbers:
    """Return the numbers of an integer type."""
    least = -(1 << component.bits - 1) if component.is_signed else 0
    return Numbers(least, least + (1 << component.bits) - 1)


def _most(component: ComponentType) -> int:
    """Return the largest n for which the type can represent all whole numbers up to n."""
    return 1 << component.precision if component.is_float else _all_of(component).high


def _candidates(type_: MatrixType, rng: np.random.Generator) -> Iterator[Step]:
    """Yield some steps of each kind that may be possible for a matrix of a type."""
    for component in COMPONENT_TYPES:
        for use in Use:
            yield Changed(component, use)
    rows, columns = type_.shape
    for mode in ReduceMode:
        to_rows, to_columns = (int(rng.choice(_SIZES)) for _ in range(2))
        shape = {
            ReduceMode.ROW: (rows, to_columns),
            ReduceMode.COLUMN: (to_rows, columns),
            ReduceMode.ROW_AND_COLUMN: (to_rows, to_columns),
            ReduceMode.TWO_BY_TWO: (rows // 2, columns // 2),
        }[mode]
        for combination in ("add", "minimum", "maximum", *_BITWISE):
            yield Reduced(mode, combination, *shape)
    row, column = (int(rng.integers(_LARGEST_WEIGHT + 1)) for _ in range(2))
    yield Numbered(row, column)
    yield Placed("number")
    yield Placed("mask")


def following(type_: MatrixType, numbers: Numbers, step: Step) -> tuple[MatrixType, Numbers] | None:
    """Return the type of the matrix after a step, and the range of its elements; None if the step is not possible or a result would be
    uncertain."""
    component = type_.component
    if component.is_float and numbers.low < 1:
        return None
    match step:
        case Changed():
            return _after_change(type_, numbers, step)
        case Reduced():
            return _after_reduction(type_, numbers, step)
        case Numbered(row, column):
            rows, columns = type_.shape
            most = numbers.high + (rows - 1) * row + (columns - 1) * column
            return _certain(type_, Numbers(numbers.low, most)) if component.has_arithmetic else None
        case Placed("number"):
            rows, columns = type_.shape
            return _certain(type_, Numbers(0, rows * (columns + 1)))
        case Placed():
            return type_, Numbers(min(numbers.low, 0), max(numbers.high, 0))


def _certain(type_: MatrixType, numbers: Numbers) -> tuple[MatrixType, Numbers] | None:
    """Return the type with the numbers, or with all of its numbers if an integer wraps; None if a float rounds."""
    component = type_.component
    if component.is_float:
        return (type_, numbers) if numbers.high <= _most(component) else None
    every = _all_of(component)
    return type_, numbers if every.low <= numbers.low and numbers.high <= every.high else every


def _conversion(source: ComponentType, target: ComponentType) -> Conversion | None:
    return next((one for one in conversions(source, target) if agrees(one, source, target)), None)


def _after_change(type_: MatrixType, numbers: Numbers, step: Changed) -> tuple[MatrixType, Numbers] | None:
    source, target = type_.component, COMPONENT_TYPES[step.component]
    result = replace(type_, component=target, use=step.use)
    # One of the two uses is an accumulator (M1-USE-03).
    if step.use is not type_.use and Use.ACCUMULATOR not in (step.use, type_.use):
        return None
    if source is target:
        return (result, numbers) if step.use is not type_.use else None
    conversion = _conversion(source, target)
    if conversion is None:
        return None
    if target.is_float and numbers.low < 1:
        return None
    if source.is_float and numbers.high > _most(target):
        return None
    return _certain(result, numbers)


def _after_reduction(type_: MatrixType, numbers: Numbers, step: Reduced) -> tuple[MatrixType, Numbers] | None:
    (rows, columns), component = type_.shape, type_.component
    fits = {
        ReduceMode.ROW: step.rows == rows,
        ReduceMode.COLUMN: step.columns == columns,
        ReduceMode.ROW_AND_COLUMN: True,
        ReduceMode.TWO_BY_TWO: (2 * step.rows, 2 * step.columns) == (rows, columns) and min(step.rows, step.columns) >= min(_SIZES),
    }[step.mode]
    bitwise = step.combination in _BITWISE
    if not fits or type_.use is not Use.ACCUMULATOR or not component.has_arithmetic or (bitwise and component.is_float):
        return None
    result = replace(type_, rows=step.rows, columns=step.columns)
    if step.combination in ("minimum", "maximum"):
        return result, numbers
    if bitwise:
        return result, _all_of(component)
    group = {ReduceMode.ROW: columns, ReduceMode.COLUMN: rows, ReduceMode.ROW_AND_COLUMN: rows * columns, ReduceMode.TWO_BY_TWO: 4}
    count = group[step.mode]
    return _certain(result, Numbers(numbers.low * count, numbers.high * count))


def write(chain: Chain) -> Written:
    """Write equal programs for chains of one form, so they share a pipeline."""
    builder = ProgramBuilder(chain.scope, chain.subgroups, maintenance1=True)
    source = matrix_source(builder, "source", chain.source, label="place")
    matrix, numbers = source.load_tile("matrix", 0), chain.numbers
    for place, step in enumerate(chain.steps):
        found = following(matrix.type, numbers, step)
        assert found is not None, "a chain has possible steps"
        type_, numbers = found
        matrix = _done(builder, matrix, step, Value(f"matrix_{place}", type_))
    count = chain.source.instances, 1
    matrix_target(builder, "target", tight(matrix.type, chain.layouts[1], count), label="place").store_tile(matrix, 0)
    return Written(builder.build(), {})


def _done(builder: ProgramBuilder, matrix: Matrix, step: Step, result: Matrix) -> Matrix:
    """Add a step to a program, and return the step's result for a matrix."""
    component = matrix.type.component
    match step:
        case Changed():
            conversion = _conversion(component, result.type.component)
            # A bitcast does not change the use, but the instruction that does may also change the sign (M1-CVT-03, M1-USE-06).
            if conversion is Conversion.BITCAST and result.type.use is not matrix.type.use:
                conversion = None
            builder.add(UseConvert(result, matrix) if conversion is None else MatrixConvert(result, matrix, conversion))
        case Reduced(mode, combination):
            builder.add(Reduce(result, matrix, mode, combining(f"combine_{result.name}", component, combination)))
        case Numbered(row, column):
            parameters = Value("row", U32), Value("column", U32), Value("element", component)
            first, second = (Binary("multiply", one, constant(U32, by)) for one, by in zip(parameters, (row, column), strict=False))
            number = Binary("add", first, second)
            total = Binary("add", parameters[2], number if component is U32 else Converted(component, number))
            builder.add(PerElement(result, matrix, element_function(f"number_{result.name}", parameters, total), ()))
        case Placed(what):
            variable = builder.variable(f"variable_{result.name}", matrix.type, "function")
            builder.set(variable, (), matrix)
            place_components(builder, ComponentsPlaced(variable, matrix, what))
            return builder.get_matrix(result.name, variable)
    return result


def data(chain: Chain, _: Program, seed: int) -> dict[str, np.ndarray]:
    """Draw the first matrices, by name; uint8."""
    rng = np.random.default_rng([seed, chain.number])
    component, tiles = COMPONENT_TYPES[chain.component], chain.source
    drawn: Literal["int64"] | np.dtype = "int64" if component.is_float else component.dtype
    shape = tiles.instances, chain.rows, chain.columns
    whole = rng.integers(chain.numbers.low, chain.numbers.high, shape, dtype=drawn, endpoint=True)
    return {"source": tiles.contents(whole.astype(component.dtype), rng)}


def is_possible(chain: Chain) -> bool:
    """Return whether each step of a chain is possible after the steps before it."""
    type_, numbers = chain.type, chain.numbers
    for step in chain.steps:
        found = following(type_, numbers, step)
        if found is None:
            return False
        type_, numbers = found
    return True


def _after_first(chain: Chain) -> Chain:
    """Return the chain that begins with the result of the first step."""
    found = following(chain.type, chain.numbers, chain.steps[0])
    assert found is not None, "a chain has possible steps"
    type_, numbers = found
    rows, columns = type_.shape
    return replace(
        chain, component=type_.component.name, rows=rows, columns=columns, use=type_.use_value, numbers=numbers, steps=chain.steps[1:]
    )


def simpler(chain: Chain) -> Iterator[Chain]:
    """Yield candidates, the simplest first."""
    rows = Layout.ROW_MAJOR
    candidates = [
        _after_first(chain),
        *(replace(chain, steps=chain.steps[:place] + chain.steps[place + 1 :]) for place in range(len(chain.steps) - 1, -1, -1)),
        replace(chain, scope=Scope.SUBGROUP),
        replace(chain, subgroups=1),
        *(replace(chain, rows=size) for size in _SIZES if size < chain.rows),
        *(replace(chain, columns=size) for size in _SIZES if size < chain.columns),
        replace(chain, layouts=(rows, chain.layouts[1])),
        replace(chain, layouts=(chain.layouts[0], rows)),
    ]
    for candidate in candidates:
        if candidate.steps and candidate != chain and is_possible(candidate):
            yield candidate


def size(chain: Chain) -> tuple[int, ...]:
    """Return the measure that shrinking reduces."""
    other_layouts = sum(layout is not Layout.ROW_MAJOR for layout in chain.layouts)
    return len(chain.steps), chain.scope is Scope.WORKGROUP, chain.subgroups, chain.rows * chain.columns, other_layouts


def describe(chain: Chain) -> str:
    """Return a line for each step, for readers."""
    lines = [
        f"{chain.component} {chain.rows}x{chain.columns} use {chain.use.name}, numbers from {chain.numbers.low} to {chain.numbers.high}, "
        f"{chain.scope.name} scope, {chain.subgroups} subgroups, layouts {' and '.join(layout.name for layout in chain.layouts)}"
    ]
    for step in chain.steps:
        match step:
            case Changed(component, use):
                lines.append(f"  becomes {component} of use {use.name}")
            case Reduced(mode, combination, rows, columns):
                lines.append(f"  reduced by {combination}, {mode.name}, to {rows}x{columns}")
            case Numbered(row, column):
                lines.append(f"  element + {row} * row + {column} * column")
            case Placed(what):
                lines.append(f"  by coordinates: {what}")
    return "\n".join(lines)
