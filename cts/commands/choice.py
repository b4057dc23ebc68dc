"""The options that choose among the cases of a tier."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from cts.commands.context import casebook
from cts.engine.case_words import has_word
from cts.suggestion import suggestion
from generators.casebook import Case, Casebook, Family, Tier, expand
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
        help="only cases with TEXT in their id, or with a default name:label that contains TEXT; if given several times, with all of them",
    )


def chosen_families(options: argparse.Namespace, book: Casebook) -> list[Family]:
    """Return the families chosen, in order.

    Raises:
        CtsError: a family is unknown.
    """
    names = options.family or list(book.families)
    for name in names:
        if name not in book.families:
            raise CtsError(f"--family {name}: unknown; {suggestion(name, book.families)}")
    return [book.families[name] for name in names]


def chosen_cases(options: argparse.Namespace, tier: Tier) -> Iterator[tuple[Family, list[Case]]]:
    """Yield the families chosen, in order, each with its chosen cases of the tier; empty lists too.

    Raises:
        CtsError: a family is unknown.
    """
    families = chosen_families(options, casebook(options))
    return ((family, [case for case in expand(family, tier) if has_words(case, options.words)]) for family in families)


def has_words(case: Case, words: Sequence[str]) -> bool:
    """Tell whether ``-k`` finds each of its words in a case."""
    return not words or all(has_word(case, word, case.id) for word in words)
