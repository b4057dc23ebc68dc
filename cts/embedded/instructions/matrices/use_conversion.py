"""OpCooperativeMatrixConvertNV and OpCooperativeMatrixTransposeNV (SPV_NV_cooperative_matrix2, 3.49.11), and
OpCooperativeMatrixConvertUseEXT (SPV_EXT_cooperative_matrix_maintenance1, 3.49.11), move elements without changing their bits (F-M1-1)."""

from __future__ import annotations

from cts.embedded.diagnostics import Violation, demanded
from cts.embedded.instructions.arithmetic.elementwise import is_transposing, then_transposed, untransposed, use_may_change
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import MatrixType
from cts.embedded.types.values import Value
from generators.spirv.enumerants import Capability, Op
from generators.types import Use


def _types(translation: Translation, words: Words, rule: str) -> tuple[MatrixType, MatrixType]:
    """Return the types of the operand and of the result."""
    to = demanded(translation.types[words[0]], MatrixType, rule, "the result is not a cooperative matrix")
    return translation.matrix_type(words[2], rule, "the matrix"), to


@executes(Op.CooperativeMatrixConvertUseEXT)
def _convert(translation: Translation, words: Words) -> Run:
    extended = Capability.CooperativeMatrixConversionsEXT in translation.capabilities
    of_types, of_sizes, of_uses = ("M1-USE-04", "M1-USE-05", "M1-USE-03") if extended else ("CM2-CVT-03",) * 3
    from_, to = _types(translation, words, of_types)
    transposing = is_transposing(translation, words)
    if transposing:
        to = untransposed(translation, Op.CooperativeMatrixConvertUseEXT, words)
    if from_.number != to.number and not (extended and _are_integers_of_one_width(from_, to)):
        and_sign = ", or integer types that differ only in Signedness" if extended else ""
        raise Violation(of_types, f"a {from_} to a {to}; the component types must be the same{and_sign}")
    if from_.scope != to.scope:
        raise Violation(of_types, f"a {from_} to a {to}; the scope must be the same")
    if (from_.rows, from_.columns) != (to.rows, to.columns):
        raise Violation(of_sizes, f"a {from_} to a {to}; rows and columns must be the same")
    if not use_may_change(translation, Op.CooperativeMatrixConvertUseEXT, from_, to):
        back = ", or from A or B to an accumulator" if extended else ""
        raise Violation(of_uses, f"a {from_} to a {to}; it must go from an accumulator to A or B{back}")
    machine, values, operand = translation.machine, translation.values, words[2]

    def run() -> Value:
        machine.active_instances(to.scope)
        return values[operand]

    return then_transposed(run) if transposing else run


def _are_integers_of_one_width(one: MatrixType, other: MatrixType) -> bool:
    return not one.number.is_float and not other.number.is_float and one.number.bits == other.number.bits


@executes(Op.CooperativeMatrixTransposeNV)
def _transpose(translation: Translation, words: Words) -> Run:
    from_, to = _types(translation, words, "CM2-TR-01")
    if (from_.use, to.use) != (Use.ACCUMULATOR, Use.B):
        raise Violation("CM2-TR-01", f"a {from_} to a {to}; it must go from an accumulator to B")
    if (from_.scope, from_.columns, from_.rows) != (to.scope, to.rows, to.columns):
        raise Violation("CM2-TR-01", f"a {from_} to a {to}; rows and columns must be swapped, in the same scope")
    if from_.number != to.number:
        raise Violation("CM2-TR-03", f"a {from_} to a {to}; the component type must be the same (F-CM2-12)")
    machine, values, operand = translation.machine, translation.values, words[2]

    def run() -> Value:
        machine.active_instances(to.scope)
        return values[operand]

    return then_transposed(run)
