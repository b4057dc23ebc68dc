"""What a comparison finds, from the comparator to the journal: one set of dataclasses, and their form in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Literal

import msgspec

from cts.verdict.elements import number, words
from cts.verdict.tensor_map import TensorMap
from generators.types import COMPONENT_TYPES, ComponentType

Kind = Literal["wrong value", "not written", "padding overwritten", "stray write", "permitted, not expected"]
"""What is wrong with elements or bytes. The last one breaks no rule."""

Number = float | int | str
"""A value that JSON can hold: infinities and NaN are strings."""


@dataclass(frozen=True)
class Bounds:
    """The interval of allowed values that an element is not in: its ends, and the true value."""

    low: float
    high: float
    center: float

    def __str__(self) -> str:
        return f", true value {number(self.center)}"


@dataclass(frozen=True)
class EnvelopeBounds(Bounds):
    """An interval of the suite's envelope: ``bound`` is half its width, ``magnitude`` S = sum |a*b| + |c|."""

    bound: float
    magnitude: float

    def __str__(self) -> str:
        return f"{super().__str__()}, bound {self.bound:.3g}, S {self.magnitude:.6g}"

    def distance(self, got: Number) -> str:
        """Return how far a value is from the true one, in words; nothing where that cannot be said."""
        if self.bound <= 0 or isinstance(got, str):
            return ""
        return f", off by {abs(got - self.center) / self.bound:.3g} of the bound"


@dataclass(frozen=True)
class WrongElement:
    """One element that is not what it may be.

    Attributes:
        instance, row, column: where in the matrix. ``offset``: byte offset in the array.
        expected_bits, expected: allowed bits and their value; of an interval those nearest to the true value.
        got_bits, got: what came back.
        others: further allowed bits.
        bounds: of an element that is judged by an interval, else None.
    """

    instance: int
    row: int
    column: int
    offset: int
    component: ComponentType
    expected_bits: int
    expected: Number
    got_bits: int
    got: Number
    others: tuple[int, ...] = ()
    bounds: Bounds | None = None

    def __str__(self) -> str:
        wanted = " or ".join(words(bits, self.component) for bits in (self.expected_bits, *self.others))
        got = words(self.got_bits, self.component)
        if self.bounds is None:
            return f"expected {wanted}, got {got}"
        wanted = f"in [{number(self.bounds.low)}, {number(self.bounds.high)}], nearest {wanted}"
        if not isinstance(self.bounds, EnvelopeBounds):
            return f"expected {wanted}, got {got}"
        return f"expected {wanted}{self.bounds}; got {got}{self.bounds.distance(self.got)}"


@dataclass(frozen=True)
class FailingMatrix:
    """The matrix that has wrong elements, as far as a report draws it.

    Attributes:
        shape: rows and columns. ``component``: the name of the type.
        wrong: the wrong elements of each row of the first wrong instance, as hexadecimal masks with bit 0 for column 0.
        expected, got: bits of that instance's first 4096 elements in hexadecimal, row by row.
        instances: by number of a wrong instance, its masks.
        instance_count: how many scope instances have the matrix.
    """

    shape: tuple[int, int]
    component: str
    wrong: tuple[str, ...]
    expected: tuple[str, ...]
    got: tuple[str, ...]
    instances: Mapping[str, tuple[str, ...]]
    instance_count: int = 1


@dataclass(frozen=True)
class Mismatch:
    """One way in which an outcome is not what it may or should be.

    Attributes:
        kind: what is wrong with the elements or bytes.
        array: the array in memory. ``what``: the stored value; the place for bytes.
        instance: the first scope instance with wrong elements.
        count, total: wrong elements (bytes for padding and strays), and all, in all instances.
        pattern: which ones, in words.
        elements: the first wrong ones.
        matrix: all of them, None for bytes.
        grounds: why a computed float must have this one value, in words.
        requirement, position: ids of what the expectation rests on; empty where bytes are concerned, or nothing has an id.
    """

    kind: Kind
    array: str
    what: str
    instance: int
    count: int
    total: int
    pattern: str
    elements: tuple[WrongElement, ...] = field(default=(), repr=False)
    matrix: FailingMatrix | None = field(default=None, repr=False, compare=False)
    grounds: str = ""
    requirement: str = ""
    position: str = ""

    @property
    def summary(self) -> str:
        """Return one line."""
        unit = "elements" if self.matrix is not None else "bytes"
        return f"{self.kind}: {self.count} of {self.total} {unit} of {self.what} in {self.array}: {self.pattern}"


