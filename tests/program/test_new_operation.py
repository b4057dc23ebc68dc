"""If a reading has no entry for an operation, the error names the operation and the table that lacks it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cts.reference.evaluate import evaluate
from generators.glsl.emit import emit as print_glsl
from generators.program.operation import NoEntry, Operation
from generators.program.program import Program, Subcase
from generators.spirv.emit import emit
from generators.types import Scope


@dataclass(frozen=True)
class Unheard(Operation):
    pass


PROGRAM = Program((), (), (Unheard(),), Scope.SUBGROUP)


@pytest.mark.parametrize(
    ("read", "table"),
    [
        (emit, "EMITTERS of generators/spirv/emit.py"),
        (print_glsl, "EMITTERS of generators/glsl/emit.py"),
        (lambda program: evaluate(program, Subcase("one", {})), "STEPS of cts/reference/evaluate.py"),
    ],
    ids=["spirv", "glsl", "reference"],
)
def test_a_reading_without_the_operation_names_its_table(read, table):
    with pytest.raises(NoEntry) as caught:
        read(PROGRAM)
    assert (caught.value.operation, caught.value.table) == ("Unheard", table)
