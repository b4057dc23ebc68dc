"""Types in calls, phis and branches."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cts.embedded.diagnostics import need
from cts.embedded.module.translation import Rule, Translation, Words
from cts.embedded.types.shapes import TypeKind, kind_of
from cts.embedded.types.spirv_types import Bool, Void, type_text
from generators.spirv.enumerants import Op


def _call(translation: Translation, words: Words) -> None:
    type_ = translation.function_types[words[2]]
    arguments = tuple(translation.type_of[id_] for id_ in words[3:])
    need(
        arguments == type_.parameters,
        f"{len(arguments)} arguments do not have the types of the function's {len(type_.parameters)} parameters",
    )
    need(translation.types[words[0]] == type_.result, "the result does not have the function's return type")


def _phi(translation: Translation, words: Words) -> None:
    type_ = translation.types[words[0]]
    need(all(translation.type_of[id_] == type_ for id_ in words[2::2]), f"a value does not have the result's type, {type_text(type_)}")
    need(not isinstance(type_, Void), "void has no value")


def _condition(translation: Translation, words: Words) -> None:
    type_ = translation.type_of[words[0]]
    need(isinstance(type_, Bool), f"the condition is a {type_text(type_)}")


def _switch(translation: Translation, words: Words) -> None:
    type_ = translation.type_of[words[0]]
    need(kind_of(type_) is TypeKind.INT, f"the selector is a {type_text(type_)}")


RULES: Mapping[Op, Rule] = MappingProxyType(
    {
        Op.FunctionCall: _call,
        Op.Phi: _phi,
        Op.BranchConditional: _condition,
        Op.Switch: _switch,
    }
)
"""Opcode -> rule."""
