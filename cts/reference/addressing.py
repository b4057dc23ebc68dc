"""Addresses of the elements of a matrix in memory (SPV_KHR_cooperative_matrix, Cooperative Matrix Layout)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from cts.reference.memory import Memory
from generators.errors import GeneratorError, Rule
from generators.program.memory import Array
from generators.types import ComponentType, Layout

NARROW_RANGE = 1 << 32
"""Number of bytes that 32-bit indexing can reach (Vulkan, "Buffer Indexing Calculations")."""


def element_offsets(
    array: Array,
    component: ComponentType,
    shape: tuple[int, int],
    first: Sequence[int],
    stride: Sequence[int],
    layout: Layout,
    bounded: bool = True,
) -> np.ndarray:
    """Return the byte offset of every element from the start of ``array``'s bytes, int64, (instances, rows, columns).

    Row r (column c for column major) is in contiguous memory that begins at element ``first`` + r * ``stride`` of the array;
    both count elements of the array's pointee, whatever the matrix's component is (KHR-LOAD-03, KHR-LOAD-04, KHR-PTR-04), are not
    negative (F-KHR-1), and ignore an ArrayStride (KHR-PTR-03). Through untyped pointers ``stride`` counts bytes (UP-MAT-02).

    Args:
        first, stride: one for each scope instance.
        bounded: whether elements must be inside the array.

    Raises:
        GeneratorError: an element is outside the array, or outside the inner array that the pointer leads to; or the pointer leads to a
            struct (KHR-PTR-02).
    """
    if array.pointee.block is not None:
        raise GeneratorError(
            "KHR-PTR-02", f"only tensor loads and stores take pointers to structs, such as the structs of array {array.name} (KHR-PTR-02)"
        )
    if bounded and (message := leaving(array, component, shape, first, stride, layout)):
        raise GeneratorError(Rule.OUT_OF_BOUNDS, message)
    starts = (np.array(first, np.int64) * array.pointee.bytes + array.start)[:, None, None]
    # The stride of a single line has no effect, and may have any value.
    has_lines = _lines(shape, layout)[0] > 1
    lines = [one * array.stride_bytes if has_lines else 0 for one in stride]
    inside = {line: _of_matrix(shape, layout, component.bytes, line) for line in set(lines)}
    offsets = starts + (inside[lines[0]] if len(inside) == 1 else np.array([inside[line] for line in lines], np.int64).reshape(-1, *shape))
    if bounded and array.inner is not None:
        size, pitch = array.pointee.bytes, array.inner.pitch * array.pointee.bytes
        begin = (offsets[:, :1, :1] - array.start) // pitch * pitch + array.inner.head * size
        beyond = offsets - array.start + component.bytes > begin + array.inner.length * size
        if ((offsets - array.start < begin) | beyond).any():
            raise GeneratorError(
                Rule.INNER_ARRAY, f"a matrix leaves the inner array of {array.name} that its pointer leads to; make inner arrays longer"
            )
    return offsets


def _of_matrix(shape: tuple[int, int], layout: Layout, size: int, line: int) -> np.ndarray:
    """Return the offset of every element from the first one, int64, (rows, columns), for elements of ``size`` bytes in lines that begin
    ``line`` bytes apart."""
    return (_kept if shape[0] * shape[1] <= _SMALL else _computed)(shape, layout, size, line)


def _computed(shape: tuple[int, int], layout: Layout, size: int, line: int) -> np.ndarray:
    by_row, by_column = (line, size) if layout is Layout.ROW_MAJOR else (size, line)
    rows, columns = (np.arange(count, dtype=np.int64) for count in shape)
    return np.asarray(rows[:, None] * by_row + columns * by_column)


_SMALL = 1 << 10
"""The number of elements of a matrix whose offsets are kept."""

_kept = lru_cache(maxsize=128)(_computed)


def leaving(
    array: Array, component: ComponentType, shape: tuple[int, int], first: Sequence[int], stride: Sequence[int], layout: Layout
) -> str:
    """Describe an element outside ``array``; empty if all are inside. The arguments are the same as for element_offsets."""
    rows, columns = shape
    lines, length = _lines(shape, layout)
    for f, s in zip(first, stride, strict=True):
        # Use Python integers: a 64-bit stride must not wrap here.
        end = f * array.pointee.bytes + (lines - 1) * s * array.stride_bytes + length * component.bytes
        if end > array.span:
            return (
                f"a {rows}x{columns} {component} matrix at element {f} with stride {s} ends at byte {end} of array {array.name}, "
                f"which has {array.span}; make the array longer"
            )
    return ""


def check_range(memory: Memory, end: int, wide: bool) -> None:
    """Check that an access that ends ``end`` bytes after the start of ``memory`` is within the range of buffer indexing: a 32-bit number of
    bytes (RuntimeSpirv-None-10834), or unlimited with 64-bit indexing (``wide``).

    Raises:
        GeneratorError: it is not.
    """
    if end > NARROW_RANGE and not wide:
        memory.outside(
            "VUID-RuntimeSpirv-None-10834",
            f"an access ends at byte {end:,} of {memory.array.name}, beyond the 4 GiB of 32-bit indexing (RuntimeSpirv-None-10834); "
            "use wide_indexing",
        )


def _lines(shape: tuple[int, int], layout: Layout) -> tuple[int, int]:
    """Return the number of a matrix's contiguous lines in memory, and the elements of one."""
    return shape if layout is Layout.ROW_MAJOR else (shape[1], shape[0])
