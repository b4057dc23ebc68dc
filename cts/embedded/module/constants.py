"""The values of constants, after specialization."""

from __future__ import annotations

from cts.embedded.diagnostics import Malformed, Unsupported, Violation, need
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import Bool, MatrixType, Number, TensorLayoutType, TensorViewType, Type, constituent_count, type_text
from cts.embedded.types.values import UNDEFINED, Value, to_signed
from generators.spirv.enumerants import Decoration, Op

_BOOLEANS = frozenset({Op.ConstantTrue, Op.ConstantFalse, Op.SpecConstantTrue, Op.SpecConstantFalse})
_NUMBERS = frozenset({Op.Constant, Op.SpecConstant})
_COMPOSITES = frozenset({Op.ConstantComposite, Op.SpecConstantComposite})
_REPEATED = frozenset({Op.ConstantCompositeReplicateEXT, Op.SpecConstantCompositeReplicateEXT})


def constant_value(translation: Translation, op: Op, words: Words) -> Value:
    """Return the value of a constant, or of an undefined value of the module.

    Raises:
        Malformed: the type has no such value.
        Violation: the constant breaks a static rule.
        Unsupported: the interpreter cannot evaluate it.
    """
    type_, operands = translation.types[words[0]], words[2:]
    if op in _NUMBERS:
        return _number(translation, op, type_, words)
    if op in _BOOLEANS:
        need(isinstance(type_, Bool), f"a boolean constant whose type is a {type_text(type_)}")
        specialized = _specialized(translation, words[1])
        return op in (Op.ConstantTrue, Op.SpecConstantTrue) if specialized is None else bool(specialized)
    if op in _COMPOSITES or op in _REPEATED:
        return _composite(translation, op, type_, words)
    if op is Op.ConstantNull:
        if isinstance(type_, TensorLayoutType | TensorViewType):
            raise Violation("TA-OPQ-01", "OpConstantNull of a tensor layout or view")
        return translation.zero(type_)
    if op is Op.Undef:
        translation.check_types(Op.Undef, words)
        return UNDEFINED if translation.settings.strict else translation.zero(type_)
    if op is Op.SpecConstantOp:
        translation.check_types(op, words)
        compute = translation.prepare(Op(operands[0]), (words[0], words[1], *operands[1:]))
        try:
            return compute()
        except Violation:
            # For example 64 / N with N = 0. Only a use of the constant is wrong, and code that tests N may prevent the use.
            return UNDEFINED
    raise Unsupported(f"Op{op.name} outside of a function")


def _specialized(translation: Translation, id_: int) -> int | None:
    return translation.specialized.get((translation.decoration(id_, Decoration.SpecId) or (-1,))[0])


def _number(translation: Translation, op: Op, type_: Type, words: Words) -> Value:
    if not isinstance(type_, Number):
        raise Malformed(f"a number that is a {type_text(type_)}")
    bits = words[2] | (words[3] << 32 if len(words) > 3 else 0)
    wide = max(type_.bits, 32)
    own = bits & type_.mask
    extended = to_signed(own, type_.bits, type_.signed_dtype) % (1 << wide) if type_.component.is_signed else own
    need(not translation.settings.strict or bits == extended, f"a literal of {wide} bits that is not extended from {type_.bits}")
    specialized = None if op is Op.Constant else _specialized(translation, words[1])
    return translation.number_value(type_, bits if specialized is None else specialized)


def _composite(translation: Translation, op: Op, type_: Type, words: Words) -> Value:
    operands = words[2:]
    if isinstance(type_, MatrixType) and len(operands) != 1:
        raise Violation("KHR-COMP-01", f"a constant cooperative matrix of {len(operands)} constituents; it takes one")
    repeated = op in _REPEATED or isinstance(type_, MatrixType)
    translation.check_types(Op.CompositeConstructReplicateEXT if repeated else Op.CompositeConstruct, words)
    if isinstance(type_, MatrixType):
        return translation.splat(type_, translation.values[operands[0]])
    if repeated:
        return (translation.values[operands[0]],) * constituent_count(type_)
    return tuple(translation.values[w] for w in operands)
