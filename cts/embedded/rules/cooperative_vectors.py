"""The permitted uses of cooperative vectors (SPV_NV_cooperative_vector, 2.2.2, 3.42.11, 3.42.13 and 3.42.14)."""

from __future__ import annotations

from cts.embedded.diagnostics import Violation
from cts.embedded.module.translation import Translation, Words
from cts.embedded.rules.arithmetic import MATRIX_ARITHMETIC, MATRIX_CONVERSIONS, SHIFTS
from cts.embedded.types.spirv_types import CooperativeVector, Type, type_text
from generators.spirv.enumerants import Capability, GlslStd450, Op
from generators.spirv.grammar import GRAMMAR

_BITS = frozenset({*SHIFTS, Op.BitwiseOr, Op.BitwiseXor, Op.BitwiseAnd, Op.Not})
_OTHERS = frozenset(
    {
        *(Op.CompositeConstruct, Op.CompositeConstructReplicateEXT, Op.CompositeExtract, Op.CompositeInsert),
        *(Op.VectorExtractDynamic, Op.VectorInsertDynamic, Op.CopyObject, Op.CopyLogical, Op.Undef, Op.Select, Op.VectorTimesScalar),
        *(Op.Variable, Op.Load, Op.Store, Op.FunctionCall, Op.ReturnValue, Op.Phi, Op.FunctionParameter, Op.ExtInst),
        *(Op.CooperativeVectorLoadNV, Op.CooperativeVectorStoreNV, Op.CooperativeVectorMatrixMulNV, Op.CooperativeVectorMatrixMulAddNV),
        *(Op.CooperativeVectorOuterProductAccumulateNV, Op.CooperativeVectorReduceSumAccumulateNV),
    }
)
_FUNCTIONS = frozenset(
    {
        *(GlslStd450.FMin, GlslStd450.UMin, GlslStd450.SMin, GlslStd450.NMin),
        *(GlslStd450.FMax, GlslStd450.UMax, GlslStd450.SMax, GlslStd450.NMax),
        *(GlslStd450.FClamp, GlslStd450.UClamp, GlslStd450.SClamp, GlslStd450.NClamp),
        *(GlslStd450.Step, GlslStd450.Exp, GlslStd450.Log, GlslStd450.Tanh, GlslStd450.Atan, GlslStd450.Fma),
    }
)


def check_vectors(translation: Translation, op: Op, words: Words) -> None:
    """Check how an instruction uses cooperative vectors, if the module has any.

    Raises:
        Violation: the extension does not allow the use.
    """
    if Capability.CooperativeVectorNV not in translation.capabilities:
        return
    result = translation.types.get(words[0]) if GRAMMAR.instructions[op].is_typed else None
    operands = _operand_types(translation, op, words)
    vectors = [type_ for type_ in (result, *operands) if isinstance(type_, CooperativeVector)]
    if not vectors:
        return
    if op is Op.VectorShuffle:
        raise Violation("CV-COMP-03", "OpVectorShuffle of a cooperative vector")
    if op in MATRIX_ARITHMETIC or op in _BITS:
        _check_alike(op, result, operands, same=op in MATRIX_ARITHMETIC)
    elif op in MATRIX_CONVERSIONS:
        _check_conversion(op, result, operands)
    elif op is Op.ExtInst:
        if words[3] not in _FUNCTIONS:
            raise Violation("CV-ARI-05", f"extended instruction {words[3]} on a {type_text(vectors[0])}")
        _check_alike(op, result, operands, same=False)
    elif op not in _OTHERS:
        raise Violation("CV-ARI-05", f"Op{op.name} on a {type_text(vectors[0])}")


def _operand_types(translation: Translation, op: Op, words: Words) -> list[Type]:
    """Return the types of the values among the operands."""
    types = []
    kinds = [operand for operand in GRAMMAR.instructions[op].operands if operand.kind not in ("T", "R")]
    rest = words[len(GRAMMAR.instructions[op].operands) - len(kinds) :]
    for at, word in enumerate(rest):
        kind = kinds[min(at, len(kinds) - 1)] if kinds else None
        if kind is not None and kind.kind == "id" and word in translation.type_of:
            types.append(translation.type_of[word])
    return types


def _check_alike(op: Op, result: Type | None, operands: list[Type], same: bool) -> None:
    """Check that operands and result are vectors of the same length and, with ``same``, that the operands have the same type."""
    counts = {type_.count if isinstance(type_, CooperativeVector) else 0 for type_ in (result, *operands)}
    if len(counts) > 1 or (same and len(set(operands)) > 1):
        raise Violation("CV-ARI-02", f"the types of Op{op.name} must match: {', '.join(map(type_text, operands))}")


def _check_conversion(op: Op, result: Type | None, operands: list[Type]) -> None:
    (operand,) = operands
    if not isinstance(result, CooperativeVector) or not isinstance(operand, CooperativeVector) or result.count != operand.count:
        raise Violation("CV-CVT-01", f"Op{op.name} of a {type_text(operand)} to another number of components")
    if op is Op.Bitcast and result.number.bits != operand.number.bits:
        raise Violation("CV-CVT-02", f"OpBitcast of a {type_text(operand)} to components of {result.number.bits} bits")
