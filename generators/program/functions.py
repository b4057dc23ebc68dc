"""Functions and calls: OpFunction, OpFunctionParameter, OpFunctionCall, OpReturnValue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from generators.program.values import Matrix, Operand, Scalar

if TYPE_CHECKING:
    from generators.program.control_flow import Hint
    from generators.program.program import Operation


@dataclass(frozen=True)
class Function:
    """A function whose parameters are passed by value (KHR-TYPE-06).

    Attributes:
        name: unique in the program.
        parameters: what the body calls its arguments.
        body: uses parameters, literals, specialization constants and arrays in bindings, but no other value of its caller; its names are
            unique in the program.
        returned: what it returns: a parameter or a value of its body; None for void.
        control: Inline for ``for``, DontInline for ``against``. It changes no result.
    """

    name: str
    parameters: tuple[Matrix | Scalar, ...]
    body: tuple[Operation, ...]
    returned: Matrix | Scalar | None
    control: Hint = "none"


@dataclass(frozen=True)
class Call:
    """``result`` is what ``function`` returns for ``arguments``; None for void."""

    result: Matrix | Scalar | None
    function: Function
    arguments: tuple[Matrix | Scalar | Operand, ...]
