"""Conversion cases: the embedded device passes, and each mistake fails some case."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cts.devices.isolation import IsolatedDevice
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall, ConversionInfo, Region, missing_for
from cts.devices.spec import DeviceSpec
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.layout_conversion import converted, places_of_elements, size_of_matrix, written
from cts.embedded.memory.matrix_layouts import MatrixLayouts, seed_of
from cts.embedded.profile import load_profile
from cts.kinds.conversion import digests, judge, lines, show
from cts.kinds.conversion_reproduction import write_conversion
from cts.kinds.kind import Stopwatch
from cts.repro.folder import CONVERSIONS, README
from cts.verdict.effort import Effort
from cts.verdict.verdict import Judgement, Verdict
from generators.casebook import Case, build_conversion, expand, find_case
from generators.layout_conversion import MatrixForm
from generators.numerics.formats import is_nan, largest_finite, values
from generators.numerics.rounding import toward_zero
from generators.types import COMPONENT_TYPES, VectorMatrixLayout
from tests.suite import casebook
from tests.undefined import undefined

FAMILY = "vector_layout_conversion"
UNIVERSAL = load_profile("universal")
ROW, COLUMN, INFERENCING, TRAINING = VectorMatrixLayout
F16, F32, E4M3, S8 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "e4m3", "s8"))


@cache
def smoke() -> tuple[Case, ...]:
    return tuple(expand(casebook().family(FAMILY), "smoke"))


def judged(case: Case, device) -> Judgement:
    return judge(case, device, "spirv", Stopwatch(), Effort())


def embedded(faults: Faults = NO_FAULTS) -> EmbeddedDevice:
    return EmbeddedDevice(UNIVERSAL, faults=faults)


def found(device) -> dict[str, Judgement]:
    """Return the judgements of smoke cases that do not pass."""
    results = {case.id: judged(case, device) for case in smoke()}
    return {id_: result for id_, result in results.items() if result.verdict is not Verdict.PASS}


def test_the_embedded_device_passes():
    assert found(embedded()) == {}


def test_another_profile_has_other_layouts_and_passes():
    assert found(EmbeddedDevice(load_profile("nvidia-h200"))) == {}


def truncated(right):
    def wrong(elements, source, destination):
        if destination.bytes >= source.bytes:
            return right(elements, source, destination)
        numbers = values(elements, source)
        finite = np.isfinite(numbers)
        cut = toward_zero(destination, np.where(finite, numbers, 0)).astype(destination.dtype).view(destination.bits_dtype)
        return np.where(finite, cut, right(elements, source, destination))

    return wrong


def ties_away(right):
    def wrong(elements, source, destination):
        if destination.bytes >= source.bytes:
            return right(elements, source, destination)
        with np.errstate(all="ignore"):
            nudged = values(elements, source) * (1 + 2.0**-20)
            return nudged.astype(np.float32).astype(destination.dtype).view(destination.bits_dtype)

    return wrong


def flushed(right):
    def wrong(elements, source, destination):
        bits = right(elements, source, destination)
        if source is destination or not destination.is_float:
            return bits
        small = np.abs(values(bits, destination)) < float(np.finfo(np.float16).tiny) * 256
        return np.where(small, bits & destination.bits_dtype.type(1 << destination.bits - 1), bits)

    return wrong


def transposed(right):
    """Exchange rows and columns of the readable matrix if the shape allows; otherwise reverse each row."""
    return lambda layouts, form, rows, columns: (
        right(layouts, form, rows, columns) if form.layout is not COLUMN else right(layouts, form, rows, columns)[::-1, ::-1]
    )


def tight(right):
    return lambda layouts, form, rows, columns: right(layouts, replace(form, stride=form.line(rows, columns)), rows, columns)


def as_training(right):
    """Use the other optimal layout in every second access to a training-optimal matrix."""
    calls = []

    def wrong(layouts, form, rows, columns):
        calls.append(form)
        swapped = form.layout is TRAINING and len(calls) % 2 == 0
        return right(layouts, replace(form, layout=INFERENCING) if swapped else form, rows, columns)

    return wrong


def pads(value: int, after_the_last: bool = False):
    """Write a value to every byte between two rows or columns and, if asked, to those after the last one."""

    def fault(right):
        def wrong(memory, places, elements, form):
            if not form.layout.is_optimal:
                first = int(places.min())
                last = first + form.whole_bytes(*places.shape) if after_the_last else int(places.max()) + form.component.bytes
                memory[first:last] = value
            right(memory, places, elements, form)

        return wrong

    return fault


pads_the_last = pads(0, after_the_last=True)


def spills(right):
    def wrong(memory, places, elements, form):
        right(memory, places, elements, form)
        memory[int(places.max()) + form.component.bytes] ^= 0xFF

    return wrong


def drops_the_last(right):
    def wrong(memory, places, elements, form):
        last = int(places.max())
        kept = memory[last : last + form.component.bytes].copy()
        right(memory, places, elements, form)
        if not form.layout.is_optimal:
            memory[last : last + form.component.bytes] = kept

    return wrong


def size_plus(count: int):
    return lambda right: lambda *matrix: right(*matrix) + count


def loses_zeros(right):
    def wrong(elements, source, destination):
        bits = right(elements, source, destination)
        return np.where(bits == 1 << destination.bits - 1, 0, bits).astype(bits.dtype) if destination.is_float else bits

    return wrong


@pytest.mark.parametrize(
    ("operation", "fault", "code"),
    [
        (converted, truncated, "fail.value"),
        (converted, ties_away, "fail.value"),
        (converted, flushed, "fail.value"),
        (converted, loses_zeros, "fail.value"),
        (places_of_elements, transposed, "fail.value"),
        (places_of_elements, tight, "fail.value"),
        (places_of_elements, as_training, "fail.value"),
        (written, pads_the_last, "fail.padding"),
        (written, spills, "fail.padding"),
        (written, drops_the_last, "fail.unwritten"),
        (size_of_matrix, size_plus(-1), "fail.conversion.size"),
        (size_of_matrix, size_plus(4096), "fail.conversion.size"),
    ],
)
def test_a_device_that_does_it_wrong(operation: Callable[..., object], fault, code):
    device = EmbeddedDevice(UNIVERSAL, strict=False, faults=Faults(operations={operation: fault}))
    failed: list[Judgement] = []
    for case in smoke():
        result = judged(case, device)
        failed += [result] if result.verdict is Verdict.FAIL else []
        # One such case is enough, and a second shows the mistake if the first is masked.
        if len(failed) >= 2 and code in {one.code for one in failed}:
            break
    assert len(failed) >= 2
    assert code in {one.code for one in failed}
    assert all(result.message for result in failed)


@pytest.mark.parametrize("value", [0x00, 0xFF])
def test_bytes_between_rows_are_unspecified(value):
    assert found(embedded(Faults(operations={written: pads(value)}))) == {}


class Changed:
    """The embedded device, with answers that a function changes."""

    def __init__(
        self, change: Callable[[ConversionCall, ConversionInfo, ConversionAnswer], ConversionAnswer], device: EmbeddedDevice | None = None
    ) -> None:
        self._device = device or embedded()
        self._change = change
        self.description = self._device.description

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        return [self._change(call, info, answer) for info, answer in zip(call.infos, self._device.convert(call), strict=True)]

    def close(self) -> tuple[()]:
        return ()


def test_a_source_has_its_padding_again_whatever_a_conversion_wrote_there():
    seen = []

    def recorded(_, info, answer):
        if not is_query(info) and not info.from_.layout.is_optimal and info.from_.stride > info.from_.line(info.rows, info.columns):
            end = info.source.start + info.from_.line(info.rows, info.columns)
            seen.append(info.source.memory[end : info.source.start + info.from_.stride].any())
        return answer

    chains = [case for case in smoke() if any(not form.layout.is_optimal for form in build_conversion(case).forms[1:-1])]
    assert chains
    for case in chains:
        judged(case, Changed(recorded, embedded(Faults(operations={written: pads(0)}))))
    assert seen
    assert all(seen)


def is_query(info: ConversionInfo) -> bool:
    return info.destination is None


def depends_on_the_source(_, info, answer):
    return replace(answer, size=answer.size + 64) if is_query(info) and info.from_.layout is COLUMN else answer


def incomplete(_, info, answer):
    return answer if is_query(info) else replace(answer, result=5)


def query_incomplete(_, info, answer):
    return replace(answer, result=5) if is_query(info) else answer


def writes_more_than_it_has(call, info, answer):
    return replace(answer, size=answer.size + 1) if call.command == "host" and not is_query(info) and answer.result == 0 else answer


def changes_the_source(_, info, answer):
    if is_query(info) or answer.source is None:
        return answer
    source = answer.source.copy()
    source[info.source.start] ^= 1
    return replace(answer, source=source)


def before_the_matrix(_, info, answer):
    if is_query(info) or not info.to.layout.is_optimal:
        return answer
    destination = answer.destination.copy()
    destination[info.destination.start - 1] ^= 1
    return replace(answer, destination=destination)


def beyond_the_size(_, info, answer):
    if is_query(info) or not info.to.layout.is_optimal or answer.result:
        return answer
    destination = answer.destination.copy()
    destination[info.destination.start + answer.size] ^= 1
    return replace(answer, destination=destination)


def first_alone(call, info, answer):
    return answer if is_query(info) or info is call.infos[0] else replace(answer, destination=info.destination.memory)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (depends_on_the_source, "fail.conversion.size"),
        (incomplete, "fail.conversion.result"),
        (query_incomplete, "fail.conversion.result"),
        (writes_more_than_it_has, "fail.conversion.size"),
        (changes_the_source, "fail.stray_write"),
        (before_the_matrix, "fail.stray_write"),
        (beyond_the_size, "fail.stray_write"),
    ],
)
def test_commands_that_answer_wrongly(change, code):
    assert code in {result.code for result in found(Changed(change)).values()}


def test_a_command_that_converts_the_first_matrix_alone():
    several = [case for case in smoke() if case.parameters.matrices > 1]
    assert several
    assert all(judged(case, Changed(first_alone)).verdict is Verdict.FAIL for case in several)


def short(change):
    cases = [case for case in smoke() if case.parameters.capacity == "short"]
    assert cases
    return {judged(case, Changed(change)).code for case in cases}


def told_too_little(_, info, answer):
    return replace(answer, result=0) if not is_query(info) and answer.result == 5 else answer


def writes_what_fits(_, info, answer):
    if is_query(info) or answer.result != 5:
        return answer
    return replace(answer, destination=answer.destination ^ np.uint8(1))


@pytest.mark.parametrize("change", [told_too_little, writes_what_fits])
def test_a_destination_that_is_too_small_is_a_question_of_quality(change):
    assert short(change) == {"quality_warning.F-CV-7"}


def saturated(right):
    def wrong(elements, source, destination):
        if source is destination or not destination.is_float:
            return right(elements, source, destination)
        largest = largest_finite(destination)
        numbers = values(elements, source)
        clipped = np.clip(numbers, -largest, largest)
        with np.errstate(invalid="ignore"):
            bits = clipped.astype(np.float32).astype(destination.dtype).view(destination.bits_dtype)
        return np.where(is_nan(elements, source), right(elements, source, destination), bits)

    return wrong


def test_numbers_that_saturate_are_a_question_of_quality():
    results = found(EmbeddedDevice(UNIVERSAL, faults=Faults(operations={converted: saturated})))
    assert {result.code for result in results.values()} == {"quality_warning.F-CV-8"}


def test_an_isolated_device_also_converts():
    device = IsolatedDevice(DeviceSpec("embedded", "universal"), 60.0, UNIVERSAL.description)
    try:
        assert judged(smoke()[0], device).verdict is Verdict.PASS
    finally:
        device.close()


def test_what_a_device_lacks():
    forms = [MatrixForm(F16, ROW, 2), MatrixForm(E4M3, INFERENCING)]
    description = UNIVERSAL.description
    assert missing_for(description, forms, ["host", "device"]) is None
    none = missing_for(load_profile("llvmpipe").description, forms, ["host"])
    assert none is not None
    assert none.code == "missing.feature.cooperativeVector"
    features = {**description.features, "bufferDeviceAddress": False}
    without = replace(description, features=features)
    assert missing_for(without, forms, ["host"]) is None
    assert missing_for(without, forms, ["host", "device"]).code == "missing.feature.bufferDeviceAddress"
    halves = replace(description, vector_rows=tuple(row for row in description.vector_rows if row.matrix_interpretation != "e4m3"))
    assert missing_for(halves, forms, ["host"]).code == "missing.row.vector_matrix"
    assert missing_for(replace(description, vector_rows=()), [MatrixForm(F32, ROW, 4)], ["host"]) is None


def region(size: int, start: int = 0) -> Region:
    return Region(np.zeros(size + start, np.uint8), start, size)


ROWS, COLUMNS = MatrixForm(F16, ROW, 8), MatrixForm(F16, COLUMN, 8)


def info(from_: MatrixForm = ROWS, to: MatrixForm = COLUMNS, source: object = 64, destination: object = 64) -> ConversionInfo:
    regions = (None if one is None else one if isinstance(one, Region) else region(one) for one in (source, destination))
    return ConversionInfo(4, 3, from_, to, *regions)


DEVICE_RULE = "VUID-vkCmdConvertCooperativeVectorMatrixNV"
HOST_RULE = "VUID-vkConvertCooperativeVectorMatrixNV"
INFO_RULE = "VUID-VkConvertCooperativeVectorMatrixInfoNV"


def invalid_calls() -> Iterator[tuple[str, ConversionCall]]:
    yield f"{DEVICE_RULE}-pInfo-10084", ConversionCall("device", (info(source=region(64, 32)),))
    yield f"{DEVICE_RULE}-pInfo-10085", ConversionCall("device", (info(destination=region(64, 16)),))
    yield f"{DEVICE_RULE}-pInfo-10083", ConversionCall("device", (info(source=None),))
    yield f"{DEVICE_RULE}-pInfo-10895", ConversionCall("device", (info(destination=None),))
    yield f"{DEVICE_RULE}-pInfo-10086", ConversionCall("device", (info(source=29),))
    yield f"{DEVICE_RULE}-pInfo-10087", ConversionCall("device", (info(destination=23),))
    yield f"{HOST_RULE}-pInfo-10073", ConversionCall("host", (info(source=None),))
    yield f"{HOST_RULE}-pInfo-10074", ConversionCall("host", (info(source=29),))
    yield f"{INFO_RULE}-srcLayout-10077", ConversionCall("host", (info(from_=MatrixForm(F16, ROW, 5)),))
    yield f"{INFO_RULE}-srcLayout-10077", ConversionCall("host", (info(from_=MatrixForm(F16, ROW, 7)),))
    yield f"{INFO_RULE}-dstLayout-10078", ConversionCall("host", (info(to=MatrixForm(F16, COLUMN, 6)),))
    yield (
        "VUID-VkConvertCooperativeVectorMatrixInfoNV-srcComponentType-10079",
        ConversionCall("host", (info(from_=MatrixForm(COMPONENT_TYPES["s16"], ROW, 8)),)),
    )
    yield (
        "VUID-VkConvertCooperativeVectorMatrixInfoNV-dstComponentType-10080",
        ConversionCall("host", (info(to=MatrixForm(COMPONENT_TYPES["bf16"], COLUMN, 8)),)),
    )
    yield (
        "VUID-VkConvertCooperativeVectorMatrixInfoNV-srcComponentType-10081",
        ConversionCall("host", (info(to=MatrixForm(S8, COLUMN, 8)),)),
    )
    e5m2 = MatrixForm(COMPONENT_TYPES["e5m2"], TRAINING)
    yield (
        "VUID-VkConvertCooperativeVectorMatrixInfoNV-srcComponentType-10081",
        ConversionCall("host", (info(from_=MatrixForm(E4M3, ROW, 8), to=e5m2, destination=4096),)),
    )
    yield (
        "VUID-VkConvertCooperativeVectorMatrixInfoNV-dstComponentType-10082",
        ConversionCall("host", (info(to=MatrixForm(E4M3, COLUMN, 8)),)),
    )
    shared = region(64)
    yield f"{DEVICE_RULE}-None-10088", ConversionCall("device", (info(source=shared, destination=shared),))


@pytest.mark.parametrize(("rule", "call"), list(invalid_calls()))
def test_the_embedded_device_stops_at_invalid_use(rule, call):
    with undefined(rule):
        embedded().convert(call)


def test_valid_use_is_not_refused():
    call = ConversionCall("device", (info(source=region(64, 64), destination=region(64, 128)),))
    assert [answer.result for answer in embedded().convert(call)] == [0]


def test_a_host_destination_that_is_too_small_is_left_alone():
    (answer,) = embedded().convert(ConversionCall("host", (info(destination=21),)))
    assert (answer.result, answer.size) == (5, 0)
    assert not answer.destination.any()


@pytest.mark.parametrize("layout", [INFERENCING, TRAINING])
def test_an_optimal_layout_is_not_row_major_and_not_the_other_one(layout):
    layouts = MatrixLayouts(seed_of("embedded"))
    mine = layouts.offsets(layout, 13, 7, 2)
    assert len(np.unique(mine)) == 13 * 7
    assert mine.tolist() != (np.arange(13 * 7).reshape(13, 7) * 2).tolist()
    assert mine.tolist() != layouts.offsets(TRAINING if layout is INFERENCING else INFERENCING, 13, 7, 2).tolist()
    assert mine.tolist() != MatrixLayouts(seed_of("another")).offsets(layout, 13, 7, 2).tolist()
    assert layouts.size(layout, 13, 7, 2) > 13 * 7 * 2


def test_a_case_is_shown_and_reproduced(tmp_path):
    case = find_case(casebook(), f"{FAMILY}[types:f16.e4m3.f16/layouts:row-inferencing-row]")
    text = "\n".join(lines(show(case, ("inputs", "expected", "glsl"))))
    assert "vkConvertCooperativeVectorMatrixNV to e4m3 inferencing-optimal" in text
    assert "matrix 0" in text
    assert "no shader" in text
    write_conversion(case, tmp_path / "it", "spirv")
    steps = json.loads((tmp_path / "it" / CONVERSIONS).read_text())["steps"]
    fields = "srcComponentType", "dstComponentType", "dstLayout"
    assert [tuple(step[field] for field in fields) for step in steps] == [(0, 1000491002, 2), (1000491002, 0, 0)]
    assert (tmp_path / "it" / "0-given" / "0.bin").stat().st_size == steps[0]["numRows"] * steps[0]["srcStride"]
    assert (tmp_path / "it" / "2-expected" / "0.bin").exists()
    assert (tmp_path / "it" / README).read_text().startswith(f"# {case.id}")
    write_conversion(case, tmp_path / "it", "spirv")


def test_digests_differ_with_what_a_case_does():
    known = [digests(case) for case in smoke()]
    assert {module for module, _, _ in known} == {"-"}
    assert len({inputs for _, inputs, _ in known}) == len(known)
