"""OpDemoteToHelperInvocation, and what instructions do in helper invocations: stores and atomics have no effect on memory, and the values
that atomics return are undefined (Vulkan, Helper Invocations)."""

from __future__ import annotations

from cts.embedded.diagnostics import Violation
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import RESULT_OPS, Translation, Words
from cts.embedded.types.shapes import CELL_STORAGE
from cts.embedded.types.values import UNDEFINED, Value, blend
from generators.spirv.enumerants import Op

_ATOMICS = frozenset(op for op in Op if op.name.startswith("Atomic") and op is not Op.AtomicLoad)
_STORES = frozenset({Op.Store, Op.CopyMemory, Op.CooperativeVectorStoreNV})
_TRAINING = frozenset({Op.CooperativeVectorOuterProductAccumulateNV, Op.CooperativeVectorReduceSumAccumulateNV})


@executes(Op.DemoteToHelperInvocation)
def _demote(translation: Translation, _: Words) -> Run:
    machine, draw = translation.machine, translation.kernel.draw
    if draw is None or draw.stage != "fragment":
        raise Violation("SPIR-V 3.42.17 OpDemoteToHelperInvocation", "an invocation of another stage than Fragment becomes a helper")

    def run() -> Value:
        machine.helpers = machine.helpers | machine.mask
        return None

    return run


def without_helpers(translation: Translation, op: Op, words: Words, run: Run) -> Run:
    """Return a function that executes an instruction, and changes no memory for helper invocations.

    Args:
        translation: the module.
        op, words: the instruction.
        run: executes it in all invocations.
    """
    if not translation.demotes or op not in _ATOMICS | _STORES | _TRAINING:
        return run
    if op in (Op.Store, Op.CopyMemory) and translation.storage(words[0]) in CELL_STORAGE:
        return run
    machine, type_ = translation.machine, translation.types[words[0]] if op in RESULT_OPS else None

    def limited() -> Value:
        active = machine.mask & ~machine.helpers
        result: Value = UNDEFINED
        if active.any():
            with machine.only(active):
                result = run()
        return None if type_ is None else blend(type_, active, result, UNDEFINED)

    return limited
