"""Rounds in which data in memory change in a known way: in round k, they are the source's plus k modulo a period, in each component."""

from __future__ import annotations

import numpy as np

from generators.numerics.formats import encode
from generators.program.builder import U32, ProgramBuilder
from generators.program.program import Program, Subcase
from generators.program.scalars import ScalarConvert
from generators.program.values import ScalarValue, Value
from generators.types import ComponentType

_PERIOD = 8
"""Rounds after which the data in memory repeat: the source's again."""
_TURNS = 1
"""Rounds, on a device that computes slowly, in which each workgroup tries to take the turn."""
_GPU_ROUNDS = 512 * _PERIOD


def step_of_round(builder: ProgramBuilder, name: str, component: ComponentType, number: ScalarValue) -> ScalarValue:
    """Return what round ``number`` (u32) adds to each component."""
    step = builder.arithmetic(f"{name}_modulo", "and", number, builder.literal(_PERIOD - 1))
    return step if component is U32 else builder.result_of(ScalarConvert(Value(f"{name}_step", component), step))


def small_integers(component: ComponentType, shape: int | tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw components for a source, as bits: integers from 0 to 99, which every step keeps exact."""
    values = rng.integers(0, 100, shape)
    return encode(component, values.astype(np.float64)) if component.is_float else values.astype(component.bits_dtype)


def rounds_subcase(name: str, program: Program, source: np.ndarray, run: int, in_turns: bool) -> Subcase:
    """Return a subcase with a number of rounds in the operand ``rounds``.

    Args:
        name, program: of the subcase.
        source: contents of ``source``, uint8. If the program has an ``inout`` array ``handed``, that begins with the same; others are 0.
        run: the number of the run; a later one has more rounds.
        in_turns: whether workgroups take turns.
    """
    inputs = {array.name: np.zeros(array.bytes, np.uint8) for array in program.arrays if array.role == "inout"}
    inputs |= dict.fromkeys(("source", *inputs.keys() & {"handed"}), source)
    few = _TURNS if in_turns else _PERIOD
    return Subcase(name, inputs, {"rounds": few * run}, on_gpu={"rounds": _GPU_ROUNDS * run})
