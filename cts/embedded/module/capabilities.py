"""Finds what a module must declare for what it uses: capabilities, and the extensions that bring them (SPIR-V 2.16.1).

The grammar states what each instruction and each enumerant needs. Widths of numbers, and components of matrices, are in tables here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from generators.spirv.enumerants import Decoration, FPEncoding, Op
from generators.spirv.grammar import GRAMMAR
from generators.spirv.operands import LiteralWidths, split_operands
from generators.spirv.reader import Instruction, read_string
from generators.spirv.versions import declares

_8_BIT_STORAGE = ("StorageBuffer8BitAccess", "UniformAndStorageBuffer8BitAccess", "StoragePushConstant8")
_16_BIT_STORAGE = ("StorageBuffer16BitAccess", "UniformAndStorageBuffer16BitAccess", "StoragePushConstant16", "StorageInputOutput16")
_IN_WORKGROUP = "WorkgroupMemoryExplicitLayout{}BitAccessKHR"
_WIDTHS: Mapping[tuple[Op, int], tuple[str, ...]] = MappingProxyType(
    {
        (Op.TypeInt, 8): ("Int8", *_8_BIT_STORAGE, _IN_WORKGROUP.format(8)),
        (Op.TypeInt, 16): ("Int16", *_16_BIT_STORAGE, _IN_WORKGROUP.format(16)),
        (Op.TypeInt, 64): ("Int64",),
        (Op.TypeFloat, 16): ("Float16", "Float16Buffer", *_16_BIT_STORAGE, _IN_WORKGROUP.format(16)),
        (Op.TypeFloat, 64): ("Float64",),
    }
)
"""The width of a number -> the capabilities of which one allows it."""

_COMPONENTS: Mapping[int, str] = MappingProxyType(
    {
        FPEncoding.BFloat16KHR: "BFloat16CooperativeMatrixKHR",
        FPEncoding.Float8E4M3EXT: "Float8CooperativeMatrixEXT",
        FPEncoding.Float8E5M2EXT: "Float8CooperativeMatrixEXT",
    }
)
"""The encoding of a float -> the capability of matrices with such components."""

_OF_VULKAN_MODEL = frozenset({"CooperativeMatrixKHR", "CooperativeVectorNV"})
"""Capabilities of which a shader has the Vulkan memory model (KHR-CAP-02, CV-CAP-02)."""


_LOOKED_INTO = frozenset({Op.Capability, Op.MemoryModel, Op.TypeInt, Op.TypeFloat, Op.TypeCooperativeMatrixKHR})
"""Instructions that need something for operands that are no enumerants, or because of other instructions."""


_NOWHERE, _EVERYWHERE = -1, -2
"""Stand for the place of an operand: no operand decides what an instruction needs, or several do."""


class Lack(NamedTuple):
    """What a module fails to declare: ``number`` of the instruction that needs it, and its alternatives."""

    number: int
    capabilities: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()

    def __str__(self) -> str:
        kind, names = ("capability", self.capabilities) if self.capabilities else ("extension", self.extensions)
        return f"needs the {kind} {' or '.join(names)}, which the module does not declare"


def lacks(instructions: Sequence[Instruction], version: tuple[int, int]) -> Iterator[Lack]:
    """Yield what the module of ``instructions`` fails to declare, in their order.

    Args:
        instructions: the instructions, whose structure has been checked.
        version: the module's version of SPIR-V.
    """
    memory_model = Op.MemoryModel
    first = list(takewhile(lambda one: one.op is not memory_model, instructions))
    extensions = {read_string(words)[0] for op, words, _ in first if op is Op.Extension}
    declared = _declared(words[0] for op, words, _ in first if op is Op.Capability)
    known: set[tuple[str, ...]] = set()
    looks: dict[Op, int] = {}
    asked: set[tuple[Op, int]] = set()
    encodings: dict[int, int] = {}
    for index, instruction in enumerate(instructions):
        op, words, _ = instruction
        look = looks.get(op)
        if look is None:
            look = looks[op] = _look(op)
            needed = [GRAMMAR.instructions[op].capabilities]
        elif look == _NOWHERE:
            continue
        else:
            needed = []
            if look != _EVERYWHERE:
                question = op, words[look] if look < len(words) else -1
                if question in asked:
                    continue
                if question not in _OPEN:
                    asked.add(question)
        if op is Op.Capability:
            grammar = GRAMMAR.kinds["Capability"].by_value.get(words[0])
            if grammar is not None and not declares(grammar, version, extensions):
                yield Lack(index, extensions=grammar.extensions)
            continue
        if look != _NOWHERE:
            needed += _of_enumerants(instruction)
        if op is Op.MemoryModel and not declared.isdisjoint(_OF_VULKAN_MODEL):
            needed.append(("VulkanMemoryModel",))
        elif op in (Op.TypeInt, Op.TypeFloat):
            if len(words) > 2 and op is Op.TypeFloat:
                encodings[words[0]] = words[2]
            else:
                needed.append(_WIDTHS.get((op, words[1]), ()))
        elif op is Op.TypeCooperativeMatrixKHR and encodings.get(words[1]) in _COMPONENTS:
            needed.append((_COMPONENTS[encodings[words[1]]],))
        for alternatives in needed:
            if alternatives and alternatives not in known:
                known.add(alternatives)
                if declared.isdisjoint(alternatives):
                    yield Lack(index, alternatives)


@cache
def is_of_kernels(capability: int) -> bool:
    """Tell whether a capability is, or implies, the one of OpenCL's kernels, which Vulkan does not have."""
    return "Kernel" in _declared([capability])


