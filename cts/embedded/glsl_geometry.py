"""Extended instructions of GLSL.std.450 that combine the components of vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import need
from cts.embedded.machine import Run
from cts.embedded.shapes import TypeKind, element_of, is_columns, kind_of
from cts.embedded.spirv_types import Array, Vector, type_text
from cts.embedded.translation import Handler, Translation, Words
from cts.embedded.values import Value
from generators.spirv.enumerants import GlslStd450

Parts = Sequence[np.ndarray]
"""Components as binary64."""


def wide_parts(value: Value) -> list[np.ndarray]:
    """Return the components of a scalar or vector in binary64."""
    return [np.asarray(part).astype(np.float64) for part in (value if isinstance(value, tuple) else (value,))]


def _dot(one: Parts, other: Parts) -> np.ndarray:
    return np.asarray(sum((x * y for x, y in zip(one, other, strict=True)), np.float64(0)))


def _floats(translation: Translation, words: Words, count: int) -> list[int]:
    """Check that the first ``count`` operands have the same float type. Return all operands."""
    operands = list(words[4:])
    types = {translation.type_of[id_] for id_ in operands[:count]}
    fits = len(types) == 1 and kind_of(element_of(next(iter(types)))) is TypeKind.FLOAT
    need(fits, f"operands of {GlslStd450(words[3]).name} are {', '.join(type_text(translation.type_of[id_]) for id_ in operands)}")
    return operands


def _of_vectors(count: int, same: int, to_scalar: bool) -> Handler:
    """Return the handler of an instruction with ``count`` operands. The first ``same`` of them have one type.

    With ``to_scalar`` the result is a component; otherwise it has the type of the operands.
    """

    def handler(translation: Translation, words: Words) -> Run:
        which, operands = GlslStd450(words[3]), _floats(translation, words, same)
        type_, operand = translation.types[words[0]], translation.type_of[operands[0]]
        need(type_ == (element_of(operand) if to_scalar else operand), f"{which.name} cannot give a {type_text(type_)}")
        values, dtype, compute = translation.values, translation.number_of(type_).dtype, _FORMULAS[which]
        is_vector = isinstance(type_, Vector)

        def run() -> Value:
            parts = compute(*(wide_parts(values[id_]) for id_ in operands))
            found = tuple(np.asarray(part).astype(dtype)[()] for part in parts)
            return found if is_vector else found[0]

        need(len(operands) == count, f"{which.name} has {len(operands)} operands; it takes {count}")
        return run

    return handler


def _normalize(x: Parts) -> Parts:
    length = np.sqrt(_dot(x, x))
    return [part / length for part in x]


def _cross(x: Parts, y: Parts) -> Parts:
    need(len(x) == 3, f"Cross of vectors of {len(x)} components")
    return [x[i] * y[j] - y[i] * x[j] for i, j in ((1, 2), (2, 0), (0, 1))]


def _face_forward(normal: Parts, incident: Parts, reference: Parts) -> Parts:
    turned = _dot(reference, incident) < 0
    return [np.where(turned, part, -part) for part in normal]


def _reflect(incident: Parts, normal: Parts) -> Parts:
    along = _dot(normal, incident)
    return [i - 2.0 * along * n for i, n in zip(incident, normal, strict=True)]


def _refract(incident: Parts, normal: Parts, ratio: Parts) -> Parts:
    along, eta = _dot(normal, incident), ratio[0]
    k = 1.0 - eta * eta * (1.0 - along * along)
    by = eta * along + np.sqrt(np.maximum(k, 0.0))
    return [np.where(k < 0.0, 0.0, eta * i - by * n) for i, n in zip(incident, normal, strict=True)]


_FORMULAS: Mapping[GlslStd450, Callable[..., Parts]] = MappingProxyType(
    {
        GlslStd450.Length: lambda x: [np.sqrt(_dot(x, x))],
        GlslStd450.Distance: lambda x, y: [np.sqrt(sum(((a - b) ** 2 for a, b in zip(x, y, strict=True)), np.float64(0)))],
        GlslStd450.Normalize: _normalize,
        GlslStd450.Cross: _cross,
        GlslStd450.FaceForward: _face_forward,
        GlslStd450.Reflect: _reflect,
        GlslStd450.Refract: _refract,
    }
)


def _square(translation: Translation, words: Words) -> tuple[int, np.dtype]:
    (operand,) = words[4:]
    type_ = translation.type_of[operand]
    fits = is_columns(type_) and isinstance(type_, Array) and isinstance(type_.element, Vector) and type_.element.count == type_.length
    need(fits, f"{GlslStd450(words[3]).name} of a {type_text(type_)}, which is not a square matrix")
    assert isinstance(type_, Array)
    return operand, translation.number_of(type_.element).dtype


def _stacked(columns: Value) -> np.ndarray:
    """Return one matrix, or one for each invocation: binary64 of shape (…, rows, columns)."""
    parts = [np.asarray(part).astype(np.float64) for column in columns for part in column]
    size = len(columns)
    flat = np.stack(np.broadcast_arrays(*parts), axis=-1)
    return np.swapaxes(flat.reshape(*flat.shape[:-1], size, size), -1, -2)


def _determinant(translation: Translation, words: Words) -> Run:
    operand, dtype = _square(translation, words)
    values = translation.values
    return lambda: np.asarray(np.linalg.det(_stacked(values[operand]))).astype(dtype)[()]


def _inverse(translation: Translation, words: Words) -> Run:
    operand, dtype = _square(translation, words)
    values, machine = translation.values, translation.machine

    def run() -> Value:
        matrix = _stacked(values[operand])
        singular = np.asarray(np.linalg.det(matrix) == 0)
        if (np.broadcast_to(singular, machine.mask.shape) & machine.mask).any():
            machine.forbid("GLSL.std.450 MatrixInverse", "the inverse of a singular matrix is undefined")
        safe = np.where(singular[..., None, None], np.eye(matrix.shape[-1]), matrix)
        found = np.linalg.inv(safe).astype(dtype)
        size = found.shape[-1]
        return tuple(tuple(found[..., row, column][()] for row in range(size)) for column in range(size))

    return run


COMBINING: Mapping[GlslStd450, tuple[int, Handler]] = MappingProxyType(
    {
        GlslStd450.Length: (1, _of_vectors(1, 1, True)),
        GlslStd450.Distance: (2, _of_vectors(2, 2, True)),
        GlslStd450.Normalize: (1, _of_vectors(1, 1, False)),
        GlslStd450.Cross: (2, _of_vectors(2, 2, False)),
        GlslStd450.FaceForward: (3, _of_vectors(3, 3, False)),
        GlslStd450.Reflect: (2, _of_vectors(2, 2, False)),
        GlslStd450.Refract: (3, _of_vectors(3, 2, False)),
        GlslStd450.Determinant: (1, _determinant),
        GlslStd450.MatrixInverse: (1, _inverse),
    }
)
"""Instruction that combines components -> its number of operands and its handler."""
