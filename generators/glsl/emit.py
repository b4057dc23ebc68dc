"""The GLSL reading of a program: a compute shader as a programmer would write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, Template

from generators.errors import Lack, NotExpressible
from generators.glsl import subgroup_operations
from generators.glsl.array_conversion import emit_bitcast_array, emit_construct_coopmat, emit_extract_coopmat, emit_extract_sub_array
from generators.glsl.arrays import emit_array_load, emit_array_store, emit_atomic_add, emit_atomic_or
from generators.glsl.blocks import emit_block_address, emit_block_cast, emit_block_load
from generators.glsl.composites import emit_construct, emit_copy_memory, emit_copy_object, emit_extract, emit_insert
from generators.glsl.construction import emit_constant, emit_null, emit_splat, emit_undefined
from generators.glsl.control_flow import emit_loop
from generators.glsl.conversion import emit_convert
from generators.glsl.cooperative_vector_elementwise import (
    emit_vector_arithmetic,
    emit_vector_bits,
    emit_vector_convert,
    emit_vector_function,
    emit_vector_negate,
    emit_vector_not,
    emit_vector_times_scalar,
)
from generators.glsl.cooperative_vector_matmul import emit_vector_matmul
from generators.glsl.cooperative_vector_training import emit_outer_product, emit_reduce_sum
from generators.glsl.cooperative_vectors import (
    emit_vector_constant,
    emit_vector_extract,
    emit_vector_insert,
    emit_vector_load,
    emit_vector_null,
    emit_vector_splat,
    emit_vector_store,
    emit_vector_undefined,
)
from generators.glsl.declarations import declare, inputs_and_outputs
from generators.glsl.elements import emit_coordinate, emit_length
from generators.glsl.elementwise import emit_elementwise, emit_negate, emit_times_scalar
from generators.glsl.extended import emit_extended
from generators.glsl.float_controls import execution_modes
from generators.glsl.functions import emit_call
from generators.glsl.load_store import emit_load, emit_store
from generators.glsl.muladd import emit_muladd
from generators.glsl.per_element import emit_per_element
from generators.glsl.pointers import emit_element_pointer, emit_no_pointer, emit_pointer_load, emit_pointer_store
from generators.glsl.reduce import emit_reduce
from generators.glsl.scalars import (
    emit_arithmetic,
    emit_built_in,
    emit_instance_index,
    emit_scalar_convert,
)
from generators.glsl.selections import emit_branch, emit_exit, emit_return_both, emit_select, emit_switch
from generators.glsl.shader import Shader
from generators.glsl.tensor import emit_create, emit_layout_set, emit_view_set
from generators.glsl.tensor_access import emit_tensor_load, emit_tensor_store
from generators.glsl.use_conversion import check_transpositions, emit_transpose, emit_use_convert
from generators.glsl.variables import declare_variables, emit_variable_load, emit_variable_store
from generators.glsl.workgroup import emit_barrier
from generators.program.array_conversion import BitCastArray, ConstructCoopMat, ExtractCoopMat, ExtractSubArray
from generators.program.arrays import ArrayLoad, ArrayStore, AtomicAdd, AtomicOr
from generators.program.blocks import BlockAddress, BlockCast, BlockLoad
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory, CopyObject
from generators.program.construction import MatrixConstant, MatrixNull, MatrixSplat, MatrixUndefined
from generators.program.control_flow import Branch, Exit, Loop, ReturnBoth, Select, Switch
from generators.program.conversion import MatrixConvert
from generators.program.cooperative_vector_elementwise import (
    CooperativeVectorArithmetic,
    CooperativeVectorBits,
    CooperativeVectorConvert,
    CooperativeVectorFunction,
    CooperativeVectorNegate,
    CooperativeVectorNot,
    CooperativeVectorTimesScalar,
)
from generators.program.cooperative_vector_matmul import CooperativeVectorMatMul
from generators.program.cooperative_vector_training import OuterProductAccumulate, ReduceSumAccumulate
from generators.program.cooperative_vectors import (
    CooperativeVectorConstant,
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorNull,
    CooperativeVectorSplat,
    CooperativeVectorStore,
    CooperativeVectorUndefined,
)
from generators.program.elements import MatrixCoordinate, MatrixLength
from generators.program.elementwise import MatrixArithmetic, MatrixNegate, MatrixTimesScalar
from generators.program.extended import Extended
from generators.program.functions import Call
from generators.program.invocations import PerInvocation
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import NoEntry, Operation
from generators.program.per_element import PerElement
from generators.program.pointers import ElementPointer, PointerLoad, PointerMoved, PointerSelect, PointerStore
from generators.program.program import Program
from generators.program.reduce import Reduce
from generators.program.scalars import BuiltInScalar, InstanceIndex, ScalarArithmetic, ScalarConvert
from generators.program.stated import Stated
from generators.program.subgroup_operations import (
    BallotCount,
    BallotFind,
    SubgroupAllEqual,
    SubgroupBallot,
    SubgroupBroadcast,
    SubgroupElect,
    SubgroupReduce,
    SubgroupShuffle,
    SubgroupVote,
)
from generators.program.tensor import LayoutCreate, LayoutSet, ViewCreate, ViewSet
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.use_conversion import Transpose, UseConvert
from generators.program.variables import VariableLoad, VariableStore
from generators.program.workgroup import Barrier


def emit_body(shader: Shader, operation: Stated | PerInvocation) -> None:
    """Emit the code."""
    shader.emit(operation.body)


EMITTERS: Mapping[type, Callable[[Shader, Any], None]] = MappingProxyType(
    {
        MatrixLoad: emit_load,
        MatrixStore: emit_store,
        MatrixSplat: emit_splat,
        MatrixMulAdd: emit_muladd,
        InstanceIndex: emit_instance_index,
        ScalarArithmetic: emit_arithmetic,
        Loop: emit_loop,
        Barrier: emit_barrier,
        VariableLoad: emit_variable_load,
        VariableStore: emit_variable_store,
        MatrixConstant: emit_constant,
        MatrixNull: emit_null,
        MatrixUndefined: emit_undefined,
        ArrayLoad: emit_array_load,
        ScalarConvert: emit_scalar_convert,
        ArrayStore: emit_array_store,
        AtomicAdd: emit_atomic_add,
        AtomicOr: emit_atomic_or,
        Stated: emit_body,
        PerInvocation: emit_body,
        Select: emit_select,
        BlockLoad: emit_block_load,
        BlockAddress: emit_block_address,
        BlockCast: emit_block_cast,
        Extended: emit_extended,
        MatrixNegate: emit_negate,
        MatrixArithmetic: emit_elementwise,
        MatrixTimesScalar: emit_times_scalar,
        MatrixConvert: emit_convert,
        MatrixLength: emit_length,
        MatrixCoordinate: emit_coordinate,
        CompositeConstruct: emit_construct,
        CompositeExtract: emit_extract,
        CompositeInsert: emit_insert,
        CopyObject: emit_copy_object,
        CopyMemory: emit_copy_memory,
        BuiltInScalar: emit_built_in,
        Branch: emit_branch,
        Switch: emit_switch,
        Exit: emit_exit,
        Call: emit_call,
        ReturnBoth: emit_return_both,
        LayoutCreate: emit_create,
        LayoutSet: emit_layout_set,
        ViewCreate: emit_create,
        ViewSet: emit_view_set,
        TensorLoad: emit_tensor_load,
        TensorStore: emit_tensor_store,
        PerElement: emit_per_element,
        Reduce: emit_reduce,
        UseConvert: emit_use_convert,
        Transpose: emit_transpose,
        ElementPointer: emit_element_pointer,
        PointerSelect: emit_no_pointer,
        PointerMoved: emit_no_pointer,
        PointerLoad: emit_pointer_load,
        PointerStore: emit_pointer_store,
        BallotCount: subgroup_operations.emit_count,
        BallotFind: subgroup_operations.emit_find,
        SubgroupAllEqual: subgroup_operations.emit_all_equal,
        SubgroupBallot: subgroup_operations.emit_ballot,
        SubgroupBroadcast: subgroup_operations.emit_broadcast,
        SubgroupElect: subgroup_operations.emit_elect,
        SubgroupReduce: subgroup_operations.emit_reduce,
        SubgroupShuffle: subgroup_operations.emit_shuffle,
        SubgroupVote: subgroup_operations.emit_vote,
        CooperativeVectorLoad: emit_vector_load,
        CooperativeVectorStore: emit_vector_store,
        CooperativeVectorSplat: emit_vector_splat,
        CooperativeVectorConstant: emit_vector_constant,
        CooperativeVectorNull: emit_vector_null,
        CooperativeVectorUndefined: emit_vector_undefined,
        CooperativeVectorExtract: emit_vector_extract,
        CooperativeVectorInsert: emit_vector_insert,
        CooperativeVectorNegate: emit_vector_negate,
        CooperativeVectorNot: emit_vector_not,
        CooperativeVectorArithmetic: emit_vector_arithmetic,
        CooperativeVectorBits: emit_vector_bits,
        CooperativeVectorTimesScalar: emit_vector_times_scalar,
        CooperativeVectorConvert: emit_vector_convert,
        CooperativeVectorFunction: emit_vector_function,
        CooperativeVectorMatMul: emit_vector_matmul,
        OuterProductAccumulate: emit_outer_product,
        ReduceSumAccumulate: emit_reduce_sum,
        BitCastArray: emit_bitcast_array,
        ConstructCoopMat: emit_construct_coopmat,
        ExtractCoopMat: emit_extract_coopmat,
        ExtractSubArray: emit_extract_sub_array,
    }
)
"""By class of operation: the function that adds its statements to a shader."""

_FRAME = """\
#version 460
{% for extension in extensions %}
#extension {{ extension }} : require
{% endfor %}

