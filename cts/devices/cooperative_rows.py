"""Finds the cooperative types and multiplies of a module that no property row of a device allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cts.devices.capabilities import STAGE_BITS
from cts.devices.indexed_description import IndexedDescription
from cts.devices.module_needs import MatrixTypeIds, ModuleNeeds, MulAddIds, OuterProductIds, Scalar, VectorMulIds, VectorTypeIds
from cts.devices.property_index import PropertyIndex
from cts.verdict.codes import Code, Reason
from generators.errors import GeneratorError, Rule
from generators.stages import Stage
from generators.types import INTERPRETATIONS, MatrixOperands, Scope, Use

_FLOATS = {(16, None): "f16", (32, None): "f32", (64, None): "f64", (16, 0): "bf16", (8, 4214): "e4m3", (8, 4215): "e5m2"}
_USES = {Use.A: "A", Use.B: "B", Use.ACCUMULATOR: "Accumulator"}


def lacking_matrices(needs: ModuleNeeds, specialization: Mapping[int, int], invocations: int, listed: PropertyIndex) -> Iterator[Reason]:
    """Yield the matrix types and multiply-adds that no row allows.

    Args:
        needs: the module's needs.
        specialization: SpecId -> value.
        invocations: the number of invocations in a workgroup.
        listed: the rows that the device lists for the kernel.
    """
    types: dict[int, tuple[str, int, int]] = {}
    scopes = {id_: needs.value(matrix.scope, specialization) for id_, matrix in needs.matrices.items()}
    for id_, matrix in needs.matrices.items():
        types[id_] = _component(needs, matrix), needs.value(matrix.rows, specialization), needs.value(matrix.columns, specialization)
        yield from _type(types[id_], scopes[id_], _use(needs.value(matrix.use, specialization)), invocations, listed)
    for muladd in needs.muladds:
        yield from _muladd(muladd, types, scopes[muladd.result], invocations, listed)


def _use(value: int) -> Use:
    if value not in set(Use):
        raise GeneratorError(Rule.MODULE, f"a cooperative matrix has the unknown use {value}")
    return Use(value)


def _where(scope: int, invocations: int) -> str:
    if scope == Scope.WORKGROUP:
        return f"at workgroup scope with {invocations} invocations"
    return "at subgroup scope" if scope == Scope.SUBGROUP else f"at scope {scope}"


def _type(type_: tuple[str, int, int], scope: int, use: Use, invocations: int, listed: PropertyIndex) -> Iterator[Reason]:
    component, rows, columns = type_
    if not any(listed.has_type((name, int(use), scope), rows, columns, invocations) for name in _either_sign(component)):
        text = f"no property row for {_USES[use]} {component} {rows}x{columns} {_where(scope, invocations)}"
        yield Reason(Code.MISSING_ROW.of("type"), text)


def _muladd(
    muladd: MulAddIds, types: dict[int, tuple[str, int, int]], scope: int, invocations: int, listed: PropertyIndex
) -> Iterator[Reason]:
    operands = muladd.operands
    a, m, k = types[muladd.a]
    b, _, n = types[muladd.b]
    signed = (
        (a, MatrixOperands.A_SIGNED),
        (b, MatrixOperands.B_SIGNED),
        (types[muladd.c][0], MatrixOperands.C_SIGNED),
        (types[muladd.result][0], MatrixOperands.RESULT_SIGNED),
    )
    a, b, c, result = (_with_sign(component, bool(operands & flag)) for component, flag in signed)
    saturating = bool(operands & MatrixOperands.SATURATING_ACCUMULATION)
    if not listed.has_muladd((a, b, c, result, saturating, scope), m, n, k, invocations):
        kind = "saturating " if saturating else ""
        text = f"no property row for {kind}{m}x{n}x{k} {a} x {b} + {c} -> {result} {_where(scope, invocations)}"
        yield Reason(Code.MISSING_ROW.of("muladd"), text)


def lacking_vectors(needs: ModuleNeeds, specialization: Mapping[int, int], stage: Stage, device: IndexedDescription) -> Iterator[Reason]:
    """Yield what is missing for cooperative vectors (VUIDs 10089 and 10091 to 10095 of RuntimeSpirv)."""
    if not needs.vectors:
        return
    name = "cooperativeVectorSupportedStages"
    if not device.limit(name) & STAGE_BITS[stage]:
        yield Reason(Code.MISSING_PROPERTY.of(name), f"{name} ({stage})")
    components = {id_: _component(needs, vector) for id_, vector in needs.vectors.items()}
    reported = {name for row in device.description.vector_rows for name in row.types}
    for id_, vector in needs.vectors.items():
        count, most = needs.value(vector.length, specialization), device.limit("maxCooperativeVectorComponents")
        if count > most:
            name = "maxCooperativeVectorComponents"
            yield Reason(Code.MISSING_LIMIT.of(name), f"limit {name} {most} (needs {count})")
        if reported.isdisjoint(_either_sign(components[id_])):
            yield Reason(Code.MISSING_ROW.of("vector_type"), f"no property row for vectors of {components[id_]}")
    for multiply in needs.multiplies:
        yield from _multiply(needs, multiply, components, specialization, device)
    for accumulation in needs.accumulations:
        if isinstance(accumulation, OuterProductIds):
            type_ = _interpretation(needs.value(accumulation.interpretation, specialization))
        else:
            type_ = components[accumulation.vector]
        name = f"cooperativeVectorTrainingFloat{type_[1:]}Accumulation"
        if name not in device.features:
            yield Reason(Code.MISSING_PROPERTY.of(name), name)


def _multiply(
    needs: ModuleNeeds, multiply: VectorMulIds, components: Mapping[int, str], specialization: Mapping[int, int], device: IndexedDescription
) -> Iterator[Reason]:
    operands = multiply.operands
    input_ = _with_sign(components[multiply.input], bool(operands & MatrixOperands.B_SIGNED))
    result = _with_sign(components[multiply.result], bool(operands & MatrixOperands.RESULT_SIGNED))
    of_input, of_matrix = (
        _interpretation(needs.value(id_, specialization)) for id_ in (multiply.input_interpretation, multiply.matrix_interpretation)
    )
    bias = multiply.bias_interpretation
    of_bias = None if bias is None else _interpretation(needs.value(bias, specialization))
    transposed = bool(needs.value(multiply.transpose, specialization))
    for row in device.description.vector_rows:
        if (row.input, row.input_interpretation, row.matrix_interpretation, row.result) != (input_, of_input, of_matrix, result):
            continue
        if of_bias in (None, row.bias_interpretation) and (row.transpose or not transposed):
            return
    added = "" if of_bias is None else f" + {of_bias}"
    text = f"{'transposed ' if transposed else ''}{of_matrix} x {input_} as {of_input}{added} -> {result}"
    yield Reason(Code.MISSING_ROW.of("vector_multiply"), f"no property row for {text}")


def _interpretation(value: int) -> str:
    """Return the name of a Component Type."""
    return next((name for name, one in INTERPRETATIONS.items() if one.vk == value), f"component type {value}")


def lacking_sub_arrays(needs: ModuleNeeds, specialization: Mapping[int, int], listed: PropertyIndex) -> Iterator[Reason]:
    """Yield the lengths in OpExtractSubArrayQCOM (of an array, of its part) that no row has."""
    for types in needs.sub_arrays:
        for type_id, name, what in ((types.source, "N", "array"), (types.result, "K", "part of an array")):
            length = needs.value(needs.composites[type_id].length, specialization)
            if not listed.has_size(name, length):
                yield Reason(Code.MISSING_ROW.of("sub_array"), f"no property row with {name} {length}, the length of the {what}")


def _component(needs: ModuleNeeds, type_: MatrixTypeIds | VectorTypeIds) -> str:
    """Return the component's name. An integer has its declared signedness, although an instruction may read it with the other one."""
    scalar = needs.scalars.get(type_.component)
    name = None if scalar is None else _scalar_name(scalar)
    if name is None:
        kind = "matrix" if isinstance(type_, MatrixTypeIds) else "vector"
        raise GeneratorError(
            Rule.COMPONENT_TYPE, f"id {type_.component}, the component type of a cooperative {kind}, is unknown to the suite"
        )
    return name


def _scalar_name(scalar: Scalar) -> str | None:
    """Return the suite's name for a numerical type; None if it has none."""
    if scalar.signed is not None:
        return f"{'s' if scalar.signed else 'u'}{scalar.width}"
    return _FLOATS.get((scalar.width, scalar.encoding))


def _either_sign(component: str) -> tuple[str, ...]:
    """Return a component type with both signednesses: an OpTypeInt matches a row of either one (facts.md D.1)."""
    return (f"s{component[1:]}", f"u{component[1:]}") if component[0] in "su" else (component,)


def _with_sign(component: str, signed: bool) -> str:
    """Return a component type with the signedness of a multiply-add's operand: only the flag counts (KHR-MAD-05)."""
    return f"{'s' if signed else 'u'}{component[1:]}" if component[0] in "su" else component
