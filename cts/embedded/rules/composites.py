"""Types of operands and results of instructions that construct, take apart and copy composites."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cts.embedded.diagnostics import need
from cts.embedded.module.translation import Rule, Translation, Words
from cts.embedded.types.shapes import TypeKind, are_alike, kind_of
from cts.embedded.types.spirv_types import (
    Array,
    CooperativeVector,
    MatrixType,
    Number,
    Struct,
    Type,
    Vector,
    Void,
    constituent_type,
    type_text,
)
from generators.spirv.enumerants import Op


def _construct(translation: Translation, words: Words) -> None:
    type_, operands = translation.types[words[0]], [translation.type_of[id_] for id_ in words[2:]]
    match type_:
        case MatrixType():
            return
        case CooperativeVector():
            fits = len(operands) == type_.count and all(p == type_.element for p in operands)
        case Vector():
            parts = [p.element if isinstance(p, Vector) else p for p in operands]
            count = sum(p.count if isinstance(p, Vector) else 1 for p in operands)
            fits = count == type_.count and all(p == type_.element for p in parts)
        case Array():
            fits = len(operands) == type_.length and all(p == type_.element for p in operands)
        case Struct():
            fits = tuple(operands) == type_.members
        case _:
            fits = False
    need(fits, f"a {type_text(type_)} cannot be made of the given parts ({len(operands)})")


def _replicate(translation: Translation, words: Words) -> None:
    type_, operand = translation.types[words[0]], translation.type_of[words[2]]
    match type_:
        case MatrixType():
            fits = isinstance(operand, Number) and are_alike(operand, type_.number)
        case Vector() | Array():
            fits = operand == type_.element and not (isinstance(type_, Array) and type_.length is None)
        case Struct():
            fits = bool(type_.members) and all(member == operand for member in type_.members)
        case _:
            fits = False
    need(fits, f"a {type_text(type_)} cannot be made of copies of a {type_text(operand)}")


def _extract(translation: Translation, words: Words) -> None:
    found = translation.type_of[words[2]]
    for index in words[3:]:
        found = constituent_type(found, index)
    type_ = translation.types[words[0]]
    need(found == type_, f"a {type_text(found)} is extracted, but the result is a {type_text(type_)}")


def _insert(translation: Translation, words: Words) -> None:
    type_, part = translation.types[words[0]], translation.type_of[words[2]]
    need(translation.type_of[words[3]] == type_, "the composite does not have the result's type")
    found = type_
    for index in words[4:]:
        found = constituent_type(found, index)
    need(found == part, f"a {type_text(part)} cannot be inserted where a {type_text(found)} belongs")


def _shuffle(translation: Translation, words: Words) -> None:
    type_, a, b = translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:4])
    vectors = isinstance(type_, Vector) and isinstance(a, Vector) and isinstance(b, Vector) and a.element == b.element == type_.element
    need(vectors, f"{type_text(a)} and {type_text(b)} cannot be shuffled to a {type_text(type_)}")
    assert isinstance(type_, Vector)
    assert isinstance(a, Vector)
    assert isinstance(b, Vector)
    picks = words[4:]
    need(len(picks) == type_.count, f"{len(picks)} components are chosen for a {type_text(type_)}")
    need(all(pick < a.count + b.count or pick == 0xFFFFFFFF for pick in picks), "a component is chosen that neither vector has")


def _dynamic(vector: int, index: int, part: int) -> Rule:
    """Return the rule of an instruction on a vector with an index and a component, given by their positions among the operands.

    If ``part`` is 0, the component is the result.
    """

    def rule(translation: Translation, words: Words) -> None:
        type_ = translation.type_of[words[vector]]
        component = translation.type_of[words[part]] if part else translation.types[words[0]]
        need(
            isinstance(type_, Vector) and type_.element == component, f"a {type_text(component)} is not a component of a {type_text(type_)}"
        )
        need(kind_of(translation.type_of[words[index]]) is TypeKind.INT, "the index is not an integer")
        need(not part or type_ == translation.types[words[0]], "the result does not have the vector's type")

    return rule


def _copy(translation: Translation, words: Words) -> None:
    type_, operand = translation.types[words[0]], translation.type_of[words[2]]
    need(type_ == operand, f"a {type_text(operand)} cannot be copied to a {type_text(type_)}")


def _copy_logical(translation: Translation, words: Words) -> None:
    type_, operand = translation.types[words[0]], translation.type_of[words[2]]
    need(_logically_alike(type_, operand), f"a {type_text(operand)} cannot be copied to a {type_text(type_)}")


def _logically_alike(one: Type, other: Type) -> bool:
    match one, other:
        case Array(), Array():
            return one.length == other.length and _logically_alike(one.element, other.element)
        case Struct(), Struct():
            return len(one.members) == len(other.members) and all(map(_logically_alike, one.members, other.members))
        case _:
            return one == other


def _undefined(translation: Translation, words: Words) -> None:
    need(not isinstance(translation.types[words[0]], Void), "void has no value")


RULES: Mapping[Op, Rule] = MappingProxyType(
    {
        Op.CompositeConstruct: _construct,
        Op.CompositeConstructReplicateEXT: _replicate,
        Op.CompositeExtract: _extract,
        Op.CompositeInsert: _insert,
        Op.VectorShuffle: _shuffle,
        Op.VectorExtractDynamic: _dynamic(2, 3, 0),
        Op.VectorInsertDynamic: _dynamic(2, 4, 3),
        Op.CopyObject: _copy,
        Op.CopyLogical: _copy_logical,
        Op.Undef: _undefined,
    }
)
"""Opcode -> rule."""
