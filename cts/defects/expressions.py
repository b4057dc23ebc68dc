"""Functions that matrix instructions call, with their expressions changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from generators.program.callbacks import Binary, BlockRead, Called, Choose, Converted, ElementFunction, ElementRead, Expression, Whole

Change = Callable[[Expression], Expression]
"""What becomes of an expression whose parts are changed already; itself if nothing does."""


def rewritten(function: ElementFunction, change: Change) -> ElementFunction:
    """The function with each of its expressions changed, from the inside outwards, and those of the functions that it calls."""

    def walk(expression: Expression) -> Expression:
        match expression:
            case Binary():
                expression = replace(expression, left=walk(expression.left), right=walk(expression.right))
            case Choose():
                condition = walk(expression.condition)
                assert isinstance(condition, Binary), "a comparison stays one"
                expression = Choose(condition, walk(expression.then), walk(expression.otherwise))
            case Converted():
                expression = replace(expression, value=walk(expression.value))
            case Called():
                arguments = (argument if isinstance(argument, Whole) else walk(argument) for argument in expression.arguments)
                expression = Called(rewritten(expression.function, change), tuple(arguments))
            case ElementRead():
                expression = replace(expression, index=walk(expression.index))
            case BlockRead() if expression.index is not None:
                expression = replace(expression, index=walk(expression.index))
        return change(expression)

    return replace(function, result=walk(function.result))
