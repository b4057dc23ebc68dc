"""Built-in variables of the stages that a draw runs. Each invocation is a lane, in the order of its number in the draw."""

from __future__ import annotations

import numpy as np

from cts.embedded.diagnostics import Malformed, Unsupported, enumerant_text
from cts.embedded.shapes import element_of, shape_of
from cts.embedded.spirv_types import Number, Type, type_text
from cts.embedded.tensor_types import is_int32
from cts.embedded.values import Value
from generators.spirv.enumerants import BuiltIn, StorageClass
from generators.stages import Draw


def check_drawn_built_in(which: int, type_: Type, storage: StorageClass, draw: Draw) -> None:
    """Check that a variable can be a built-in of the draw's stage.

    Raises:
        Unsupported: the interpreter lacks the built-in in this stage.
        Malformed: the variable has the wrong type.
    """
    match draw.stage, storage, which:
        case "fragment", StorageClass.Input, BuiltIn.FragCoord:
            fits = shape_of(type_) == 4 and _is_f32(element_of(type_))
        case "vertex", StorageClass.Input, BuiltIn.VertexIndex:
            fits = is_int32(type_)
        case "vertex", StorageClass.Output, BuiltIn.PointSize:
            fits = _is_f32(type_)
        case _:
            raise Unsupported(f"built-in {enumerant_text(BuiltIn, which)} of {storage.name} storage in the {draw.stage} stage")
    if not fits:
        raise Malformed(f"built-in {BuiltIn(which).name} cannot be a {type_text(type_)}")


def drawn_built_in(which: int, draw: Draw) -> Value:
    """Return the value of an input. A fragment is a pixel: FragCoord is its center. Its depth is 0, and its 1/w is 1."""
    lane = np.arange(draw.invocations, dtype=np.uint32)
    if which == BuiltIn.VertexIndex:
        return lane
    half, zeros = np.float32(0.5), np.zeros(len(lane), np.float32)
    return ((lane % draw.width).astype(np.float32) + half, (lane // draw.width).astype(np.float32) + half, zeros, zeros + np.float32(1))


def _is_f32(type_: Type) -> bool:
    return isinstance(type_, Number) and type_.component.name == "f32"
