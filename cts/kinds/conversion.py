"""Conversion cases: a device converts matrices between layouts and component types, and the results in memory are compared.

Each conversion has its own memory with room around it. A row-major or column-major destination starts as poison: elements are judged by the
reference model, and bytes beyond the size that the device requests must not change. Bytes between two rows or columns may hold anything
afterwards (F-CV-18), and get a pattern before they are a source. Bytes of an optimal layout are not compared: they are the source of the
next conversion, and the last form of a case has a specified layout.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cts.devices.device import DeviceDescription
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall, ConversionInfo, ConvertsLayouts, Region, missing_for
from cts.devices.property_commands import INCOMPLETE, SUCCESS, name_of_result
from cts.front_ends import FrontEnd
from cts.kinds.authorities import binding
from cts.kinds.kernel_digests import digest_expected
from cts.kinds.kind import Json, Stopwatch, not_supported, one_line
from cts.reference.layout_conversion import Elements, evaluate, placed
from cts.verdict.codes import Code, Reason
from cts.verdict.compare import CODES, compare_array, compare_quality, format_mismatch
from cts.verdict.effort import Effort
from cts.verdict.elements import byte_offsets, scatter
from cts.verdict.expected import Expected, Placed
from cts.verdict.failure import Failure, Match, Mismatch, explanations
from cts.verdict.outputs import WITHOUT, outputs_digest
from cts.verdict.poison import background, poison
from cts.verdict.verdict import Judgement, Verdict
from generators.casebook import Case, build_conversion
from generators.digests import array_bytes, digest
from generators.kernel import Outcome
from generators.layout_conversion import COMMANDS, LayoutConversion, MatrixForm
from generators.numerics.formats import values
from generators.types import VectorMatrixLayout

GUARD = 256
"""Bytes before and after a matrix that no command may touch; a multiple of the alignment of device addresses."""

_GENEROUS = 192
"""Number of bytes that a larger destination has beyond what is needed."""

_LARGEST = 1 << 28
"""More bytes than any matrix of a case needs, whatever the layout."""

MATRIX, _SOURCE = "matrix", "source"


@dataclass
class Findings:
    """The mistakes found in a case so far.

    Attributes:
        broken: rules of the commands that were broken: the code's name, where, and how.
        wrong: how memory differs from the permitted contents. The subcase names the place.
        warned: how memory differs from the expected contents.
        doubts: what commands did that is permitted but not expected: the position, and how.
        made: how many conversions were made.
        outputs: the digest of each destination that everyone can read, as in Judgement.
    """

    broken: list[tuple[str, str, str]] = field(default_factory=list)
    wrong: list[Failure] = field(default_factory=list)
    warned: list[Failure] = field(default_factory=list)
    doubts: list[tuple[str, str]] = field(default_factory=list)
    made: int = 0
    outputs: str = ""


def judge(
    case: Case,
    device: ConvertsLayouts,
    front_end: FrontEnd,  # noqa: ARG001 (there is no shader)
    watch: Stopwatch,
    effort: Effort,  # noqa: ARG001 (no search explains what fails)
) -> Judgement:
    """Judge the conversions of a case, one after another, as long as the results can be converted further."""
    with watch.step("emit"):
        conversion = build_conversion(case)
    with watch.step("missing"):
        missing = missing_for(device.description, conversion.forms, conversion.commands)
    if missing:
        return not_supported(missing)
    with watch.step("expect"):
        elements = evaluate(conversion)
    with watch.step("device"):
        findings = _Run(conversion, elements, device).all()
    judgement = Judgement(Verdict.PASS, subcases=findings.made)
    if findings.broken or findings.wrong:
        judgement = _failed(case, findings)
    elif findings.warned or findings.doubts:
        judgement = _warned(case, findings)
    return replace(judgement, outputs=findings.outputs)


def missing(case: Case, description: DeviceDescription) -> Reason | None:
    """Return the first thing that a device lacks for the conversions of a case; None if it lacks nothing."""
    conversion = build_conversion(case)
    return missing_for(description, conversion.forms, conversion.commands)


def _failed(case: Case, findings: Findings) -> Judgement:
    lines = [f"{where}: {how}" for _, where, how in findings.broken]
    lines += _told(case, findings.wrong)
    kinds = {failure.mismatch.kind for failure in findings.wrong}
    code = next((code.of() for kind, code in CODES.items() if kind in kinds), "")
    if findings.broken:
        code = Code.FAIL_CONVERSION.of(findings.broken[0][0])
    reason = lines[0] if findings.broken else _summary(findings.wrong[0])
    return Judgement(Verdict.FAIL, code, one_line(reason), "\n".join(lines), findings.made, "", tuple(findings.wrong))


def _warned(case: Case, findings: Findings) -> Judgement:
    lines = [f"{how} [{position}]" for position, how in findings.doubts]
    lines += _told(case, findings.warned)
    lines.append("The specification permits this: nothing has failed.")
    position = findings.doubts[0][0] if findings.doubts else findings.warned[0].mismatch.position
    reason = lines[0] if findings.doubts else _summary(findings.warned[0])
    code = Code.QUALITY_WARNING.of(position)
    return Judgement(Verdict.QUALITY_WARNING, code, one_line(reason), "\n".join(lines), findings.made, "", tuple(findings.warned))


def _told(case: Case, failures: Iterable[Failure]) -> list[str]:
    """Return a paragraph for each failure."""
    return [
        f"{failure.subcase}:\n{format_mismatch(failure.mismatch, explanations(failure.matches), binding(failure.mismatch, case))}"
        for failure in failures
    ]


def _summary(failure: Failure) -> str:
    matches = f"; matches: {explanations(failure.matches)[0]}" if failure.matches else ""
    return f"{failure.subcase}: {failure.mismatch.summary}{matches}"


class _Run:
    """The conversions of one case on one device."""

    def __init__(self, conversion: LayoutConversion, elements: tuple[Elements, ...], device: ConvertsLayouts) -> None:
        self._case = conversion
        self._elements = elements
        self._device = device
        self._found = Findings()
        self._readable: tuple[int, list[np.ndarray]] = (0, [])

    def all(self) -> Findings:
        """Make all conversions, each from the result of the previous one."""
        matrices = given(self._case)
        self._readable = 0, matrices
        for place in range(len(self._case.forms) - 1):
            converted = self._convert(place, matrices)
            if converted is None:
                break
            matrices = converted
            if not self._case.forms[place + 1].layout.is_optimal:
                self._readable = place + 1, matrices
            if place == 0 and self._case.between == "doubled":
                matrices = [_doubled(matrix, self._case.forms[1]) for matrix in matrices]
        return self._found

    def _broken(self, name: str, place: int, how: str) -> None:
        self._found.broken.append((name, _where(self._case, place), how))

    def _convert(self, place: int, matrices: list[np.ndarray]) -> list[np.ndarray] | None:
        """Return the bytes of the converted matrices; None if there are none."""
        case = self._case
        needed = self._needed(place)
        if needed is None:
            return None
        if place == 0 and case.between == "zeros":
            return [np.zeros(needed, np.uint8) for _ in matrices]
        command = case.commands[place]
        expected = expected_at(case, self._elements, place + 1)
        before = [self._destination(place + 1, expected, number, needed) for number in range(case.count)]
        sources = [_guarded(matrix) for matrix in matrices]
        if command == "host" and case.capacity == "short":
            self._try_short(place, sources[0], before[0], needed)
        size = needed + (_GENEROUS if case.capacity == "generous" else 0)
        infos = tuple(
            self._info(place, Region(source, GUARD, len(matrix)), Region(memory, GUARD, size))
            for source, memory, matrix in zip(sources, before, matrices, strict=True)
        )
        calls = [ConversionCall("device", infos)] if command == "device" else [ConversionCall("host", (info,)) for info in infos]
        answers = [answer for call in calls for answer in self._device.convert(call)]
        converted = []
        for number, (answer, source, memory) in enumerate(zip(answers, sources, before, strict=True)):
            if not self._succeeded(place, answer, needed):
                return None
            assert answer.source is not None
            assert answer.destination is not None
            self._found.made += 1
            left = self._without_padding(place + 1, memory, answer.destination, needed)
            self._judge(place, number, expected, (source, answer.source), (memory, left), needed)
            converted.append(left[GUARD : GUARD + needed].copy())
        return converted

    def _info(self, place: int, source: Region | None, destination: Region | None, from_: MatrixForm | None = None) -> ConversionInfo:
        case = self._case
        return ConversionInfo(case.rows, case.columns, from_ or case.forms[place], case.forms[place + 1], source, destination)

    def _needed(self, place: int) -> int | None:
        """Query how many bytes the destination needs, in every way that must give the same answer; None if it is not known."""
        case, form = self._case, self._case.forms[place + 1]
        other = MatrixForm(form.component, VectorMatrixLayout.COLUMN_MAJOR, (case.rows + 3) * form.component.bytes)
        room = other.whole_bytes(case.rows, case.columns)
        region = Region(_guarded(np.zeros(room, np.uint8)), GUARD, room)
        asked = {
            "without a source": self._info(place, None, None),
            "asked again": self._info(place, None, None),
            "with a source": self._info(place, region, None, other),
            "from another layout": self._info(place, None, None, MatrixForm(form.component, VectorMatrixLayout.TRAINING_OPTIMAL)),
        }
        answers = {words: self._device.convert(ConversionCall("host", (info,)))[0] for words, info in asked.items()}
        first = answers["without a source"]
        for words, answer in answers.items():
            if answer.result != SUCCESS:
                self._broken("result", place, f"a size query {words} returns {name_of_result(answer.result)}, not VK_SUCCESS")
                return None
            if answer.size != first.size:
                self._broken("size", place, f"a size query {words} gives {answer.size} bytes, but {first.size} without a source")
                return None
        least, most = sizes(case, form)
        if not least <= first.size <= most:
            from cts.diagnosis.layout_conversions import diagnose_size

            matches = "".join(f"; matches: {text}" for text in explanations(diagnose_size(case.rows, case.columns, form, first.size)))
            self._broken("size", place, f"a size query gives {first.size} bytes instead of {_between(least, most)}{matches}")
            return None
        return first.size

    def _destination(self, place: int, expected: Expected | None, number: int, needed: int) -> np.ndarray:
        """Return memory for a matrix in a form: poison that differs from place to place, and from each permitted value of an element."""
        memory = background(2 * GUARD + self._room(place, needed) + _GENEROUS)
        for one in expected.placed if expected is not None else ():
            if one.array == name_of(self._case, number):
                scatter(memory, one.offsets + GUARD, poison(one.permitted))
        return memory

    def _try_short(self, place: int, source: np.ndarray, memory: np.ndarray, needed: int) -> None:
        """Call with one byte less than the destination needs, and expect VK_INCOMPLETE and no writes (F-CV-7)."""
        matrix = Region(source, GUARD, len(source) - 2 * GUARD)
        info = self._info(place, matrix, Region(memory, GUARD, needed - 1))
        answer = self._device.convert(ConversionCall("host", (info,)))[0]
        where = _where(self._case, place)
        if answer.result != INCOMPLETE:
            returned = name_of_result(answer.result)
            self._found.doubts.append(("F-CV-7", f"{where}: with one byte too few it returns {returned}, not VK_INCOMPLETE"))
        if answer.destination is not None and (changed := int(np.count_nonzero(answer.destination != memory))):
            self._found.doubts.append(("F-CV-7", f"{where}: with one byte too few it writes {changed} bytes"))

    def _succeeded(self, place: int, answer: ConversionAnswer, needed: int) -> bool:
        if answer.result != SUCCESS:
            self._broken("result", place, f"it returns {name_of_result(answer.result)}, not VK_SUCCESS")
            return False
        elements = self._case.rows * self._case.columns * self._case.forms[place + 1].component.bytes
        if self._case.commands[place] == "host" and not elements <= answer.size <= needed:
            how = f"it claims to have written {answer.size} bytes instead of {_between(elements, needed)}"
            self._broken("size", place, how)
        return True

    def _judge(
        self,
        place: int,
        number: int,
        expected: Expected | None,
        source: tuple[np.ndarray, np.ndarray],
        destination: tuple[np.ndarray, np.ndarray],
        needed: int,
    ) -> None:
        where, name = span(self._case, place), name_of(self._case, number)
        old, new = destination
        inside = slice(GUARD, GUARD + self._room(place + 1, needed))
        outside = np.ones(len(old), bool)
        outside[inside] = False
        found = [
            _stray(name.replace(MATRIX, _SOURCE), "the source", *source),
            _stray(name, "memory around the matrix", np.where(outside, old, 0), np.where(outside, new, 0)),
        ]
        if expected is not None:
            found += compare_array(name, expected, old[inside], new[inside])
        wrong = [mismatch for mismatch in found if mismatch is not None]
        mine = tuple(one for one in expected.placed if one.array == name) if expected is not None else ()
        warned = compare_quality(Expected(mine), {name: old[inside]}, Outcome({name: new[inside]})) if mine and not wrong else ()
        if mine:
            self._found.outputs += WITHOUT if wrong else outputs_digest(Expected(mine), {name: new[inside]})
        of_elements = any(mismatch.matrix is not None for mismatch in (*wrong, *warned))
        matches = self._diagnosis(place, number, mine[0], old[inside], new[inside]) if of_elements else ()
        for mismatches, failures in ((wrong, self._found.wrong), (warned, self._found.warned)):
            failures += [Failure(where, one, matches if one.matrix is not None else ()) for one in mismatches]

    def _diagnosis(self, place: int, number: int, placed: Placed, old: np.ndarray, new: np.ndarray) -> tuple[Match, ...]:
        from cts.defects.layout_conversions import Span
        from cts.diagnosis.layout_conversions import diagnose_conversion

        case, (first, sources) = self._case, self._readable
        between = case.between if first == 0 else "nothing"
        span = Span(case.rows, case.columns, case.forms[first : place + 2], case.commands[first : place + 1], tuple(sources), between)
        try:
            return diagnose_conversion(span, number, placed, old, new)
        except Exception as error:
            # Best effort: a bug of the diagnosis must not hide the device's failure.
            return (Match("", f"unknown, because the diagnosis itself failed: {type(error).__name__}: {error}"),)

    def _without_padding(self, place: int, old: np.ndarray, new: np.ndarray, needed: int) -> np.ndarray:
        """Return the memory of a converted matrix, with bytes between rows or columns as they were before (F-CV-18)."""
        form = self._case.forms[place]
        if form.layout.is_optimal:
            return new
        between = np.zeros(len(new), bool)
        between[GUARD : GUARD + needed] = True
        between[GUARD + byte_offsets(form.offsets(self._case.rows, self._case.columns), form.component.bytes)] = False
        return np.where(between, old, new)

    def _room(self, place: int, needed: int) -> int:
        """Return the size of a matrix in a form, including the padding of its last row or column."""
        form = self._case.forms[place]
        return needed if form.layout.is_optimal else max(needed, form.whole_bytes(self._case.rows, self._case.columns))


def sizes(case: LayoutConversion, form: MatrixForm) -> tuple[int, int]:
    """Return the smallest and the largest size that a query may give for a matrix in a form (F-CV-16)."""
    if form.layout.is_optimal:
        return case.rows * case.columns * form.component.bytes, _LARGEST
    return form.least_bytes(case.rows, case.columns), form.whole_bytes(case.rows, case.columns)


def given(case: LayoutConversion) -> list[np.ndarray]:
    """Return the bytes of each given matrix, including its padding, which is not zero."""
    form = case.forms[0]
    offsets = form.offsets(case.rows, case.columns)
    matrices = []
    for bits in case.data:
        memory = background(form.whole_bytes(case.rows, case.columns))
        scatter(memory, offsets, bits)
        matrices.append(memory)
    return matrices


def expected_at(case: LayoutConversion, elements: tuple[Elements, ...], place: int) -> Expected | None:
    """Return the permitted memory of the matrices in a form; None if only the device can read it."""
    form = case.forms[place]
    if form.layout.is_optimal:
        return None
    return Expected(tuple(placed(elements[place], form, str(form), MATRIX)))


def name_of(case: LayoutConversion, number: int) -> str:
    """Return the name of a matrix in messages and records."""
    return f"{MATRIX} {number}" if case.count > 1 else MATRIX


def _where(case: LayoutConversion, place: int) -> str:
    return f"{COMMANDS[case.commands[place]]}, conversion {place}: {case.forms[place]} to {case.forms[place + 1]}"


def span(case: LayoutConversion, place: int) -> str:
    """Return a description of the conversions that made a form, since the last form that everyone can read."""
    first = max(at for at in range(place + 1) if not case.forms[at].layout.is_optimal)
    if first == place:
        return _where(case, place)
    commands = " and ".join(dict.fromkeys(COMMANDS[command] for command in case.commands[first : place + 1]))
    return f"{commands}, conversions {first} to {place}: {' to '.join(map(str, case.forms[first : place + 2]))}"


def _guarded(matrix: np.ndarray) -> np.ndarray:
    memory = background(2 * GUARD + len(matrix))
    memory[GUARD : GUARD + len(matrix)] = matrix
    return memory


def _doubled(matrix: np.ndarray, form: MatrixForm) -> np.ndarray:
    """Double every element of a matrix in the training-optimal layout, including padding."""
    whole = len(matrix) // form.component.bytes * form.component.bytes
    twice = matrix.copy()
    with np.errstate(all="ignore"):
        twice[:whole] = (matrix[:whole].view(form.component.dtype) * form.component.dtype.type(2)).view(np.uint8)
    return twice


def _stray(array: str, what: str, old: np.ndarray, new: np.ndarray) -> Mismatch | None:
    changed = np.flatnonzero(old != new)
    if not len(changed):
        return None
    first = int(changed[0]) - GUARD
    return Mismatch("stray write", array, what, 0, len(changed), len(changed), f"first at byte {first} of {array}")


def _between(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def digests(case: Case) -> tuple[str, str, str]:
    """Return digests of the given and of the expected matrices; a conversion has no module."""
    conversion = build_conversion(case)
    elements = evaluate(conversion)
    expected = [expected_at(conversion, elements, place) for place in range(1, len(conversion.forms))]
    said = [part.encode() for part in (*map(str, conversion.forms), *conversion.commands, conversion.capacity, conversion.between)]
    return "-", digest([*said, array_bytes(conversion.data)]), digest_expected(one for one in expected if one is not None)


def show(case: Case, wanted: Collection[str]) -> Json:
    """Return the forms of the matrices, and the requested parts."""
    conversion = build_conversion(case)
    shown: Json = {
        "rows": conversion.rows,
        "columns": conversion.columns,
        "matrices": conversion.count,
        "forms": [str(form) for form in conversion.forms],
        "commands": [COMMANDS[command] for command in conversion.commands],
        "capacity": conversion.capacity,
        "between": conversion.between,
    }
    shown |= {name: "// a conversion has no shader\n" for name in ("glsl", "spirv") if name in wanted}
    if "inputs" in wanted:
        shown["inputs"] = values(conversion.data, conversion.forms[0].component).tolist()
    if "expected" in wanted:
        shown["expected"] = [
            {"form": str(form), "values": values(one.expected, form.component).tolist()}
            for form, one in zip(conversion.forms[1:], evaluate(conversion)[1:], strict=True)
        ]
    return shown


def lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield the result of ``show``, for people."""
    yield f"  {shown['matrices']} x {shown['rows']}x{shown['columns']}: {shown['forms'][0]}"
    for command, form in zip(shown["commands"], shown["forms"][1:], strict=True):
        yield f"  {command} to {form}"
    yield f"  capacity {shown['capacity']}, between {shown['between']}"
    for name in ("glsl", "spirv"):
        if name in shown:
            yield shown[name].rstrip()
    if "inputs" in shown:
        yield from _matrices("inputs", shown["inputs"])
    for one in shown.get("expected", ()):
        yield from _matrices(f"expected: {one['form']}", one["values"])


def _matrices(title: str, matrices: Iterable[Iterable[Iterable[float]]]) -> Iterator[str]:
    yield f"\n{title}"
    for number, matrix in enumerate(matrices):
        yield f"  matrix {number}"
        for row in matrix:
            yield "   " + " ".join(f"{value:g}" for value in row)
