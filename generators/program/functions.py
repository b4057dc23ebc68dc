"""Functions and calls: OpFunction, OpFunctionParameter, OpFunctionCall, OpReturnValue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.errors import GeneratorError, Rule
from generators.program.operation import Hint, Operation
from generators.program.values import AnyValue, Operand
from generators.program.variables import Variable

Direction = Literal["in", "out", "inout"]


@dataclass(frozen=True)
class PointerParameter:
    """A parameter that is a pointer to a variable of the caller, or of the module.

    Attributes:
        variable: the name of the variable in the body, and its type. It has the storage of the variables that are passed, and no
            initializer.
        direction: the accesses in the body, which decide the GLSL declaration: ``in`` only reads; ``out`` writes all of it before reading.
            GLSL copies where SPIR-V passes a pointer, so the body must not use the caller's variable in another way.
    """

    variable: Variable
    direction: Direction = "inout"

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.variable.name


Parameter = AnyValue | PointerParameter
Argument = AnyValue | Operand | Variable


@dataclass(frozen=True)
class Function:
    """A function whose parameters are values, or pointers to whole variables (KHR-TYPE-06).

    A pointer to a part of a variable is not an argument: with logical addressing, pointer operands of OpFunctionCall are memory object
    declarations (SPIR-V 2.16.1), which are variables and parameters.

    Attributes:
        name: unique in the program.
        parameters: the names of the arguments in the body.
        body: uses parameters, literals, specialization constants, arrays in bindings, its variables and variables of Private storage, but
            no other value of its caller; its names are unique in the program.
        returned: its return value at the end: a parameter or a value of its body; None for void.
        control: Inline for ``for``, DontInline for ``against``. It changes no result.
        variables: the variables of Function storage; each call has its own.
    """

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Operation, ...]
    returned: AnyValue | None
    control: Hint = "none"
    variables: tuple[Variable, ...] = ()


@dataclass(frozen=True)
class Call(Operation):
    """``result`` is the return value of ``function`` for ``arguments``; None for void. The argument for a pointer is a variable; no
    variable is passed twice."""

    result: AnyValue | None
    function: Function
    arguments: tuple[Argument, ...]


def check_call(call: Call) -> None:
    """Check the arguments of a call.

    Raises:
        GeneratorError: arguments and parameters differ in type or number, or two pointers lead to one variable.
    """
    function = call.function
    if [passed_type(argument) for argument in call.arguments] != [passed_type(parameter) for parameter in function.parameters]:
        raise GeneratorError(Rule.ARGUMENTS, f"a call of {function.name} needs arguments of the types of its parameters, in their order")
    passed = [argument.name for argument in call.arguments if isinstance(argument, Variable)]
    if len(set(passed)) < len(passed):
        raise GeneratorError(Rule.POINTERS, f"a call of {function.name} passes two pointers to one variable; pass each variable once")


def passed_type(value: Parameter | Argument) -> object:
    """Return the type of a value, or the storage and type of the variable that a pointer leads to. A parameter and its valid arguments have
    equal results."""
    variable = value.variable if isinstance(value, PointerParameter) else value
    return (variable.storage, variable.type) if isinstance(variable, Variable) else variable.type
