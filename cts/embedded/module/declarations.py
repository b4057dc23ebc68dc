"""Evaluates the declarations of a module for one kernel: everything before its first function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from cts.embedded.diagnostics import Malformed, Unsupported, Violation, need
from cts.embedded.memory.ordering import MAX_INVOCATIONS
from cts.embedded.module.capabilities import is_of_kernels, lacks
from cts.embedded.module.constants import constant_value
from cts.embedded.module.float_controls import note_mode
from cts.embedded.module.module import Variable
from cts.embedded.module.references import EXTENDED, LENGTHS
from cts.embedded.module.translation import RESULT_OPS, Translation, Words
from cts.embedded.module.type_declarations import declared_type
from cts.embedded.types.limits import extent_of
from cts.embedded.types.spirv_types import Array, CooperativeVector, MatrixType, PointerType, Struct, contains, has_no_bytes
from cts.embedded.types.values import Value
from generators.errors import GeneratorError
from generators.program.shape import LATEST
from generators.spirv.enumerants import (
    AddressingModel,
    BuiltIn,
    Capability,
    Decoration,
    ExecutionMode,
    ExecutionModel,
    MemoryModel,
    Op,
    StorageClass,
)
from generators.spirv.reader import NotSpirv, read_string
from generators.spirv.versions import extensions_beyond
from generators.types import Scope

_TYPES = frozenset(op for op in Op if op.name.startswith("Type"))
_MODELS = MappingProxyType(
    {"vertex": ExecutionModel.Vertex, "fragment": ExecutionModel.Fragment, "raygen": ExecutionModel.RayGenerationKHR}
)
_ARRAYS = frozenset({Op.TypeArray, Op.TypeRuntimeArray, Op.TypeMatrix})
_VARIABLES = frozenset(
    {
        StorageClass.Input,
        StorageClass.Output,
        StorageClass.Uniform,
        StorageClass.UniformConstant,
        StorageClass.Workgroup,
        StorageClass.Private,
        StorageClass.PushConstant,
        StorageClass.StorageBuffer,
    }
)
"""Storage classes of variables that are declared outside of functions."""


_BOUND = frozenset({StorageClass.StorageBuffer, StorageClass.Uniform, StorageClass.UniformConstant})
_LAID_OUT = frozenset({StorageClass.StorageBuffer, StorageClass.Uniform, StorageClass.PushConstant})
_MADE = frozenset({Op.SpecConstantOp, Op.SpecConstantComposite, Op.SpecConstantCompositeReplicateEXT})
"""Instructions that make a constant from other constants, which specialization may change."""


def declare(translation: Translation, subgroup_size: int) -> None:
    """Evaluate everything before the first function, and set the size of the machine.

    Raises:
        Violation: a declaration breaks a static rule; ``translation.index`` is the instruction.
        Unsupported: the interpreter lacks a declaration.
    """
    _Declarations(translation).run(subgroup_size)


def outline(translation: Translation) -> None:
    """Evaluate everything before the first function, but not what depends on the number of invocations.

    The defaults of specialization constants need not be a size that works, if the host always gives others.

    Raises:
        Violation: a declaration breaks a static rule; ``translation.index`` is the instruction.
        Unsupported: the interpreter lacks a declaration.
    """
    translation.is_outline = True
    _Declarations(translation).outline()


class _Declarations:
    """Reads the declarations of a translation's module into it."""

    def __init__(self, module: Translation) -> None:
        self._module = module
        self._local_size_words: tuple[bool, Words] | None = None
        self._interface: Words = ()
        self._model: int | None = None
        self._modes: set[int] = set()
        self._late: list[tuple[int, Op, Words]] = []
        self._late_ids: set[int] = set()

    def run(self, subgroup_size: int) -> None:
        """Evaluate all declarations."""
        self.outline()
        self._module.local_size = self._find_local_size() if self._module.kernel.draw is None else self._find_draw()
        lanes = math.prod(self._module.local_size)
        if not 1 <= lanes <= MAX_INVOCATIONS:
            raise Violation("VUID-RuntimeSpirv-x-06432", f"a workgroup of {lanes} invocations; at most {MAX_INVOCATIONS}")
        self._module.machine.resize(lanes, subgroup_size)
        self._check_scopes()
        for index, op, words in self._late:
            self._module.index = index
            self._constant(op, words)
        self._module.machine.constants = list(self._module.values)

    def outline(self) -> None:
        """Evaluate the declarations that do not depend on the number of invocations."""
        self._check_version()
        self._check_declared()
        self._module.first_function = self._read_declarations()
        self._module.index = -1
        self._check_interface()

    def _check_version(self) -> None:
        """Refuse instructions that the module's SPIR-V version does not have."""
        if self._module.version == LATEST:
            return
        version = "{}.{}".format(*self._module.version)
        try:
            lacking = extensions_beyond(self._module.kernel.spirv)
        except NotSpirv as error:
            raise Malformed(error.what) from error
        except GeneratorError as error:
            raise Violation("SPIR-V 2.16.1", str(error)) from error
        if lacking:
            raise Violation(
                "SPIR-V 2.16.1", f"a module of SPIR-V {version} must declare {', '.join(sorted(lacking))} for instructions that it uses"
            )

    def _check_declared(self) -> None:
        """Refuse a module that uses what it does not declare."""
        if self._module.settings.strict:
            need(any(one.op is Op.MemoryModel for one in self._module.instructions), "the module has no OpMemoryModel")
            for lack in lacks(self._module.instructions, self._module.version):
                self._module.index = lack.number
                raise Malformed(str(lack))

    def _check_interface(self) -> None:
        """Before SPIR-V 1.4, refuse variables in an entry point's interface that are neither Input nor Output.

        Refuse workgroup blocks that are mixed with other workgroup variables or not decorated."""
        self._check_workgroup()
        if self._module.settings.strict:
            self._check_resources()
        for id_ in self._interface if self._module.version < (1, 4) else ():
            found = self._module.variables.get(id_)
            if found is not None and found.storage not in (StorageClass.Input, StorageClass.Output):
                raise Violation("SPIR-V 3.52.4", f"the interface has a variable of {found.storage.name} storage, which needs SPIR-V 1.4")

    def _check_resources(self) -> None:
        """Check decorations of members, and of the variables that the host provides."""
        module = self._module
        for (id_, member), found in module.member_decorations.items():
            type_ = module.types.get(id_)
            fits = isinstance(type_, Struct) and member < len(type_.members)
            need(fits, f"decorations {sorted(found)} of member {member} of %{id_}, which has no such member")
        for one in module.variables.values():
            if one.storage in _BOUND and module.uses(one.id):
                for which in (Decoration.DescriptorSet, Decoration.Binding):
                    if module.decoration(one.id, which) is None:
                        raise Violation("VUID-StandaloneSpirv-UniformConstant-06677", f"'{module.name(one.id)}' has no {which.name}")
            if one.storage in _LAID_OUT and not one.is_descriptor_array:
                need(one.data in module.laid_out, f"the contents of '{module.name(one.id)}' have no explicit layout")

    def _check_workgroup(self) -> None:
        """Check the variables of workgroup memory (SPV_KHR_workgroup_memory_explicit_layout, 2.16.2)."""
        module = self._module
        shared = [one for one in module.variables.values() if one.storage is StorageClass.Workgroup and module.uses(one.id)]
        blocks = [one.id for one in shared if module.is_block(one.data)]
        if not blocks:
            return
        if Capability.WorkgroupMemoryExplicitLayoutKHR not in module.capabilities:
            raise Violation("WL-CAP-01", "a block in workgroup memory, but the module does not declare WorkgroupMemoryExplicitLayoutKHR")
        if len(blocks) < len(shared):
            raise Violation("WL-BLK-01", "some variables of workgroup memory are blocks, but others are not")
        if any(one.data not in module.laid_out for one in shared):
            raise Violation("WL-LAY-01", "a block in workgroup memory has no explicit layout")
        plain = [id_ for id_ in blocks if module.decoration(id_, Decoration.Aliased) is None]
        if len(blocks) > 1 and plain and Capability.UntypedPointersKHR not in module.capabilities:
            name = module.name(plain[0])
            raise Violation("WL-BLK-02", f"{len(blocks)} blocks in workgroup memory, but '{name}' is not decorated Aliased")

    def _read_declarations(self) -> int:
        """Read everything before the first function, and return the index of that function."""
        module, names = self._module, self._module.names
        for index, (op, words, _) in enumerate(module.instructions):
            module.index = index
            if op is Op.Name:
                names[words[0]] = words[1:]
            elif op is Op.Function:
                return index
            elif op in _DECLARE:
                _DECLARE[op](self, words)
            elif op not in EXTENDED or not module.is_non_semantic(words):
                self._declare_type_or_constant(op, words)
        raise Violation("SPIR-V 2.4", "the module has no function")

    def _declare_type_or_constant(self, op: Op, words: Words) -> None:
        if op in RESULT_OPS:
            self._constant_or_late(op, words)
        elif op in _TYPES:
            type_ = declared_type(self._module, op, words)
            self._module.types[words[0]] = type_
            if isinstance(type_, MatrixType) and type_.scope is Scope.WORKGROUP:
                self._check_size_is_known()
            parts = words[1:] if op is Op.TypeStruct else words[1:2] if op in _ARRAYS else ()
            self._module.extents[words[0]] = extent_of(type_, [self._module.extents[id_] for id_ in parts])
            self._note_layout(op, words)

    def _check_size_is_known(self) -> None:
        """Refuse a matrix type of scope Workgroup before the constants of the local size."""
        is_id, words = self._local_size_words or (False, ())
        if is_id and not all(id_ in self._module.type_of for id_ in words):
            raise Violation("CM2-WG-01", "a matrix type of scope Workgroup before the constants that LocalSizeId names")

    def _note_layout(self, op: Op, words: Words) -> None:
        """Note whether a type and all of its parts are explicitly laid out."""
        module, id_ = self._module, words[0]
        if op is Op.TypeStruct:
            if module.decoration(id_, Decoration.BufferBlock) is not None:
                module.has_buffer_blocks = True
            placed = all(Decoration.Offset in module.member_decorations.get((id_, i), {}) for i in range(len(words) - 1))
            is_laid_out = placed and module.laid_out.issuperset(words[1:])
        elif op in (Op.TypeArray, Op.TypeRuntimeArray):
            is_laid_out = module.decoration(id_, Decoration.ArrayStride) is not None and words[1] in module.laid_out
        else:
            is_laid_out = True
        if is_laid_out:
            module.laid_out.add(id_)

    def _decorate(self, words: Words) -> None:
        self._module.decorations.setdefault(words[0], {})[words[1]] = words[2:]

    def _decorate_member(self, words: Words) -> None:
        self._module.member_decorations.setdefault((words[0], words[1]), {})[words[2]] = words[3:]

    def _decorate_by_group(self, words: Words) -> None:
        group = self._module.decorations.get(words[0], {})
        for target in words[1:]:
            self._module.decorations.setdefault(target, {}).update(group)

    def _decorate_members_by_group(self, words: Words) -> None:
        group = self._module.decorations.get(words[0], {})
        for target, member in zip(words[1::2], words[2::2], strict=True):
            self._module.member_decorations.setdefault((target, member), {}).update(group)

    def _capability(self, words: Words) -> None:
        need(not self._module.settings.strict or not is_of_kernels(words[0]), "a capability of OpenCL, which Vulkan does not have")
        self._module.capabilities.add(words[0])

    def _memory_model(self, words: Words) -> None:
        self._module.is_logical = words[0] == AddressingModel.Logical
        self._module.private_model = words[1] == MemoryModel.Vulkan
        declares = Capability.VulkanMemoryModel in self._module.capabilities
        need(self._module.private_model or not declares, "the capability VulkanMemoryModel is for the Vulkan memory model alone")

    def _entry_point(self, words: Words) -> None:
        name, length = read_string(words[2:])
        if name == self._module.kernel.entry_point:
            self._module.entry, self._model = words[1], words[0]
            self._interface = words[2 + length :]
            self._module.interface = frozenset(self._interface)
        else:
            self._module.other_interfaces.update(words[2 + length :])

    def _execution_mode(self, words: Words) -> None:
        if words[0] != self._module.entry:
            return
        note_mode(self._module, words)
        if words[1] == ExecutionMode.Shader64BitIndexingEXT:
            if Capability.Shader64BitIndexingEXT not in self._module.capabilities:
                raise Violation("SPIR-V 3.6", "Shader64BitIndexingEXT, but the module does not declare the capability of that name")
            self._module.machine.wide_indexing = True
        self._modes.add(words[1])
        if words[1] in (ExecutionMode.LocalSize, ExecutionMode.LocalSizeId):
            self._local_size_words = (words[1] == ExecutionMode.LocalSizeId, words[2:5])

    def _import(self, words: Words) -> None:
        self._module.instruction_sets[words[0]] = read_string(words[1:])[0]

    def _variable(self, words: Words) -> None:
        id_ = words[1]
        self._module.set_type(id_, words[0])
        self._module.check_types(Op.Variable, words)
        pointer = self._module.types[words[0]]
        assert isinstance(pointer, PointerType)
        self._module.target(pointer)
        storage = pointer.storage
        self._declare_variable(id_, storage, pointer.pointee, words[3] if len(words) > 3 else 0)

    def _untyped_variable(self, words: Words) -> None:
        self._module.set_type(words[1], words[0])
        self._module.check_types(Op.UntypedVariableKHR, words)
        data = words[3]
        storage = StorageClass(words[2])
        if storage not in (StorageClass.UniformConstant, StorageClass.Private) and data not in self._module.laid_out:
            raise Violation("UP-VAR-01", f"the Data Type of a variable of {storage.name} storage has no explicit layout")
        self._declare_variable(words[1], storage, data, words[4] if len(words) > 4 else 0)

    def _declare_variable(self, id_: int, storage: StorageClass, data: int, initializer: int) -> None:
        """Note a variable with contents of type ``data``."""
        contents = self._module.types[data]
        if storage not in _VARIABLES:
            raise Unsupported(f"a variable of {storage.name} storage")
        in_buffers = storage in (StorageClass.StorageBuffer, StorageClass.Uniform)
        has_descriptors = isinstance(contents, Array) and (
            storage is StorageClass.UniformConstant or (in_buffers and isinstance(contents.element, Struct))
        )
        if self._module.decoration(id_, Decoration.NonWritable) is not None:
            self._module.read_only.add(id_)
        if contains(contents, MatrixType) and storage not in (StorageClass.Private, StorageClass.Function):
            raise Violation("KHR-TYPE-05", f"a cooperative matrix in {storage.name} storage; only Function and Private may have one")
        if contains(contents, CooperativeVector) and storage not in (StorageClass.Private, StorageClass.Function):
            raise Violation("CV-TYPE-05", f"a cooperative vector in {storage.name} storage; only Function and Private may have one")
        if has_no_bytes(contents) and storage not in (StorageClass.Private, StorageClass.Function, StorageClass.UniformConstant):
            raise Violation("TA-OPQ-01", f"a tensor layout or view in {storage.name} storage, although it has no bytes")
        self._module.variables[id_] = Variable(id_, storage, data, initializer, has_descriptors)

    def _constant_or_late(self, op: Op, words: Words) -> None:
        """Evaluate a constant. Defer one that needs the number of invocations: a matrix, its length, or a value made from them."""
        self._module.set_type(words[1], words[0])
        is_length = op is Op.SpecConstantOp and words[2] in LENGTHS
        if (
            is_length
            or contains(self._module.type_of[words[1]], MatrixType)
            or not self._late_ids.isdisjoint(words[2:] if op in _MADE else ())
        ):
            self._late_ids.add(words[1])
            self._late.append((self._module.index, op, words))
        else:
            self._constant(op, words)

    def _constant(self, op: Op, words: Words) -> None:
        self._module.budget.take(self._module.value_bytes(words[0]), "the constant", words[1])
        self._module.values[words[1]] = constant_value(self._module, op, words)

    def _find_draw(self) -> tuple[int, int, int]:
        """Check that the entry point belongs to the draw's stage. Return the local size: all invocations along x."""
        draw, name = self._module.kernel.draw, self._module.kernel.entry_point
        assert draw is not None
        if self._model != _MODELS[draw.stage]:
            raise Violation("VUID-VkPipelineShaderStageCreateInfo-pName-00707", f"no entry point '{name}' of the {draw.stage} stage")
        if draw.stage == "fragment" and ExecutionMode.OriginUpperLeft not in self._modes:
            raise Violation("VUID-StandaloneSpirv-OriginLowerLeft-04653", f"the entry point '{name}' does not have OriginUpperLeft")
        for one in self._module.variables.values():
            if one.storage is StorageClass.Workgroup and self._module.uses(one.id):
                raise Violation("VUID-StandaloneSpirv-None-04645", f"workgroup memory in the {draw.stage} stage")
        return draw.invocations, 1, 1

    def _find_local_size(self) -> tuple[int, int, int]:
        words: Value = None
        for id_, decorations in self._module.decorations.items():
            if (
                decorations.get(Decoration.BuiltIn) == (BuiltIn.WorkgroupSize,)
                and id_ in self._module.type_of
                and self._module.values[id_] is not None
            ):
                words = self._module.values[id_]
        if words is None:
            if self._local_size_words is None:
                raise Violation("VUID-StandaloneSpirv-None-10685", f"no entry point '{self._module.kernel.entry_point}' with a LocalSize")
            is_id, words = self._local_size_words
            if is_id:
                words = tuple(self._module.values[w] if w in self._module.type_of else None for w in words)
        need(
            isinstance(words, tuple) and len(words) == 3 and all(w.__class__ is int for w in words), "the local size is not three integers"
        )
        x, y, z = words
        return x, y, z

    def _check_scopes(self) -> None:
        machine, matrices = self._module.machine, [t for t in self._module.types.values() if isinstance(t, MatrixType)]
        if matrices and self._module.version < LATEST and self._module.kernel.full_subgroups is False:
            raise Violation(
                "VUID-RuntimeSpirv-OpTypeCooperativeMatrixKHR-10770",
                f"matrices in a module of SPIR-V {'{}.{}'.format(*self._module.version)}, but the pipeline does not require full subgroups",
            )
        if matrices and self._module.local_size[0] % machine.subgroup_size:
            raise Violation(
                "VUID-VkPipelineShaderStageCreateInfo-module-08987",
                f"local size {self._module.local_size[0]} in x is not a multiple of the subgroup size {machine.subgroup_size}",
            )
        subgroups = machine.subgroups
        if any(t.scope is Scope.WORKGROUP for t in matrices) and subgroups & (subgroups - 1):
            raise Violation(
                "VUID-VkPipelineShaderStageCreateInfo-module-10169",
                f"matrices of Workgroup scope with {subgroups} subgroups, not a power of two",
            )


_DECLARE: Mapping[Op, Callable[[_Declarations, Words], None]] = MappingProxyType(
    {
        Op.Capability: _Declarations._capability,
        Op.Decorate: _Declarations._decorate,
        Op.DecorateId: _Declarations._decorate,
        Op.MemberDecorate: _Declarations._decorate_member,
        Op.GroupDecorate: _Declarations._decorate_by_group,
        Op.GroupMemberDecorate: _Declarations._decorate_members_by_group,
        Op.MemoryModel: _Declarations._memory_model,
        Op.EntryPoint: _Declarations._entry_point,
        Op.ExecutionMode: _Declarations._execution_mode,
        Op.ExecutionModeId: _Declarations._execution_mode,
        Op.ExtInstImport: _Declarations._import,
        Op.Variable: _Declarations._variable,
        Op.UntypedVariableKHR: _Declarations._untyped_variable,
    }
)
"""Opcode -> the function that reads a declaration, for those that are neither names nor types nor constants."""
