"""The proofs of claims: for each requirement of results that a family claims, a case whose expected result changes if it is broken.

``golden/proofs.tsv`` pins the proofs: a case of the nightly tier that claims the requirement, and the kind of a defect that breaks it and
changes the case's expected result. ``cts golden --update --proofs`` searches for them, and ``cts coverage --check`` tries them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import cts.defects
from cts.defects.defect import Defect
from cts.defects.glossary import glossary
from cts.defects.known import known_defects
from cts.diagnosis.quoted_requirement import broken_by
from cts.diagnosis.shown import changes, prepared
from generators.casebook import Case, Casebook, CaseKind, build, expand
from generators.casebook.ids import family_of
from generators.casebook.requirements import TestKind
from generators.coverage import best_tier
from generators.document import read_document
from generators.errors import CtsError, GeneratorError, Rule

FILE = Path("golden", "proofs.tsv")
"""In a checkout."""

BREAKING = Path(cts.defects.__file__).with_name("claims.yaml")

_HEAD = "# requirement, a case that claims it, a defect that breaks it and that the case shows; written by 'cts golden --update --proofs'"


class Claim(NamedTuple):
    """A requirement, and a family that claims it."""

    requirement: str
    family: str


class Proof(NamedTuple):
    """The id of a case, and the kind of a defect that changes its expected result."""

    case: str
    kind: str


@dataclass(frozen=True)
class Breaking:
    """What breaks requirements.

    Attributes:
        defects: requirement -> ids of the defects that break it.
        reasons: requirement, or requirement and family -> why no defect breaks it.
    """

    defects: Mapping[str, frozenset[str]]
    reasons: Mapping[str, str]

    def needs_proof(self, claim: Claim) -> bool:
        """Return whether there is no reason why the claim cannot be proved."""
        return not {claim.requirement, f"{claim.requirement} in {claim.family}"} & self.reasons.keys()


@cache
def breaking() -> Breaking:
    """Return what breaks each requirement of results, by broken_requirements.yaml and claims.yaml."""
    named, reasons = {}, {}
    for id_, element in read_document(BREAKING).entries().items():
        if element.is_sequence:
            named[id_] = {one.text("an id") for one in element.items("ids")}
        else:
            reasons[id_] = element.text("ids or a reason")
    found: dict[str, set[str]] = {id_: set() for id_ in named}
    for defect in glossary().entries:
        own = {id_ for id_, names in named.items() if names & {defect, defect.partition(".")[0]}}
        for id_ in {*broken_by(defect), *own}:
            found.setdefault(id_, set()).add(defect)
    return Breaking(MappingProxyType({id_: frozenset(defects) for id_, defects in found.items()}), MappingProxyType(reasons))


Proofs = Mapping[Claim, Proof]


def read_proofs(root: Path) -> dict[Claim, Proof]:
    """Return the pinned proofs of the suite in ``root``; none without the file.

    Raises:
        CtsError: a line is malformed.
    """
    path = root / FILE
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if not line.startswith("#"):
            words = line.split("\t")
            if len(words) != 3:
                raise CtsError(f"{path}: expected a requirement, a case and a defect, separated by tabs: '{line}'")
            found[Claim(words[0], family_of(words[1]))] = Proof(*words[1:])
    return found


def write_proofs(root: Path, proofs: Proofs) -> None:
    """Pin proofs in the checkout ``root``."""
    lines = [_HEAD, *("\t".join((claim.requirement, *proofs[claim])) for claim in sorted(proofs))]
    (root / FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def claims(book: Casebook, names: Collection[str] = ()) -> list[Claim]:
    """Return the claims that need a proof: those of families of kernel cases, of requirements of results without a reason.

    Args:
        book: all families.
        names: only the claims of these families; of all if empty.
    """
    found = [
        Claim(id_, family.name)
        for family in book
        if family.kind is CaseKind.KERNEL and (not names or family.name in names)
        for id_ in dict.fromkeys(cover.id for cover in family.covers)
        if TestKind.DYNAMIC in book.requirements[id_].kinds
    ]
    return [claim for claim in found if breaking().needs_proof(claim)]


def shown_kinds(case: Case, wanted: Callable[[Defect], bool], strict: bool = False) -> Iterator[str]:
    """Yield the kinds of wanted defects that a case shows.

    Args:
        case: the case.
        wanted: chooses defects.
        strict: whether an expected result must change. Otherwise a result that cannot be computed is enough: the defect stores several
            elements in one place, for example, and any of them may win.
    """
    program = build(case).program
    defects = [defect for defect in known_defects(program) if wanted(defect)]
    for at in prepared(case, program) if defects else ():
        for defect in defects:
            try:
                is_shown = changes(defect, at)
            except (GeneratorError, LookupError, ValueError) as error:
                is_shown = not strict and getattr(error, "rule", None) is not Rule.DEFECT_INAPPLICABLE
            if is_shown:
                yield defect.kind


class Prover:
    """Tries and finds proofs; what it has computed, it keeps."""

    def __init__(self, book: Casebook) -> None:
        self._book = book
        self._cases: dict[str, dict[str, tuple[Case, tuple[str, ...]]]] = {}
        self._holds: dict[Proof, bool] = {}

    def cases(self, name: str) -> Mapping[str, tuple[Case, tuple[str, ...]]]:
        """Return the cases of a family's nightly tier, or of its full tier if the other has none, with what they claim, by id."""
        if name not in self._cases:
            family = self._book.family(name)
            self._cases[name] = {case.id: (case, case.requirements) for case in expand(family, best_tier(family))}
        return self._cases[name]

    def problem(self, claim: Claim, proof: Proof | None) -> str:
        """Return why ``proof`` does not prove a claim; empty if it does."""
        if proof is None:
            return "no case of it is known that a defect of the requirement changes"
        case, claimed = self.cases(claim.family).get(proof.case, (None, ()))
        if case is None or claim.requirement not in claimed:
            return f"{proof.case} is not a nightly case that claims it"
        if proof.kind.partition("[")[0] not in breaking().defects.get(claim.requirement, ()):
            return f"{proof.kind} does not break it"
        if proof not in self._holds:
            self._holds[proof] = any(shown_kinds(case, lambda defect: defect.kind == proof.kind))
        return "" if self._holds[proof] else f"{proof.kind} does not change the results of {proof.case}"

    def search(self, claim: Claim) -> Proof | None:
        """Return the first proof of a claim in the order of the cases; one with another expected result, if there is one."""
        ids = breaking().defects.get(claim.requirement, frozenset())
        claiming = [case for case, claimed in self.cases(claim.family).values() if ids and claim.requirement in claimed]
        for strict in (True, False):
            for case in claiming:
                for kind in shown_kinds(case, lambda defect: defect.id in ids, strict):
                    return Proof(case.id, kind)
        return None


