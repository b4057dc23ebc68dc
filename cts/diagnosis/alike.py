"""Mistakes that say the same, or that are told in one sentence."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import takewhile

from cts.defects.defect import Defect


def is_edit(id_: str) -> bool:
    """Tell whether a defect is a single edit, by its id."""
    return id_.startswith("single_edit.")


_OF_ANOTHER_VALUE = ("exchanged", "sibling", "earlier", "one_more", "one_less", "zero")
"""Ends of the names of single edits that take another value as an operand or a result."""


def instructions(defect: Defect) -> Hashable:
    """Return what single edits of the same instructions have in common; of a known mistake, what it has in common with no other."""
    if not is_edit(defect.id):
        return defect.id, defect.where
    return frozenset(defect.substitutes), defect.parameters.get("class"), defect.parameters.get("instruction")


def says(found: Defect, other: Defect) -> bool:
    """Tell whether a defect that explains everything makes another one needless: the other one makes the same mistake in more instructions;
    or it is the same edit of fewer of them, or of the same ones, which are called something else; or a known mistake in the same ones says
    the same.
    """
    same, others = found.substitutes.items(), other.substitutes.items()
    if is_edit(other.id) and not is_edit(found.id):
        # A mistake in control flow does not say which comparison is wrong, and no known one says which value takes the place of another.
        is_said = not other.id.endswith(_OF_ANOTHER_VALUE) and not str(other.parameters.get("class")).endswith("comparison")
        return is_said and found.substitutes.keys() == other.substitutes.keys()
    if is_edit(other.id):
        return others < same or (others == same and found.parameters.get("class") != other.parameters.get("class"))
    return same <= others


def told_together(alike: Sequence[Defect]) -> str:
    """Return the sentence for mistakes in the same instructions: the words that all have in common only once."""
    texts = [one.text for one in alike]
    common = "".join(letters[0] for letters in takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False)))
    if any(text[len(common) : len(common) + 1] not in {"", " ", ":"} for text in texts):
        common = common[: common.rfind(" ") + 1]
    return "; or ".join([texts[0], *(text[len(common) :].lstrip(": ") for text in texts[1:])])
