"""Breaks each instruction that RADV uses in turn, and tells which damage the vectors of its mnemonic do not notice.

    python -m tests.devices.executed.broken_instructions

The damage: no effect, one wrong bit of what changed, the first two sources exchanged, each other instruction of the same kind in its place.
The exit code is 1 if some damage survives.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from cts.devices.executed.encoding.decoder import Instruction, load_encoding
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.control import ENDINGS, IGNORED
from cts.devices.executed.instructions.table import load_meanings
from tests.devices.executed.assembly import instruction, mnemonic_of, rows
from tests.devices.executed.states import Observed, apply, begun, execute, prepared, seen

Line = tuple[str, str, str, str]
"""Generation, assembly, the state before, and what is different after."""

LINES: tuple[Line, ...] = tuple(
    (generation, text, before, after)
    for line in Path(__file__).with_name("vectors.tsv").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
    for generation, text, before, after in [line.split("\t")]
)

WITHOUT_EFFECT = IGNORED | {"s_sendmsg"}
"""Instructions that have nothing to break."""

COMMUTATIVE = re.compile(
    r"[vs]_(pk_)?(add_|add3|addc|mul_|mad_u|mad_i|fma|min|max|and_b|or_b|xor_b|absdiff)|[vs]_cmpx?_(eq|ne|lg|neq)_|v_wmma|s_\w*saveexec"
)
"""Instructions whose first two sources may be exchanged."""

SAME = frozenset({("v_rcp_f32", "v_rcp_iflag_f32")})
"""Instructions that differ only in what is not modelled."""

Damage = Callable[[Observed, Instruction, str], None]
"""Executes an instruction wrongly, in a generation."""


def passes(line: Line, damage: Damage | None = None, lanes: int | None = None, generation: str = "") -> bool:
    """Return whether an instruction has the effect that a vector says, even if it is executed wrongly."""
    own, text, before, after = line
    expected, wave = begun(before, lanes), begun(before, lanes)
    apply(expected, after)
    of = instruction(text, generation or own)
    if (generation or own) != "gfx12" and "rsrc" in of.fields:
        # RDNA4 has the register's number, the others its quarter.
        of = replace(of, fields={**of.fields, "rsrc": of["rsrc"] // 4})
    (damage or rightly)(wave, of, generation or own)
    return seen(wave) == seen(expected)


def rightly(wave: Observed, of: Instruction, generation: str) -> None:
    """Execute an instruction as it is."""
    execute(wave, of, prepared(of, generation))


def without_effect(wave: Observed, of: Instruction, _: str) -> None:
    """Execute nothing, except that the wave goes on."""
    if of.mnemonic in ENDINGS:
        wave.pc = 0x100


def with_a_wrong_bit(wave: Observed, of: Instruction, generation: str) -> None:
    """Execute an instruction, then change the lowest bit of each register and byte that it changed."""
    vectors, scalars, memory, share = (part.copy() for part in _parts(wave))
    scc, execution, pc, opened = wave.scc, wave.exec, wave.pc, wave.group.opened
    rightly(wave, of, generation)
    wave.vectors ^= wave.vectors != vectors
    wave.scalars[:] = [new ^ (new != old) for new, old in zip(wave.scalars, scalars, strict=True)]
    wave.memory ^= wave.memory != memory
    wave.group.lds[:] ^= wave.group.lds != share
    wave.scc ^= wave.scc != scc
    wave.pc ^= wave.pc != pc
    wave.group.opened ^= wave.group.opened != opened
    if wave.exec != execution:
        wave.refresh()


def _parts(wave: Observed) -> tuple[np.ndarray, list[int], np.ndarray, np.ndarray]:
    return wave.vectors, wave.scalars, wave.memory, wave.group.lds


def with_exchanged_sources(wave: Observed, of: Instruction, generation: str) -> None:
    """Execute an instruction with its first two sources exchanged."""
    names = next(pair for pair in (("ssrc0", "ssrc1"), ("src0", "src1"), ("src0", "vsrc1")) if set(pair) <= set(of.fields))
    first, second = (of[name] + 256 * (name == "vsrc1") for name in names)
    rightly(wave, replace(of, fields={**of.fields, names[0]: second, names[1]: first - 256 * (names[1] == "vsrc1")}), generation)


def as_another(name: str, wave: Observed, of: Instruction, generation: str) -> None:
    """Execute an instruction as if it had another mnemonic."""
    rightly(wave, replace(of, mnemonic=name), generation)


@cache
def _kinds(generation: str) -> dict[str, tuple[object, ...]]:
    """Return for each mnemonic a key that those have in common whose instructions have the same operands."""
    found: dict[str, tuple[object, ...]] = {}
    for name, meaning in {**load_meanings(generation), **ENDINGS}.items():
        tables = {table for (table, _), one in load_encoding(generation).mnemonics.items() if one == name}
        signature = getattr(meaning, "signature", getattr(getattr(meaning, "single", None), "signature", ""))
        segment = re.match(r"(buffer|global|ds|s_buffer|s)_(load|store)?", name)
        found[name] = (*sorted(tables), type(meaning), signature, segment and segment[0] if not signature else "")
    return found


def damages(name: str, generation: str) -> Iterator[tuple[str, Damage]]:
    """Yield what may be wrong with an instruction."""
    yield "without effect", without_effect
    yield "a wrong bit", with_a_wrong_bit
    kinds = _kinds(generation)
    sources = str(kinds[name][-2]).partition(" <- ")[2].split()
    if len(sources) > 1 and ":" not in sources[0] + sources[1] and sources[0] == sources[1] and not COMMUTATIVE.match(name):
        yield "exchanged sources", with_exchanged_sources
    for other, kind in kinds.items():
        if kind == kinds[name] and other != name and (name, other) not in SAME:
            yield f"as {other}", partial(as_another, other)


def notices(lines: list[Line], damage: Damage) -> bool:
    """Return whether a vector fails with the damage."""
    for line in lines:
        try:
            if not passes(line, damage):
                return True
        except (NotModelled, KeyError, TypeError, ValueError, IndexError, StopIteration, OverflowError):
            return True
    return False


def used() -> list[tuple[str, str]]:
    """Return the instructions that RADV uses in the nightly tier, by generation and mnemonic."""
    found = {
        (generation, mnemonic_of(part.strip()).replace("v_dual_", "v_")) for generation, _, text in rows() for part in text.split("::")
    }
    return sorted((generation, name) for generation, name in found if name not in WITHOUT_EFFECT)


def lines_of(name: str, generation: str) -> list[Line]:
    """Return the vectors of a mnemonic: in the generation, or else in another that has the same instruction."""
    found = [line for line in LINES if mnemonic_of(line[1]) == name]
    return [line for line in found if line[0] == generation] or found


def survivors(instructions: list[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield generation, mnemonic and damage where no vector notices it."""
    for generation, name in instructions:
        lines = lines_of(name, generation)
        own = lines[0][0] if lines else generation
        for label, damage in damages(name, own):
            if not notices(lines, damage):
                yield generation, name, label


def main() -> int:
    """Run the command."""
    instructions = used()
    count = sum(1 for generation, name in instructions for _ in damages(name, generation))
    found = list(survivors(instructions))
    for generation, name, damage in found:
        print(f"{generation}\t{name}\t{damage}")
    print(f"{len(found)} of {count} damages of {len(instructions)} instructions survive")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
