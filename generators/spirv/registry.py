"""Writes ``grammar.json`` from the SPIR-V registry's ``spirv.core.grammar.json``, and ``enumerants.pyi`` from the grammar.

``python -m generators.spirv.registry FILE`` writes both; without FILE it writes only ``enumerants.pyi``, as after an edit of
``grammar_supplement.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

GRAMMAR_FILE = Path(__file__).with_name("grammar.json")
STUB_FILE = Path(__file__).with_name("enumerants.pyi")

_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "IdResultType": "T",
        "IdResult": "R",
        "IdRef": "id",
        "IdScope": "id",
        "IdMemorySemantics": "id",
        "LiteralInteger": "int",
        "LiteralFloat": "int",
        "LiteralString": "str",
        "LiteralContextDependentNumber": "number",
        "LiteralExtInstInteger": "ext",
        "LiteralSpecConstantOpInteger": "opcode",
    }
)
"""The registry's kind of operand -> its name in the pattern. A literal float is one 32-bit word, like an integer."""


def compact(registry: Mapping[str, Any]) -> str:
    """Return the text of ``grammar.json`` for the registry's document."""
    kinds = [kind for kind in registry["operand_kinds"] if kind["category"] in ("BitEnum", "ValueEnum")]
    instructions = {i["opname"].removeprefix("Op"): _instruction(i) for i in registry["instructions"]}
    enumerants = {kind["kind"]: {e["enumerant"]: _enumerant(e) for e in kind["enumerants"]} for kind in kinds}
    head = {
        "source": f"SPIR-V unified grammar 1.{registry['minor_version']}, revision {registry['revision']}",
        "magic": int(registry["magic_number"], 0),
        "masks": sorted(kind["kind"] for kind in kinds if kind["category"] == "BitEnum"),
    }
    groups = [f"  {json.dumps(kind)}: {_object(found, 3)}" for kind, found in enumerants.items()]
    parts = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    parts.append(f' "instructions": {_object(instructions, 2)}')
    parts.append(' "enumerants": {\n' + ",\n".join(groups) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _object(entries: Mapping[str, Any], indent: int) -> str:
    """Write one entry per line, so a diff of two versions is readable."""
    lines = (f"{' ' * indent}{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
    return "{\n" + ",\n".join(lines) + "\n" + " " * (indent - 1) + "}"


def _instruction(entry: Mapping[str, Any]) -> dict[str, Any]:
    aliases = [alias.removeprefix("Op") for alias in entry.get("aliases", ())]
    return _without_empty({"opcode": entry["opcode"], "operands": _pattern(entry.get("operands", ())), "aliases": aliases, **_needs(entry)})


def _enumerant(entry: Mapping[str, Any]) -> dict[str, Any]:
    value = entry["value"]
    number = int(value, 0) if isinstance(value, str) else value
    parameters = _pattern(entry.get("parameters", ()))
    return _without_empty({"value": number, "parameters": parameters, "aliases": entry.get("aliases", ()), **_needs(entry)})


def _needs(entry: Mapping[str, Any]) -> dict[str, Any]:
    version = entry.get("version", "None")
    needs = {key: entry.get(key, ()) for key in ("capabilities", "extensions")}
    return {**needs, "version": "" if version == "None" else version}


def _without_empty(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value or isinstance(value, int)}


def _pattern(operands: Sequence[Mapping[str, str]]) -> str:
    return " ".join(_KINDS.get(operand["kind"], operand["kind"]) + operand.get("quantifier", "") for operand in operands)


def stub() -> str:
    """Return the text of ``enumerants.pyi`` for the grammar in the files."""
    # Imported here, not at the top: the import reads the grammar, which main may be about to write.
    from generators.spirv.enumerants import ENUMERATIONS, members_of

    lines = [_STUB_HEAD]
    for kind in ENUMERATIONS:
        lines += ["", f"class {kind}(NamedNumber):"]
        lines += [f"    {member}: ClassVar[{kind}]" for member in members_of(kind)]
    return "\n".join(lines) + "\n"


_STUB_HEAD = """\
# Written by generators.spirv.registry. Edit the grammar's data instead.
from typing import ClassVar

from generators.spirv.named_number import NamedNumber

ENUMERATIONS: tuple[str, ...]
MAGIC: int

def members_of(kind: str) -> dict[str, int]: ..."""


def main(arguments: Sequence[str]) -> int:
    """Write the files; return the exit code."""
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 2
    if arguments:
        registry = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
        GRAMMAR_FILE.write_text(compact(registry), encoding="utf-8")
    STUB_FILE.write_text(stub(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
