"""Errors that a user can fix. Each message says how."""

from __future__ import annotations

import enum
from typing import TypeVar

_Found = TypeVar("_Found")


class CtsError(Exception):
    """Base of every error that is reported to the user in one line, with exit code 2."""


class CasebookError(CtsError):
    """A YAML file has content that the casebook cannot accept; the message names file, line, key and the expected value."""


class Rule(enum.StrEnum):
    """Ids of rules that programs and their data must obey but that no requirement or position states."""

    # Integers: operations whose result is undefined.
    DIVISION_BY_ZERO = "division_by_zero"
    """An integer is divided by 0."""
    DIVISION_OVERFLOW = "division_overflow"
    """The least integer is divided by -1."""
    NEGATIVE_REMAINDER = "negative_remainder"
    """An operand of a remainder is negative."""
    SHIFT = "shift"
    """An integer is shifted by its width or more."""
    ABSOLUTE_VALUE = "absolute_value"
    """The absolute value of the least integer is taken."""
    CONVERSION_RANGE = "conversion_range"
    """A converted number is outside the range of the result's type."""
    CLAMP_BOUNDS = "clamp_bounds"
    """The lower bound of a clamp is above its upper bound."""

    # Floats: numbers about which nothing is promised.
    NOT_FINITE = "not_finite"
    """A NaN or an infinity is an operand, or a sum is infinite."""
    NAN_OPERAND = "nan_operand"
    """A NaN is compared, or is the operand of a function that is undefined for it."""
    OVERFLOW = "overflow"
    """A result may overflow."""
    DENORMAL = "denormal"
    """A denormal number may be treated as zero."""
    DENORMAL_RESULT = "denormal_result"
    """It is open whether a result is denormal, or whether it is flushed."""
    SIGNED_ZERO = "signed_zero"
    """The result depends on the sign of a computed zero."""
    DIVISOR_RANGE = "divisor_range"
    """A divisor's magnitude is outside the range in which division has an error bound."""
    FUNCTION_DOMAIN = "function_domain"
    """A function is undefined for its argument."""
    MODES_CONFLICT = "modes_conflict"
    """Execution modes exclude each other."""
    WIDTHS_DIFFER = "widths_differ"
    """The execution modes of the two widths of a conversion differ."""

    # Floats: numbers for which the reference model has no set of values.
    INEXACT = "inexact"
    """A number may round, in some order of the operations, where it must be exact."""
    INEXACT_MEMORY = "inexact_memory"
    """Bytes of numbers that are not proved exact are loaded or copied."""
    SEVERAL_VALUES = "several_values"
    """An operand may have several values, and the operation needs one."""
    VALUE_RANGE = "value_range"
    """An operand has a range of values, and the operation needs one value."""
    RANGES_OVERLAP = "ranges_overlap"
    """Two numbers are compared whose ranges of values overlap."""
    WIDER_PERMITTED = "wider_permitted"
    """An operand has more permitted values than expected ones."""
    CONTRACTION = "contraction"
    """An operation may be contracted with the one that made its operand."""
    ARMS = "arms"
    """The arms of a branch give sets of values that are not joined."""
    UNKNOWN_BOUND = "unknown_bound"
    """A function has no error bound for a type, or under execution modes."""
    MIXED_DIVIDENDS = "mixed_dividends"
    """A division has both special and ordinary dividends."""
    INTERPRETATIONS = "interpretations"
    """A matrix-vector multiply mixes integers and floats."""

    # Values of variables and memory.
    UNDEFINED_VALUE = "undefined_value"
    """An undefined value is used."""
    UNINITIALIZED = "uninitialized"
    """A variable is used before it is written."""
    UNWRITTEN = "unwritten"
    """Bytes are loaded or copied before anything has written them."""
    UNEXPECTED_ELEMENTS = "unexpected_elements"
    """A matrix does not have the elements that the operation expects."""
    PARTIAL_OVERLAP = "partial_overlap"
    """A store partly overlaps an earlier one."""
    PARTIAL_ELEMENT = "partial_element"
    """A store covers only part of an element."""
    RACE = "race"
    """Several invocations change one element in an unknown order."""
    ORDER = "order"
    """Floats are added in an unknown order."""
    ROLE = "role"
    """An array's role does not allow the access."""
    COUNTER_START = "counter_start"
    """A counter of workgroups does not start with 0."""

    # Addresses.
    OUT_OF_BOUNDS = "out_of_bounds"
    """An access is outside its array."""
    INNER_ARRAY = "inner_array"
    """A matrix leaves the inner array that its pointer leads to."""
    TILE_BOUNDS = "tile_bounds"
    """A tile leaves its array."""
    NO_WINDOW = "no_window"
    """An access to a large buffer is outside its windows."""
    NOT_BOUNDS_CHECKED = "not_bounds_checked"
    """An access relies on bounds checks, but the array is not a buffer with a descriptor."""
    NEGATIVE_OFFSET = "negative_offset"
    """An offset is negative."""
    MISALIGNED = "misaligned"
    """An address is not a multiple of its alignment."""
    STRIDE_ALIGNMENT = "stride_alignment"
    """A stride is not a multiple of its alignment."""
    ALIGNMENT_TYPE = "alignment_type"
    """A pointer is cast to a type of greater alignment."""
    INDEX = "index"
    """An index is outside its composite."""
    PATH_END = "path_end"
    """A path of indices continues past a scalar or a matrix."""
    STRUCT_INDEX = "struct_index"
    """The index of a struct member is not a constant."""
    OPAQUE = "opaque"
    """Matrices in a layout that the device decides are in an array for other data, or other data are in an array for such matrices."""
    OPAQUE_MATRIX = "opaque_matrix"
    """A matrix in a layout that the device decides is read as a different matrix."""
    OPAQUE_OFFSET = "opaque_offset"
    """An offset leads into the middle of a matrix in a layout that the device decides."""

    # Control flow and invocations.
    NOT_UNIFORM = "not_uniform"
    """A number differs within a workgroup."""
    MASK_DIFFERS = "mask_differs"
    """The mask of a shuffle differs within a subgroup."""
    INACTIVE_INVOCATION = "inactive_invocation"
    """A value is read from an inactive invocation."""
    EMPTY_BALLOT = "empty_ballot"
    """The position of a bit is requested from a ballot without bits."""
    SINGLE_INVOCATIONS = "single_invocations"
    """An operation gives different values in different invocations, but is not in the code of single invocations."""
    AFTER_RETURN = "after_return"
    """Code follows after some invocations have returned."""
    ENDLESS_LOOP = "endless_loop"
    """A loop does not end."""
    EXIT_PLACE = "exit_place"
    """A break, continue or return is in a place that does not permit it."""
    BUILT_IN = "built_in"
    """Nothing determines the value of a built-in variable."""
    SUBGROUP_SIZE = "subgroup_size"
    """The program does not say how many invocations a subgroup has, or has matrices of another scope."""
    WORKGROUP_SHAPE = "workgroup_shape"
    """A workgroup or a draw cannot have this shape."""
    STAGE = "stage"
    """An operation does not exist in the stage of the shader."""
    PARTIAL_COPY = "partial_copy"
    """Only some scope instances copy an array or a tile."""

    # Types and operands.
    TYPES_DIFFER = "types_differ"
    """Operands differ in type."""
    COMPONENT_TYPE = "component_type"
    """The operation does not support this component type."""
    NO_CONVERSION = "no_conversion"
    """The instruction does not convert between the two types."""
    SIGNEDNESS = "signedness"
    """OpUDiv has a type whose signedness is not 0."""
    OPERAND_COUNT = "operand_count"
    """The number of operands is wrong."""
    ARGUMENTS = "arguments"
    """The arguments of a call differ from the function's parameters in type or number."""
    POINTERS = "pointers"
    """A call passes two pointers to one variable."""
    CONSTANT_SOURCE = "constant_source"
    """A part of a constant is neither a literal nor a specialization constant."""
    MASK_WITHOUT_STRIDE = "mask_without_stride"
    """The stride is left out, but operands follow it."""
    STORAGE_CLASS = "storage_class"
    """The operation does not support arrays of this storage class."""

    # Arrays and data of a program.
    UNDECLARED = "undeclared"
    """The program uses an operand, array or variable that it does not list."""
    ALIAS = "alias"
    """An array is not an alias of its owner, or lacks the alias that a pointer needs."""
    EXPLICIT_LAYOUT = "explicit_layout"
    """An array in workgroup memory has an explicit layout that it must not have, or lacks one that it needs."""
    POINTER_STRIDE = "pointer_stride"
    """An array whose pointers have a stride of their own is used beyond its element 0."""
    WHOLE_ARRAY = "whole_array"
    """There is no pointer to the whole array."""
    COPY_ARRAYS = "copy_arrays"
    """The arrays of a copy differ in pointee, length or scope."""
    COPY_WORKGROUPS = "copy_workgroups"
    """Several workgroups copy to one array."""
    COPY_ELEMENT_SIZE = "copy_element_size"
    """A copy backwards has elements whose size differs from the elements of the array."""
    DATA_MISSING = "data_missing"
    """A subcase gives no value for an operand."""
    DATA_SIZE = "data_size"
    """The data do not have the size of the array."""
    WINDOWS = "windows"
    """The windows of a large buffer are out of order, overlap, are misaligned, or leave the buffer."""
    PLANES = "planes"
    """A function for adjacent blocks decodes blocks that consist of planes."""

    # Modules.
    NO_ENTRY = "no_entry"
    """A reading has no function for an operation."""
    TWO_ENTRIES = "two_entries"
    """A reading has two functions for an operation."""
    SPIRV_VERSION = "spirv_version"
    """The module's version of SPIR-V does not have what it uses."""
    ENTRY_POINTS = "entry_points"
    """Entry points are not in the module's order."""
    ASSEMBLY = "assembly"
    """A line of assembly is not an instruction."""
    MODULE = "module"
    """A module is not valid, or lacks something that a device is asked for."""
    INSTRUCTION = "instruction"
    """A module has an instruction that the grammar does not have."""
    SPECIALIZATION = "specialization"
    """An OpSpecConstantOp is not evaluated."""
    CAPABILITY = "capability"
    """It is not known which features a capability needs."""
    MODULES_DIFFER = "modules_differ"
    """Programs of one case do not share a module."""
    DEPENDS_ON_DEVICE = "depends_on_device"
    """What a kernel needs depends on the device."""
    GLSLANG_REJECTS = "glslang_rejects"
    """glslang rejects a shader."""
    GLSLANG_FAILED = "glslang_failed"
    """glslang ends without a module or a message."""
    GLSLANG_TIMEOUT = "glslang_timeout"
    """glslang does not finish."""

    # The suite.
    CONSTRAINT = "constraint"
    """A constraint of the family must exclude the case."""
    ROW = "row"
    """A static case has a property row that its module cannot have."""
    EDIT_NOWHERE = "edit_nowhere"
    """An edit of a module fits no line."""
    EDIT_AMBIGUOUS = "edit_ambiguous"
    """An edit of a module fits several lines."""
    EXPECTED_SET = "expected_set"
    """An expected value is not a permitted one."""
    POISON = "poison"
    """An element allows so many values that none is left for poison."""
    MESSAGE_SIZE = "message_size"
    """A dispatch is too large to be sent to the process of a device."""
    DEFECT_INAPPLICABLE = "defect_inapplicable"
    """A defect does not change the program, or has no result."""


