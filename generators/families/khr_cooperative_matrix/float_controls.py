"""float_controls: arithmetic, conversions and moves of floats under the execution modes of SPV_KHR_float_controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs import float_controls as inputs
from generators.layouts.matrix_arrays import MatrixArray, Tiles, matrix_sources, matrix_target, tiled
from generators.layouts.placement import fills
from generators.layouts.tensor_writer import TensorWriter, matrix_steps
from generators.parameters.declaration import parameter
from generators.parameters.float_modes import MODES, ModeParameters, binds, controls, opposites, pattern_binds
from generators.parameters.float_modes import target as target_of
from generators.parameters.vocabulary import SCOPE, USES, Scoped, layouts_of, parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.composites import CompositeConstruct, CompositeExtract, CopyObject
from generators.program.conversion import Conversion
from generators.program.program import Built, Program, Subcase
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import ArrayType, Matrix, MatrixType, TensorLayout, TensorLayoutType, Value
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass, Use

Operation = Literal["move", "add", "subtract", "multiply", "divide", "negate", "times_scalar", "convert"]

Way = Literal["direct", "copy", "variable", "array", "tensor"]
"""The moves beside a load and a store: none, OpCopyObject, OpStore to a variable and OpLoad, OpCompositeConstruct of an array and
OpCompositeExtract; or a tensor load and a tensor store in place of them, if the matrix is row-major there."""

_FLOATS = {name: COMPONENT_TYPES[name] for name in ("f16", "f32", "f64", "bf16")}
_BINARY = ("add", "subtract", "multiply", "divide")


def _converts(parameters: Parameters) -> bool:
    return parameters.operation == "convert"


def _moves(parameters: Parameters) -> bool:
    return parameters.operation == "move"


@dataclass(frozen=True, kw_only=True)
class Parameters(ModeParameters, Scoped):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrices", labels=_FLOATS)
    operation: Operation = parameter("what is computed")
    to: ComponentType = parameter("component type of a conversion's result", default="f16", labels=_FLOATS, applies=_converts, then=MODES)
    others: Literal["none", "opposite"] = opposites()
    use: Use = parameter("use of the matrices", default="acc", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrices", default="16x16", decode=parse_shape, then=SCOPE)
    layouts: tuple[Layout, ...] = parameter("the layouts of loads and of stores", default="rc", decode=layouts_of(2))
    way: Way = parameter("what a move goes through between its load and its store", default="direct", applies=_moves)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["between", "random", "denormals", "overflow", "special", "nan"] = parameter("how the operands are drawn")
    part: int = parameter("which part of the patterns of NaN, or which scalar")


def _pattern_fits(parameters: SubcaseParameters) -> bool:
    """Tell whether a mode of the case decides results of the pattern. Moves keep denormals in every mode."""
    return pattern_binds(parameters, parameters.pattern) or (parameters.operation == "move" and parameters.pattern == "denormals")


def _part_fits(parameters: SubcaseParameters) -> bool:
    """Tell whether the pattern has the part."""
    parts = 1
    if parameters.pattern == "nan" and parameters.operation == "move":
        rows, columns = parameters.shape
        parts = inputs.nan_parts(parameters.component, rows * columns)
    elif parameters.operation == "times_scalar":
        parts = {"special": 4, "denormals": 2, "between": 2}.get(parameters.pattern, 1)
    return parameters.part < parts


def _moves_special(parameters: Parameters) -> bool:
    return parameters.operation == "move" and parameters.special == "preserve"


def _computes_special(parameters: Parameters) -> bool:
    return parameters.operation != "move" and parameters.special == "preserve"


def _moves_denormals(parameters: Parameters) -> bool:
    return parameters.operation == "move" and parameters.denormals != "none"


def _flushes(parameters: Parameters) -> bool:
    return parameters.operation != "move" and parameters.denormals == "flush"


def _keeps(parameters: Parameters) -> bool:
    return parameters.operation != "move" and parameters.denormals == "preserve"


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "binds": binds,
    "pattern_fits": _pattern_fits,
    "part_fits": _part_fits,
    "moves_special": _moves_special,
    "computes_special": _computes_special,
    "moves_denormals": _moves_denormals,
    "flushes": _flushes,
    "keeps": _keeps,
}


def _tiles(parameters: Parameters, component: ComponentType, layout: Layout) -> Tiles:
    type_ = MatrixType(component, parameters.scope, *parameters.shape, parameters.use)
    return tiled(type_, layout, False, (parameters.instances, 1))


def _moved(builder: ProgramBuilder, matrix: Matrix, way: Way) -> Matrix:
    """Return ``matrix`` after the case's bit-preserving operations."""
    type_, result = matrix.type, Value("moved", matrix.type)
    match way:
        case "direct" | "tensor":
            return matrix
        case "copy":
            builder.add(CopyObject(result, matrix))
        case "variable":
            variable = builder.variable("kept", type_)
            builder.set(variable, (), matrix)
            return builder.get_matrix("moved", variable)
        case "array":
            pair = Value("pair", ArrayType(type_, 2))
            builder.add(CompositeConstruct(pair, (matrix, matrix)))
            builder.add(CompositeExtract(result, pair, (1,)))
    return result


