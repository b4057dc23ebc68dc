"""The valid module from which mutations of SPV_NV_cooperative_vector start: it has each instruction once."""

from __future__ import annotations

from generators.mutations.base import BaseModule, ModuleText, module_with
from generators.program.builder import U32, ProgramBuilder
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.memory import Pointee
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVectorType, Value
from generators.program.vector_builder import VectorBuilder
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, Scope, StorageClass, VectorMatrixLayout
from generators.vector_rows import VectorTypes

_F16, _F32 = COMPONENT_TYPES["f16"], COMPONENT_TYPES["f32"]
_ROWS, _COLUMNS = 5, 8


def vector_base(types: VectorTypes) -> BaseModule:
    """Return the module for one row of types: a vector ``%x`` of 8 components is loaded and added to itself (``%added``), multiplied by a
    5 x 8 matrix (``%multiplied``), and with a bias (``%biased``), which is stored. ``%a`` (3 components) and ``%b`` (4), f16, make an outer
    product, and ``%a`` is added to an array.

    Names that do not depend on the types: ``%type_x``, ``%component_x``, ``%length_x`` (of the vector type), ``%place_x`` (its pointer),
    ``%pointer_x`` (the pointer's type), ``%array_x`` (its pointee) and ``%offset_x``; the same of ``a``, ``b`` and, for the
    store, ``d``; ``%type_y``, ``%component_y`` of the results. Of ``%biased``: ``%as`` (the interpretation of the input), ``%place_m``,
    ``%pointer_m``, ``%array_m``, ``%offset_m``, ``%matrix_as``; ``%place_s``, ``%pointer_s``, ``%array_s``, ``%offset_s``, ``%bias_as`` of
    the bias; ``%rows``, ``%columns``, ``%layout``, ``%transpose``, ``%stride``; and ``%operands``, the mask, empty if there is none.
    Of the outer product ``%place_o``, ``%pointer_o``, ``%array_o``, ``%offset_o``, ``%training``, ``%sum_as``; of the sum ``%place_r``,
    ``%pointer_r``, ``%array_r``, ``%offset_r``.
    """
    return module_with(_module(types), _aliases)


def _module(types: VectorTypes) -> bytes:
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=32))
    vectors, storage = VectorBuilder(builder), StorageClass.STORAGE_BUFFER
    source = builder.array("source", Pointee(types.input), 64, storage, "input")
    halves = builder.array("halves", Pointee(_F16), 64, storage, "input")
    weights = builder.array("weights", Pointee(types.matrix.component), 512, storage, "input")
    bias = builder.array("bias", Pointee(types.bias.component), 64, storage, "input")
    target = builder.array("target", Pointee(types.result), 64, storage, "output")
    gradient = vectors.opaque("gradient", _F16, 3, 4, VectorMatrixLayout.TRAINING_OPTIMAL, role="inout")
    total = builder.array("total", Pointee(_F16), 64, storage, "inout")
    n = builder.literal
    me = Value("me", U32)
    with builder.per_invocation(me, 32):
        x = vectors.load("x", CooperativeVectorType(types.input, types.components(_COLUMNS)), source, n(16))
        vectors.arithmetic("added", "add", x, x)
        place = MatrixInMemory(weights, n(64), types.matrix, VectorMatrixLayout.ROW_MAJOR, n(32))
        vectors.matmul("multiplied", types.result, x, types.interpretation, place, None, _ROWS, _COLUMNS)
        added = BiasInMemory(bias, n(16), types.bias)
        biased = vectors.matmul("biased", types.result, x, types.interpretation, place, added, _ROWS, _COLUMNS)
        vectors.store(biased, target, n(32))
        a = vectors.load("a", CooperativeVectorType(_F16, 3), halves, n(16))
        b = vectors.load("b", CooperativeVectorType(_F16, 4), halves, n(32))
        vectors.outer_product(gradient, n(0), a, b, VectorMatrixLayout.TRAINING_OPTIMAL, INTERPRETATIONS["f16"], n(0))
        vectors.reduce_sum(total, n(16), a)
    return emit(builder.build())


def _aliases(text: ModuleText) -> dict[str, str]:
    defined = text.defined
    aliases: dict[str, str] = {}

    def place(letter: str, pointer: str, offset: str) -> None:
        aliases.update(text.pointer(letter, pointer))
        aliases.update({f"%array_{letter}": defined[defined[pointer][1]][2], f"%offset_{letter}": offset})

    for letter in "xab":
        _, type_, pointer, offset = defined[f"%{letter}"][:4]
        aliases |= {f"%type_{letter}": type_, f"%component_{letter}": defined[type_][1], f"%length_{letter}": defined[type_][2]}
        place(letter, pointer, offset)
    store, outer, total = (
        text.operands(f"OpCooperativeVector{name}NV") for name in ("Store", "OuterProductAccumulate", "ReduceSumAccumulate")
    )
    place("d", *store[:2])
    _, type_, _, as_, matrix, matrix_offset, matrix_as, bias, bias_offset, bias_as, *rest = defined["%biased"]
    aliases |= {"%type_y": type_, "%component_y": defined[type_][1], "%as": as_, "%matrix_as": matrix_as, "%bias_as": bias_as}
    place("m", matrix, matrix_offset)
    place("s", bias, bias_offset)
    aliases |= dict(zip(("%rows", "%columns", "%layout", "%transpose", "%stride"), rest, strict=False))
    aliases["%operands"] = " ".join(rest[5:])
    place("o", *outer[:2])
    aliases |= {"%training": outer[4], "%sum_as": outer[5]}
    place("r", *total[:2])
    return aliases
