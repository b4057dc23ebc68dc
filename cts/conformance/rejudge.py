"""Judges a result again without the device: from the case, the device's description, and the outputs that the result recorded.

The outputs of a right element are the expected ones, and of a wrong element those that the result has. Where the specification leaves a
device no choice, the digest of the outputs follows too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cts.conformance.refusal import Check, Refusal, refusal
from cts.conformance.support import Support
from cts.devices.device import DeviceDescription, Finding
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall
from cts.devices.property_commands import SUCCESS, PropertyAnswer, PropertyCall
from cts.devices.spec import DEFAULT_PROFILE
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.embedded.property_commands import ask
from cts.engine.runner import result_of
from cts.journal.record import encode
from cts.journal.record import result_of as record_result
from cts.journal.strict_json import parse
from cts.kinds import conversion, query
from cts.kinds.kernel import Arrangement, arrange, judge_outcomes, make_kernels
from cts.kinds.kind import Stopwatch, not_supported
from cts.reference.layout_conversion import evaluate
from cts.verdict.compare import CODES
from cts.verdict.effort import Effort
from cts.verdict.elements import scatter
from cts.verdict.failure import Failure
from cts.verdict.known_failures import FAILING, KnownFailures
from cts.verdict.outputs import WITHOUT, is_determined, split
from cts.verdict.verdict import CaseResult, Judgement, Verdict
from generators.casebook import Case, CaseKind, Tier, build, build_conversion
from generators.digests import digest
from generators.kernel import Outcome
from generators.layout_conversion import LayoutConversion
from generators.types import COMPONENT_TYPES, INTERPRETATIONS

_WITH_OUTPUTS = frozenset({Verdict.PASS, Verdict.QUALITY_WARNING, Verdict.UNEXPECTED_PASS})
"""Verdicts for which the outputs of every subcase are recorded."""

_FREE = "?" * len(WITHOUT)
"""Stands for the digest of outputs that do not follow from the case."""

_FIELDS = ("verdict", "code", "known", "subcases", "policy", "module", "family", "parameters", "requirements", "positions")
_OF_RUN = ("device", "driver", "front_end", "tier", "unit", "attempt")
_NOT_DIAGNOSED = Effort(decided=("fail", "quality_warning"))


class Described:
    """Stands for a device in cases that run no shader: it answers queries from a description, and converts matrices correctly."""

    def __init__(self, description: DeviceDescription) -> None:
        self.description = description
        # A later version of Vulkan may have more types; a row with one decides no rule.
        rows = tuple(row for row in description.rows if {row.a, row.b, row.c, row.result} <= COMPONENT_TYPES.keys())
        vectors = tuple(row for row in description.vector_rows if set(row.types) <= INTERPRETATIONS.keys())
        self._known = replace(description, rows=rows, vector_rows=vectors)
        self._converter = EmbeddedDevice(load_profile(DEFAULT_PROFILE), strict=False)

    def ask(self, call: PropertyCall) -> PropertyAnswer:
        """List the description's rows."""
        return ask(self._known, call)

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        """Convert matrices as the embedded device does."""
        return self._converter.convert(call)

    def close(self) -> tuple[Finding, ...]:
        """Do nothing."""
        return ()


class _Recorded:
    """Stands for the device that converted the matrices of a case: it converts correctly, except for the elements that failures record."""

    def __init__(self, right: Described, case: LayoutConversion, failures: Sequence[Failure]) -> None:
        self.description, self.close, self._right = right.description, right.close, right
        first = 1 if case.between == "zeros" else 0
        self._places = ((place, number) for place in range(first, len(case.forms) - 1) for number in range(case.count))
        self._wrong = {(one.subcase, one.mismatch.array): one for one in failures if one.mismatch.matrix is not None}
        self._case = case

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        """Convert matrices, and put the recorded elements into what was converted."""
        answers = self._right.convert(call)
        for answer in answers:
            # Queries of a size, and calls with too little memory, convert nothing.
            if answer.destination is not None and answer.result == SUCCESS:
                place, number = next(self._places)
                failure = self._wrong.get((conversion.span(self._case, place), conversion.name_of(self._case, number)))
                if failure is not None:
                    _put(failure, answer.destination[conversion.GUARD :])
        return answers