def _declared(numbers: Iterable[int]) -> Set[str]:
    """Return the names of capabilities, and of those that they imply."""
    by_value, by_name = GRAMMAR.kinds["Capability"].by_value, GRAMMAR.kinds["Capability"].by_name
    pending = [by_value[number] for number in numbers if number in by_value]
    found: set[str] = set()
    while pending:
        one = pending.pop()
        if one.name not in found:
            found.add(one.name)
            pending += [by_name[name] for name in one.capabilities]
    return found


class _Place(NamedTuple):
    """An operand that is an enumerant: its index, whether it is a mask, and what its values need."""

    at: int
    is_mask: bool
    needs: Mapping[int, tuple[str, ...]]


def _of_enumerants(instruction: Instruction) -> list[tuple[str, ...]]:
    """Return the alternatives that each enumerant of an instruction needs."""
    op, words, _ = instruction
    places = _places(op)
    if places is None or (op in _DECORATIONS and words[places[0].at] == Decoration.BuiltIn):
        split = (o for o in split_operands(instruction, LiteralWidths()) if o.kind in GRAMMAR.kinds)
        places = tuple(_Place(o.at, GRAMMAR.kinds[o.kind].is_mask, _needs(o.kind)) for o in split)
    found = []
    for at, is_mask, needs in places:
        if at >= len(words):
            break
        if is_mask:
            found += [capabilities for flag, capabilities in needs.items() if flag & words[at]]
        elif words[at] in needs:
            found.append(needs[words[at]])
    return found


_DECORATIONS = frozenset({Op.Decorate, Op.MemberDecorate})
_OPEN = frozenset((op, int(Decoration.BuiltIn)) for op in _DECORATIONS)
"""Instructions with an enumerant that is followed by others."""


@cache
def _look(op: Op) -> int:
    """Return the place of the operand that decides, with the opcode, what an instruction needs; or _NOWHERE or _EVERYWHERE."""
    places = _places(op)
    if op in _LOOKED_INTO or places is None or len(places) > 1:
        return _EVERYWHERE
    return places[0].at if places else _NOWHERE


@cache
def _places(op: Op) -> tuple[_Place, ...] | None:
    """Return the operands of ``op`` whose values need capabilities; None if their indices differ from instruction to instruction."""
    found: list[_Place] = []
    is_fixed = True
    for at, (kind, _) in enumerate(GRAMMAR.instructions[op].operands):
        enumerants = GRAMMAR.kinds.get(kind)
        if enumerants is not None and (needs := _needs(kind)):
            if not is_fixed:
                return None
            found.append(_Place(at, enumerants.is_mask, needs))
        is_fixed = is_fixed and kind != "str" and not (enumerants is not None and enumerants.parameters)
    return tuple(found)


@cache
def _needs(kind: str) -> Mapping[int, tuple[str, ...]]:
    """Return the enumerants of a kind, each with the capabilities of which it needs one."""
    return {value: one.capabilities for value, one in GRAMMAR.kinds[kind].by_value.items() if one.capabilities}
