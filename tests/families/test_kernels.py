"""Whole kernels: their results, recomputed from the inputs with integers and fractions, and mistakes that must be noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cts.defects.defect import Defect, every
from cts.defects.known import known_defects
from cts.devices.device import UndefinedBehaviour
from cts.diagnosis.shown import outcome_of
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import arrange
from cts.reference.evaluate import evaluate, perform
from cts.reference.state import State
from cts.verdict.poison import initial_contents
from generators.casebook import build, expand, find_case
from generators.dispatch import kernel
from generators.program.callbacks import PerElement, Reduce
from generators.program.elementwise import MatrixArithmetic
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.scalars import ScalarArithmetic
from generators.program.tensor_access import TensorLoad
from generators.program.workgroup import Barrier
from generators.spirv.emit import emit
from generators.types import ClampMode
from tests.families.evidence import chosen, is_seen, seen, unseen
from tests.suite import casebook

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = ("kernel_staged", "kernel_product", "kernel_attention", "kernel_convolution", "kernel_dequantised")


@cache
def made(case_id: str):
    case = find_case(casebook(), case_id)
    built = build(case, is_placed=False)
    program = built.program
    return case, program, built.subcases()[0]


def results(case_id: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the inputs and outputs of a case: name -> bytes."""
    _, program, subcase = made(case_id)
    expected = evaluate(program, subcase)
    return dict(subcase.inputs), dict(outcome_of(program, expected, initial_contents(program, subcase, expected)).outputs)


def tensor(data: np.ndarray, dtype: object, sizes: tuple[int, ...], gap: int = 0) -> np.ndarray:
    """Return the numbers of a tensor that begins at byte 16, with ``gap`` elements after each innermost line, as exact numbers."""
    values = np.ascontiguousarray(data[16:]).view(dtype)
    lines = sizes[-1] + gap
    count = int(np.prod(sizes[:-1]))
    padded = np.concatenate([values, np.zeros(lines, values.dtype)])[: count * lines].reshape(*sizes[:-1], lines)
    return padded[..., : sizes[-1]].astype(np.float64 if values.dtype.kind not in "iu" else np.int64)


def test_a_ragged_product_is_that_of_numpy():
    """Tiles of 16x16x16 in a grid of 2x3, B column-major, starting from the target's previous contents, then bias, limit and scale."""
    inputs, outputs = results(
        "kernel_product[row:16x16x16.f16.f16.f32.f32/grid:2x3/walk:columns/stored:rc/gap:some/start:residual/epilogue:chain/store:branched]"
    )
    m, n, k = 29, 43, 45
    a, b = tensor(inputs["a"], np.float16, (m, k), 5), tensor(inputs["b"], np.float16, (n, k), 5).T
    before = tensor(inputs["d"], np.float32, (m, n), 5)
    bias, scale = inputs["bias"].view(np.float32).astype(np.float64), inputs["scale"].view(np.float32).astype(np.float64)
    wanted = np.maximum(a @ b + before + bias[:n], 0) * scale[:m, None]
    assert np.array_equal(tensor(outputs["d"], np.float32, (m, n), 5), wanted)
    assert len(np.unique(wanted)) > 100


def test_a_staged_product_in_two_buffers_is_that_of_numpy():
    inputs, outputs = results(
        "kernel_staged[row:8x8x8.s8.s8.s32.s32/subgroups:2x2/grid:1x2/accumulators:2/buffers:2/layouts:rc/padding:some/start:loaded/epilogue:polynomial]"
    )
    m, n, k = 13, 59, 13
    a = inputs["a"].view(np.int8).astype(np.int64).reshape(m, k)
    b = inputs["b"].view(np.int8).astype(np.int64).reshape(k, n)
    total = a @ b + inputs["c"].view(np.int32).astype(np.int64).reshape(m, n)
    wanted = (total * total - 3 * total).astype(np.uint64).astype(np.uint32)
    assert np.array_equal(outputs["d"].view(np.uint32).reshape(m, n), wanted)


