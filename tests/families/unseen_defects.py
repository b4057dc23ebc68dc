"""Reasons why a family need not show a known defect: another family must, or no test can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from cts.defects.defect import Defect
from cts.defects.glossary import EVERY, ParameterValue, glossary


@dataclass(frozen=True)
class Unseen:
    """Defects that only some families must show.

    Attributes:
        defects: their ids.
        why: why no test can see them, or which families must show them.
        asked: the families that must show them.
        excused: families that need not show them, although no other family must.
        where: parameters that the defects must have.
    """

    defects: frozenset[str]
    why: str
    asked: frozenset[str] = frozenset()
    excused: frozenset[str] = frozenset()
    where: Mapping[str, ParameterValue] = field(default_factory=dict)

    def covers(self, defect: Defect) -> bool:
        """Return whether the reason applies to ``defect``."""
        return defect.id in self.defects and self.where.items() <= defect.parameters.items()


def _of(area: str, *names: str) -> frozenset[str]:
    return frozenset(f"{area}.{name}" for name in names)


def _all_of(area: str, *but: str) -> frozenset[str]:
    """Return the ids of all defects of an area, except some."""
    return frozenset(id_ for id_ in glossary().entries if id_.startswith(f"{area}.")) - _of(area, *but)


def _nobody(defects: frozenset[str], why: str, **where: ParameterValue) -> Unseen:
    return Unseen(defects, why, where=where)


def _asked(defects: frozenset[str], why: str, *families: str, **where: ParameterValue) -> Unseen:
    return Unseen(defects, why, frozenset(families), where=where)


def _excused(defects: frozenset[str], why: str, *families: str, **where: ParameterValue) -> Unseen:
    return Unseen(defects, why, excused=frozenset(families), where=where)


_DECODED = (
    "bytes_unsigned",
    "decoded_out_of_bounds",
    "fifth_bit_dropped",
    "halves_of_bytes_exchanged",
    "index_in_bytes",
    "index_in_components",
)
_BLOCK_LAYOUTS = ("block_strides_rounded_down", "block_strides_in_elements", "block_sizes_ignored", "block_sizes_reversed")

UNSEEN = (
    _nobody(_of("multiply_add", "denormals_flushed"), "an implementation may treat them as zero (facts.md C29)"),
    _nobody(_of("tensor_access", "in_bounds_mirrored"), "a coordinate in bounds is its own mirror image"),
    _nobody(
        _of("multiply_add", "sum_rounded", "sum_narrowed", "sum_narrowed_c_last", "c_rounded"),
        "computing f64 in f32 is permitted, but not expected (F-KHR-26)",
        type="f32",
    ),
    _nobody(
        _of("decode_vector", "struct_of_scalar_function"),
        "the pointer that the scalar function gets is permitted, but not expected (F-DV-1)",
    ),
    _nobody(_of("elementwise", "scalar_narrowed"), "computing f64 in f32 is permitted, but not expected (F-KHR-13)", type="f32"),
    _nobody(
        _of("elementwise", "float_narrowed"), "computing f64 in f32 is permitted, but not expected (F-KHR-13)", type="f32", result=EVERY
    ),
    _nobody(
        _of("multiply_add", "sum_in_bits", "c_in_bits"),
        "an implementation may keep only this many bits, although more are expected (F-KHR-26)",
    ),
    _nobody(_of("tensor_access", "index_in_24_bits"), "only the nightly tier has tensors of 16 Mi elements, and it shows the defect"),
    _nobody(
        _of("float_modes", "moved_nan_quieted", "moved_nan_replaced"),
        "a moved NaN may change its bits, although this is not expected (F-KHR-33)",
    ),
    _nobody(
        _of("tensor_access", "in_bounds_mirrored_to_first"),
        "dimensions of one element hang NVIDIA's devices: tensor_clamp has them only in the nightly tier, which shows the defect",
    ),
    _nobody(
        _of("tensor_view", "outermost_without_end", "strides_ignored", "stride_zero_as_one", "stride_zero_as_default"),
        "stored elements must not overlap (F-KHR-1)",
        access="stored",
    ),
    _nobody(_all_of("tensor_view"), "families must show this mistake in each matrix alone", matrix=EVERY),
    _nobody(
        _of("tile", "row_limit_ignored", "column_limit_ignored"),
        "elements of C beyond the matrix are added only to sums that are not stored",
        tile="c",
    ),
    *(
        _nobody(
            _of("tensor_layout", "changed_in_place"),
            "no case uses the original layout after this setting; tensor_layout does after others",
            setting=setting,
        )
        for setting in ("clamp value", "block size")
    ),
    _asked(_all_of("load_store", "not_stored", "place_of_first_instance"), "addresses are the subject of load_store", "load_store"),
    _asked(_of("specialization", "default_kept"), "addresses are the subject of load_store", "load_store", name="stride"),
    _excused(
        _of("specialization", "default_kept"),
        "the one case of the smoke tier with such a constant runs no iteration",
        "construction_operands",
        name="trip_count",
    ),
    _excused(
        _of("specialization", "default_kept"),
        "the one case of the smoke tier with such a constant has a grid for which the default width works as well",
        "kernel_convolution",
        "kernel_product",
        name="grid_width",
    ),
    _excused(
        _of("vector_multiply", "other_float8"),
        "inputs of a network's layers fit both types, so that sums are exact; the defect shows in a single product",
        "vector_muladd",
        operand="input",
        product=EVERY,
    ),
    _asked(
        _of("multiply_add", "relative_error", "factor_rounded", "c_twice"),
        "precision of operands and sums is the subject of muladd; in other families C may be zero",
        "muladd",
    ),
    _asked(
        _of("multiply_add", "stale_a", "stale_b", "a_of_last_iteration", "b_of_last_iteration"),
        "operands of several multiply-adds are the subject of muladd; in other families they may be the same",
        "muladd",
    ),
    _excused(
        _of("vector_elementwise", "scalar_of_first_invocation"),
        "all invocations share one scalar; in vector_elementwise each has its own",
        "vector_float_controls",
    ),
    _asked(_of("conversion", "rounded"), "fractions are the subject of conversion", "conversion"),
    _asked(_of("variable", "index_ignored"), "indices are the subject of aggregates", "aggregates"),
    _asked(
        _of("tensor_layout", "dimensions_in_16_bits") | _of("tensor_access", "index_in_20_bits"),
        "large tensors are in tensor_layout",
        "tensor_layout",
    ),
    _asked(
        _of("tensor_layout", "slice_offset_in_24_bits") | _of("tensor_access", "remainder_by_floats"),
        "far coordinates are in tensor_clamp",
        "tensor_clamp",
    ),
    _asked(_of("splat", "first_element_only"), "constructed matrices are the subject of construction", "load_store"),
    _asked(_of("memory", "stride_in_array_strides"), "decorations of arrays are the subject of memory", "memory"),
    _asked(
        _of("memory", "store_not_seen", "lost_after_divided_barriers"),
        "barriers are the subject of memory; elsewhere workgroup memory has no contents before its first store",
        "memory",
    ),
    _asked(
        _of(
            "multiply_add",
            "sign_ignored",
            "sign_assumed",
            "factor_signs_ignored",
            "signs_ignored",
            "saturates_by_other_sign",
            "saturation_ignored",
            "saturation_assumed",
            "integer_sum_narrowed",
            "sum_rounded",
            "sum_narrowed",
            "sum_narrowed_c_last",
            "c_rounded",
        ),
        "precision, signs and saturation of sums are the subject of muladd",
        "muladd",
    ),
    _asked(
        _of("multiply_add", "a_transposed", "b_transposed", "factors_transposed", "c_transposed", "result_transposed"),
        "places of operands are the subject of muladd",
        "muladd",
    ),
    _asked(
        _of("multiply_add", "a_of_first_instance", "b_of_first_instance", "c_of_first_instance"),
        "operands of several instances are the subject of muladd, and shared in some kernels",
        "muladd",
    ),
    _asked(_of("multiply_add", "c_overwritten"), "operands that are used again are the subject of control_flow", "control_flow"),
    *(
        _excused(
            _of(area, "operands_exchanged", "other_operator", "unchanged", *rest),
            "differences from the expected values are squared and added: all are 0, of either sign, and so are their sums and products",
            "memory_order",
            "vector_memory_order",
        )
        for area, *rest in (("elementwise",), ("vector_elementwise", "rest_unchanged"))
    ),
    _asked(
        _of("elementwise", "scalar_sign_dropped"), "scalars of real kernels are positive", "elementwise", "elementwise_muladd", "use_chain"
    ),
    _asked(
        _of(
            "elementwise",
            "float_narrowed",
            "integer_narrowed",
            "through_float",
            "scalar_narrowed",
            "left_overwritten",
            "right_transposed",
            "saturates",
        ),
        "precision is the subject of elementwise",
        "elementwise",
    ),
    _asked(_all_of("loop"), "loops are the subject of control_flow; in other families all iterations may be alike", "control_flow"),
    _asked(
        _of("branch", "other_arm", "first_arm", "last_arm", "arm_of_first_instance"),
        "branches are the subject of control_flow",
        "control_flow",
        selection="branch",
    ),
    _asked(_of("branch", "other_sign"), "branches are the subject of control_flow", "control_flow"),
    _asked(
        _all_of("variable", "index_ignored"),
        "copies of variables are the subject of control_flow_variables",
        "control_flow_variables",
        "function_pointers",
    ),
    _asked(
        _all_of("splat", "scalar_of_first_instance") | _all_of("constant", "sign_lost") | _of("null_constant", "ones"),
        "constructed matrices start sums as zeros, or are replaced; values are the subject of construction",
        "construction",
        "construction_operands",
    ),
    _asked(
        _all_of(
            "tensor_layout",
            "clamp_value_ignored",
            "clamp_value_zero",
            "clamp_value_in_8_bits",
            "dimensions_in_16_bits",
            "slice_offset_in_24_bits",
        ),
        "layouts are the subject of tensor_layout",
        "tensor_layout",
    ),
    _asked(
        _of("tensor_layout", "block_size_resets_strides", *_BLOCK_LAYOUTS),
        "blocks are the subject of tensor_block",
        "tensor_block",
    ),
    _asked(
        _of(
            "tensor_access",
            "matrix_for_slice",
            "outermost_without_end",
            "number_in_bytes",
            "pointer_ignored",
            "pointer_in_16_bits",
            "pointer_in_components",
            "tensor_of_first_instance",
            "layout_of_first_instance",
        ),
        "layouts are the subject of tensor_layout",
        "tensor_layout",
    ),
    _asked(
        _of(
            "tensor_access",
            "clamped_to_edge",
            "repeated",
            "mirrored",
            "repeated_by_remainder",
            "clamped_unsigned",
            "repeated_unsigned",
            "mirrored_unsigned",
            "moved_by_one_period",
            "mirrored_once",
            "mirrored_period_odd",
            "mirrored_period_even",
            "constant_out_of_bounds",
            "bounds_of_one_dimension",
            "dimension_signed",
            "object_overwritten",
            "store_clamped",
            "store_repeated",
            "matrix_for_slice",
        ),
        "clamp modes are the subject of tensor_clamp",
        "tensor_clamp",
    ),
    _asked(_all_of("tensor_view", "numbered_in_matrix"), "views are the subject of tensor_view", "tensor_view"),
    _asked(
        _all_of("tensor_block", *_DECODED, "strides_in_elements", "function_of_another_load")
        | _of("tensor_access", "place_in_block_added"),
        "blocks are the subject of tensor_block",
        "tensor_block",
    ),
    _asked(_of("reduce", "padded_with_zeros"), "reductions are the subject of reduce and flexible", "reduce", "flexible"),
    _asked(_of("reduce", "compared_by_other_sign"), "comparisons of elements are the subject of reduce", "reduce"),
    _asked(_of("per_element", "compared_by_other_sign"), "row and column numbers never have the sign bit set", "per_element"),
    _asked(
        _all_of("vector_composite") | _of("cooperative_vector", "index_ignored", "index_of_first_invocation"),
        "composites are the subject of vector_composites and vector_variables",
        "vector_composites",
        "vector_variables",
    ),
    _nobody(
        _of("specialization", "dimension_default_kept"),
        "a packed input may have more components than it needs (CV-MM-07)",
        name="components",
    ),
    _excused(
        _of("call", "arguments_exchanged"),
        "the only function of the smoke tier that takes two vectors returns their minimum",
        "vector_elementwise",
    ),
    _asked(
        _of("vector_training", "offset_of_first_invocation", "neighbour_changed"),
        "vector_training tests where invocations add, and the memory beside the sums",
        "vector_training",
    ),
    _asked(
        _of("decode_vector", "clamped_elements_decoded"),
        "groups that are partly outside the tensor are the subject of decode_vector",
        "decode_vector",
    ),
    _excused(
        _of("call", "variables_kept"),
        "a function that takes and returns a whole value writes all of its variable first",
        "vector_variables",
        "get_coordinate",
    ),
    _asked(
        _of("per_element", "element_transposed", "operand_transposed"),
        "which element a function gets is the subject of per_element",
        "per_element",
        "maintenance1_per_element",
    ),
    _asked(_of("call", "returns_argument", "result_overwrites_argument"), "results of functions are the subject of functions", "functions"),
)


@cache
def _unseen(id_: str) -> tuple[Unseen, ...]:
    """Return the reasons that name a defect, by its id."""
    return tuple(one for one in UNSEEN if id_ in one.defects)


def why_nobody(defect: Defect) -> str:
    """Return why no test can show the defect; empty if one can."""
    return next((one.why for one in _unseen(defect.id) if not one.asked and not one.excused and one.covers(defect)), "")


def why_unseen(family: str, defect: Defect) -> str:
    """Return why ``family`` need not show the defect; empty if it must."""
    known = [one for one in _unseen(defect.id) if one.covers(defect) and (not one.excused or family in one.excused)]
    by_nobody = next((one.why for one in known if not one.asked), "")
    if by_nobody or any(family in one.asked for one in known):
        return by_nobody
    return next((one.why for one in known), "")
