"""Extended instructions of GLSL.std.450 that combine the components of vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from cts.embedded.diagnostics import need
from cts.embedded.instructions.arithmetic.elementwise import on_values
from cts.embedded.instructions.arithmetic.extended import extends
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.shapes import TypeKind, element_of, is_columns, kind_of
from cts.embedded.types.spirv_types import Array, Vector, type_text
from cts.embedded.types.values import Value
from generators.spirv.enumerants import GlslStd450

Parts = Sequence[np.ndarray]
"""Components as binary64."""

Formula = TypeVar("Formula", bound=Callable[..., Parts])


def wide_parts(value: Value) -> list[np.ndarray]:
    """Return the components of a scalar or vector in binary64."""
    return [np.asarray(part).astype(np.float64) for part in (value if isinstance(value, tuple) else (value,))]


def _dot(one: Parts, other: Parts) -> np.ndarray:
    return np.asarray(sum((x * y for x, y in zip(one, other, strict=True)), np.float64(0)))


def _check_floats(translation: Translation, words: Words, count: int) -> None:
    """Check that the first ``count`` operands have the same float type."""
    operands = words[4:]
    types = {translation.type_of[id_] for id_ in operands[:count]}
    fits = len(types) == 1 and kind_of(element_of(next(iter(types)))) is TypeKind.FLOAT
    need(fits, f"operands of {GlslStd450(words[3]).name} are {', '.join(type_text(translation.type_of[id_]) for id_ in operands)}")


def _of_vectors(which: GlslStd450, count: int, same: int = 0, to_scalar: bool = False) -> Callable[[Formula], Formula]:
    """Return a decorator that registers the formula of an instruction with ``count`` operands. The first ``same`` of them have one type.

    By default all of them have. With ``to_scalar`` the result is a component; otherwise it has the type of the operands.
    """

    def register(compute: Formula) -> Formula:
        @extends(which, count)
        def handler(translation: Translation, words: Words) -> Run:
            _check_floats(translation, words, same or count)
            type_, operand = translation.types[words[0]], translation.type_of[words[4]]
            need(type_ == (element_of(operand) if to_scalar else operand), f"{which.name} cannot give a {type_text(type_)}")
            dtype, is_vector = translation.number_of(type_).dtype, isinstance(type_, Vector)

            def function(*given: Value) -> Value:
                found = tuple(np.asarray(part).astype(dtype)[()] for part in compute(*map(wide_parts, given)))
                return found if is_vector else found[0]

            return on_values(translation, words[4:], function)

        return compute

    return register


@_of_vectors(GlslStd450.Length, 1, to_scalar=True)
def _length(x: Parts) -> Parts:
    return [np.sqrt(_dot(x, x))]


@_of_vectors(GlslStd450.Distance, 2, to_scalar=True)
def _distance(x: Parts, y: Parts) -> Parts:
    return [np.sqrt(sum(((a - b) ** 2 for a, b in zip(x, y, strict=True)), np.float64(0)))]


@_of_vectors(GlslStd450.Normalize, 1)
def _normalize(x: Parts) -> Parts:
    length = np.sqrt(_dot(x, x))
    return [part / length for part in x]


@_of_vectors(GlslStd450.Cross, 2)
def _cross(x: Parts, y: Parts) -> Parts:
    need(len(x) == 3, f"Cross of vectors of {len(x)} components")
    return [x[i] * y[j] - y[i] * x[j] for i, j in ((1, 2), (2, 0), (0, 1))]


@_of_vectors(GlslStd450.FaceForward, 3)
def _face_forward(normal: Parts, incident: Parts, reference: Parts) -> Parts:
    turned = _dot(reference, incident) < 0
    return [np.where(turned, part, -part) for part in normal]


@_of_vectors(GlslStd450.Reflect, 2)
def _reflect(incident: Parts, normal: Parts) -> Parts:
    along = _dot(normal, incident)
    return [i - 2.0 * along * n for i, n in zip(incident, normal, strict=True)]


@_of_vectors(GlslStd450.Refract, 3, same=2)
def _refract(incident: Parts, normal: Parts, ratio: Parts) -> Parts:
    along, eta = _dot(normal, incident), ratio[0]
    k = 1.0 - eta * eta * (1.0 - along * along)
    by = eta * along + np.sqrt(np.maximum(k, 0.0))
    return [np.where(k < 0.0, 0.0, eta * i - by * n) for i, n in zip(incident, normal, strict=True)]


def _square(translation: Translation, words: Words) -> np.dtype:
    """Return the dtype of the operand, if it is a square matrix."""
    type_ = translation.type_of[words[4]]
    fits = is_columns(type_) and isinstance(type_, Array) and isinstance(type_.element, Vector) and type_.element.count == type_.length
    need(fits, f"{GlslStd450(words[3]).name} of a {type_text(type_)}, which is not a square matrix")
    assert isinstance(type_, Array)
    return translation.number_of(type_.element).dtype


def _stacked(columns: Value) -> np.ndarray:
    """Return one matrix, or one for each invocation: binary64 of shape (…, rows, columns)."""
    parts = [np.asarray(part).astype(np.float64) for column in columns for part in column]
    size = len(columns)
    flat = np.stack(np.broadcast_arrays(*parts), axis=-1)
    return np.swapaxes(flat.reshape(*flat.shape[:-1], size, size), -1, -2)


@extends(GlslStd450.Determinant, 1)
def _determinant(translation: Translation, words: Words) -> Run:
    dtype = _square(translation, words)
    return on_values(translation, words[4:], lambda matrix: np.asarray(np.linalg.det(_stacked(matrix))).astype(dtype)[()])


@extends(GlslStd450.MatrixInverse, 1)
def _inverse(translation: Translation, words: Words) -> Run:
    dtype, machine = _square(translation, words), translation.machine

    def inverse(columns: Value) -> Value:
        matrix = _stacked(columns)
        singular = np.asarray(np.linalg.det(matrix) == 0)
        if (np.broadcast_to(singular, machine.mask.shape) & machine.mask).any():
            machine.forbid("GLSL.std.450 MatrixInverse", "the inverse of a singular matrix is undefined")
        safe = np.where(singular[..., None, None], np.eye(matrix.shape[-1]), matrix)
        found = np.linalg.inv(safe).astype(dtype)
        size = found.shape[-1]
        return tuple(tuple(found[..., row, column][()] for row in range(size)) for column in range(size))

    return on_values(translation, words[4:], inverse)