class Rejudging:
    """Judges the results of one run again.

    Args:
        description: the description of the device.
        known: the known failures that the run used.
    """

    def __init__(self, description: DeviceDescription, known: KnownFailures) -> None:
        self._description, self._known = description, known
        self._support, self._described = Support(description), Described(description)

    def refusals(self, case: Case, recorded: CaseResult) -> Iterator[Refusal]:
        """Yield how a result differs from what follows from its case, the description and the recorded outputs."""
        lacking = self._support.missing(case)
        judgement = not_supported(lacking) if lacking is not None else self._judged(case, recorded)
        if (judgement.verdict is Verdict.NOT_SUPPORTED) != (recorded.verdict is Verdict.NOT_SUPPORTED):
            check = Check.SUPPORTED if recorded.verdict is Verdict.NOT_SUPPORTED else Check.UNSUPPORTED
            yield refusal(check, case.id, judgement.reason)
            return
        found = result_of(case, judgement, self._description, "spirv", Tier.NIGHTLY)
        # In a journal, numbers and names have their form in JSON.
        again = record_result(parse(encode(self._known.judged(found, case))))
        for name in (*_FIELDS, *_OF_RUN):
            if getattr(again, name) != getattr(recorded, name):
                yield _differs(name, case, str(getattr(again, name)))
        if not _agree(judgement.outputs, recorded.outputs):
            yield _differs("outputs", case, judgement.outputs)
        if len(again.failures) != len(recorded.failures) or not all(map(_is_same, recorded.failures, found.failures)):
            yield _differs("failures", case, f"{len(again.failures)} arrays with other elements")

    def _judged(self, case: Case, recorded: CaseResult) -> Judgement:
        kind = case.definition.kind
        if kind is CaseKind.KERNEL:
            return self._kernel(case, recorded)
        if _accuses(recorded):
            return _as_recorded(recorded)
        if kind is CaseKind.QUERY:
            return query.judge(case, self._described, "spirv", Stopwatch(), Effort())
        return self._conversion(case, recorded)

    def _conversion(self, case: Case, recorded: CaseResult) -> Judgement:
        device = _Recorded(self._described, build_conversion(case), recorded.failures)
        judgement = conversion.judge(case, device, "spirv", Stopwatch(), Effort())
        is_cut = _is_cut(recorded) and judgement.verdict is recorded.verdict is Verdict.QUALITY_WARNING
        if is_cut and _has_shown(recorded, judgement):
            return replace(_as_recorded(recorded), policy=judgement.policy, subcases=judgement.subcases)
        return judgement if _is_one(case) else replace(judgement, outputs=_FREE * len(split(judgement.outputs)))

    def _kernel(self, case: Case, recorded: CaseResult) -> Judgement:
        built = build(case)
        kernels = make_kernels(built, "spirv")
        bytes_alone = any(failure.mismatch.matrix is None for failure in recorded.failures)
        of_outputs = recorded.verdict in _WITH_OUTPUTS or recorded.code in {code.of() for code in CODES.values()}
        is_refusal = recorded.verdict is Verdict.QUALITY_WARNING and not recorded.outputs and bool(case.disputed)
        if is_refusal or (_accuses(recorded) and (bytes_alone or not of_outputs)):
            return _as_recorded(recorded)
        plan = arrange(built)
        is_cut = _is_cut(recorded)
        needs_defects = recorded.verdict is Verdict.KNOWN_FAIL and not is_cut
        effort = self._known.effort(case, "spirv", Effort().budget) if needs_defects else _NOT_DIAGNOSED
        outcomes = [_rebuilt(plan, index, recorded.failures) for index in range(len(plan.subcases))]
        judgement = judge_outcomes(case, plan, outcomes, Stopwatch(), effort)
        module = digest([kernels[0].spirv])
        is_alike = _accuses(recorded) or judgement.verdict is recorded.verdict is Verdict.QUALITY_WARNING
        if is_cut and is_alike and _has_shown(recorded, judgement):
            return replace(_as_recorded(recorded), module=module, policy=judgement.policy, subcases=judgement.subcases)
        pairs = zip(split(judgement.outputs), map(is_determined, plan.expected), strict=True)
        outputs = "".join(one if follows or one == WITHOUT else _FREE for one, follows in pairs)
        return replace(judgement, module=module, outputs=outputs)


