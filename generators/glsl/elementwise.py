"""Operators on matrices (GL_KHR_cooperative_matrix, 5.9); operators, constructors and functions on the components of cooperative vectors
(GL_NV_cooperative_vector, 5.4.X and 5.9)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import Lack, NotExpressible
from generators.glsl.conversion import follows_types
from generators.glsl.shader import Shader, prints
from generators.glsl.values import assignee
from generators.program import elementwise as language
from generators.program.conversion import Conversion
from generators.program.values import CooperativeVector, Matrix
from generators.types import ComponentType

_OPERATORS: Mapping[str, str] = MappingProxyType(
    {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "signed_divide": "/", "unsigned_divide": "/"}
)
_BITS: Mapping[language.BitOperator, str] = MappingProxyType(
    {"and": "&", "or": "|", "xor": "^", "shift_left": "<<", "shift_right_logical": ">>", "shift_right_arithmetic": ">>"}
)
_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {"Step": "step", "Exp": "exp", "Log": "log", "Tanh": "tanh", "Atan": "atan", "Fma": "fma"}
    | {f"{kind}{name}": name.lower() for kind in "FUS" for name in ("Min", "Max", "Clamp")}
)
"""The N functions have no name in GLSL."""


@prints(language.MatrixNegate, language.CooperativeVectorNegate)
def emit_negate(shader: Shader, operation: language.MatrixNegate | language.CooperativeVectorNegate) -> None:
    """Write a unary minus."""
    _assign(shader, operation.result, f"-{shader.text(operation.operand)}")


@prints(language.MatrixArithmetic, language.CooperativeVectorArithmetic)
def emit_arithmetic(shader: Shader, operation: language.MatrixArithmetic | language.CooperativeVectorArithmetic) -> None:
    """Write a binary operator.

    Raises:
        NotExpressible: a division has a different signedness than its type, and in GLSL the type alone decides.
    """
    if operation.operator in ("signed_divide", "unsigned_divide"):
        _check_signed(operation.result.type.component, operation.operator == "signed_divide")
    expression = f"{shader.text(operation.left)} {_OPERATORS[operation.operator]} {shader.text(operation.right)}"
    _assign(shader, operation.result, expression, operation.no_contraction)


@prints(language.MatrixTimesScalar, language.CooperativeVectorTimesScalar)
def emit_times_scalar(shader: Shader, operation: language.MatrixTimesScalar | language.CooperativeVectorTimesScalar) -> None:
    """Write a product with a scalar."""
    factor = operation.matrix if isinstance(operation, language.MatrixTimesScalar) else operation.vector
    _assign(shader, operation.result, f"{shader.text(factor)} * {shader.text(operation.scalar)}", operation.no_contraction)


@prints(language.CooperativeVectorNot)
def emit_vector_not(shader: Shader, operation: language.CooperativeVectorNot) -> None:
    """Write a complement."""
    _assign(shader, operation.result, f"~{shader.text(operation.operand)}")


@prints(language.CooperativeVectorBits)
def emit_vector_bits(shader: Shader, operation: language.CooperativeVectorBits) -> None:
    """Write a bit operator or a shift.

    Raises:
        NotExpressible: a right shift has a different signedness than its type.
    """
    if operation.operator.startswith("shift_right"):
        _check_signed(operation.result.type.component, operation.operator == "shift_right_arithmetic")
    _assign(shader, operation.result, f"{shader.text(operation.left)} {_BITS[operation.operator]} {shader.text(operation.right)}")


@prints(language.CooperativeVectorConvert)
def emit_vector_convert(shader: Shader, operation: language.CooperativeVectorConvert) -> None:
    """Write a constructor call.

    Raises:
        NotExpressible: the constructor reads the components as their types say, and the instruction does not; or it reinterprets floats.
    """
    source, target = operation.vector.type.component, operation.result.type.component
    reinterprets = operation.conversion is Conversion.BITCAST and (source.is_float or target.is_float)
    if reinterprets or not follows_types(operation.conversion, source, target):
        raise NotExpressible(
            Lack.CONVERSION, f"a constructor converts {source} to {target} by their types, not as Op{operation.conversion.value}"
        )
    _assign(shader, operation.result, f"{shader.vector_type(operation.result.type)}({shader.text(operation.vector)})")


@prints(language.CooperativeVectorFunction)
def emit_vector_function(shader: Shader, operation: language.CooperativeVectorFunction) -> None:
    """Write a call.

    Raises:
        NotExpressible: GLSL has no such function for these components.
    """
    name, component = _FUNCTIONS.get(operation.function), operation.result.type.component
    if name is None:
        raise NotExpressible(Lack.FUNCTION, f"GLSL has no equivalent of {operation.function}")
    if operation.function[0] in "US" and operation.function != "Step":
        _check_signed(component, operation.function[0] == "S")
    _assign(shader, operation.result, f"{name}({', '.join(shader.text(argument) for argument in operation.arguments)})")


def _assign(shader: Shader, result: Matrix | CooperativeVector, expression: str, no_contraction: bool = False) -> None:
    if no_contraction and result.name in shader.variables:
        raise NotExpressible(
            Lack.NO_CONTRACTION,
            f"'{result.name}' is stored in the variable of another value, whose declaration cannot be precise for this value alone",
        )
    shader.line(f"{'precise ' if no_contraction else ''}{assignee(shader, result)} = {expression};")


def _check_signed(component: ComponentType, signed: bool) -> None:
    if component.is_signed != signed:
        raise NotExpressible(Lack.SIGNEDNESS, f"GLSL always treats {component} according to the type's signedness")
