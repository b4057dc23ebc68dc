"""The options that several verbs have. Each has one spelling and one meaning, which are also those of ``cts run``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cts.commands.context import casebook, root
from cts.engine.keyword_expression import KeywordExpression, parse_expression
from cts.exit_codes import NOTHING_TESTED
from cts.output import complain
from generators.errors import CtsError
from generators.suggestion import FAMILIES, suggestion

if TYPE_CHECKING:
    from generators.casebook import Case, Casebook, Family, Tier

SHARED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "case": {"metavar": "CASE", "help": "id, as 'cts list' prints it (quote it for the shell)"},
        "--cases": {"metavar": "N", "type": int, "help": "how many cases the text names (default: %(default)s)"},
        "--check": {"action": "store_true", "help": "write nothing; exit code 1 if something would change"},
        "--device": {"metavar": "DEVICE", "help": "the device: part of its name, its UUID or its number; see 'cts devices'"},
        "--embedded-mapping": {
            "metavar": "NAME:SEED",
            "help": "how the embedded device spreads a matrix over invocations, and the seed of its free choices (default: 0)",
        },
        "--family": {"metavar": "NAME", "action": "append", "help": "only this family; may be given several times"},
        "--front-end": {"metavar": "NAME", "help": "spirv (assembled by the suite) or glsl (compiled by glslang) (default: spirv)"},
        "--html": {"metavar": "FILE", "type": Path, "help": "also write a page, which needs no other file"},
        "--json": {"action": "store_true", "help": "print JSON for programs"},
        "-k": {
            "metavar": "EXPRESSION",
            "action": "append",
            "help": "only cases that match, as for 'pytest -k': words joined by 'and', 'or', 'not' and parentheses. A word is part of the "
            "id, or of name:label of a parameter that the id omits because it has its default",
        },
        "-n": {"metavar": "N", "help": "number of processes (default: %(default)s)"},
        "--no-known-failures": {"action": "store_true", "help": "judge known failures of the driver as ordinary failures"},
        "--out": {"metavar": "PATH", "type": Path, "help": "where to write"},
        "--specification": {"metavar": "NAME", "help": "the extension, for example SPV_KHR_cooperative_matrix"},
        "--step-timeout": {
            "metavar": "SECONDS",
            "help": "seconds that the device may take to make a pipeline, and to run a shader (default: 60)",
        },
        "--tier": {"metavar": "TIER", "help": "smoke, nightly or full (default: %(default)s)"},
        "--time-limit": {"metavar": "SECONDS", "help": "start nothing more after this time (default: %(default)s)"},
        "--validation": {"action": "store_true", "help": "load the Vulkan validation layer"},
    }
)
"""How each is declared. A verb may give a default, and words that say more."""


def add(parser: argparse.ArgumentParser, name: str, help_: str = "", **more: Any) -> None:
    """Add a shared option, or the argument ``case``.

    Args:
        parser: the verb's parser.
        name: its spelling.
        help_: its meaning for this verb, if that has to be said more exactly.
        more: further arguments of ``add_argument``.
    """
    parser.add_argument(name, **{**SHARED[name], **({"help": help_} if help_ else {}), **more})


def tier_of(options: argparse.Namespace) -> Tier:
    """Return the tier of ``--tier``.

    Raises:
        CtsError: it is unknown.
    """
    from generators.casebook.tiers import Tier

    try:
        return Tier(options.tier)
    except ValueError:
        raise CtsError(f"--tier {options.tier}: unknown; {suggestion(options.tier, Tier)}") from None


def add_selection(parser: argparse.ArgumentParser, tier: Tier) -> None:
    """Add ``--tier``, ``--family`` and ``-k``."""
    add(parser, "--tier", default=tier)
    add(parser, "--family")
    add_expression(parser)


def add_expression(parser: argparse.ArgumentParser, help_: str = "") -> None:
    """Add ``-k``."""
    add(parser, "-k", help_, dest="expressions", default=[])


def expression_of(options: argparse.Namespace) -> KeywordExpression:
    """Return the expression of ``-k``.

    Raises:
        CtsError: it is malformed, or given several times.
    """
    if len(options.expressions) > 1:
        raise CtsError(f"-k is given {len(options.expressions)} times: join the expressions with 'and' or 'or'")
    return parse_expression("".join(options.expressions))


def selected_families(options: argparse.Namespace) -> Casebook:
    """Return a casebook with the families of ``--family``, or with all.

    Raises:
        CtsError: a family is unknown.
    """
    return casebook(options, options.family)


def selected_cases(options: argparse.Namespace) -> Iterator[tuple[Family, list[Case]]]:
    """Yield the selected families in order, each with its selected cases, which may be none.

    Raises:
        CtsError: a family or the tier is unknown, or ``-k`` is malformed.
    """
    from generators.casebook import expand

    tier, expression = tier_of(options), expression_of(options)
    return ((family, list(filter(expression.selects, expand(family, tier)))) for family in selected_families(options))


def nothing_selected(options: argparse.Namespace, what: str = "case") -> int:
    """Say that no case is selected, name near names, and return the exit code."""
    expression = expression_of(options)
    families = [path.stem for path in root(options).glob("cases/*/*.yaml")]
    unknown = [word for word in expression.words if ":" not in word and not any(word.lower() in name for name in families)]
    by = f" by -k '{expression.text}'" if expression.text else ""
    near = "".join(f"; {word}: {suggestion(word, families, FAMILIES)}" for word in unknown)
    complain(f"no {what} of the {options.tier} tier is selected{by}{near}")
    return NOTHING_TESTED
