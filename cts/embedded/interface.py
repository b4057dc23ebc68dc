"""Reads the external resources of a module: buffers, push constants and specialization constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cts.embedded.diagnostics import Malformed, NotSupported, NotValidSpirv, Unsupported, Violation, reading
from cts.embedded.instructions.registry import handlers
from cts.embedded.module.declarations import outline
from cts.embedded.module.translation import Translation
from cts.embedded.rules import RULES
from cts.embedded.settings import Settings
from cts.embedded.types.limits import Exhausted
from cts.embedded.types.spirv_types import Array, Bool, ImageType, Number, SampledImageType, SamplerType, Struct, Type, Vector, size_of
from generators.kernel import Kernel, Specialization
from generators.spirv.enumerants import Decoration, ExecutionModel, Op, StorageClass
from generators.spirv.reader import HEADER_WORDS, read_instructions, read_string
from generators.stages import Stage
from generators.types import SCALAR_TYPES, ComponentType

_BUFFERS = (StorageClass.StorageBuffer, StorageClass.Uniform, StorageClass.UniformConstant)


@dataclass(frozen=True)
class Binding:
    """A buffer of a module. Several variables may refer to the same buffer.

    Attributes:
        name: name of the first of its variables.
        descriptor_set, binding: the descriptor's set and binding.
        is_uniform: whether it is a uniform buffer.
        is_written: whether the module may write it.
        element: component type of its first array or first member; None if it has no numbers.
        bytes: its size without a runtime array at its end.
        stride: bytes of an element of that array; 0 if there is none.
        is_image: whether it is an image, a sampler or both.
    """

    name: str
    descriptor_set: int
    binding: int
    is_uniform: bool
    is_written: bool
    element: str | None
    bytes: int
    stride: int
    is_image: bool = False


@dataclass(frozen=True)
class Constant:
    """A specialization constant: its SpecId, name, component type (u32 for a boolean), and the bits of its default."""

    constant_id: int
    name: str
    component: ComponentType
    default: int


@dataclass(frozen=True)
class Interface:
    """The external resources of a module.

    Attributes:
        entry_point: name of the entry point.
        bindings: the bindings, in the order of their sets and numbers.
        push_constants: name, byte offset and type of each member of the block, ``u64`` for an address, with the number of components.
        push_constant_bytes: size of the block.
        constants: specialization constants, by SpecId.
    """

    entry_point: str
    bindings: tuple[Binding, ...]
    push_constants: tuple[tuple[str, int, str, int], ...]
    push_constant_bytes: int
    constants: tuple[Constant, ...]


STAGES: Mapping[int, Stage] = MappingProxyType(
    {
        ExecutionModel.GLCompute: "compute",
        ExecutionModel.Fragment: "fragment",
        ExecutionModel.Vertex: "vertex",
        ExecutionModel.RayGenerationKHR: "raygen",
    }
)
"""The stages that can run, by their execution models."""


def entry_points(spirv: bytes) -> tuple[tuple[str, int], ...]:
    """Return the names of a module's entry points, with the number of each one's execution model.

    Raises:
        NotValidSpirv: ``spirv`` is not a module.
        NotSupported: the module has an instruction that the grammar lacks.
    """
    with reading():
        words = [instruction.operands for instruction in read_instructions(spirv) if instruction.op is Op.EntryPoint]
        return tuple((read_string(operands[2:])[0], operands[0]) for operands in words)


def read_interface(spirv: bytes, entry_point: str, specialization: tuple[Specialization, ...] = ()) -> Interface:
    """Return the external resources of a module.

    Raises:
        NotValidSpirv, NotSupported: the module cannot be read; the message says why.
    """
    kernel = Kernel(spirv, (), specialization, local_size_constant_id=None, entry_point=entry_point)
    try:
        with reading():
            translation = Translation(kernel, 32, Settings(strict=False), handlers(), RULES)
            outline(translation)
    except Unsupported as error:
        raise NotSupported(f"the embedded device does not support this: {error}", "") from error
    except (Malformed, Violation, Exhausted) as error:
        raise NotValidSpirv(str(error), HEADER_WORDS) from error
    push = next((one.data for one in translation.variables.values() if one.storage is StorageClass.PushConstant), 0)
    members = _members(translation, push) if push else ()
    return Interface(entry_point, _bindings(translation), members, size_of(translation.types[push]) if push else 0, _constants(translation))


def _bindings(translation: Translation) -> tuple[Binding, ...]:
    found: dict[tuple[int, int], Binding] = {}
    for variable in translation.variables.values():
        id_, storage, data = variable.id, variable.storage, variable.data
        decorations = translation.decorations.get(id_, {})
        if storage not in _BUFFERS or Decoration.Binding not in decorations or not translation.uses(id_):
            continue
        place = decorations.get(Decoration.DescriptorSet, (0,))[0], decorations[Decoration.Binding][0]
        contents = translation.types[data]
        block = contents.element if variable.is_descriptor_array and isinstance(contents, Array) else contents
        is_uniform = storage is StorageClass.Uniform and not translation.has_buffer_blocks
        read_only = id_ in translation.read_only or (isinstance(block, Struct) and len(block.read_only) == len(block.members))
        before = found.get(place)
        is_image = isinstance(block, ImageType | SamplerType | SampledImageType)
        is_storage = isinstance(block, ImageType) and block.is_storage
        is_written = is_storage and not read_only if is_image else not is_uniform and not read_only
        found[place] = Binding(
            before.name if before else _name(translation, id_, data, f"binding{place[1]}"),
            *place,
            is_uniform,
            is_written or (before is not None and before.is_written),
            before.element if before and before.element else _element(block),
            0 if is_image else max(size_of(block), before.bytes if before else 0),
            _stride(block),
            is_image,
        )
    return tuple(found[place] for place in sorted(found))


def _name(translation: Translation, id_: int, data: int, without: str) -> str:
    """Return the name of a variable, or of its type."""
    return next((name for one in (id_, data) if (name := translation.name(one)) and not name.startswith("%")), without)


def _element(type_: Type) -> str | None:
    match type_:
        case Number():
            return type_.component.name
        case Vector() | Array():
            return _element(type_.element)
        case Struct():
            return next((name for member in reversed(type_.members) if (name := _element(member))), None)
        case _:
            return None


def _stride(type_: Type) -> int:
    last = type_.members[-1] if isinstance(type_, Struct) and type_.members else None
    return last.stride if isinstance(last, Array) and last.length is None else 0


def _members(translation: Translation, block: int) -> tuple[tuple[str, int, str, int], ...]:
    type_ = translation.types[block]
    if not isinstance(type_, Struct):
        return ()
    names = {
        operands[1]: read_string(operands[2:])[0]
        for op, operands, _ in translation.instructions
        if op is Op.MemberName and operands[0] == block
    }
    found = []
    for number, (member, offset) in enumerate(zip(type_.members, type_.offsets, strict=True)):
        element = _element(member)
        size = SCALAR_TYPES[element].bytes if element else 8
        found.append((names.get(number, f"member{number}"), offset, element or "u64", max(size_of(member) // size, 1)))
    return tuple(found)


def _constants(translation: Translation) -> tuple[Constant, ...]:
    found: dict[int, Constant] = {}
    for id_, decorations in translation.decorations.items():
        type_ = translation.type_of.get(id_)
        if Decoration.SpecId not in decorations or not isinstance(type_, Number | Bool):
            continue
        value = translation.constant(id_)
        component = SCALAR_TYPES["u32"] if isinstance(type_, Bool) else type_.component
        bits = int(value.view(component.bits_dtype)) if isinstance(type_, Number) and type_.is_float else int(value)
        which = decorations[Decoration.SpecId][0]
        if which not in found or not found[which].name:
            found[which] = Constant(which, name if (name := translation.name(id_)) != f"%{id_}" else "", component, bits)
    return tuple(found[which] for which in sorted(found))
