"""Input data of programs that load a tensor of blocks, through decode functions or without them."""

from __future__ import annotations

import numpy as np

from generators.layouts.block_formats import TABLE
from generators.layouts.selecting_products import LARGEST, factor_or_addend, whole_numbers
from generators.layouts.tensors import pattern_contents
from generators.program.memory import Array
from generators.program.program import Program
from generators.program.values import MatrixType
from generators.types import ComponentType


def small_contents(array: Array, component: ComponentType, rng: np.random.Generator) -> np.ndarray:
    """Return whole numbers of ``component`` with exact sums of products, as the bytes of ``array``; uint8."""
    return np.resize(whole_numbers(component, array.bytes // component.bytes, LARGEST, rng), array.bytes)


def decoded_inputs(
    source: np.ndarray, program: Program, type_: MatrixType, instances: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return the inputs of a program by name of the array, uint8: ``source`` and the other arrays that the program has.

    Args:
        source: the bytes of the tensor.
        program: its array ``before`` has the matrix's contents before the load, ``table`` the table of a format; ``other`` and ``addend``
            are the operands of a multiply-add with the loaded matrix.
        type_: the type of the loaded matrix.
        instances: scope instances.
        rng: draws the operands.
    """
    inputs = {"source": source}
    for array in program.arrays:
        if array.name == "before":
            inputs["before"] = pattern_contents(array, type_.component, "index", rng)
        elif array.name == "table":
            inputs["table"] = TABLE.view(np.uint8).copy()
        elif array.name in ("other", "addend"):
            inputs[array.name] = factor_or_addend(array.name, type_, array.pointee.component, instances, array.count, rng)
    return inputs