def find_proofs(book: Casebook, old: Proofs, names: Collection[str] = ()) -> dict[Claim, Proof]:
    """Return the proof of each claim that has one: the old one if it holds, else the first that is found.

    Args:
        book: all families.
        old: the pinned proofs.
        names: the families whose claims are proved anew; all if empty. Others keep their proofs.
    """
    prover = Prover(book)
    found = {claim: proof for claim, proof in old.items() if names and claim.family not in names}
    for claim in claims(book, names):
        proof = old.get(claim)
        if prover.problem(claim, proof):
            proof = prover.search(claim)
        if proof is not None:
            found[claim] = proof
    return found


def unproved(book: Casebook, proofs: Proofs, requirements: Collection[str], names: Collection[str] = ()) -> Iterator[str]:
    """Yield the faults of the claims of some requirements, one line each: claims without a proof that holds, and proofs of no claim.

    Args:
        book: the families.
        proofs: the pinned proofs.
        requirements: the requirements.
        names: only the claims of these families; of all if empty.
    """
    prover, needed = Prover(book), claims(book, names)
    for claim in needed:
        if claim.requirement in requirements and (problem := prover.problem(claim, proofs.get(claim))):
            ids = sorted(breaking().defects.get(claim.requirement, ())) or ["none known"]
            yield (
                f"{claim.family} claims {claim.requirement} without proof: {problem}. Give a case data that show a defect that breaks it "
                f"({', '.join(ids[:3])}{', …' * (len(ids) > 3)}), and run 'cts golden --update --proofs'; or remove the claim; or say in "
                "cts/defects/claims.yaml which defects break the requirement, or why none does"
            )
    for claim in proofs.keys() - set(needed):
        if claim.requirement in requirements and (not names or claim.family in names):
            yield f"{FILE} proves {claim.requirement} for {claim.family}, which needs no proof: run 'cts golden --update --proofs'"