class Fit(Enum):
    """How much of what came back a match explains."""

    ALL = ""
    WRONG_ELEMENTS = "the wrong elements; not the others"
    BEYOND_ARRAY = "reading beyond the array too"


@dataclass(frozen=True)
class Match:
    """What explains a failure, or says how it relates to what was expected.

    Attributes:
        id: of the glossary's entry; empty where there is none.
        sentence: the entry's text, filled in.
        fit: how much it explains.
    """

    id: str
    sentence: str
    fit: Fit = Fit.ALL

    @property
    def text(self) -> str:
        """Return the sentence, and how much it explains if not all."""
        return f"{self.sentence} ({self.fit.value})" if self.fit.value else self.sentence


@dataclass(frozen=True)
class Failure:
    """A mismatch of a case, as the journal keeps it.

    Attributes:
        subcase: the name of the subcase.
        mismatch: what the comparator found.
        matches: what explains it.
        tensor: how the matrix is in a tensor, where tensor addressing moves it.
    """

    subcase: str
    mismatch: Mismatch
    matches: tuple[Match, ...] = ()
    tensor: TensorMap | None = None


def to_json(failure: Failure) -> dict[str, Any]:
    """Return the JSON object for the journal: the fields of the mismatch and of its matrix at the top, without those that do not apply,
    bits in hexadecimal."""
    mismatch = failure.mismatch
    record: dict[str, Any] = msgspec.to_builtins(replace(mismatch, elements=(), matrix=None))
    del record["matrix"]
    for name in ("requirement", "position"):
        if not record[name]:
            del record[name]
    record["elements"] = [_element_to_json(element) for element in mismatch.elements]
    if mismatch.matrix is not None:
        record |= msgspec.to_builtins(mismatch.matrix)
    record |= {"subcase": failure.subcase, "matches": [{"id": match.id, "text": match.text} for match in failure.matches]}
    if failure.tensor is not None:
        record["tensor"] = failure.tensor.record()
    return record


def _element_to_json(element: WrongElement) -> dict[str, Any]:
    digits = element.component.bits // 4
    names = ("instance", "row", "column", "offset", "expected_bits", "expected", "got_bits", "got")
    record = {name: getattr(element, name) for name in names}
    record |= {name: f"0x{record[name]:0{digits}x}" for name in ("expected_bits", "got_bits")}
    if element.others:
        record["others"] = [f"0x{bits:0{digits}x}" for bits in element.others]
    return record if element.bounds is None else record | msgspec.to_builtins(element.bounds)


_PLAIN: Mapping[str, Any] = {"kind": Kind, "array": str, "what": str, "instance": int, "count": int, "total": int, "pattern": str}
"""Fields of a Mismatch that are the same in JSON."""


def from_json(record: Mapping[str, Any]) -> Failure:
    """Return the failure that ``to_json`` made ``record`` of.

    Raises:
        msgspec.ValidationError, LookupError, ValueError: it made it of none.
    """
    matrix = msgspec.convert(record, FailingMatrix) if "shape" in record else None
    component = COMPONENT_TYPES[matrix.component] if matrix is not None else None
    elements = tuple(_element_from_json(element, component) for element in record["elements"]) if component is not None else ()
    plain = {name: msgspec.convert(record[name], type_) for name, type_ in _PLAIN.items()}
    plain |= {name: record.get(name, "") for name in ("grounds", "requirement", "position")}
    return Failure(
        subcase=record.get("subcase", ""),
        mismatch=replace(Mismatch(**plain), elements=elements, matrix=matrix),
        matches=tuple(Match(match["id"], match["text"]) for match in record.get("matches", ())),
        tensor=TensorMap.from_record(record["tensor"]) if "tensor" in record else None,
    )


def _element_from_json(record: Mapping[str, Any], component: ComponentType) -> WrongElement:
    bounds: Bounds | None = None
    if "low" in record:
        bounds = msgspec.convert(record, EnvelopeBounds if "bound" in record else Bounds)
    instance, row, column, offset = (msgspec.convert(record[name], int) for name in ("instance", "row", "column", "offset"))
    return WrongElement(
        instance,
        row,
        column,
        offset,
        component,
        int(record["expected_bits"], 16),
        record["expected"],
        int(record["got_bits"], 16),
        record["got"],
        tuple(int(bits, 16) for bits in record.get("others", ())),
        bounds,
    )