def test_a_product_split_over_depth_is_that_of_numpy():
    inputs, outputs = results(
        "kernel_staged[row:8x8x8.f16.f16.f32.f32/split:depth/subgroups:4x1/grid:2x1/accumulators:2/steps:2/layouts:cr]"
    )
    m, n, k = 13, 11, 125
    a, b = inputs["a"].view(np.float16).reshape(m, k), inputs["b"].view(np.float16).reshape(k, n)
    assert np.array_equal(outputs["d"].view(np.float32).reshape(m, n), a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize(("mask", "spread"), [("causal", "own"), ("keys", "smear")])
def test_attention_is_a_sum_of_powers_of_two(mask, spread):
    """Blocks and running maxima do not matter if no weight of a query vanishes next to its largest one."""
    case = f"kernel_attention[row:16x16x16.f16.f16.f32.f32/group:2/blocks:2/tail:both/mask:{mask}/spread:{spread}/gap:some]"
    inputs, outputs = results(case)
    queries, keys, depth = 13, 29, 16
    q = tensor(inputs["q"], np.float16, (2, queries, depth), 8)
    k, v = (tensor(inputs[name], np.float16, (1, keys, depth), 8) for name in "kv")
    got = tensor(outputs["o"], np.float32, (2, queries, depth), 4)
    exact = vanishing = 0
    for head in range(2):
        scores = q[head] @ k[0].T / 2
        if mask == "causal":
            scores[np.arange(keys) > np.arange(queries)[:, None] + 21] = -512
        for query in range(queries):
            blocks = [scores[query, begin : begin + 16] for begin in (0, 16)]
            most = float("-inf")
            output, kept = np.zeros(depth), 4
            for number, block in enumerate(blocks):
                new = max(most, block.max())
                weights = np.where(block - new < -kept, 0.0, np.exp2(block - new + kept))
                decay = 0.0 if most - new < -kept else 2.0 ** (most - new)
                output = output * decay + weights @ v[0][16 * number : 16 * number + len(block)]
                most = new
            assert np.array_equal(got[head, query], output)
            whole = np.exp2(scores[query] - most + kept)
            close = scores[query][scores[query] > -512].min() - most >= -kept
            if close:
                assert np.array_equal(output, np.where(scores[query] > -512, whole, 0.0) @ v[0])
            exact, vanishing = exact + close, vanishing + (not close)
    assert vanishing > 0


def test_attention_of_integers_shifts_what_was_summed():
    inputs, outputs = results("kernel_attention[row:16x32x32.s8.s8.s32.s32/workgroups:1/tail:keys/sum:ones]")
    queries, keys, depth = 16, 93, 32
    q = tensor(inputs["q"], np.int8, (1, queries, depth))[0]
    k, v = (tensor(inputs[name], np.int8, (1, keys, depth))[0] for name in "kv")
    most = np.full(queries, -512)
    output = np.zeros((queries, depth), np.int64)
    for begin in range(0, keys, 32):
        scores = q @ k[begin : begin + 32].T
        new = np.maximum(most, scores.max(axis=1))
        distance = scores - new[:, None]
        weights = np.where(distance < -4, 0, 1 << np.maximum(distance + 4, 0))
        output = (output >> np.minimum(new - most, 31)[:, None]) + weights @ v[begin : begin + 32]
        most = new
    assert np.array_equal(tensor(outputs["o"], np.int32, (1, queries, depth))[0], output)


@pytest.mark.parametrize(
    ("form", "filter_", "padding", "stride", "dilation"),
    [
        ("taps", (3, 3), "zeros", 1, 1),
        ("patches", (2, 2), "mirrored", 2, 2),
        ("patches", (1, 2), "repeat", 1, 2),
        ("taps", (2, 3), "edge", 2, 1),
    ],
)
def test_a_convolution_is_that_of_padded_arrays(form, filter_, padding, stride, dilation):
    shape = f"form:{form}/filter:{filter_[0]}x{filter_[1]}/stride:{stride}/dilation:{dilation}/padding:{padding}"
    inputs, outputs = results(f"kernel_convolution[row:16x16x32.s8.s8.s32.s32/{shape}]")
    taps = filter_[0] * filter_[1]
    channels = 31 if form == "taps" else 2 * (32 // taps) - 1
    out, filters = (3, 15), 13
    sizes = tuple(max(3, (o - 1) * stride + dilation * (f - 1) + 1 - 2) for o, f in zip(out, filter_, strict=True))
    image = tensor(inputs["image"], np.int8, (*sizes, channels))
    weights = tensor(inputs["filters"], np.int8, (taps, channels, filters)).reshape(*filter_, channels, filters)
    mode = {"zeros": "constant", "edge": "edge", "mirrored": "reflect", "repeat": "wrap"}[padding]
    margin = [(1, 8), (1, 8), (0, 0)]
    padded = np.pad(image, margin, mode=mode)
    wanted = np.zeros((*out, filters), np.int64)
    for i in range(filter_[0]):
        for j in range(filter_[1]):
            y, x = i * dilation, j * dilation
            part = padded[y : y + (out[0] - 1) * stride + 1 : stride, x : x + (out[1] - 1) * stride + 1 : stride]
            wanted += part @ weights[i, j]
    assert np.array_equal(tensor(outputs["result"], np.int32, (*out, filters)), wanted)


@pytest.mark.parametrize(("form", "block"), [("halves", 32), ("pairs", 16), ("minimum", 64), ("bytes", 32)])
def test_a_product_with_packed_weights_is_that_of_unpacked_ones(form, block):
    inputs, outputs = results(f"kernel_dequantised[row:16x16x16.f16.f16.f32.f32/format:{form}/block:{block}]")
    m, n, k = 15, 29, 43
    blocks = -(-k // block)
    size = {"minimum": 4 + block // 2, "bytes": 2 + block}.get(form, 2 + block // 2)
    raw = inputs["packed"][16 : 16 + n * blocks * size].reshape(n, blocks, size)
    scale = raw[..., :2].copy().view(np.float16).astype(np.float64)
    if form == "bytes":
        numbers = raw[..., 2:].copy().view(np.int8).astype(np.float64)
    else:
        packed = raw[..., 4 if form == "minimum" else 2 :]
        low, high = packed & 15, packed >> 4
        numbers = np.stack([low, high], -1).reshape(n, blocks, block) if form == "pairs" else np.concatenate([low, high], -1)
        numbers = numbers.astype(np.float64) - (0 if form == "minimum" else 8)
    weights = numbers * scale
    if form == "minimum":
        weights += raw[..., 2:4].copy().view(np.float16).astype(np.float64)
    plain = tensor(inputs["plain"], np.float16, (m, k))
    wanted = plain @ weights.reshape(n, -1)[:, :k].T
    assert np.array_equal(tensor(outputs["result"], np.float32, (m, n)), wanted)


def left_out(state: State, operation: PerElement | MatrixArithmetic | Reduce) -> None:
    """Return the operand unchanged."""
    matrix = operation.left if isinstance(operation, MatrixArithmetic) else operation.matrix
    state.matrices[operation.result.name] = state.matrices[matrix.name]


def changed(edit: Callable[[Operation], Operation]) -> Callable[[State, Operation], None]:
    """Build a step that performs another operation in place of the right one."""

    def step(state: State, operation: Operation) -> None:
        perform(state, edit(operation))

    return step


def without_view(state: State, operation: TensorLoad) -> None:
    perform(state, replace(operation, view=None))


def swapped(operation: ScalarArithmetic) -> ScalarArithmetic:
    return replace(operation, operator={"divide": "modulo", "modulo": "divide"}.get(operation.operator, operation.operator))


def edge_for_zeros(operation: TensorLoad) -> TensorLoad:
    """Read the tensor's last element instead of zeros beyond its edges."""
    layout = operation.layout
    return replace(operation, layout=replace(layout, type=replace(layout.type, clamp=ClampMode.CLAMP_TO_EDGE)))


ATTENTION_CASE = "kernel_attention[row:16x16x16.f16.f16.f32.f32/tail:both/mask:causal/spread:own/rescale:arithmetic]"
CONVOLUTION_CASE = "kernel_convolution[row:16x16x32.s8.s8.s32.s32/form:patches/grid:1x2]"
CHAIN_CASE = "kernel_product[row:16x16x16.f16.f16.f16.f16/grid:2x3/accumulators:2/stored:rc/start:broadcast/epilogue:chain]"


@pytest.mark.parametrize("case_id", [ATTENTION_CASE, CHAIN_CASE], ids=["attention", "product"])
def test_no_step_of_a_chain_can_be_left_out(case_id):
    _, program, subcase = made(case_id)
    steps = [*every(program.operations, PerElement), *every(program.operations, MatrixArithmetic)]
    unseen = [step.result.name for step in steps if not is_seen(program, subcase, Defect("left out", {step: left_out}))]
    assert steps
    assert not unseen


@pytest.mark.parametrize("case_id", [CHAIN_CASE, CONVOLUTION_CASE], ids=["product", "convolution"])
def test_the_numbers_of_tiles_matter(case_id):
    _, program, subcase = made(case_id)
    steps = [step for step in every(program.operations, ScalarArithmetic) if step.operator in ("divide", "modulo")]
    assert len(steps) >= 2
    assert is_seen(program, subcase, Defect("exchanged", dict.fromkeys(steps, changed(swapped))))


@pytest.mark.parametrize("case_id", [ATTENTION_CASE, CONVOLUTION_CASE, CHAIN_CASE], ids=["attention", "convolution", "product"])
def test_a_view_cannot_be_ignored(case_id):
    _, program, subcase = made(case_id)
    loads = [load for load in every(program.operations, TensorLoad) if load.view is not None]
    assert loads
    for load in loads:
        assert is_seen(program, subcase, Defect("without view", {load: without_view}))


@pytest.mark.parametrize("case_id", [CONVOLUTION_CASE, CHAIN_CASE], ids=["convolution", "product"])
def test_elements_beyond_the_edges_matter(case_id):
    _, program, subcase = made(case_id)
    loads = every(program.operations, TensorLoad)
    assert is_seen(program, subcase, Defect("edge", dict.fromkeys(loads, changed(edge_for_zeros))))


STAGED_CASE = "kernel_staged[row:8x8x8.s8.s8.s32.s32/subgroups:2x2/grid:1x2/steps:2/buffers:2/layouts:cr/padding:some/start:loaded]"


@pytest.mark.parametrize(
    "id_",
    [
        "tile.row_limit_ignored",
        "tile.column_limit_ignored",
        "tile.not_transposed",
        "tile.from_first_row",
        "tile.from_first_column",
        "loop.not_carried",
    ],
)
def test_the_data_of_staged_products_show_the_defect(id_):
    _, program, subcase = made(STAGED_CASE)
    found = chosen(known_defects(program), id_)
    shown = [defect for defect in found if is_seen(program, subcase, defect)]
    assert shown
    # A grid of one row begins with its first row, and zeros in A hide a missing limit on B.
    assert all(defect.parameters.get("tile") in ("a", "b", "c") for defect in found if defect not in shown)


@pytest.mark.parametrize("buffers", [1, 2])
def test_no_barrier_of_a_staged_product_can_be_left_out(buffers):
    case_id = f"kernel_staged[row:8x8x8.f16.f16.f32.f32/subgroups:2x2/trips:3/buffers:{buffers}/start:loaded/carry:unrolled]"
    case, program, _ = made(case_id)
    device = EmbeddedDevice(load_profile("universal"))
    dispatches = arrange(build(case)).dispatches[:1]
    barriers = [i for i, operation in enumerate(program.operations) if isinstance(operation, Barrier)]
    assert len(barriers) >= 4
    needed = []
    for at in barriers:
        without: Program = replace(program, operations=(*program.operations[:at], *program.operations[at + 1 :]))
        try:
            device.run(kernel(without, emit(without)), dispatches)
        except UndefinedBehaviour:
            needed.append(at)
    # The code after the last iteration does not read the tiles again, or the barrier before the result's copy orders it.
    assert len(needed) >= len(barriers) - 2


@pytest.mark.parametrize("family", FAMILIES)
def test_every_result_of_the_smoke_tier_is_exact(family):
    for case in expand(casebook().family(family), "smoke"):
        built = build(case, is_placed=False)
        program = built.program
        for subcase in built.subcases():
            assert {placed.expected.KIND for placed in evaluate(program, subcase).placed} == {"exact"}, case.id


@pytest.mark.parametrize("family", ["kernel_attention", "kernel_dequantised", "kernel_product"])
def test_a_specialization_constant_left_at_its_default_shows(family):
    cases = [case.id for case in expand(casebook().family(family), "nightly") if "specialization" in case.values.values()]
    found = [one for case_id in cases[:4] for one in seen(case_id, "specialization.default_kept", name="trips")]
    assert found
    assert not unseen(found)
