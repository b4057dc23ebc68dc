"""The valid module from which mutations of SPV_NV_cooperative_matrix2 and SPV_NV_tensor_addressing start: it has each instruction once."""

from __future__ import annotations

from generators.errors import GeneratorError, Rule
from generators.mutations.base import BaseModule, ModuleText, module_with
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import PerElement, Reduce
from generators.program.conversion import Transpose, UseConvert
from generators.program.expressions import Binary, BlockRead, Choose, constant, element_function
from generators.program.functions import Function
from generators.program.memory import Pointee
from generators.program.tensor import LayoutCreate, LayoutSet, LayoutSetting, ViewCreate, ViewSet, ViewSetting
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import (
    ArrayType,
    BlockMember,
    BlockType,
    MatrixType,
    ScalarValue,
    TensorLayout,
    TensorLayoutType,
    TensorView,
    TensorViewType,
    Value,
)
from generators.property_rows import PropertyRow
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, ClampMode, ComponentType, Layout, ReduceMode, Scope, StorageClass, Use

_S32 = COMPONENT_TYPES["s32"]


def matrix2_base(row: PropertyRow) -> BaseModule:
    """Build the module for one property row at subgroup scope: C is loaded, passed to a function, reduced, converted and transposed; A is
    loaded by blocks, C by tensor addressing through a view; and one matrix is stored by tensor addressing.

    Args:
        row: sizes and component types, C and Result of one type. A has M x K elements of the row's type A; all others are of type C.

    The matrices are ``%matrix_c``, ``%placed``, ``%reduced``, ``%converted`` (use A), ``%transposed`` (use B), ``%blocks`` (use A, M x K)
    and ``%moved``; layouts ``%layout_new``, ``%layout_block``, ``%layout_dimension``, ``%layout_stride``, ``%layout_clamp``, ``%layout`` in
    the order of their creation; views ``%view_new``, ``%view_dimension``, ``%view_stride``, ``%view``; functions ``%place``, ``%combine``,
    ``%unpack``, with parameters ``%row``, ``%column``, ``%element``, ``%extra``; ``%left``, ``%right``; ``%block``, ``%coordinate``,
    ``%within``. Other names: ``%type_c``, ``%type_t`` (of ``%transposed``), ``%type_u`` (of ``%converted``), ``%type_a`` (of ``%blocks``),
    with ``%component_c`` and so on for each; ``%place_a``, ``%place_c``, ``%place_d``, the pointers of the block load, the tensor load and
    the tensor store, and ``%pointer_a`` and so on, their types; ``%layout_type``, ``%view_type``; ``%place_type``, ``%combine_type``,
    ``%unpack_type``, ``%block_pointer``, ``%block_struct``, ``%coordinates``.

    Raises:
        GeneratorError: C and Result have different types.
    """
    if row.c != row.result:
        raise GeneratorError(Rule.ROW, f"{row}: static cases take rows whose C and Result have one type")
    return module_with(_module(row), _aliases)


def _module(row: PropertyRow) -> bytes:
    builder = ProgramBuilder(Scope.SUBGROUP)
    type_ = MatrixType(row.c, Scope.SUBGROUP, row.m, row.n, Use.ACCUMULATOR)
    zero = builder.literal(0)
    source = builder.array("source", Pointee(row.c), row.m * row.n, StorageClass.STORAGE_BUFFER, "input")
    packed = builder.array("packed", Pointee(row.a), row.m * row.k, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(row.c), row.m * row.n, StorageClass.STORAGE_BUFFER, "output")
    plain = builder.load("matrix_c", type_, source, zero, builder.literal(row.n), Layout.ROW_MAJOR)

    placed = Value("placed", type_)
    builder.add(PerElement(placed, plain, _place(row.c), (builder.literal(3, _S32),)))
    builder.add(Reduce(Value("reduced", type_), placed, ReduceMode.ROW, _combine(row.c)))
    builder.add(UseConvert(Value("converted", MatrixType(row.c, Scope.SUBGROUP, row.m, row.n, Use.A)), plain))
    builder.add(Transpose(Value("transposed", MatrixType(row.c, Scope.SUBGROUP, row.n, row.m, Use.B)), plain))

    layout, view = _addressing(builder, row)
    blocks = MatrixType(row.a, Scope.SUBGROUP, row.m, row.k, Use.A)
    before = builder.null("before", blocks)
    builder.add(TensorLoad(Value("blocks", blocks), packed, zero, before, layout, None, None, _unpack(row.a)))
    moved = Value("moved", type_)
    builder.add(TensorLoad(moved, source, zero, plain, layout, view))
    builder.add(TensorStore(moved, target, zero, layout, view))
    return emit(builder.build())


