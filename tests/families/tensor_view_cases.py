"""Cases of tensor_view, named by the parameters in which they differ from the simplest one."""

from __future__ import annotations


def view_case(**values: str | int) -> str:
    """Return the id of the case with these labels."""
    labels = {"component": "f16", "permutation": "p10"} | values
    return f"tensor_view[{'/'.join(f'{name}:{label}' for name, label in labels.items())}]"