def _as_tensor(array: MatrixArray) -> TensorLayout:
    """Return the layout of a tensor that is a matrix of ``array``."""
    writer = TensorWriter(array.builder, "literal")
    return writer.layout(f"layout_{array.name}", TensorLayoutType(2), *matrix_steps(array.tiles))


def _is_tensor(array: MatrixArray, way: Way) -> bool:
    return way == "tensor" and array.tiles.layout is Layout.ROW_MAJOR


def _loaded(source: MatrixArray, way: Way) -> Matrix:
    if not _is_tensor(source, way):
        return source.load()
    type_ = source.tiles.type
    result = Value(f"matrix_{source.name}", type_)
    before = source.builder.null(f"before_{source.name}", type_)
    source.builder.add(TensorLoad(result, source.array, source.first(), before, _as_tensor(source)))
    return result


def _store(matrix: Matrix, target: MatrixArray, way: Way) -> None:
    if _is_tensor(target, way):
        target.builder.add(TensorStore(matrix, target.array, target.first(), _as_tensor(target)))
    else:
        target.store(matrix)


def _computed(builder: ProgramBuilder, parameters: Parameters, loaded: Mapping[str, Matrix]) -> Matrix:
    """Return the result of the case's operation."""
    left, operation = loaded["left"], parameters.operation
    match operation:
        case "move":
            return _moved(builder, left, parameters.way)
        case "negate":
            return builder.negate("negated", left)
        case "times_scalar":
            return builder.times_scalar("scaled", left, builder.operand("scalar", parameters.component, "buffer"))
        case "convert":
            return builder.convert("converted", left, parameters.to, Conversion.F_TO_F)
        case _:
            return builder.elementwise("combined", operation, left, loaded["right"])


def build(parameters: Parameters) -> Built:
    """Build a case: one operation on loaded matrices, and a store of its result."""
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups, float_controls=controls(parameters))
    component, operation = parameters.component, parameters.operation
    tiles = _tiles(parameters, component, parameters.layouts[0])
    names = ("left", "right") if operation in _BINARY else ("left",)
    sources = matrix_sources(builder, dict.fromkeys(names, tiles), StorageClass.STORAGE_BUFFER)
    target = matrix_target(builder, "result", _tiles(parameters, target_of(parameters), parameters.layouts[1]))
    loaded = {name: _loaded(source, parameters.way) for name, source in sources.items()}
    _store(_computed(builder, parameters, loaded), target, parameters.way)
    target.finish(builder)
    program = builder.build()

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        shape = (program.instances, tiles.rows, tiles.columns)
        pattern, part = parameters.pattern, parameters.part
        if operation == "convert":
            drawn = {"left": inputs.converted(component, parameters.to, pattern, part, shape, rng)}
        else:
            left, right = inputs.operands(component, operation, pattern, part, shape, rng)
            drawn = {"left": left, "right": right}
        scalars = {"scalar": int(drawn["right"].ravel()[0])} if operation == "times_scalar" else {}
        return Subcase(name, {array: tiles.contents(drawn[array], rng) for array in sources} | fills(program, rng), scalars)

    return Built(program, draw)