def _addressing(builder: ProgramBuilder, row: PropertyRow) -> tuple[TensorLayout, TensorView]:
    """Build a layout and a view of two dimensions, with every setting once."""
    n = builder.literal
    type_ = TensorLayoutType(2, ClampMode.CONSTANT)
    layout = Value("layout_new", type_)
    builder.add(LayoutCreate(layout))
    size = (n(row.m), n(row.n))
    settings: tuple[tuple[str, LayoutSetting, tuple[ScalarValue, ...]], ...] = (
        ("layout_block", "block_size", (n(1), n(1))),
        ("layout_dimension", "dimension", size),
        ("layout_stride", "stride", (n(row.n), n(1))),
        ("layout_clamp", "clamp_value", (n(5),)),
        ("layout", "slice", (n(0, _S32), size[0], n(0, _S32), size[1])),
    )
    for name, setting, operands in settings:
        changed = Value(name, type_)
        builder.add(LayoutSet(changed, layout, setting, operands))
        layout = changed
    view_type = TensorViewType((1, 0), True)
    view = Value("view_new", view_type)
    builder.add(ViewCreate(view))
    view_settings: tuple[tuple[str, ViewSetting, tuple[ScalarValue, ...]], ...] = (
        ("view_dimension", "dimension", size),
        ("view_stride", "stride", (n(row.n), n(1))),
        ("view", "clip", (n(0), size[0], n(0), size[1])),
    )
    for name, view_setting, operands in view_settings:
        seen = Value(name, view_type)
        builder.add(ViewSet(seen, view, view_setting, operands))
        view = seen
    return layout, view


def _place(component: ComponentType) -> Function:
    row, column = Value("row", U32), Value("column", U32)
    element, extra = Value("element", component), Value("extra", _S32)
    later = Binary("less", Binary("add", row, column), constant(U32, 9))
    return element_function("place", (row, column, element, extra), Choose(later, element, constant(component, 0)))


def _combine(component: ComponentType) -> Function:
    left, right = Value("left", component), Value("right", component)
    return element_function("combine", (left, right), Choose(Binary("less", left, right), right, left))


def _unpack(component: ComponentType) -> Function:
    block = Value("block", BlockType("Packed", (BlockMember(component, 0),), component.bytes))
    coordinates = (Value("coordinate", ArrayType(U32, 2)), Value("within", ArrayType(U32, 2)))
    return element_function("unpack", (block, *coordinates), BlockRead(block, 0))


def _aliases(text: ModuleText) -> dict[str, str]:
    defined = text.defined
    aliases: dict[str, str] = {}
    for letter, matrix in (("c", "%matrix_c"), ("a", "%blocks"), ("u", "%converted"), ("t", "%transposed")):
        aliases |= text.matrix(letter, matrix)
    store = text.operands("OpCooperativeMatrixStoreTensorNV")[0]
    for letter, place in (("a", defined["%blocks"][2]), ("c", defined["%moved"][2]), ("d", store)):
        aliases |= text.pointer(letter, place)
    aliases |= {"%layout_type": defined["%layout"][1], "%view_type": defined["%view"][1]}
    aliases |= {f"{name}_type": defined[name][3] for name in ("%place", "%combine", "%unpack")}
    aliases |= {"%block_pointer": defined["%block"][1], "%coordinates": defined["%within"][1]}
    return aliases | {"%block_struct": defined[aliases["%block_pointer"]][2]}
