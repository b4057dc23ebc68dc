"""Why a family need not show a known defect: another family is asked for it, or nobody can see it."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Unseen:
    """Defects whose words ``pattern`` finds.

    Attributes:
        why: nobody sees them, or who is asked for them.
        asked: the families that must show them all the same.
    """

    pattern: str
    why: str
    asked: frozenset[str] = frozenset()


def _asked(pattern: str, why: str, *families: str) -> Unseen:
    return Unseen(pattern, why, frozenset(families))


UNSEEN = (
    Unseen("denormals of", "an implementation may take them for zero (facts.md C29)"),
    Unseen(r"in bounds mirrored, too$", "a coordinate in bounds is its own mirror image"),
    Unseen(r"_ stored with the (outermost coordinate|view's stride)", "elements of a store must not meet (F-KHR-1)"),
    Unseen(
        "remainder by zero", "dimensions of one element hang NVIDIA's devices: tensor_clamp has them in the nightly tier, which shows it"
    ),
    Unseen("_ loaded or stored with", "the same in each of them alone is asked for"),
    Unseen("the tile of c copied without the limit", "what C has beyond the matrix is added to sums that are not stored"),
    Unseen(
        "setting the (clamp value|block size) changes the layout",
        "no case uses the layout that was copied; tensor_layout does after others",
    ),
    _asked(
        r"layout|(row|column) major|transposed|stride|first element|address rounded|one line too|ArrayStride",
        "addresses are the subject of load_store",
        "load_store",
    ),
    _asked(
        r"\bto (f16|bf16|e4m3|e5m2|f32)|sum kept|saturates|SaturatingAccumulation|extended|sign flags",
        "precision, signs and saturation of sums are the subject of muladd",
        "muladd",
    ),
    _asked(
        "of instance _ in every instance", "operands of several instances are the subject of muladd, and shared in some kernels", "muladd"
    ),
    _asked("later uses of it", "operands that are used again are the subject of control_flow", "control_flow"),
    _asked("scalar's sign", "scalars of real kernels are positive", "elementwise", "elementwise_muladd", "use_chain"),
    _asked(
        r"computed in (f|bf|\d)|with the scalar in|left operand, which is lost",
        "precision is the subject of elementwise",
        "elementwise",
    ),
    _asked("the loop|is not carried|trips", "loops are the subject of control_flow; others have bodies that are alike", "control_flow"),
    _asked("the branch", "branches are the subject of control_flow", "control_flow"),
    _asked(
        "the next store to it",
        "copies of variables are the subject of control_flow_variables",
        "control_flow_variables",
        "function_pointers",
    ),
    _asked(
        r"filled (on|in) its|zero instead of its value",
        "constructed matrices start sums as zeros, or are replaced; values are the subject of construction",
        "construction",
        "construction_operands",
    ),
    _asked(
        r"^setting the|slice|strides|outermost coordinate goes|rows and columns of|pointer|taken for bytes|(tensor|layout) of inst",
        "layouts are the subject of tensor_layout",
        "tensor_layout",
    ),
    _asked("coordinates|bounds", "clamp modes are the subject of tensor_clamp", "tensor_clamp"),
    _asked("permut|without end|view|clip window", "views are the subject of tensor_view", "tensor_view"),
    _asked("block", "blocks are the subject of tensor_block", "tensor_block"),
    _asked("padded with zeros", "reductions are the subject of reduce and flexible", "reduce", "flexible"),
    _asked("comparisons of the other signedness", "places have no sign bit", "per_element"),
    _asked("returns its argument|writes its result to", "results of functions are the subject of functions", "functions"),
)


def why_unseen(family: str, words: str) -> str:
    """Why ``family`` need not show the defect; empty if it must."""
    known = [one for one in UNSEEN if re.search(one.pattern, words)]
    by_nobody = next((one.why for one in known if not one.asked), "")
    if by_nobody or any(family in one.asked for one in known):
        return by_nobody
    return next((one.why for one in known), "")
