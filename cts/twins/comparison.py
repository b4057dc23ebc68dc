"""Compares what the code of two twins does, and what code loads with what its results need."""

from __future__ import annotations

from dataclasses import dataclass

from cts.twins.machine_code import Code
from cts.twins.needed import input_bytes, needed_bytes
from generators.casebook import BuiltCase
from generators.program.program import Program


@dataclass(frozen=True)
class MissingLoad:
    """Proof that code gives wrong results: it does not load some input from which the results of a subcase are copied.

    Attributes:
        subcase: name of the subcase.
        loaded: the most bytes that all subgroups together load.
        needed: how many bytes of input are copied to the results.
    """

    subcase: str
    loaded: int
    needed: int

    def __str__(self) -> str:
        return (
            f"a needed load is missing: the code loads at most {self.loaded:,} bytes, and the results of subcase {self.subcase} are copied "
            f"from {self.needed:,} bytes of input"
        )


def missing_load(built: BuiltCase, program: Program, code: Code) -> MissingLoad | None:
    """Return the proof that the code of a pipeline lacks a load; None if there is none.

    Args:
        built: the case.
        program: the program of the pipeline, one of the case's.
        code: its code.
    """
    if code.most_bytes is None or program.shape.invocations is not None or program.shape.draw is not None:
        return None
    loaded = code.most_bytes * program.subgroups * program.workgroup_count
    if loaded >= input_bytes(program):
        return None
    for subcase in built.subcases(program):
        needed = needed_bytes(program, subcase)
        if needed is not None and needed > loaded:
            return MissingLoad(subcase.name, loaded, needed)
    return None


def does_less(code: Code, base: Code) -> list[str]:
    """Return what the code does less than the code of its twin, in words; nothing if the two cannot be compared.

    Loads from one address get descriptors and operands too, so twins differ in them.
    """
    if code.unknown or base.unknown or code.loops != base.loops:
        return []
    counted = (
        ("bytes loaded by each subgroup", code.lane_bytes, base.lane_bytes),
        ("instructions that multiply matrices", code.multiply_adds, base.multiply_adds),
    )
    return [f"{what}: {own:,}, and {other:,} in the twin" for what, own, other in counted if own < other]
