"""Matrix multiply-add (KHR-MAD-*, facts.md C1 to C4)."""

from __future__ import annotations

from dataclasses import replace

from cts.reference import float_products, integer_products
from cts.reference.state import State, evaluates
from cts.reference.values import CERTAIN, Choice, MatrixValue
from generators.errors import GeneratorError, Rule
from generators.program.muladd import MatrixMulAdd
from generators.types import ComponentType, MatrixOperands

_SEVERAL = "an operand of a multiply-add has elements with several allowed values; make the operation that computes it exact"


def multiply_add(
    a: MatrixValue,
    b: MatrixValue,
    c: MatrixValue,
    result: ComponentType,
    operands: MatrixOperands | None,
    is_permitted_known: bool = True,
) -> MatrixValue:
    """Compute ``a`` x ``b`` + ``c``; operands None means the same as NONE (KHR-MAD-12). ``is_permitted_known`` as for floats.

    Raises:
        GeneratorError: integers and floats are mixed, a flag for integers is given with floats (KHR-MAD-11, F-KHR-7), or the
            specification leaves the result undefined.
    """
    if any(isinstance(value.known, Choice) for value in (a, b, c)):
        raise GeneratorError(Rule.SEVERAL_VALUES, _SEVERAL)
    flags = operands or MatrixOperands.NONE
    floats = [component.is_float for component in (a.component, b.component, c.component, result)]
    if all(floats):
        if flags:
            raise GeneratorError("KHR-MAD-11", "a float multiply-add has operand flags for integers; leave them out (KHR-MAD-11)")
        return float_products.multiply_add(a, b, c, result, is_permitted_known)
    if any(floats):
        raise GeneratorError("KHR-MAD-13", "a multiply-add mixes integers and floats; no property row allows that (KHR-MAD-13)")
    return integer_products.multiply_add(a, b, c, result, flags)


@evaluates(MatrixMulAdd)
def muladd(state: State, operation: MatrixMulAdd) -> None:
    """Multiply and add; raise GeneratorError if the shapes do not fit (KHR-MAD-01)."""
    a, b, c = (_usual(state, state.matrices[matrix.name]) for matrix in (operation.a, operation.b, operation.c))
    (m, k), (k_b, n) = a.bits.shape[1:], b.bits.shape[1:]
    if k != k_b or c.bits.shape[1:] != (m, n) or operation.result.type.shape != (m, n):
        raise GeneratorError(
            "KHR-MAD-01",
            f"the shapes of {operation.result.name} = {operation.a.name} x {operation.b.name} + {operation.c.name} differ (KHR-MAD-01)",
        )
    component = operation.result.type.component
    state.matrices[operation.result.name] = multiply_add(a, b, c, component, operation.operands, state.is_permitted_known)


def _usual(state: State, value: MatrixValue) -> MatrixValue:
    """Return a matrix with the most usual of several values, if the state goes on with that."""
    if not isinstance(value.known, Choice):
        return value
    state.undefined(Rule.SEVERAL_VALUES, _SEVERAL)
    return replace(value, known=CERTAIN)
