"""The results of decode functions for the elements of a tensor load (CM2-DEC-*, DV-*)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.reference.callbacks import Argument, BlockPointers, applied, applied_parts
from cts.reference.memory import Memory
from cts.reference.state import State
from cts.reference.tensor_addressing import Addresses
from generators.errors import GeneratorError
from generators.numerics.formats import encode
from generators.program.functions import Function
from generators.program.tensor_access import group_width
from generators.types import ComponentType


@dataclass(frozen=True)
class Located:
    """The places of ``count`` elements to decode.

    Attributes:
        memory: the memory that contains their blocks.
        owners: indices of the scope instances that load them, int64, (count,).
        block: coordinates of their blocks, int64, (count, rank).
        within: their places in the blocks, of the same shape.
    """

    memory: Memory
    owners: np.ndarray
    block: np.ndarray
    within: np.ndarray


def located(state: State, memory: Memory, found: Addresses) -> Located:
    """Return the elements that are in memory."""
    at = found.accessed
    owners = np.broadcast_to(state.instances[:, None, None], at.shape)[at]
    return Located(memory, owners, found.block[at], found.within[at])


def decoded(state: State, function: Function, elements: Located, offsets: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return the bits that a decode function returns for each element, (count,).

    Its pointer leads to the element's block; its second and third parameters are the block's coordinates and the coordinates in the block
    (CM2-DEC-04, CM2-DEC-05). Elements that are clipped or take the clamp value do not depend on it (F-TA-17).

    Args:
        offsets: byte offsets of the blocks in memory, int64, (count,).
    """
    arguments: list[Argument] = [BlockPointers(elements.memory, offsets), _parts(elements.block), _parts(elements.within)]
    return encode(component, applied(state, function, arguments, elements.owners))


def decoded_by_groups(state: State, function: Function, elements: Located, offsets: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return the bits that a vector decode function returns for each element, (count,): the component, with the element's index in its
    group, of the vector for that group (DV-SEM-03, DV-SEM-05). It gets the arguments of the group's first element (DV-SEM-04), whose block
    is the same.

    Args:
        offsets: as for ``decoded``, counted in the block of this function.
    """
    lane = lanes(elements, function)
    first = elements.within.copy()
    first[:, -1] -= lane
    arguments: list[Argument] = [BlockPointers(elements.memory, offsets), _parts(elements.block), _parts(first)]
    parts = applied_parts(state, function, arguments, elements.owners)
    every = np.stack([encode(component, part) for part in parts])
    return np.asarray(every[lane, np.arange(lane.size)])


def lanes(elements: Located, function: Function) -> np.ndarray:
    """Return the index of each element in its group of a vector decode function, int64, (count,)."""
    return np.asarray(elements.within[:, -1] % group_width(function))


def whole_groups(elements: Located, function: Function) -> np.ndarray:
    """Return for each element whether the matrix has all elements of its group, bool, (count,)."""
    width = group_width(function)
    lane = lanes(elements, function)
    key = np.column_stack([elements.owners, elements.block, elements.within[:, :-1], elements.within[:, -1] - lane])
    _, group = np.unique(key, axis=0, return_inverse=True)
    group = group.reshape(-1)
    there = np.zeros((int(group.max(initial=-1)) + 1, width), bool)
    there[group, lane] = True
    return np.asarray(np.all(there, axis=1))[group]


def check_groups(last_block: np.ndarray, function: Function) -> None:
    """Refuse blocks that do not consist of whole groups (DV-SEM-07).

    Args:
        last_block: block sizes in the last dimension.

    Raises:
        GeneratorError: one is not a multiple of the group's width.
    """
    width = group_width(function)
    if (last_block % width).any():
        raise GeneratorError(
            "DV-SEM-07", f"the last block size must be a multiple of {width}, the components that {function.name} returns (DV-SEM-07)"
        )


def _parts(coordinates: np.ndarray) -> Argument:
    return [coordinates[:, i] for i in range(coordinates.shape[-1])]
