"""The needs of a kernel without ids, so they can be stored, and checked without the module.

The same devices support two kernels with equal needs. On all other devices both lack the same first thing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple

from cts.devices.module_needs import (
    Composite,
    Constant,
    Default,
    MatrixTypeIds,
    ModuleNeeds,
    MulAddIds,
    OuterProductIds,
    ReduceSumIds,
    Scalar,
    SubArrayIds,
    VectorMulIds,
    VectorTypeIds,
)
from cts.devices.module_reading import read_needs
from generators.errors import GeneratorError, Rule
from generators.kernel import BufferSlot, Kernel, OpaqueSlot
from generators.spirv.enumerants import Op
from generators.stages import Draw, Stage
from generators.types import COMPONENT_TYPES, VectorMatrixLayout

BY_SUBGROUP = 0
"""In a local size: the value of the specialization constant that depends on the device's subgroup size."""

_SUBGROUP_SIZES = (4, 8, 64, 128)
_LOCAL_SIZE_ID = 0
_BYTE = Scalar(8, 0)


class DependsOnDevice(GeneratorError):
    """The needs differ between devices in something other than the local size."""


class MatrixNeed(NamedTuple):
    """A cooperative matrix type. All numbers are values, not ids."""

    component: Scalar
    scope: int
    rows: int
    columns: int
    use: int


class VectorNeed(NamedTuple):
    """A cooperative vector type: its component type and its number of components."""

    component: Scalar
    length: int


class Accumulation(NamedTuple):
    """A training instruction: an outer product has its MatrixInterpretation, a sum has the index of its vector type in Types.vectors."""

    interpretation: int | None
    vector: int | None = None


class Environment(NamedTuple):
    """The version, the declared needs, and how the pipeline is made.

    Attributes:
        version, capabilities, extensions, float_modes, local_size_mode: see ModuleNeeds.
        stage: the stage that runs the kernel.
        required_subgroup_size, full_subgroups, robust: see Kernel.
        shader_object: whether it is a shader object.
        maintenance1: see Kernel.
        writes: whether any buffer is written.
        converts: whether a command of the device converts a buffer's matrices.
    """

    version: tuple[int, int]
    capabilities: tuple[int, ...]
    extensions: tuple[str, ...]
    float_modes: tuple[tuple[int, int], ...]
    local_size_mode: bool
    stage: Stage
    required_subgroup_size: int | None
    full_subgroups: bool | None
    robust: bool
    shader_object: bool
    maintenance1: bool
    writes: bool
    converts: bool


class Sizes(NamedTuple):
    """The needs that limits restrict.

    Attributes:
        local_size: invocations along x, y, z; None if the module has no local size. BY_SUBGROUP means ``invocations`` or, if that is
            None, ``subgroups`` times the subgroup size.
        subgroups, invocations, push_constant_bytes: see Kernel.
        shared: an upper bound of the workgroup memory in bytes.
        descriptors: number of descriptors in the pipeline's layout.
        bytes: size of the largest one.
    """

    local_size: tuple[int, int, int] | None
    subgroups: int
    invocations: int | None
    push_constant_bytes: int
    shared: int
    descriptors: int
    bytes: int


Multiply = tuple[int, int, int, int, int | None, int, int]
"""A matrix-vector multiply: result and input (indices into Types.vectors), the interpretations of input, matrix and bias, transpose, and
the Cooperative Matrix Operands."""


class Types(NamedTuple):
    """Cooperative types, and the operations that property rows list.

    Attributes:
        matrices, vectors: the types.
        muladds: for each, Result, A, B, C (indices into ``matrices``) and the Cooperative Matrix Operands.
        multiplies: the matrix-vector multiplies.
        accumulations: the training instructions.
        sub_arrays: for each OpExtractSubArrayQCOM, the lengths of source and result.
    """

    matrices: tuple[MatrixNeed, ...]
    muladds: tuple[tuple[int, int, int, int, int], ...]
    vectors: tuple[VectorNeed, ...]
    multiplies: tuple[Multiply, ...]
    accumulations: tuple[Accumulation, ...]
    sub_arrays: tuple[tuple[int, int], ...]


