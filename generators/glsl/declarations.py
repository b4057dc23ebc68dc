"""The declarations before ``main``: execution modes, specialization constants, buffers, references, push constants and shared arrays."""

from __future__ import annotations

from dataclasses import dataclass

from generators.errors import GeneratorError, Lack, NotExpressible, Rule
from generators.glsl.memory_operands import qualify
from generators.glsl.shader import REFERENCE_MEMBER, Shader
from generators.glsl.spelling import identifier, literal
from generators.glsl.tensor import flags
from generators.program.interface import DescriptorArray, Member, interface
from generators.program.memory import Array
from generators.program.program import LOCAL_SIZE_CONSTANT_ID, LOCAL_SIZE_Y_CONSTANT_ID, LOCAL_SIZE_Z_CONSTANT_ID, Program
from generators.program.shape import LATEST
from generators.program.values import extent
from generators.spirv.enumerants import Capability, ExecutionMode
from generators.types import StorageClass


@dataclass(frozen=True)
class Block:
    """A block of a buffer, of push constants or of shared memory: ``head`` is the text before the brace, ``members`` the declarations
    inside, and ``name`` the text after the closing brace."""

    head: str
    members: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True)
class Declarations:
    """The declarations of a shader; each is a line (``constants``, ``shared``) or a block."""

    constants: tuple[str, ...]
    blocks: tuple[Block, ...]
    shared: tuple[str, ...]


def declare(shader: Shader) -> Declarations:
    """Return the declarations of the shader's program, laid out by its interface.

    Raises:
        NotExpressible: no declaration can express an array's stride or the memory operands of its accesses.
    """
    places = interface(shader.program)
    blocks = [_reference_block(shader, address.array) for address in places.addresses]
    blocks += [_buffer(shader, binding, array) for binding, array in places.bindings]
    blocks += [_buffers(shader, group) for group in places.descriptor_arrays]
    if places.operand_binding is not None:
        members = tuple(_member(shader, member) for member in places.operand_members)
        blocks.append(Block(f"layout(set = 0, binding = {places.operand_binding}) readonly buffer Operands", members))
    pushed = [f"layout(offset = {a.offset}) {_reference_name(a.array)} {identifier(a.array.name)};" for a in places.addresses]
    pushed += [_member(shader, member) for member in places.push_constants]
    if pushed:
        blocks.append(Block("layout(push_constant) uniform PushConstants", tuple(pushed)))
    workgroup = [array for array in shader.program.arrays if array.storage is StorageClass.WORKGROUP]
    explicit = {array.name: array for array in (*workgroup, *shader.shared_blocks.values()) if array.block is not None}
    blocks += [_shared_block(shader, array) for array in explicit.values()]
    shared = [array for array in workgroup if array.block is None]
    return Declarations(_constants(shader), tuple(blocks), tuple(_shared(shader, array) for array in shared))


def inputs_and_outputs(program: Program) -> tuple[str, ...]:
    """Return the declarations of the stage: the local size, or the outputs of a vertex shader.

    Raises:
        NotExpressible: see _local_size.
    """
    match program.shape.stage:
        case "compute":
            return (f"layout({_local_size(program)}) in;",)
        case "vertex":
            return ("out gl_PerVertex {", "    float gl_PointSize;", "};")
        case "fragment" | "raygen":
            return ()


def _local_size(program: Program) -> str:
    """Return the qualifiers of the local size.

    Raises:
        NotExpressible: glslang states the size differently for the module's version: it writes constants as LocalSizeId from SPIR-V 1.6 on,
            and as a built-in in earlier versions.
    """
    shape = program.shape
    if shape.local_size != "literals" and (shape.local_size == "built_in") is not (shape.version < LATEST):
        raise NotExpressible(Lack.LOCAL_SIZE, "GLSL cannot choose between LocalSizeId and WorkgroupSize: the version of SPIR-V does")
    x = f"local_size_x_id = {LOCAL_SIZE_CONSTANT_ID}"
    if shape.local_size == "constants":
        further = f"local_size_y = {shape.y + 1}, local_size_z = {shape.z + 1}"
        return f"{x}, local_size_y_id = {LOCAL_SIZE_Y_CONSTANT_ID}, local_size_z_id = {LOCAL_SIZE_Z_CONSTANT_ID}, {further}"
    if shape.local_size == "literals":
        if shape.subgroup_size is None and shape.invocations is None:
            raise GeneratorError(Rule.SUBGROUP_SIZE, "a literal local size needs the subgroup size; give WorkgroupShape.subgroup_size")
        side_by_side = program.subgroups // (shape.y * shape.z)
        x = f"local_size_x = {shape.invocations or side_by_side * (shape.subgroup_size or 0)}"
    y, z = (f"local_size_{axis} = {extent}" if extent > 1 else "" for axis, extent in (("y", shape.y), ("z", shape.z)))
    return ", ".join(part for part in (x, y, z) if part)


def execution_modes(shader: Shader) -> tuple[str, ...]:
    """Return the declarations of the program's execution modes, one line each: for float arithmetic and for 64-bit indexing. GLSL declares
    them by their SPIR-V numbers (GL_EXT_spirv_intrinsics).

    Raises:
        NotExpressible: a mode applies to two widths: glslang 16.6 keeps only the last declaration of each mode.
    """
    found = []
    if shader.program.wide_indexing:
        shader.extensions.add("GL_EXT_spirv_intrinsics")
        found.append('spirv_execution_mode(extensions = ["SPV_EXT_shader_64bit_indexing"], capabilities = [5426], 5427);')
    modes = [control.mode for control in shader.program.float_controls]
    for control in shader.program.float_controls:
        if modes.count(control.mode) > 1:
            raise NotExpressible(Lack.MODE_WIDTHS, "glslang keeps only one width of an execution mode")
        shader.extensions.add("GL_EXT_spirv_intrinsics")
        capability, mode = Capability.named(control.mode.value), ExecutionMode.named(control.mode.value)
        found.append(f"spirv_execution_mode(capabilities = [{capability}], {mode}, {control.width});")
    return tuple(found)


