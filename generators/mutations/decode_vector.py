"""The valid module from which mutations of SPV_NV_cooperative_matrix_decode_vector start."""

from __future__ import annotations

from generators.mutations.base import BaseModule, ModuleText, module_with
from generators.program.builder import U32, ProgramBuilder
from generators.program.expressions import BlockRead, constant, element_function, vector_function
from generators.program.functions import Function
from generators.program.memory import Pointee
from generators.program.tensor import LayoutCreate, LayoutSet, LayoutSetting
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import ArrayType, BlockMember, BlockType, MatrixType, TensorLayoutType, Value
from generators.property_rows import PropertyRow
from generators.spirv.emit import emit
from generators.types import ComponentType, Scope, StorageClass, Use

_LANES = 2


def decode_vector_base(row: PropertyRow) -> BaseModule:
    """Build the module for matrix A of a property row at subgroup scope, which is loaded through two decode functions and stored by tensor
    addressing.

    The matrix is ``%blocks``, ``%before`` the Object of the load, ``%layout`` their layout. The functions are ``%unpack``, with the
    parameters ``%block``, ``%coordinate``, ``%within``, and ``%unpack_group``, which returns 2 components and has the parameters
    ``%group``, ``%group_coordinate``, ``%group_within``. Other names: ``%type_a``, ``%component_a``; ``%place_a`` and ``%place_d``, the
    pointers of load and store, ``%pointer_a`` the type of the first; ``%unpack_type``, ``%group_type``, the types of the functions;
    ``%vector``, ``%block_pointer``, ``%block_struct``, ``%group_pointer``, ``%group_struct``, ``%coordinates``.
    """
    return module_with(_module(row), _aliases)


def _module(row: PropertyRow) -> bytes:
    builder = ProgramBuilder(Scope.SUBGROUP)
    type_ = MatrixType(row.a, Scope.SUBGROUP, row.m, row.k, Use.A)
    zero = builder.literal(0)
    packed = builder.array("packed", Pointee(row.a), row.m * row.k, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(row.a), row.m * row.k, StorageClass.STORAGE_BUFFER, "output")
    layout_type = TensorLayoutType(2)
    layout = Value("layout_new", layout_type)
    builder.add(LayoutCreate(layout))
    settings: tuple[tuple[str, LayoutSetting, tuple[int, ...]], ...] = (
        ("layout_dimension", "dimension", (row.m, row.k)),
        ("layout", "block_size", (1, _LANES)),
    )
    plain = layout
    for name, setting, numbers in settings:
        changed = Value(name, layout_type)
        builder.add(LayoutSet(changed, layout, setting, tuple(builder.literal(number) for number in numbers)))
        plain, layout = layout, changed
    blocks = Value("blocks", type_)
    before = builder.null("before", type_)
    builder.add(TensorLoad(blocks, packed, zero, before, layout, None, None, _unpack(row.a), _unpack_group(row.a)))
    builder.add(TensorStore(blocks, target, zero, plain))
    return emit(builder.build())


def _unpack(component: ComponentType) -> Function:
    block = Value("block", BlockType("Packed", (BlockMember(component, 0, _LANES),), component.bytes))
    coordinates = (Value("coordinate", ArrayType(U32, 2)), Value("within", ArrayType(U32, 2)))
    return element_function("unpack", (block, *coordinates), BlockRead(block, 0, constant(U32, 0)))


def _unpack_group(component: ComponentType) -> Function:
    block = Value("group", BlockType("Group", (BlockMember(component, 0), BlockMember(component, component.bytes)), component.bytes))
    coordinates = (Value("group_coordinate", ArrayType(U32, 2)), Value("group_within", ArrayType(U32, 2)))
    return vector_function("unpack_group", (block, *coordinates), [BlockRead(block, member) for member in range(_LANES)])


def _aliases(text: ModuleText) -> dict[str, str]:
    defined = text.defined
    type_, place = defined["%blocks"][1:3]
    aliases = {"%type_a": type_, "%component_a": defined[type_][1], **text.pointer("a", place)}
    aliases["%place_d"] = text.operands("OpCooperativeMatrixStoreTensorNV")[0]
    aliases |= {"%unpack_type": defined["%unpack"][3], "%group_type": defined["%unpack_group"][3], "%vector": defined["%unpack_group"][1]}
    aliases |= {"%block_pointer": defined["%block"][1], "%group_pointer": defined["%group"][1], "%coordinates": defined["%within"][1]}
    return aliases | {f"%{name}_struct": defined[aliases[f"%{name}_pointer"]][2] for name in ("block", "group")}
