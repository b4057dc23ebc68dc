"""The options by which verbs choose among the cases of a tier."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from cts.commands.context import casebook
from cts.run.case_words import has_word
from generators.casebook import Case, Family, Tier, expand
from generators.errors import CtsError


def configure_choice(parser: argparse.ArgumentParser) -> None:
    """Add ``--family`` and ``-k``."""
    parser.add_argument("--family", action="append", metavar="NAME", help="only this family; may be given several times")
    parser.add_argument(
        "-k",
        dest="words",
        action="append",
        default=[],
        metavar="TEXT",
        help="only cases with TEXT in their id, or with a default name:label that contains TEXT; several: all of them",
    )


def chosen_cases(options: argparse.Namespace, tier: Tier) -> Iterator[tuple[Family, list[Case]]]:
    """Yield the families chosen, in order, each with its chosen cases of the tier; empty lists too.

    Raises:
        CtsError: a family is unknown.
    """
    families = casebook(options).families
    names = options.family or list(families)
    for name in names:
        if name not in families:
            raise CtsError(f"--family {name}: unknown; the families are {', '.join(families)}")
    return ((families[name], [case for case in expand(families[name], tier) if _has(case, options.words)]) for name in names)


def _has(case: Case, words: Sequence[str]) -> bool:
    return not words or all(has_word(case, word, case.id) for word in words)
