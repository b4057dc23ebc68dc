"""Finds the source line of an instruction, from OpLine or from DebugLine of NonSemantic.Shader.DebugInfo.100."""

from __future__ import annotations

from cts.embedded.module.references import EXTENDED
from cts.embedded.module.translation import Translation, Words
from cts.embedded.observations import SourceLine
from generators.spirv.enumerants import Op
from generators.spirv.reader import NotSpirv, read_string

_DEBUG_SOURCE, _DEBUG_LINE, _DEBUG_NO_LINE = 35, 103, 104
"""Instructions of NonSemantic.Shader.DebugInfo.100."""


def source_line(translation: Translation, index: int) -> SourceLine | None:
    """Return the source line of instruction number ``index``; None if the module does not state it.

    A line applies up to the end of its block (SPIR-V 3.52.2 OpLine).
    """
    place: tuple[int, int] | None = None
    for op, words, _ in translation.instructions[translation.first_function or index : index + 1]:
        if op is Op.Line:
            place = words[0], words[1]
        elif op is Op.NoLine or op is Op.Label:
            place = None
        elif op in EXTENDED and _is_debug_info(translation, words):
            if words[3] == _DEBUG_LINE:
                place = _debug_source(translation, words[4]), int(translation.constant(words[5]) or 0)
            elif words[3] == _DEBUG_NO_LINE:
                place = None
    if place is None:
        return None
    file, line = place
    return SourceLine(_string(translation, file), line, _text(translation, file, line))


def _is_debug_info(translation: Translation, words: Words) -> bool:
    return "DebugInfo" in translation.instruction_sets.get(words[2], "") and translation.is_non_semantic(words)


def _debug_source(translation: Translation, id_: int) -> int:
    """Return the id of a DebugSource's file name."""
    for op, words, _ in translation.instructions:
        if op in EXTENDED and words[1] == id_ and words[3] == _DEBUG_SOURCE:
            return words[4]
    return 0


def _string(translation: Translation, id_: int) -> str:
    for op, words, _ in translation.instructions:
        if op is Op.String and words[0] == id_:
            return read_string(words[1:])[0]
    return "?"


def _text(translation: Translation, file: int, line: int) -> str:
    """Return a line of the source in the module; empty if the module has no source."""
    source, is_of_file = "", False
    for op, words, _ in translation.instructions[: translation.first_function]:
        try:
            if op is Op.Source:
                is_of_file = len(words) > 3 and words[2] == file
                source += read_string(words[3:])[0] if is_of_file else ""
            elif op is Op.SourceContinued and is_of_file:
                source += read_string(words)[0]
            elif op in EXTENDED and words[3] == _DEBUG_SOURCE and words[4] == file and len(words) > 5:
                source += _string(translation, words[5])
        except NotSpirv:
            continue
    lines = source.splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""
