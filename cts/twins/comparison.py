"""Compares what the code of two twins does, and what code loads with what its results need."""

from __future__ import annotations

from dataclasses import dataclass

from cts.twins import data_flow
from cts.twins.data_flow import same_writes
from cts.twins.machine_code import Code
from cts.twins.needed import input_bytes, needed_bytes, only_moves
from cts.twins.readers import Listing
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


def has_known_loads(program: Program) -> bool:
    """Tell whether it is known how many subgroups run the program, and on which bytes of input its results depend."""
    return program.shape.invocations is None and program.shape.draw is None and only_moves(program)


def missing_load(built: BuiltCase, program: Program, code: Code) -> MissingLoad | None:
    """Return the proof that the code of a pipeline lacks a load; None if there is none.

    Args:
        built: the case.
        program: the program of the pipeline, one of the case's.
        code: its code.
    """
    if code.most_bytes is None or not has_known_loads(program):
        return None
    loaded = code.most_bytes * program.subgroups * program.workgroup_count
    if loaded >= input_bytes(program):
        return None
    for subcase in built.subcases(program):
        needed = needed_bytes(program, subcase, more_than=loaded)
        if needed is not None and needed > loaded:
            return MissingLoad(subcase.name, loaded, needed)
    return None


def differences(own: Listing, base: Listing, in_flow: bool) -> list[str]:
    """Return what the code does less than the code of its twin, or otherwise, in words; nothing if the two cannot be compared.

    Args:
        own: the code.
        base: the code of the twin.
        in_flow: whether the two must also compute what they write in the same way.
    """
    if own.text == base.text:
        return []
    found = _less(own.code, base.code)
    has_flow = in_flow and own.intermediate and base.intermediate
    if has_flow and not same_writes(data_flow.read(own.intermediate), data_flow.read(base.intermediate)):
        found.append("what is written is computed otherwise than in the twin")
    return found


def _less(code: Code, base: Code) -> list[str]:
    # Loads from one address get descriptors and operands too, so twins may differ in them.
    if code.unknown or base.unknown or code.loops != base.loops:
        return []
    counted = (
        ("bytes loaded by each subgroup", code.lane_bytes, base.lane_bytes),
        ("instructions that multiply matrices", code.multiply_adds, base.multiply_adds),
    )
    return [f"{what}: {own:,}, and {other:,} in the twin" for what, own, other in counted if own < other]
