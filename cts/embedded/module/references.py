"""The kinds of ids that each instruction mentions, and the section of a module to which it belongs.

An instruction without an entry belongs to functions, and its ids are values.

* ``value``: a result with a type, computed before its use; ``constant``: a constant or undefined value of the module.
* ``type``: declared before; ``member``: a type declared before or announced by OpTypeForwardPointer; ``pointee``: declared anywhere.
* ``function`` and ``label``: declared anywhere, a label in the same function; ``set``, ``string``: declared before.
* ``initializer``: a constant, or a variable of the module.
* ``any``: an id below the bound; its users check the rest.

The last word applies to all ids that follow.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

from generators.spirv.enumerants import Op

USES: Mapping[Op, str] = MappingProxyType(
    {
        Op.Name: "any",
        Op.MemberName: "any",
        Op.Decorate: "any",
        Op.DecorateId: "any",
        Op.MemberDecorate: "any",
        Op.DecorateString: "any",
        Op.MemberDecorateString: "any",
        Op.GroupDecorate: "any",
        Op.GroupMemberDecorate: "any",
        Op.EntryPoint: "function any",
        Op.ExecutionMode: "function any",
        Op.ExecutionModeId: "function any",
        Op.Line: "string",
        Op.Source: "string",
        Op.TypeVector: "type",
        Op.TypeVectorIdEXT: "type constant",
        Op.TypeMatrix: "type",
        Op.TypeImage: "type",
        Op.TypeSampledImage: "type",
        Op.TypeArray: "member constant",
        Op.TypeRuntimeArray: "member",
        Op.TypeStruct: "member",
        Op.TypePointer: "pointee",
        Op.TypeForwardPointer: "any",
        Op.TypeFunction: "type",
        Op.TypeCooperativeMatrixKHR: "type constant",
        Op.TypeCooperativeMatrixNV: "type constant",
        Op.TypeTensorLayoutNV: "constant",
        Op.TypeTensorViewNV: "constant",
        Op.ConstantComposite: "constant",
        Op.ConstantCompositeReplicateEXT: "constant",
        Op.SpecConstantComposite: "constant",
        Op.SpecConstantCompositeReplicateEXT: "constant",
        Op.SpecConstantOp: "constant",
        Op.Variable: "initializer",
        Op.UntypedVariableKHR: "type initializer",
        Op.Function: "type",
        Op.FunctionCall: "function value",
        Op.ExtInst: "set value",
        Op.ExtInstWithForwardRefsKHR: "set any",
        Op.LoopMerge: "label",
        Op.SelectionMerge: "label",
        Op.Branch: "label",
        Op.BranchConditional: "value label",
        Op.Switch: "value label",
        Op.CooperativeMatrixLengthKHR: "type",
        Op.CooperativeMatrixLengthNV: "type",
        Op.CooperativeMatrixReduceEXT: "value any",
        Op.CooperativeMatrixPerElementOpEXT: "value any value",
        Op.CooperativeMatrixLoadTensorNV: "value value value any",
        Op.CooperativeMatrixStoreTensorNV: "value value value any",
        Op.UntypedAccessChainKHR: "type value",
        Op.UntypedInBoundsAccessChainKHR: "type value",
        Op.UntypedPtrAccessChainKHR: "type value",
        Op.UntypedInBoundsPtrAccessChainKHR: "type value",
        Op.UntypedArrayLengthKHR: "type value",
        Op.SizeOf: "any",
        Op.AssumeTrueKHR: "value",
    }
)
"""Opcode -> the kinds of the ids, in order, without result type and result."""


class Section(enum.IntEnum):
    """The sections of a module, in order (SPIR-V 2.4)."""

    CAPABILITY = 0
    EXTENSION = 1
    IMPORT = 2
    MEMORY_MODEL = 3
    ENTRY_POINT = 4
    EXECUTION_MODE = 5
    SOURCE = 6
    NAME = 7
    PROCESSED = 8
    ANNOTATION = 9
    DECLARATION = 10
    FUNCTION = 11
    ANYWHERE = 12


_SECTIONS: Mapping[Op, Section] = MappingProxyType(
    {
        Op.Capability: Section.CAPABILITY,
        Op.Extension: Section.EXTENSION,
        Op.ExtInstImport: Section.IMPORT,
        Op.MemoryModel: Section.MEMORY_MODEL,
        Op.EntryPoint: Section.ENTRY_POINT,
        Op.ExecutionMode: Section.EXECUTION_MODE,
        Op.ExecutionModeId: Section.EXECUTION_MODE,
        Op.String: Section.SOURCE,
        Op.Source: Section.SOURCE,
        Op.SourceExtension: Section.SOURCE,
        Op.SourceContinued: Section.SOURCE,
        Op.Name: Section.NAME,
        Op.MemberName: Section.NAME,
        Op.ModuleProcessed: Section.PROCESSED,
        Op.Decorate: Section.ANNOTATION,
        Op.DecorateId: Section.ANNOTATION,
        Op.MemberDecorate: Section.ANNOTATION,
        Op.DecorateString: Section.ANNOTATION,
        Op.MemberDecorateString: Section.ANNOTATION,
        Op.DecorationGroup: Section.ANNOTATION,
        Op.GroupDecorate: Section.ANNOTATION,
        Op.GroupMemberDecorate: Section.ANNOTATION,
        Op.Variable: Section.ANYWHERE,
        Op.UntypedVariableKHR: Section.ANYWHERE,
        Op.Undef: Section.ANYWHERE,
        Op.Line: Section.ANYWHERE,
        Op.NoLine: Section.ANYWHERE,
        Op.Nop: Section.ANYWHERE,
        Op.ExtInst: Section.ANYWHERE,
        Op.ExtInstWithForwardRefsKHR: Section.ANYWHERE,
    }
)


def section_of(op: Op) -> Section:
    """Return the section of ``op``: ``ANYWHERE`` for instructions without effect, or allowed both in functions and before them."""
    if op in _SECTIONS:
        return _SECTIONS[op]
    return Section.DECLARATION if op.name.startswith(("Type", "Constant", "SpecConstant")) else Section.FUNCTION


_PLAIN = frozenset(
    {
        *(Op.TypeVoid, Op.TypeBool, Op.TypeInt, Op.TypeFloat, Op.Constant, Op.ConstantTrue, Op.ConstantFalse, Op.ConstantNull),
        Op.TypeUntypedPointerKHR,
        Op.TypeSampler,
        *(Op.SpecConstant, Op.SpecConstantTrue, Op.SpecConstantFalse, Op.FunctionParameter, Op.FunctionEnd, Op.Label, Op.Phi),
    }
)

NON_SEMANTIC = ("NonSemantic.", "OpenCL.DebugInfo.")
"""The prefixes of instruction sets without effect (SPV_KHR_non_semantic_info)."""

EXTENDED = frozenset({Op.ExtInst, Op.ExtInstWithForwardRefsKHR})
"""Instructions of extended instruction sets."""

LENGTHS = frozenset({Op.CooperativeMatrixLengthKHR, Op.CooperativeMatrixLengthNV})
"""Instructions that return the number of an invocation's components of a matrix type."""

TERMINATORS = frozenset({Op.Branch, Op.BranchConditional, Op.Switch, Op.Return, Op.ReturnValue, Op.Kill, Op.Unreachable})
"""Instructions that end a block."""

UNDERSTOOD = frozenset(USES) | frozenset(_SECTIONS) | TERMINATORS | _PLAIN
"""The instructions whose ids this module knows. Others can be checked only if they belong to functions and mention values."""