def _accuses(recorded: CaseResult) -> bool:
    """Tell whether a result says that the device failed: no forger would say so, and it needs no proof."""
    return recorded.verdict in FAILING or recorded.verdict in (Verdict.KNOWN_FAIL, Verdict.ERROR)


def _as_recorded(recorded: CaseResult) -> Judgement:
    """Return the judgement that a result records, as it was before known failures changed its verdict."""
    verdict = recorded.verdict
    if verdict is Verdict.KNOWN_FAIL:
        verdict = next((one for one in FAILING if one == recorded.code.partition(".")[0]), Verdict.ERROR)
    fields = {name: getattr(recorded, name) for name in Judgement.__dataclass_fields__}
    return Judgement(**fields | {"verdict": verdict})


def _rebuilt(plan: Arrangement, index: int, failures: Sequence[Failure]) -> Outcome:
    """Return the outputs of a subcase: the expected ones, except for the elements that failures record."""
    outputs = {name: contents.copy() for name, contents in plan.before[index].items()}
    for placed in plan.expected[index].placed:
        scatter(outputs[placed.array], placed.offsets, placed.expected.bits)
    for failure in failures:
        mismatch, name = failure.mismatch, failure.subcase
        if name != plan.subcases[index].name or mismatch.array not in outputs or mismatch.matrix is None:
            continue
        _put(failure, outputs[mismatch.array])
    return Outcome(outputs)


def _put(failure: Failure, memory: np.ndarray) -> None:
    """Write the wrong elements that a failure of a matrix records into the memory that has the matrix's array."""
    mismatch = failure.mismatch
    assert mismatch.matrix is not None, "only elements have bits"
    component = COMPONENT_TYPES[mismatch.matrix.component]
    inside = [one for one in mismatch.elements if 0 <= one.offset <= len(memory) - component.bytes]
    offsets = np.array([one.offset for one in inside], np.int64)
    scatter(memory, offsets, np.array([one.got_bits for one in inside], component.bits_dtype))


def _is_cut(recorded: CaseResult) -> bool:
    """Tell whether the journal has not all wrong elements of a result."""
    return any(len(one.mismatch.elements) < one.mismatch.count for one in recorded.failures)


def _has_shown(recorded: CaseResult, judgement: Judgement) -> bool:
    """Tell whether the wrong elements that the journal has of a result are also wrong in a judgement."""
    shown = [one for one in recorded.failures if one.mismatch.elements]
    return all(any(_is_same(one, other) for other in judgement.failures) for one in shown)


def _is_one(case: Case) -> bool:
    """Tell whether the outputs of a conversion follow from the case."""
    made = build_conversion(case)
    elements = evaluate(made)
    expected = (conversion.expected_at(made, elements, place) for place in range(1, len(made.forms)))
    return all(one is None or is_determined(one) for one in expected)


def _agree(derived: str, recorded: str) -> bool:
    pairs = list(zip(split(derived), split(recorded), strict=False))
    return len(derived) == len(recorded) and all(
        one == other or (one == _FREE and all(digit in "0123456789abcdef" for digit in other)) for one, other in pairs
    )


def _is_same(recorded: Failure, again: Failure) -> bool:
    """Tell whether a recorded failure is the one that its elements show. A journal may have only the first elements of a failure."""
    one, other = recorded.mismatch, again.mismatch
    cut = len(one.elements) < one.count
    names = ("kind", "array", "what") if cut else ("kind", "array", "what", "instance", "count", "total", "position")
    elements = [(e.instance, e.row, e.column, e.offset, e.got_bits) for e in one.elements]
    others = [(e.instance, e.row, e.column, e.offset, e.got_bits) for e in other.elements[: len(elements)]]
    return recorded.subcase == again.subcase and all(getattr(one, name) == getattr(other, name) for name in names) and elements == others


def _differs(name: str, case: Case, derived: str) -> Refusal:
    return refusal(Check.RESULT, case.id, f"{name} must be {derived[:200] or 'empty'}", name)
