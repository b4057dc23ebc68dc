"""Conversions between arrays of invocations and cooperative matrices (SPV_QCOM_cooperative_matrix_conversion, 3.56.11 and 3.56.12).

An array belongs to one invocation, a matrix to a subgroup. Invocation i means the one whose SubgroupLocalInvocationId is i.
"""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.operation import InvocationOperation, Operation
from generators.program.values import ArrayValue, Matrix, ScalarValue


@dataclass(frozen=True)
class BitCastArray(InvocationOperation):
    """OpBitCastArrayQCOM: ``result`` has the bytes of ``source``, in the order that they would have in memory (QC-BC-03, F-QC-3). Both have
    the same number of bytes. Each invocation executes it for itself."""

    rests_on = ("QC-BC-03",)
    result: ArrayValue
    source: ArrayValue


@dataclass(frozen=True)
class ConstructCoopMat(Operation):
    """OpCompositeConstructCoopMatQCOM: ``source`` of invocation i is row i of ``result``, or column i if its use is B (QC-CC-04, QC-CC-05).

    Arrays of invocations beyond the rows are ignored. If the component type is not u32, a u32 element has the bits of one or more
    components (QC-CC-14). The subgroup executes it together.
    """

    rests_on = ("QC-CC-04", "QC-CC-05")
    result: Matrix
    source: ArrayValue


@dataclass(frozen=True)
class ExtractCoopMat(Operation):
    """OpCompositeExtractCoopMatQCOM: ``result`` of invocation i is row i of ``matrix``, or column i if its use is B (QC-CX-02).

    In invocations beyond the rows it is undefined. Elements of u32 are as in ``ConstructCoopMat``. The subgroup executes it together.
    """

    rests_on = ("QC-CX-02",)
    result: ArrayValue
    matrix: Matrix


@dataclass(frozen=True)
class ExtractSubArray(InvocationOperation):
    """OpExtractSubArrayQCOM: element i of ``result`` is element ``start`` (s32) + i of ``source`` (QC-SA-04). Each invocation executes it
    for itself."""

    rests_on = ("QC-SA-04",)
    result: ArrayValue
    source: ArrayValue
    start: ScalarValue