class GeneratorError(CtsError):
    """A case cannot be turned into a program or its input data: a defect of the suite, found before any device ran.

    Attributes:
        rule: id of the broken rule: a requirement, a VUID, an F-id, or a Rule.
    """

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


def possible(found: _Found | None, family: str, constraint: str = "fits") -> _Found:
    """Return what a case needs; it is None only for cases that a constraint of the family excludes.

    Raises:
        GeneratorError: it is None.
    """
    if found is None:
        raise GeneratorError(Rule.CONSTRAINT, f"{family}: the constraint '{constraint}' must exclude this case")
    return found


class Lack(enum.StrEnum):
    """Ids of what GLSL or the program of a reproduction lacks."""

    # Of GLSL: values and types.
    CONSTANT = "constant"
    """A value that must be a constant is not one."""
    LITERAL = "literal"
    """A number has no literal."""
    REPLICATED_CONSTANT = "replicated_constant"
    """A constant is not a literal."""
    REPLICATED_COMPOSITE = "replicated_composite"
    """A composite replicates one constituent."""
    COMPONENT_TYPE = "component_type"
    """A matrix or a vector has a component type for which GLSL has no type or no function."""
    ARITHMETIC = "arithmetic"
    """A type has no arithmetic."""
    SIGNEDNESS = "signedness"
    """An instruction interprets numbers with a different signedness than their type has."""
    CONVERSION = "conversion"
    """A conversion is not the one that the types imply."""
    SATURATION_TYPE = "saturation_type"
    """A conversion that saturates converts 8-bit floats."""
    SATURATION_USE = "saturation_use"
    """A conversion that saturates changes the use."""
    TRANSPOSITION = "transposition"
    """A transposition of one extension is beside an instruction of the other one."""
    SIGNED_FLAGS = "signed_flags"
    """The flags of signed components differ from the types."""
    RESULT_TYPE = "result_type"
    """The result of a multiply-add does not have the type of C."""
    SIZES = "sizes"
    """Sizes of operands are equal in value but are different constants."""
    FUNCTION = "function"
    """An instruction has no corresponding function."""
    ARRAY_PART = "array_part"
    """A part of an array has a size that the function does not return."""
    WHOLE_ARRAY = "whole_array"
    """An array whose length is a specialization constant is assigned as a whole."""
    NO_CONTRACTION = "no_contraction"
    """A result has no variable of its own that could be declared precise."""

    # Of GLSL: memory.
    INDEX_TYPE = "index_type"
    """An index, an offset or a stride is not a uint."""
    COORDINATE_TYPE = "coordinate_type"
    """The coordinates that a function gets are not uint."""
    STRIDE = "stride"
    """A stride is left out."""
    ARRAY_STRIDE = "array_stride"
    """An array has a stride of its own."""
    POINTER_STRIDE = "pointer_stride"
    """A pointer has a stride of its own."""
    POINTEE = "pointee"
    """An instruction accesses an array whose elements its function does not accept."""
    POINTER = "pointer"
    """A pointer is used as a value."""
    NON_UNIFORM = "non_uniform"
    """The pointer of a matrix access is decorated with NonUniform."""
    MEMBER_OFFSET = "member_offset"
    """A member of a struct does not begin where the previous one ends."""
    STRUCT_SIZE = "struct_size"
    """The size of a struct is not a multiple of its alignment."""
    ACCESS_OPERANDS = "access_operands"
    """Accesses to one array differ in memory operands."""
    ACCESS_ALIGNMENT = "access_alignment"
    """Accesses to one array differ in alignment."""
    ALIGNMENT = "alignment"
    """An alignment is not a power of two."""
    SHARED_OPERANDS = "shared_operands"
    """An access to shared memory has memory operands."""
    ALIGNED = "aligned"
    """An access to a storage buffer states its alignment."""
    VOLATILE = "volatile"
    """An access is volatile but not coherent."""
    MEMORY_OPERANDS = "memory_operands"
    """No qualifier results in the memory operands."""

    # Of GLSL: modules.
    LOCAL_SIZE = "local_size"
    """The local size is stated in a way that differs from the one that the version of SPIR-V implies."""
    ENTRY_POINTS = "entry_points"
    """A module has several entry points."""
    MODE_WIDTHS = "mode_widths"
    """An execution mode applies to two widths."""
    FUNCTION_CONTROL = "function_control"
    """A function has a function control."""

    # Of the programs in reproductions.
    PROGRAM_DRAW = "program_draw"
    """A kernel is a draw."""
    PROGRAM_PIPELINE = "program_pipeline"
    """A kernel has a shader object, a pipeline cache or robust access."""
    PROGRAM_BUFFERS = "program_buffers"
    """A kernel's buffers are accessed by address, are in arrays of descriptors, or are too large."""
    PROGRAM_MATRICES = "program_matrices"
    """A kernel has matrices in a layout that the device decides."""
    PROGRAM_CONSTANTS = "program_constants"
    """A kernel has specialization constants that the program cannot set."""
    PROGRAM_FEATURES = "program_features"
    """A kernel needs an extension whose features the program does not know."""
    PROGRAM_VALUES = "program_values"
    """An element may have several values, or a range of values that are not doubles."""
    PROGRAM_QUERY = "program_query"
    """A query has arguments or a rule that the program lacks."""


class NotExpressible(CtsError):
    """A front end cannot express a program (for example a 64-bit stride in GLSL).

    Attributes:
        lack: the construct that the front end lacks.
    """

    def __init__(self, lack: Lack, message: str) -> None:
        super().__init__(message)
        self.lack = lack


class NotInstalled(CtsError):
    """A program is not installed.

    Attributes:
        program: its name.
    """

    def __init__(self, program: str, message: str) -> None:
        super().__init__(message)
        self.program = program


class CannotWrite(CtsError):
    """A file or a folder cannot be written."""