class KernelNeeds(NamedTuple):
    """The needs of a kernel in three parts. Many kernels share each part."""

    environment: Environment
    sizes: Sizes
    types: Types

    @property
    def kernel(self) -> Kernel:
        """A kernel that has these needs but no module."""
        environment, sizes, _ = self
        opaque = None
        if environment.converts:
            opaque = OpaqueSlot(next(iter(COMPONENT_TYPES.values())), 1, 1, VectorMatrixLayout.INFERENCING_OPTIMAL, 1)
        bound = tuple(BufferSlot("", sizes.bytes, False, binding=number) for number in range(sizes.descriptors))
        return Kernel(
            b"",
            (*bound, BufferSlot("", 0, environment.writes, opaque=opaque)),
            local_size_constant_id=_LOCAL_SIZE_ID,
            subgroups=sizes.subgroups,
            push_constant_bytes=sizes.push_constant_bytes,
            required_subgroup_size=environment.required_subgroup_size,
            full_subgroups=environment.full_subgroups,
            robust=environment.robust,
            invocations=sizes.invocations,
            draw=None if environment.stage == "compute" else Draw(environment.stage, 1),
            shader_object="spirv" if environment.shader_object else None,
            maintenance1=environment.maintenance1,
        )

    @property
    def module(self) -> ModuleNeeds:
        """The declarations of a module that has these needs."""
        environment, sizes, types = self
        ids = _Ids()
        matrices = {ids.new(): ids.matrix(need) for need in types.matrices}
        vectors = {ids.new(): ids.vector(need) for need in types.vectors}
        known, of_vector = list(matrices), list(vectors)
        multiplies = tuple(ids.multiply(multiply, of_vector) for multiply in types.multiplies)
        byte, array = ids.scalar(_BYTE), ids.new()
        ids.composites[array] = Composite(Op.TypeArray, (byte,), sizes.shared)
        local_size = sizes.local_size
        if local_size is not None:
            x, y, z = (ids.constant(Default(_LOCAL_SIZE_ID, 1) if size == BY_SUBGROUP else size) for size in local_size)
            local_size = x, y, z
        return ModuleNeeds(
            environment.version,
            environment.capabilities,
            environment.extensions,
            environment.float_modes,
            local_size,
            local_size is not None,
            environment.local_size_mode,
            matrices,
            tuple(MulAddIds(known[result], known[a], known[b], known[c], operands) for result, a, b, c, operands in types.muladds),
            vectors,
            multiplies,
            tuple(ids.accumulation(one, of_vector) for one in types.accumulations),
            tuple(SubArrayIds(ids.array(source, byte), ids.array(result, byte)) for source, result in types.sub_arrays),
            ids.scalars,
            ids.composites,
            ((array, False),),
            frozenset(),
            ids.constants,
        )


class _Ids:
    """Declares types and constants of a module under new ids.

    Attributes:
        constants, scalars, composites: the declarations by id.
    """

    def __init__(self) -> None:
        self.constants: dict[int, Constant] = {}
        self.scalars: dict[int, Scalar] = {}
        self.composites: dict[int, Composite] = {}
        self._numbers = count(1)

    def new(self) -> int:
        """Return a new id."""
        return next(self._numbers)

    def constant(self, value: Constant) -> int:
        """Declare a constant."""
        self.constants[id_ := self.new()] = value
        return id_

    def scalar(self, type_: Scalar) -> int:
        """Declare a scalar type."""
        self.scalars[id_ := self.new()] = type_
        return id_

    def array(self, length: int, element: int) -> int:
        """Declare a type of arrays of ``length`` elements, which have the type ``element``."""
        self.composites[id_ := self.new()] = Composite(Op.TypeArray, (element,), self.constant(length), True)
        return id_

    def matrix(self, need: MatrixNeed) -> MatrixTypeIds:
        """Return a matrix type whose operands are declared."""
        return MatrixTypeIds(self.scalar(need.component), *map(self.constant, (need.scope, need.rows, need.columns, need.use)))

    def vector(self, need: VectorNeed) -> VectorTypeIds:
        """Return a vector type whose operands are declared."""
        return VectorTypeIds(self.scalar(need.component), self.constant(need.length))

    def multiply(self, multiply: Multiply, of_vector: Sequence[int]) -> VectorMulIds:
        """Return a matrix-vector multiply whose operands are declared. ``of_vector``: the ids of the vector types."""
        result, input_, of_input, of_matrix, of_bias, transpose, operands = multiply
        return VectorMulIds(
            of_vector[result],
            of_vector[input_],
            self.constant(of_input),
            self.constant(of_matrix),
            None if of_bias is None else self.constant(of_bias),
            self.constant(transpose),
            operands,
        )

    def accumulation(self, one: Accumulation, of_vector: Sequence[int]) -> OuterProductIds | ReduceSumIds:
        """Return a training instruction whose operands are declared. ``of_vector``: the ids of the vector types."""
        if one.interpretation is not None:
            return OuterProductIds(self.constant(one.interpretation))
        return ReduceSumIds(of_vector[one.vector or 0])


