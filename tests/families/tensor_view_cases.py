"""Cases of tensor_view by the axes in which they differ from the plainest one."""

from __future__ import annotations

AXES = {
    "component": "f16",
    "use": "acc",
    "shape": "16x16",
    "scope": "subgroup",
    "subgroups": 1,
    "access": "load",
    "rank": 2,
    "permutation": "p10",
    "form": "default",
    "fit": "matrix",
    "clip": "none",
    "spans": "even",
    "edge": "inside",
    "mode": "undefined",
    "place": "value",
    "constants": "literal",
    "source": "literal",
    "integer": "u32",
    "storage": "storage_buffer",
}


def view_case(**values: str | int) -> str:
    """The id of the case with these values."""
    assert values.keys() <= AXES.keys()
    return f"tensor_view[{'-'.join(map(str, (AXES | values).values()))}]"