def _constants(shader: Shader) -> tuple[str, ...]:
    lines = []
    booleans = flags(shader.program)
    for operand in interface(shader.program).specialization:
        value = operand.value if operand.default is None else operand.default
        assert value is not None, f"{operand.name}: a specialization constant has its value in the case"
        type_ = shader.scalar_type(operand.type)
        initial = literal(operand.type, value)
        if operand in booleans:
            type_, initial = "bool", str(bool(value)).lower()
        lines.append(f"layout(constant_id = {operand.constant_id}) const {type_} {identifier(operand.name)} = {initial};")
    return tuple(lines)


def _member(shader: Shader, member: Member) -> str:
    operand = member.operand
    return f"layout(offset = {member.offset}) {shader.scalar_type(operand.type)} {identifier(operand.name)};"


def _title(array: Array) -> str:
    return array.name[:1].upper() + identifier(array.name)[1:]


def _reference_name(array: Array) -> str:
    return f"{_title(array)}Reference"


def _elements(shader: Shader, array: Array, name: str) -> str:
    """Return the array as the member of a block."""
    if array.other_stride is not None:
        raise NotExpressible(
            Lack.ARRAY_STRIDE,
            f"GLSL gives arrays the stride of their elements, so '{array.name}' cannot have a stride of {array.array_stride}",
        )
    if array.pointer_stride is not None:
        raise NotExpressible(Lack.POINTER_STRIDE, "GLSL has no pointers whose elements have a stride of their own")
    qualifiers = qualify(array, shader.program.operations).qualifiers
    if "nontemporal" in qualifiers:
        shader.require("GL_EXT_nontemporal_keyword")
    shader.require("GL_KHR_memory_scope_semantics" if qualifiers else None)
    element, inner = shader.pointee_type(array.pointee), array.inner
    if inner is None:
        return " ".join((*qualifiers, element, f"{name}[];"))
    if not inner.head:
        return " ".join((*qualifiers, element, f"{name}[][{inner.length}];"))
    head = inner.head * array.pointee.bytes // 4
    struct = f"{_title(array)}Item"
    members = (f"    uint head[{head}];", f"    {element} {REFERENCE_MEMBER}[{inner.length}];")
    shader.require("GL_EXT_scalar_block_layout")
    shader.element_structs[struct] = (f"struct {struct} {{", *members, "};")
    return " ".join((*qualifiers, struct, f"{name}[];"))


def _access(array: Array) -> str:
    return "readonly buffer" if array.role == "input" else "buffer"


def _layout(array: Array) -> str:
    """Return the qualifier of a block whose elements are structs without gaps."""
    has_structs = array.pointee.block is not None or (array.inner is not None and array.inner.head > 0)
    return "scalar, " if has_structs else ""


def _buffer(shader: Shader, binding: int, array: Array) -> Block:
    """Return a storage buffer of one array."""
    head = f"layout({_layout(array)}set = 0, binding = {binding}) {_access(array)} {_title(array)}Buffer"
    return Block(head, (_elements(shader, array, identifier(array.name)),))


def _buffers(shader: Shader, group: DescriptorArray) -> Block:
    """Return an array of buffers."""
    array = group.arrays[0]
    head = f"layout(set = 0, binding = {group.binding}) {_access(array)} {_title(array)}Buffers"
    return Block(head, (_elements(shader, array, REFERENCE_MEMBER),), f" {identifier(group.name)}[{len(group.arrays)}]")


def _shared_block(shader: Shader, array: Array) -> Block:
    """Return an array in an explicitly laid out block of shared memory."""
    shader.require("GL_EXT_shared_memory_block")
    if array.other_stride is not None:
        raise NotExpressible(
            Lack.ARRAY_STRIDE,
            f"GLSL gives arrays the stride of their elements, so '{array.name}' cannot have a stride of {array.array_stride}",
        )
    qualify(array, shader.program.operations)
    member = f"{shader.pointee_type(array.pointee)} {REFERENCE_MEMBER}[{shader.extent(array.length)}];"
    return Block(f"shared {_title(array)}Block", (f"layout(offset = {array.block}) {member}",), f" {identifier(array.name)}")


def _reference_block(shader: Shader, array: Array) -> Block:
    """Return the type of references to an array in physical storage."""
    shader.require("GL_EXT_buffer_reference")
    alignment = qualify(array, shader.program.operations).alignment
    head = f"layout({_layout(array)}buffer_reference, buffer_reference_align = {alignment}) {_access(array)} {_reference_name(array)}"
    return Block(head, (_elements(shader, array, REFERENCE_MEMBER),))


def _shared(shader: Shader, array: Array) -> str:
    """Return the variable of an array in shared memory, with the layout that GLSL chooses."""
    if array.array_stride is not None:
        raise NotExpressible(
            Lack.ARRAY_STRIDE, f"GLSL lays out shared arrays itself, so '{array.name}' cannot have a stride of {array.array_stride}"
        )
    qualify(array, shader.program.operations)
    name, inner = f"shared {shader.pointee_type(array.pointee)} {identifier(array.name)}", array.inner
    if inner is not None:
        return f"{name}[{extent(array.length) // inner.pitch}][{inner.length}];"
    return f"{name}[{shader.extent(array.length)}];"