{% for line in inputs_and_outputs %}
{{ line }}
{% endfor %}
{% for mode in execution_modes %}
{{ mode }}
{% endfor %}
{% for constant in declarations.constants %}
{{ constant }}
{% endfor %}
{% for struct in element_structs %}

{% for line in struct %}
{{ line }}
{% endfor %}
{% endfor %}
{% for block in declarations.blocks %}

{{ block.head }} {
{% for member in block.members %}
    {{ member }}
{% endfor %}
}{{ block.name }};
{% endfor %}
{% if declarations.shared %}

{% endif %}
{% for array in declarations.shared %}
{{ array }}
{% endfor %}
{% for name, members in structs.items() %}

struct {{ name }} {
{% for member in members %}
    {{ member }}
{% endfor %}
};
{% endfor %}
{% for reference in references %}

{% for line in reference %}
{{ line }}
{% endfor %}
{% endfor %}
{% for declaration in globals %}

{{ declaration }}
{% endfor %}
{% for function in functions %}

{% for line in function %}
{{ line }}
{% endfor %}
{% endfor %}

void main() {
{% for line in lines %}
{{ line }}
{% endfor %}
}
"""


@cache
def _frame() -> Template:
    # Nothing is escaped: the template receives only GLSL that this package generates.
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False)
    return environment.from_string(_FRAME)


def emit(program: Program) -> str:
    """Return the shader of ``program``: GLSL 4.60 with its extensions, for Vulkan 1.3, laid out by ``generators.program.interface``.

    Raises:
        NotExpressible: GLSL or glslang cannot express the program.
    """
    if program.further or program.entry_point != "main":
        raise NotExpressible(Lack.ENTRY_POINTS, "a shader of GLSL has one entry point, main")
    shader = Shader(program, _emit_operation)
    if program.shape.stage == "vertex":
        shader.line("gl_PointSize = 1.0;")
    declare_variables(shader)
    shader.emit(program.operations)
    check_transpositions(shader)
    modes = execution_modes(shader)
    declarations = declare(shader)
    return _frame().render(
        extensions=sorted(shader.extensions),
        inputs_and_outputs=inputs_and_outputs(program),
        execution_modes=modes,
        declarations=declarations,
        functions=list(shader.functions.values()),
        references=list(shader.references.values()),
        lines=shader.lines,
        structs=shader.structs,
        element_structs=list(shader.element_structs.values()),
        globals=shader.globals,
    )


def _emit_operation(shader: Shader, operation: Operation) -> None:
    emitter = EMITTERS.get(type(operation))
    if emitter is None:
        raise NoEntry(operation, "EMITTERS of generators/glsl/emit.py")
    emitter(shader, operation)
