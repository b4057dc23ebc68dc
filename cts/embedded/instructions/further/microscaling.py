"""OpBitcastExtractEXT (SPV_EXT_ocp_microscaling_types), which extracts narrow floats from integers."""

from __future__ import annotations

import numpy as np

from cts.embedded.instructions.arithmetic.conversion import from_bits, to_bits
from cts.embedded.instructions.arithmetic.elementwise import forbid_where
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import Vector
from cts.embedded.types.values import Value
from generators.spirv.enumerants import Op

RULE = "SPV_EXT_ocp_microscaling_types OpBitcastExtractEXT"


@executes(Op.BitcastExtractEXT)
def _extract(translation: Translation, words: Words) -> Run:
    values, machine, base, offset = translation.values, translation.machine, words[2], words[3]
    from_, to = translation.number_of(translation.type_of[base]), translation.number_of(translation.types[words[0]])

    def taken(whole: Value, first: Value) -> Value:
        bits = to_bits(from_, whole)
        wide = [np.asarray(x).astype(np.uint64) for x in (bits, first)]
        found = (wide[0] >> np.minimum(wide[1], 63)) & np.uint64(to.mask)
        return from_bits(to, found.astype(to.component.bits_dtype))

    def run() -> Value:
        first = values[offset]
        beyond = np.greater(np.asarray(first).astype(np.uint64), from_.bits - to.bits)
        forbid_where(machine, beyond, RULE, f"{to.bits} bits are taken from beyond the {from_.bits} bits of the base")
        whole = values[base]
        return tuple(taken(part, first) for part in whole) if is_vector else taken(whole, first)

    is_vector = isinstance(translation.types[words[0]], Vector)
    return run
