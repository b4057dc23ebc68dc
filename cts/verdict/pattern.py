"""Describes in words which elements of a matrix are wrong: all, whole rows, whole columns, a quadrant, one instance …"""

from __future__ import annotations

import numpy as np

_LISTED = 8


def numbers(indices: list[int]) -> str:
    """Name indices in words: runs as ``3 to 7``, steps as ``0, 2, … 14``; shortened beyond eight."""
    if len(indices) > 2 and indices == list(range(indices[0], indices[-1] + 1)):
        return f"{indices[0]} to {indices[-1]}"
    if len(indices) > 3:
        step = indices[1] - indices[0]
        if indices == list(range(indices[0], indices[-1] + 1, step)):
            return f"{indices[0]}, {indices[1]}, … {indices[-1]}"
    if len(indices) > _LISTED:
        return ", ".join(map(str, indices[:_LISTED])) + f" and {len(indices) - _LISTED} more"
    return ", ".join(map(str, indices))


def _named(what: str, indices: list[int]) -> str:
    return f"{what} {indices[0]}" if len(indices) == 1 else f"{what}s {numbers(indices)}"


def _in_one_matrix(wrong: np.ndarray) -> str:
    """Return the pattern of a bool array (rows, columns) with at least one True."""
    rows, columns = wrong.shape
    if wrong.all():
        return "every element"
    if np.count_nonzero(wrong) == 1:
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        return f"one element, (row {row}, column {column})"
    full_rows, full_columns = np.flatnonzero(wrong.all(axis=1)).tolist(), np.flatnonzero(wrong.all(axis=0)).tolist()
    if full_rows and columns > 1 and np.count_nonzero(wrong) == len(full_rows) * columns:
        return f"the whole of {_named('row', full_rows)}"
    if full_columns and rows > 1 and np.count_nonzero(wrong) == len(full_columns) * rows:
        return f"the whole of {_named('column', full_columns)}"
    if rows == columns and wrong[~np.eye(rows, dtype=bool)].all() and not wrong.diagonal().any():
        return "every element off the diagonal"
    touched_rows, touched_columns = np.flatnonzero(wrong.any(axis=1)).tolist(), np.flatnonzero(wrong.any(axis=0)).tolist()
    if len(touched_rows) == 1 or len(touched_columns) == 1:
        return f"{_named('row', touched_rows)}, {_named('column', touched_columns)}"
    block = wrong[np.ix_(touched_rows, touched_columns)]
    if block.all():
        half_rows, half_columns = rows // 2, columns // 2
        upper, lower = list(range(half_rows)), list(range(half_rows, rows))
        left, right = list(range(half_columns)), list(range(half_columns, columns))
        for name, wanted in (
            ("upper left", (upper, left)),
            ("upper right", (upper, right)),
            ("lower left", (lower, left)),
            ("lower right", (lower, right)),
        ):
            if (touched_rows, touched_columns) == wanted:
                return f"the {name} quadrant"
        return f"all intersections of {_named('row', touched_rows)} and {_named('column', touched_columns)}"
    spared = wrong.size - int(np.count_nonzero(wrong))
    if spared <= wrong.size // 16:
        return "all but one element" if spared == 1 else f"all but {spared} elements"
    return f"scattered over {_named('row', touched_rows)} and {_named('column', touched_columns)}"


def pattern(wrong: np.ndarray) -> str:
    """Describe a bool array (instances, rows, columns) with at least one True."""
    instances = np.flatnonzero(wrong.any(axis=(1, 2))).tolist()
    masks = wrong[instances]
    one = _in_one_matrix(masks[0])
    if not (masks == masks[0]).all():
        return f"different elements in {_named('instance', instances)}; in instance {instances[0]} {one}"
    if wrong.shape[0] == 1:
        return one
    where = "every instance" if len(instances) == wrong.shape[0] else _named("instance", instances)
    return f"{one} of {where}"
