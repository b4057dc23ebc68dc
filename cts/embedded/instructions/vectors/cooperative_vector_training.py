"""OpCooperativeVectorOuterProductAccumulateNV and OpCooperativeVectorReduceSumAccumulateNV (SPV_NV_cooperative_vector, 3.42.X).

Invocations add one after another, in an order that depends on the profile, because the specification leaves the order open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cts.embedded.diagnostics import Violation
from cts.embedded.faults import replaceable
from cts.embedded.instructions.memory.access import CALLBACK_STORE
from cts.embedded.instructions.memory.variables import write_check
from cts.embedded.instructions.registry import executes
from cts.embedded.instructions.vectors.cooperative_vector_matmul import StoredMatrix, Stride, element_places, interpretation, matrix_layout
from cts.embedded.instructions.vectors.vector_lanes import (
    BUFFERS,
    MATRIX_ALIGNMENT,
    VECTOR_ALIGNMENT,
    Places,
    Pointer,
    rows_of,
    vector_type,
)
from cts.embedded.machine.machine import Run
from cts.embedded.memory.memory import Memory
from cts.embedded.memory.ordering import SHARED
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import Number, number
from cts.embedded.types.values import Value
from generators.spirv.enumerants import Op
from generators.types import VectorMatrixLayout

_OUTER = "VUID-RuntimeSpirv-OpCooperativeVectorOuterProductAccumulateNV-10093"
_REDUCE = "VUID-RuntimeSpirv-OpCooperativeVectorReduceSumAccumulateNV-10092"


@executes(Op.CooperativeVectorOuterProductAccumulateNV)
def _outer_product(translation: Translation, words: Words) -> Run:
    a, b = (vector_type(translation, words[i], "CV-OPA-02", what) for i, what in ((2, "A"), (3, "B")))
    if a.element != b.element:
        raise Violation("CV-OPA-02", f"vectors of {a.number.component} and {b.number.component}")
    if a.number.component.name != "f16":
        raise Violation(_OUTER, f"vectors of {a.number.component}, not f16")
    layout = matrix_layout(translation, words[4])
    if layout is not VectorMatrixLayout.TRAINING_OPTIMAL:
        raise Violation(_OUTER, f"a matrix in layout {layout.name}")
    component = interpretation(translation, words[5], "the matrix interpretation").component
    if component.name not in ("f16", "f32"):
        raise Violation(_OUTER, f"a matrix of {component}")
    pointer = Pointer(
        translation, words[0], words[1], BUFFERS, False, "CV-OPA-06", MATRIX_ALIGNMENT,
        "VUID-RuntimeSpirv-OpCooperativeVectorOuterProductAccumulateNV-10101",
    )  # fmt: skip
    stride = Stride(translation, words[6] if len(words) > 6 else 0, layout, "CV-MM-31")
    check_write = write_check(translation, words[0])
    stored = StoredMatrix(a.count, b.count, component, layout)
    machine, values = translation.machine, translation.values

    def run() -> Value:
        # Products of binary16 are exact in binary64.
        rows_a, rows_b = (rows_of(machine, v, values[id_]).astype(np.float64) for v, id_ in ((a, words[2]), (b, words[3])))
        places, strides = pointer.places(), stride.values()
        begins = list(zip(places.first.tolist(), strides.tolist(), strict=True))
        where = {begin: element_places(translation, places.memory, stored, *begin) for begin in set(begins)}
        elements = [where[begin] for begin in begins]
        _accumulate(translation, places, elements, lambda i: np.outer(rows_a[i], rows_b[i]), stored.number, check_write, converted=True)

    return run


@executes(Op.CooperativeVectorReduceSumAccumulateNV)
def _reduce_sum(translation: Translation, words: Words) -> Run:
    vector = vector_type(translation, words[2], "CV-RSA-04", "V")
    if vector.number.component.name not in ("f16", "f32"):
        raise Violation(_REDUCE, f"a vector of {vector.number.component}")
    pointer = Pointer(
        translation, words[0], words[1], BUFFERS, False, "CV-RSA-04", VECTOR_ALIGNMENT,
        "VUID-RuntimeSpirv-OpCooperativeVectorReduceSumAccumulateNV-10100",
    )  # fmt: skip
    check_write = write_check(translation, words[0])
    machine, values = translation.machine, translation.values

    def run() -> Value:
        rows = rows_of(machine, vector, values[words[2]]).astype(np.float64)
        places = pointer.places()
        elements = list(places.first[:, None] + np.arange(vector.count) * vector.number.bytes)
        _accumulate(translation, places, elements, lambda i: rows[i], vector.number, check_write)

    return run


def _accumulate(
    translation: Translation,
    places: Places,
    elements: Sequence[np.ndarray],
    addends: Callable[[int], np.ndarray],
    type_: Number,
    check_write: Callable[[], None],
    converted: bool = False,
) -> None:
    """Add numbers to elements in memory, each by a Relaxed atomic.

    Args:
        translation: the module.
        places: the memory, and the invocations that add.
        elements: for each invocation that adds, the first byte of each element.
        addends: returns the addends of the n-th of these invocations: binary64, of the same shape.
        type_: the type of an element.
        check_write: reports the instruction if it must not write.
        converted: whether the elements are a matrix in an optimal layout.
    """
    memory, machine = places.memory, translation.machine
    if machine.callback:
        machine.forbid("F-CM2-10", CALLBACK_STORE)
    check_write()
    if not memory.check_writable():
        return
    add = translation.performing(added)
    records = machine.clock.lanes(SHARED)[places.lanes].tolist()
    touched, of = np.zeros(0, np.int64), None
    for i in _order(places.lanes.size, translation.settings.matrix_layouts.seed):
        if not memory.check_bounds(int(elements[i].min()), int(elements[i].max()) + type_.bytes):
            continue
        if memory.checked:
            if elements[i] is not of:
                of = elements[i]
                touched = (of[..., None] + np.arange(type_.bytes)).reshape(-1)
            if not converted:
                memory.check_defined(touched)
            memory.record_atomic(touched, records[i], machine.clock, SHARED)
        add(memory, elements[i], addends(i), type_)


@replaceable
def added(memory: Memory, elements: np.ndarray, addends: np.ndarray, type_: Number) -> None:
    """Add the addends of one invocation, and round each sum to the type of the elements."""
    contents, index = memory.view(number(type_.component.name).dtype), elements // type_.bytes
    contents[index] = (contents[index].astype(np.float64) + addends).astype(type_.dtype)


def _order(count: int, seed: int) -> list[int]:
    """Return the order in which ``count`` invocations add."""
    return [int(i) for i in np.random.default_rng(seed).permutation(count)]