def needs_of(kernel: Kernel) -> KernelNeeds:
    """Return the needs of ``kernel``.

    Raises:
        DependsOnDevice: the needs depend on the subgroup size, or on how a device allocates a large buffer.
        GeneratorError: the module has something whose requirements the suite does not know.
    """
    if any(slot.windows is not None for slot in kernel.buffers):
        raise DependsOnDevice(Rule.DEPENDS_ON_DEVICE, "the needs of a large buffer depend on how a device allocates its memory")
    first, *others = (_needs_of(kernel, size) for size in _SUBGROUP_SIZES)
    if any(other != first for other in others):
        raise DependsOnDevice(Rule.DEPENDS_ON_DEVICE, "the needs of a kernel depend on the subgroup size")
    return first


def _needs_of(kernel: Kernel, subgroup_size: int) -> KernelNeeds:
    """Return the kernel's needs for a subgroup size."""
    module = read_needs(kernel.spirv, kernel.entry_point)
    known: dict[int, int] = {one.constant_id: one.value for one in kernel.specialization}
    if kernel.local_size_constant_id is not None:
        known[kernel.local_size_constant_id] = kernel.local_size_x(subgroup_size)
    return KernelNeeds(_environment(kernel, module), _sizes(kernel, module, known), _types(module, known))


def _environment(kernel: Kernel, module: ModuleNeeds) -> Environment:
    return Environment(
        module.version,
        module.capabilities,
        module.extensions,
        module.float_modes,
        module.local_size_mode,
        "compute" if kernel.draw is None else kernel.draw.stage,
        kernel.required_subgroup_size,
        kernel.full_subgroups,
        kernel.robust,
        kernel.shader_object is not None,
        kernel.maintenance1,
        any(slot.written for slot in kernel.buffers),
        any(slot.opaque is not None and slot.opaque.command == "device" for slot in kernel.buffers),
    )


def _sizes(kernel: Kernel, module: ModuleNeeds, known: Mapping[int, int]) -> Sizes:
    bound = [slot for slot in kernel.buffers if slot.binding is not None]
    return Sizes(
        _local_size(kernel, module, known),
        kernel.subgroups,
        kernel.invocations,
        kernel.push_constant_bytes,
        module.workgroup_bytes(known),
        kernel.descriptors,
        max((slot.bytes for slot in bound), default=0),
    )


def _types(module: ModuleNeeds, known: Mapping[int, int]) -> Types:
    def value(id_: int) -> int:
        return module.value(id_, known)

    of_matrix = {id_: number for number, id_ in enumerate(module.matrices)}
    of_vector = {id_: number for number, id_ in enumerate(module.vectors)}
    return Types(
        tuple(
            MatrixNeed(module.scalars[one.component], value(one.scope), value(one.rows), value(one.columns), value(one.use))
            for one in module.matrices.values()
        ),
        tuple((of_matrix[one.result], of_matrix[one.a], of_matrix[one.b], of_matrix[one.c], one.operands) for one in module.muladds),
        tuple(VectorNeed(module.scalars[one.component], value(one.length)) for one in module.vectors.values()),
        tuple(
            (
                of_vector[one.result],
                of_vector[one.input],
                value(one.input_interpretation),
                value(one.matrix_interpretation),
                None if one.bias_interpretation is None else value(one.bias_interpretation),
                value(one.transpose),
                one.operands,
            )
            for one in module.multiplies
        ),
        tuple(
            Accumulation(value(one.interpretation)) if isinstance(one, OuterProductIds) else Accumulation(None, of_vector[one.vector])
            for one in module.accumulations
        ),
        tuple((value(module.composites[one.source].length), value(module.composites[one.result].length)) for one in module.sub_arrays),
    )


def _local_size(kernel: Kernel, module: ModuleNeeds, known: Mapping[int, int]) -> tuple[int, int, int] | None:
    if module.local_size is None:
        return None

    def size(given: int) -> int:
        if not module.local_size_ids:
            return given
        constant = module.constants.get(given)
        by_device = isinstance(constant, Default) and constant.spec_id == kernel.local_size_constant_id
        return BY_SUBGROUP if by_device and kernel.invocations is None else module.value(given, known)

    x, y, z = map(size, module.local_size)
    return x, y, z
