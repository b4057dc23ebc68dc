"""The program of a case contains the subject of each requirement that the case claims: instructions, modes, storage and operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import pytest

from generators.casebook import Case, CaseKind, TestKind
from generators.program.array_conversion import BitCastArray, ConstructCoopMat, ExtractCoopMat, ExtractSubArray
from generators.program.arrays import ArrayStore, AtomicOr
from generators.program.callbacks import PerElement, Reduce
from generators.program.construction import (
    CooperativeVectorConstant,
    CooperativeVectorSplat,
    MatrixConstant,
    MatrixNull,
    MatrixSplat,
    MatrixUndefined,
)
from generators.program.conversion import Conversion, MatrixConvert, Transpose, TransposedConvert, UseConvert
from generators.program.cooperative_vector_matmul import CooperativeVectorMatMul, interpretation_value, vector_layout_value
from generators.program.cooperative_vector_training import OuterProductAccumulate, ReduceSumAccumulate
from generators.program.cooperative_vectors import (
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorStore,
)
from generators.program.elements import MatrixCoordinate
from generators.program.elementwise import (
    CooperativeVectorArithmetic,
    CooperativeVectorBits,
    CooperativeVectorConvert,
    CooperativeVectorFunction,
    CooperativeVectorNegate,
    CooperativeVectorNot,
    CooperativeVectorTimesScalar,
    MatrixArithmetic,
    MatrixNegate,
    MatrixTimesScalar,
)
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.memory import Pointee
from generators.program.muladd import MatrixMulAdd
from generators.program.program import Program
from generators.program.shape import WorkgroupShape
from generators.program.tensor import LayoutSet, ViewSet
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import CooperativeVector, CooperativeVectorType, Operand, TensorView, Value, is_matrix
from generators.program.variables import Variable
from generators.program.walking import flattened
from generators.types import ClampMode, ComponentType, Layout, MemoryAccess, ReduceMode, Scope, StorageClass, Use, VectorMatrixLayout
from tests.suite import casebook, programs

KERNELS = [family.name for family in casebook() if family.kind is CaseKind.KERNEL]
KINDS = {
    CaseKind.KERNEL: TestKind.DYNAMIC,
    CaseKind.STATIC: TestKind.STATIC,
    CaseKind.QUERY: TestKind.API,
    CaseKind.CONVERSION: TestKind.API,
}

Parts = list[Any]


def parts(value: Any) -> Parts:
    """Return every dataclass inside ``value``, each object once."""
    found: dict[int, Any] = {}
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, tuple | list):
            left.extend(one)
        elif (names := _field_names(type(one))) and id(one) not in found:
            found[id(one)] = one
            left.extend(getattr(one, name) for name in names)
    return list(found.values())


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    """Return the fields of a dataclass, without what only other programs have; nothing for other types."""
    return tuple(field.name for field in fields(kind) if field.name != "others") if is_dataclass(kind) else ()


def has(kind: Any, holds: Callable[[Any], bool] = lambda _: True) -> Callable[[Parts], bool]:
    """Return a predicate of programs: one of the parts is of this kind and meets a condition."""
    return lambda found: any(isinstance(part, kind) and holds(part) for part in found)


def reads_other_struct(load: TensorLoad) -> bool:
    """Return whether the two functions of a load have pointers to different types."""
    return (
        load.decode is not None
        and load.decode_vector is not None
        and load.decode.parameters[0].type != load.decode_vector.parameters[0].type
    )


def by_maintenance1(kind: Any, holds: Callable[[Any], bool] = lambda _: True) -> Callable[[Parts], bool]:
    """Return the same predicate for programs that declare their instructions with SPV_EXT_cooperative_matrix_maintenance1."""
    declared = has(Program, lambda program: program.maintenance1)
    return lambda found: declared(found) and has(kind, holds)(found)


def is_accumulator(matrix: Any) -> bool:
    return matrix.type.use_value is Use.ACCUMULATOR


BOTH_FUNCTIONS = has(TensorLoad, lambda load: load.decode is not None and load.decode_vector is not None)


def clamps(access: Any, *modes: ClampMode) -> Callable[[Parts], bool]:
    """Return a predicate of programs: a tensor is loaded or stored in one of the modes, which may be a specialization constant."""

    def mode(clamp: ClampMode | Operand) -> ClampMode:
        return clamp if isinstance(clamp, ClampMode) else ClampMode(clamp.value)

    return has(access, lambda part: mode(part.layout.type.clamp) in modes)


def sets(kind: Any, setting: str) -> Callable[[Parts], bool]:
    return has(kind, lambda part: part.setting == setting)


def own_dimensions(view: TensorView | None) -> bool | None:
    if view is None:
        return None
    given = view.type.has_dimensions
    return given if isinstance(given, bool) else bool(given.value)


def order(view: TensorView | None) -> list[int]:
    return [] if view is None else [extent if isinstance(extent, int) else extent.value for extent in view.type.permutation]


def memory(part: MatrixLoad | MatrixStore) -> MemoryAccess:
    return part.memory.mask if part.memory else MemoryAccess.NONE


ACCESS = (TensorLoad, TensorStore)
BOUNDED = (ClampMode.CONSTANT, ClampMode.CLAMP_TO_EDGE, ClampMode.REPEAT, ClampMode.REPEAT_MIRRORED)
UNORDERED = MemoryAccess.VOLATILE | MemoryAccess.ALIGNED | MemoryAccess.NONTEMPORAL
VECTOR_ACCESS = (CooperativeVectorLoad, CooperativeVectorStore)


def vector(access: CooperativeVectorLoad | CooperativeVectorStore) -> CooperativeVector:
    """Return the vector that is loaded or stored."""
    return access.result if isinstance(access, CooperativeVectorLoad) else access.vector


def multiplies(holds: Callable[[CooperativeVectorMatMul], bool]) -> Callable[[Parts], bool]:
    """Return a predicate of programs: a matrix-vector multiply meets a condition."""
    return has(CooperativeVectorMatMul, holds)


def converts(source: Callable[[ComponentType], bool], target: Callable[[ComponentType], bool]) -> Callable[[Parts], bool]:
    """Return a predicate of programs: a matrix-vector multiply converts its input to the interpretation instead of only unpacking it."""

    def holds(part: CooperativeVectorMatMul) -> bool:
        own, read = part.input.type.component, interpretation_value(part.interpretation)
        return not read.packed and read.component is not own and source(own) and target(read.component)

    return multiplies(holds)


def in_layout(*layouts: VectorMatrixLayout) -> Callable[[Parts], bool]:
    return multiplies(lambda part: vector_layout_value(part.matrix.layout) in layouts)


def is_float(component: ComponentType) -> bool:
    return component.is_float


def is_integer(component: ComponentType) -> bool:
    return not component.is_float


OPTIMAL = (VectorMatrixLayout.INFERENCING_OPTIMAL, VectorMatrixLayout.TRAINING_OPTIMAL)

SHOWN: Mapping[str, Callable[[Parts], bool]] = {
    "KHR-LOAD-03": has(MatrixLoad, lambda load: load.layout is not Layout.COLUMN_MAJOR),
    "KHR-LOAD-04": has(MatrixLoad, lambda load: load.layout is not Layout.ROW_MAJOR),
    "KHR-LOAD-11": has(MatrixLoad, lambda load: bool(memory(load) & UNORDERED)),
    "KHR-LOAD-12": has(MatrixLoad, lambda load: load.array.storage is StorageClass.WORKGROUP),
    "KHR-STORE-01": has((MatrixStore, TensorStore)),
    "KHR-STORE-03": has(MatrixStore),
    "KHR-STORE-05": has(MatrixStore, lambda store: store.array.pointee != Pointee(store.matrix.type.component)),
    "KHR-COMP-01": has(MatrixConstant, lambda made: not made.replicated),
    "KHR-COMP-02": has(MatrixSplat, lambda made: not made.replicated),
    "KHR-COMP-04": lambda found: has((MatrixNull, MatrixUndefined))(found) or has(Variable, lambda made: made.initializer == "null")(found),
    "KHR-COMP-05": has((MatrixConstant, MatrixSplat), lambda made: made.replicated),
    "KHR-CVT-01": has(MatrixConvert, lambda part: part.conversion is not Conversion.BITCAST),
    "KHR-CVT-03": has(MatrixConvert, lambda part: part.conversion is Conversion.BITCAST),
    "KHR-CVT-05": has(MatrixConvert, lambda part: part.conversion in (Conversion.F_TO_S, Conversion.F_TO_U)),
    "KHR-CVT-06": has(MatrixConvert, lambda part: part.result.type.component.name in ("e4m3", "e5m2")),
    "KHR-MAD-03": has(MatrixMulAdd),
    "KHR-MAD-05": has(MatrixMulAdd, lambda part: not part.a.type.component.is_float),
    "KHR-MAD-12": has(MatrixMulAdd, lambda part: part.operands is None),
    "KHR-ARI-01": has(MatrixNegate),
    "KHR-ARI-02": has(MatrixArithmetic),
    "KHR-ARI-05": has(MatrixTimesScalar),
    "CV-STG-01": has(WorkgroupShape, lambda shape: shape.stage != "compute"),
    "VK-SO-01": has(Program, lambda program: program.shader_object is not None),
    "VK-SO-03": has(WorkgroupShape, lambda shape: shape.full_subgroups is True),
    "CV-ARI-01": has((CooperativeVectorNegate, CooperativeVectorArithmetic)),
    "CV-ARI-03": has(CooperativeVectorTimesScalar),
    "CV-ARI-04": has(CooperativeVectorFunction),
    "CV-BIT-01": has((CooperativeVectorBits, CooperativeVectorNot)),
    "CV-CVT-01": has(CooperativeVectorConvert, lambda part: part.conversion is not Conversion.BITCAST),
    "CV-CVT-02": has(CooperativeVectorConvert, lambda part: part.conversion is Conversion.BITCAST),
    "CV-COMP-02": has((CooperativeVectorExtract, CooperativeVectorInsert)),
    "CV-COMP-04": has((CooperativeVectorSplat, CooperativeVectorConstant), lambda made: made.replicated),
    "QC-BC-03": has(BitCastArray),
    "QC-CC-04": has(ConstructCoopMat, lambda one: one.result.type.use_value is not Use.B),
    "QC-CC-05": has(ConstructCoopMat, lambda one: one.result.type.use_value is Use.B),
    "QC-CC-14": has(ConstructCoopMat, lambda one: one.source.type.element is not one.result.type.component),
    "QC-CX-02": has(ExtractCoopMat),
    "QC-SA-04": has(ExtractSubArray),
    "CV-LD-01": has(CooperativeVectorLoad),
    "CV-LD-02": has(VECTOR_ACCESS, lambda access: access.array.pointee != Pointee(vector(access).type.component)),
    "CV-LD-03": has(VECTOR_ACCESS, lambda access: access.array.other_stride is not None),
    "CV-LD-04": has(VECTOR_ACCESS, lambda access: access.array.storage is not StorageClass.STORAGE_BUFFER),
    "CV-ST-01": has(CooperativeVectorStore),
    "CV-ST-03": has(VECTOR_ACCESS, lambda access: access.array.storage is StorageClass.WORKGROUP),
    "CV-MM-01": multiplies(lambda part: part.bias is not None),
    "CV-MM-02": multiplies(lambda part: part.bias is None),
    "CV-MM-05": multiplies(lambda part: not part.result.type.component.is_float),
    "CV-MM-08": multiplies(lambda part: interpretation_value(part.interpretation).packed),
    "CV-MM-09": converts(is_integer, is_integer),
    "CV-MM-10": converts(is_float, is_integer),
    "CV-MM-11": converts(is_integer, is_float),
    "CV-MM-12": converts(is_float, is_float),
    "CV-MM-13": multiplies(lambda part: not part.input.type.component.is_float),
    "CV-MM-14": multiplies(
        lambda part: part.matrix.array.pointee.component is not interpretation_value(part.matrix.interpretation).component
    ),
    "CV-MM-15": multiplies(lambda part: part.bias is not None),
    "CV-MM-17": in_layout(VectorMatrixLayout.ROW_MAJOR),
    "CV-MM-18": in_layout(VectorMatrixLayout.COLUMN_MAJOR),
    "CV-MM-19": multiplies(lambda part: vector_layout_value(part.matrix.layout) in OPTIMAL and part.matrix.stride is not None),
    "CV-MM-20": in_layout(*OPTIMAL),
    "CV-MM-25": multiplies(lambda part: not isinstance(part.matrix.offset, Operand)),
    "CV-MM-28": multiplies(lambda part: not part.result.type.component.is_float),
    "CV-MM-29": multiplies(lambda part: interpretation_value(part.interpretation).name in ("e4m3", "e5m2")),
    "CV-MM-30": multiplies(lambda part: not isinstance(part.matrix.offset, Operand)),
    "CV-MM-32": has(CooperativeVectorFunction),
    "CV-OPA-01": has(OuterProductAccumulate),
    "CV-OPA-03": has(OuterProductAccumulate, lambda outer: outer.array.opaque.component.name in ("f16", "f32")),
    "CV-OPA-05": has(OuterProductAccumulate, lambda outer: outer.array.opaque.count > 1),
    "CV-RSA-01": has(ReduceSumAccumulate),
    "CV-RSA-03": has(ReduceSumAccumulate, lambda total: total.vector.type.component.name in ("f16", "f32")),
    "CV-TYPE-03": has(CooperativeVectorType, lambda type_: isinstance(type_.length, Operand)),
    "CM2-WG-02": has(Value, lambda value: is_matrix(value) and value.type.scope is Scope.WORKGROUP),
    "CM2-CL-02": clamps(TensorLoad, ClampMode.CONSTANT),
    "CM2-CL-03": clamps(TensorLoad, ClampMode.CLAMP_TO_EDGE),
    "CM2-CL-04": clamps(TensorLoad, ClampMode.REPEAT),
    "CM2-CL-05": clamps(TensorLoad, ClampMode.REPEAT_MIRRORED),
    "CM2-CL-06": clamps(TensorLoad, ClampMode.CONSTANT),
    "CM2-CL-07": clamps(TensorStore, *BOUNDED),
    "CM2-CL-08": has(ACCESS),
    "CM2-AD-05": has(TensorLoad, lambda load: load.decode is not None),
    "CM2-VW-01": lambda found: has(TensorLoad, lambda load: load.view is not None)(found) and sets(ViewSet, "clip")(found),
    "CM2-VW-02": lambda found: has(TensorStore, lambda store: store.view is not None)(found) and sets(ViewSet, "clip")(found),
    "CM2-VW-05": has(ACCESS, lambda part: own_dimensions(part.view) is False),
    "CM2-VW-06": has(ACCESS, lambda part: order(part.view) != sorted(order(part.view))),
    "CM2-VW-07": has(ACCESS, lambda part: own_dimensions(part.view) is True),
    "CM2-VW-08": sets(ViewSet, "dimension"),
    "CM2-ST-01": has(TensorStore),
    "DV-FN-04": has(TensorLoad, reads_other_struct),
    **dict.fromkeys(
        ("DV-FN-05", "DV-SEM-01", "DV-SEM-03", "DV-SEM-04", "DV-SEM-05", "DV-SEM-09", "DV-SEM-10", "DV-SEM-11"), BOTH_FUNCTIONS
    ),
    "DV-SEM-08": BOTH_FUNCTIONS,
    "CM2-DEC-04": has(TensorLoad, lambda load: load.decode is not None),
    "CM2-DEC-05": has(TensorLoad, lambda load: load.decode is not None),
    "CM2-DEC-06": has(TensorLoad, lambda load: load.decode is not None),
    "CM2-DEC-08": has(TensorLoad, lambda load: load.decode is not None and load.view is not None),
    "CM2-DEC-09": lambda found: has(TensorLoad, lambda load: load.decode is not None)(found) and clamps(TensorLoad, *BOUNDED)(found),
    "CM2-RED-03": has(Reduce, lambda part: part.mode is ReduceMode.TWO_BY_TWO),
    "CM2-RED-04": has(Reduce, lambda part: part.mode is ReduceMode.ROW),
    "CM2-RED-05": has(Reduce, lambda part: part.mode is ReduceMode.COLUMN),
    "CM2-RED-06": has(Reduce, lambda part: part.mode is ReduceMode.ROW_AND_COLUMN),
    "CM2-RED-08": has(Reduce),
    "CM2-CVT-01": has(MatrixConvert, lambda part: part.result.type.use is not part.matrix.type.use),
    "CM2-CVT-03": has(UseConvert),
    "CM2-TR-01": has(Transpose),
    "CM2-TR-02": has(Transpose),
    "CM2-PE-03": has(PerElement),
    "CM2-PE-04": has(PerElement, lambda part: any(not is_matrix(extra) for extra in part.extra)),
    "CM2-PE-05": has(PerElement, lambda part: any(is_matrix(extra) for extra in part.extra)),
    "CM2-PE-06": has(PerElement),
    "CM2-PE-07": has(PerElement, lambda part: any(isinstance(one, ArrayStore | AtomicOr) for one in flattened(part.function.body))),
    "M1-EXT-01": by_maintenance1((MatrixCoordinate, Reduce, PerElement, UseConvert, MatrixConvert, TransposedConvert)),
    **dict.fromkeys(("M1-RED-01", "M1-RED-02"), by_maintenance1(Reduce)),
    "M1-RED-10": by_maintenance1(Reduce, lambda part: part.mode is not ReduceMode.TWO_BY_TWO),
    "M1-RED-04": by_maintenance1(Reduce, lambda part: part.mode is ReduceMode.TWO_BY_TWO),
    "M1-RED-05": by_maintenance1(Reduce, lambda part: part.mode is ReduceMode.ROW),
    "M1-RED-06": by_maintenance1(Reduce, lambda part: part.mode is ReduceMode.COLUMN),
    "M1-RED-07": by_maintenance1(Reduce, lambda part: part.mode is ReduceMode.ROW_AND_COLUMN),
    "M1-PE-01": by_maintenance1(PerElement),
    "M1-PE-04": by_maintenance1(PerElement, lambda part: any(not is_matrix(extra) for extra in part.extra)),
    "M1-PE-06": by_maintenance1(PerElement, lambda part: any(is_matrix(extra) for extra in part.extra)),
    "M1-PE-07": by_maintenance1(
        PerElement, lambda part: any(isinstance(one, ArrayStore | AtomicOr) for one in flattened(part.function.body))
    ),
    "M1-USE-01": by_maintenance1(UseConvert, lambda part: is_accumulator(part.matrix)),
    "M1-USE-02": by_maintenance1(UseConvert, lambda part: is_accumulator(part.result)),
    "M1-USE-06": by_maintenance1(UseConvert, lambda part: part.matrix.type.component is not part.result.type.component),
    "M1-TR-02": by_maintenance1(TransposedConvert, lambda part: part.conversion is not None),
    "M1-TR-03": by_maintenance1(TransposedConvert, lambda part: part.conversion is None),
    "M1-CVT-01": by_maintenance1(MatrixConvert, lambda part: is_accumulator(part.matrix) is not is_accumulator(part.result)),
    "M1-COORD-01": by_maintenance1(MatrixCoordinate),
    "GM1-CTR-01": by_maintenance1(UseConvert | MatrixConvert, lambda part: is_accumulator(part.matrix) is not is_accumulator(part.result)),
    **dict.fromkeys(("GM1-RED-01", "GM1-RED-02"), by_maintenance1(Reduce)),
    "GM1-RED-05": by_maintenance1(Reduce, lambda part: part.mode is ReduceMode.TWO_BY_TWO),
    "GM1-RED-06": by_maintenance1(Reduce, lambda part: part.mode is ReduceMode.ROW),
    "GM1-RED-07": by_maintenance1(Reduce, lambda part: part.mode is ReduceMode.COLUMN),
    "GM1-RED-08": by_maintenance1(Reduce, lambda part: part.mode is ReduceMode.ROW_AND_COLUMN),
    "GM1-PE-01": by_maintenance1(PerElement),
    "GM1-PE-03": by_maintenance1(PerElement, lambda part: bool(part.extra)),
    "GM1-TR-01": by_maintenance1(TransposedConvert),
    "GM1-COORD-01": by_maintenance1(MatrixCoordinate),
    "TA-CLV-01": sets(LayoutSet, "clamp_value"),
    "TA-BLK-01": sets(LayoutSet, "block_size"),
    "TA-STR-01": sets(LayoutSet, "stride"),
    "TA-SLI-01": sets(LayoutSet, "slice"),
    "TA-SLI-02": sets(LayoutSet, "slice"),
    "TA-VDM-01": sets(ViewSet, "dimension"),
    "TA-VST-01": sets(ViewSet, "stride"),
    "TA-VCL-01": sets(ViewSet, "clip"),
}
"""Requirement -> a necessary, but not sufficient, property of programs that exercise it."""

SUFFICIENT = (
    "M1-RED",
    "M1-PE-01",
    "M1-PE-04",
    "M1-PE-07",
    "M1-USE",
    "M1-CVT",
    "M1-TR",
    "M1-COORD",
    "CM2-RED",
    "CM2-TR",
    "CM2-CVT",
    "CV-ARI",
    "CV-CVT",
    "KHR-ARI-01",
    "KHR-ARI-05",
    "KHR-COMP-05",
    "TA-VCL-01",
)
"""Prefixes of ids: a program with the subject of such a requirement exercises it, whatever else the case does."""


@cache
def parts_of_programs(name: str) -> list[tuple[Case, Parts]]:
    """Return the cases of the smoke tier, and the parts of their programs."""
    return [(case, parts(program)) for case, program in programs(name, "smoke")]


@pytest.mark.parametrize("name", KERNELS)
def test_a_program_has_what_its_case_claims_to_exercise(name):
    for case, found in parts_of_programs(name):
        missing = [id_ for id_ in case.requirements if id_ in SHOWN and not SHOWN[id_](found)]
        assert not missing, case.id


@pytest.mark.parametrize("name", KERNELS)
def test_a_case_claims_what_its_program_has_if_others_of_its_family_do(name):
    claimed = {cover.id for cover in casebook().family(name).covers}
    for case, found in parts_of_programs(name):
        had = {id_ for id_ in claimed & SHOWN.keys() if id_.startswith(SUFFICIENT) and SHOWN[id_](found)}
        assert not had - set(case.requirements), case.id


@pytest.mark.parametrize("name", [family.name for family in casebook()])
def test_cases_are_of_the_kind_that_tests_what_they_cover(name):
    family = casebook().family(name)
    for cover in family.covers:
        assert KINDS[family.kind] in casebook().requirements[cover.id].kinds, cover.id
