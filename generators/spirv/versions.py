"""Features of SPIR-V versions: built in, or from an extension that a later version made core. The grammar has both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import cache

from generators.errors import GeneratorError, Rule
from generators.program.shape import LATEST, Version
from generators.spirv.enumerants import Capability, Op
from generators.spirv.grammar import GRAMMAR, EnumerantGrammar, InstructionGrammar
from generators.spirv.operands import LiteralWidths, split_operands
from generators.spirv.reader import read_header, read_instructions, read_string

_MATRIX2, MAINTENANCE1 = "SPV_NV_cooperative_matrix2", "SPV_EXT_cooperative_matrix_maintenance1"
"""Extensions that share instructions. A module declares the first one, unless it asks for the other."""


def version_word(version: Version) -> int:
    """Return the second word of a module of ``version``."""
    return version[0] << 16 | version[1] << 8


def extension_of(capability: Capability, version: Version = LATEST, maintenance1: bool = False) -> str:
    """Return the extension that a module of ``version`` with ``capability`` declares; empty if the version has it built in.
    ``maintenance1`` chooses SPV_EXT_cooperative_matrix_maintenance1 if that has the capability."""
    grammar = GRAMMAR.kinds["Capability"].by_value[capability]
    if maintenance1 and MAINTENANCE1 in grammar.extensions:
        return MAINTENANCE1
    return "" if not grammar.extensions or _has(version, grammar) else _chosen(grammar.extensions)


def extensions_beyond(module: bytes) -> set[str]:
    """Return the extensions that ``module`` still needs for its version.

    Raises:
        GeneratorError: neither the version nor an extension has an instruction or enumerant.
        NotSpirv: it is not a SPIR-V module.
    """
    version = read_header(module).version
    declared = {read_string(words)[0] for op, words, _ in read_instructions(module) if op is Op.Extension}
    found: set[str] = set()
    for name, grammar in _used(module):
        if declares(grammar, version, declared):
            continue
        if not grammar.extensions:
            raise GeneratorError(
                Rule.SPIRV_VERSION, f"{name} needs SPIR-V {grammar.version}, and the module has version {version[0]}.{version[1]}"
            )
        found.add(_chosen(grammar.extensions))
    return found


def declares(grammar: InstructionGrammar | EnumerantGrammar, version: Version, extensions: Set[str]) -> bool:
    """Tell whether a module of ``version`` that declares ``extensions`` has a feature, as far as versions and extensions decide it."""
    return _has(version, grammar) or not (grammar.version or grammar.extensions) or not extensions.isdisjoint(grammar.extensions)


def _has(version: Version, grammar: InstructionGrammar | EnumerantGrammar) -> bool:
    """Tell whether ``version`` has the feature without an extension."""
    return bool(grammar.version) and _numbers(grammar.version) <= version


@cache
def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _chosen(extensions: Sequence[str]) -> str:
    """Return the extension to declare: the Khronos one if an older extension has the same feature."""
    if _MATRIX2 in extensions:
        return _MATRIX2
    return next((extension for extension in extensions if extension.startswith("SPV_KHR_")), extensions[0])


def _used(module: bytes) -> Iterator[tuple[str, InstructionGrammar | EnumerantGrammar]]:
    """Yield every instruction and every enumerant of ``module`` that the grammar has, with its name."""
    widths = LiteralWidths()
    for instruction in read_instructions(module):
        name = f"Op{instruction.op.name}"
        yield name, GRAMMAR.instructions[instruction.op]
        for operand in split_operands(instruction, widths):
            kind, word = GRAMMAR.kinds.get(operand.kind), instruction.operands[operand.at]
            if operand.kind == "opcode":
                yield f"{name} {GRAMMAR.instructions[word].name}", GRAMMAR.instructions[word]
            elif kind is not None:
                enumerants = (kind.by_value.get(value) for value in kind.values(word))
                yield from ((f"{name} {enumerant.name}", enumerant) for enumerant in enumerants if enumerant)
        widths.learn(instruction)
