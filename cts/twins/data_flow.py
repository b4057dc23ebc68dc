"""Compares the data flow of two listings in NIR, the intermediate code that all drivers of Mesa share and list.

A value is what its operation computes from its operands, so the names of values, their order, and moves between them do not matter. Values
that a loop carries depend on themselves: they are told apart by refinement, as states of automata are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_OPERATION = re.compile(r"\s*(?:(?:con|div)\s+)?(?:(\d+)(?:x(\d+))?\s+)?(?:(%\d+) = )?(@?[a-z]\w*)\s*(.*)")
_PHI = re.compile(r"\bb\d+: (%\d+)(?:\.([a-p]+))?")
_OPERAND = re.compile(r"(-?)(%\d+)(?:\s*\([^()]*\))?(?:\.([a-z]+))?")
_CONSTANT = re.compile(r"\((0x[0-9a-f]+|true|false)|(0x[0-9a-f]+)(?=[,) ])")
_KEPT = re.compile(r"\b(base|wrmask|saturate|src_base_type2?|dest_base_type|flags|desc_set|binding|src_type|dest_type)=([^,)]*)")
_COMPONENTS = "xyzw"
_MANY_COMPONENTS = "abcdefghijklmnop"

_WRITES = ("@store_", "@global_atomic", "@ssbo_atomic")

Component = tuple[str, int]
"""A component of a value: the value's name, and the number of the component."""


@dataclass(frozen=True)
class Node:
    """An operation of a listing.

    Attributes:
        name: the value that it computes; empty if it computes none.
        what: the operation, with the constants and settings that matter.
        operands: the components that it reads.
        merges: whether it is a phi, which reads values of earlier iterations.
    """

    name: str
    what: str
    operands: tuple[Component, ...]
    merges: bool = False


def read(text: str) -> list[Node]:
    """Return the operations of a listing, in order."""
    widths: dict[str, int] = {}
    copies: dict[Component, Component] = {}
    found: list[Node] = []
    for line in text.partition("\nimpl ")[2].splitlines():
        code = line.partition(" // ")[0]
        match = _OPERATION.fullmatch(code.rstrip())
        if match is None or not (match[3] or match[4].startswith("@")):
            continue
        bits, width, name, operation, rest = match[1] or "", int(match[2] or 1), match[3] or "", match[4], match[5]
        if name:
            widths[name] = width
        if operation == "load_const":
            found.append(Node(name, f"constant {bits} {' '.join(a or b for a, b in _CONSTANT.findall(rest))}", ()))
        elif operation == "phi":
            sources = [(source, _components(swizzle, width)) for source, swizzle in _PHI.findall(rest)]
            for place in range(width):
                operands = tuple((source, components[place]) for source, components in sources)
                found.append(Node(_part(name, place), "phi", operands, merges=True))
        else:
            operands = tuple(
                (source, number) for _, source, swizzle in _OPERAND.findall(rest) for number in _components(swizzle, widths.get(source, 1))
            )
            if operation == "mov" or re.fullmatch(r"vec\d+", operation):
                copies.update({(name, place): operand for place, operand in enumerate(operands)})
                continue
            signs = "".join(sign for sign, *_ in _OPERAND.findall(rest))
            settings = " ".join(f"{key}={value}" for key, value in _KEPT.findall(rest))
            found.append(Node(name, f"{operation} {bits} {width} {signs} {settings}", operands))
    return [Node(node.name, node.what, tuple(_source(one, copies) for one in node.operands), node.merges) for node in found]


def _part(name: str, place: int) -> str:
    return f"{name}.{place}"


def _components(swizzle: str, width: int) -> list[int]:
    if not swizzle:
        return list(range(width))
    letters = _COMPONENTS if set(swizzle) <= set(_COMPONENTS) else _MANY_COMPONENTS
    return [letters.index(letter) for letter in swizzle]


def _source(component: Component, copies: dict[Component, Component]) -> Component:
    while component in copies:
        component = copies[component]
    return component


def same_writes(first: Sequence[Node], second: Sequence[Node]) -> bool:
    """Tell whether two listings write the same values to the same places, as far as the order of their writes does not matter.

    Two values are the same if the same operations compute them from the same values.
    """
    both = first, second
    colours = tuple({node.name: hash(node.what) for node in nodes if node.merges} for nodes in both)
    classes, told_apart = -1, 0
    # A pass that tells apart no more of the values that phis merge is the last: the next one would find the same.
    while told_apart > classes:
        classes = told_apart
        passed = [_recoloured(nodes, before) for nodes, before in zip(both, colours, strict=True)]
        colours = (passed[0][0], passed[1][0])
        told_apart = len({of[node.name] for nodes, of in zip(both, colours, strict=True) for node in nodes if node.merges})
    return passed[0][1] == passed[1][1]


def _recoloured(nodes: Sequence[Node], before: Mapping[str, int]) -> tuple[dict[str, int], Counter[int]]:
    """Return the colour of each value, and how often each colour is written; phis merge the colours that values had before."""
    colours, written = dict(before), Counter[int]()
    for node in nodes:
        known = before if node.merges else colours
        colour = hash((node.what, tuple(_colour(one, known) for one in node.operands)))
        if node.name:
            colours[node.name] = colour
        if node.what.startswith(_WRITES):
            written[colour] += 1
    return colours, written


def _colour(component: Component, colours: Mapping[str, int]) -> int:
    name, place = component
    of_phi = colours.get(_part(name, place))
    return of_phi if of_phi is not None else hash((colours.get(name, 0), place))
