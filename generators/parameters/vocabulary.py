"""Labels that the parameters of several families share, and their meanings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.parameters.declaration import parameter
from generators.program.shape import Version
from generators.types import COMPONENT_TYPES, ClampMode, ComponentType, Layout, Scope, StorageClass, Use

SCOPES: Mapping[str, Scope] = MappingProxyType({"subgroup": Scope.SUBGROUP, "workgroup": Scope.WORKGROUP})
USES: Mapping[str, Use] = MappingProxyType({"a": Use.A, "b": Use.B, "acc": Use.ACCUMULATOR})
LAYOUTS: Mapping[str, Layout] = MappingProxyType({"row": Layout.ROW_MAJOR, "column": Layout.COLUMN_MAJOR})
LAYOUT_LETTERS: Mapping[str, Layout] = MappingProxyType({"r": Layout.ROW_MAJOR, "c": Layout.COLUMN_MAJOR})
"""The letters of labels that give the layouts of several matrices in one word, such as ``rcr``."""

CLAMP_MODES: Mapping[str, ClampMode] = MappingProxyType(
    {
        "undefined": ClampMode.UNDEFINED,
        "constant": ClampMode.CONSTANT,
        "edge": ClampMode.CLAMP_TO_EDGE,
        "repeat": ClampMode.REPEAT,
        "mirrored": ClampMode.REPEAT_MIRRORED,
    }
)


SCOPE = ("scope", "subgroups")
"""The parameters of ``Scoped``."""


@dataclass(frozen=True, kw_only=True)
class Scoped:
    """The parameters of a case whose matrices belong to a scope."""

    scope: Scope = parameter("the scope whose invocations hold a matrix together", default="subgroup", labels=SCOPES)
    subgroups: int = parameter("subgroups of the workgroup", default=1)

    @property
    def instances(self) -> int:
        """Scope instances of one workgroup."""
        return self.subgroups if self.scope is Scope.SUBGROUP else 1


@dataclass(frozen=True, kw_only=True)
class OfEitherExtension:
    """The parameter of a case whose instructions exist in two extensions: SPV_NV_cooperative_matrix2 and
    SPV_EXT_cooperative_matrix_maintenance1."""

    maintenance1: bool = parameter(
        "whether the instructions are those of SPV_EXT_cooperative_matrix_maintenance1 or the same ones of SPV_NV_cooperative_matrix2",
        default="no",
        labels={"no": False, "yes": True},
    )


VERSIONS: Mapping[str, Version] = MappingProxyType({f"1.{minor}": (1, minor) for minor in (3, 4, 5, 6)})
"""The versions of SPIR-V that modules with matrices may have."""

FULL_SUBGROUPS: Mapping[str, bool | None] = MappingProxyType({"if_possible": None, "required": True, "not_required": False})
"""Whether a pipeline requires full subgroups; ``if_possible`` requires them if the device has the feature."""

SUBGROUP_SIZES: Mapping[str, int | None] = MappingProxyType({"device": None} | {str(size): size for size in (4, 8, 16, 32, 64, 128)})
"""The subgroup size that a pipeline requires; ``device`` requires none."""

STORAGE_CLASSES: Mapping[str, StorageClass] = MappingProxyType({storage.value: storage for storage in StorageClass})
BUFFERS: Mapping[str, StorageClass] = MappingProxyType(
    {storage.value: storage for storage in (StorageClass.STORAGE_BUFFER, StorageClass.PHYSICAL_STORAGE_BUFFER)}
)
SOURCE_NAMES = Literal["literal", "specialization", "push_constant", "buffer"]
"""Sources of an operand."""


def layouts_of(count: int) -> Callable[[str], tuple[Layout, ...]]:
    """Return a decoder of the layouts of ``count`` matrices from as many letters, such as ``rcr``; the decoder raises ValueError."""

    def decode(letters: str) -> tuple[Layout, ...]:
        if len(letters) != count or not set(letters) <= set(LAYOUT_LETTERS):
            raise ValueError(f"expected {count} letters, each r for rows or c for columns")
        return tuple(LAYOUT_LETTERS[letter] for letter in letters)

    return decode


def parse_shape(text: str) -> tuple[int, int]:
    """Return rows and columns of a shape such as ``16x8``; raises ValueError."""
    rows, columns = numbers_in(text, "rows and columns, such as 16x8")
    return rows, columns


def numbers_in(text: str, expected: str) -> list[int]:
    """Return the numbers in a label, which are at least 1 and separated by ``x``. There must be as many as in the example at the end of
    ``expected``.

    Raises:
        ValueError: it is not such a label; the message contains ``expected``.
    """
    numbers = text.split("x")
    example = expected.rsplit(maxsplit=1)[-1].split("x")
    if len(numbers) != len(example) or not all(re.fullmatch(r"[1-9]\d*", number) for number in numbers):
        raise ValueError(f"expected {expected}")
    return [int(number) for number in numbers]


def types_in(text: str) -> tuple[ComponentType, ComponentType, ComponentType, ComponentType]:
    """Return the four component types of a label such as ``f16.f16.f32.f32``.

    Raises:
        ValueError: it is not such a label.
    """
    names = text.split(".")
    if len(names) != 4 or not set(names) <= set(COMPONENT_TYPES):
        raise ValueError(f"expected four component types, such as f16.f16.f32.f32, of {', '.join(COMPONENT_TYPES)}")
    a, b, c, result = (COMPONENT_TYPES[name] for name in names)
    return a, b, c, result
