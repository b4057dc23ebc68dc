"""Each requirement of results that a family claims has a proof: a case that shows a defect that breaks the requirement."""

from __future__ import annotations

from dataclasses import replace

import pytest

import cts.diagnosis.proofs as proofs_module
from cts.defects.glossary import glossary
from cts.defects.known import known_defects
from cts.diagnosis.proofs import Claim, Proof, breaking, claims, find_proofs, read_proofs, unproved, write_proofs
from generators.casebook import Casebook, Cover, TestKind, build, find_case
from generators.errors import CtsError
from tests.suite import REPOSITORY, casebook

CLAIM = Claim("VK-DES-01", "descriptor_arrays")


def proved() -> dict[Claim, Proof]:
    return read_proofs(REPOSITORY)


def faults(proofs: dict[Claim, Proof], requirement: str = CLAIM.requirement, book: Casebook | None = None) -> list[str]:
    return list(unproved(book or casebook(), proofs, {requirement}))


def one_fault(proof: Proof) -> str:
    """Return the only fault if ``CLAIM`` has this proof."""
    (fault,) = faults({**proved(), CLAIM: proof})
    assert fault.startswith(f"{CLAIM.family} claims {CLAIM.requirement} without proof")
    return fault


def test_a_pinned_proof_holds() -> None:
    assert faults(proved()) == []


def test_a_claim_without_a_proof_is_a_fault() -> None:
    without = {claim: proof for claim, proof in proved().items() if claim != CLAIM}
    (fault,) = faults(without)
    assert fault.startswith(f"{CLAIM.family} claims {CLAIM.requirement} without proof")


def test_each_family_has_to_prove_its_claim() -> None:
    requirement = "KHR-LOAD-03"
    families = {claim.family for claim in claims(casebook()) if claim.requirement == requirement}
    others = {claim: proof for claim, proof in proved().items() if claim.requirement != requirement}
    assert len(families) > 1
    assert {fault.partition(" ")[0] for fault in faults(others, requirement)} == families


def test_a_defect_that_does_not_change_the_case_proves_nothing() -> None:
    claim = Claim("TA-DIM-01", "tensor_layout")
    case = find_case(casebook(), proved()[claim].case)
    unseen = "tensor_layout.dimensions_reversed"
    assert unseen in {defect.kind for defect in known_defects(build(case).program)}
    assert len(faults({**proved(), claim: Proof(case.id, unseen)}, claim.requirement)) == 1


def test_a_defect_that_no_longer_changes_the_case_proves_nothing(monkeypatch) -> None:
    monkeypatch.setattr(proofs_module, "changes", lambda defect, at: False)
    assert len(faults(proved())) == 1


def test_a_defect_that_breaks_another_requirement_proves_nothing() -> None:
    one_fault(Proof(proved()[CLAIM].case, "load_store.not_stored"))


def test_a_case_that_is_gone_proves_nothing() -> None:
    one_fault(Proof("descriptor_arrays[component:none]", proved()[CLAIM].kind))


def test_a_case_that_does_not_claim_the_requirement_proves_nothing() -> None:
    claim, proof = next((claim, proof) for claim, proof in proved().items() if claim.requirement == "KHR-LOAD-04")
    column = next(one for one in proved().items() if one[0] == Claim("KHR-LOAD-03", claim.family))
    assert column[1].case != proof.case
    assert len(faults({**proved(), claim: column[1]}, "KHR-LOAD-04")) == 1


def test_a_proof_that_no_claim_needs_is_a_fault() -> None:
    needless = {**proved(), Claim("VK-DES-01", "load_store"): Proof("load_store[component:f16]", "load_store.not_stored")}
    assert len(faults(needless)) == 1


def test_a_claim_that_no_defect_of_the_family_breaks_is_a_fault() -> None:
    family = casebook().family(CLAIM.family)
    hollow = replace(family, covers=(*family.covers, Cover("KHR-MAD-05")))
    book = replace(casebook(), families={**casebook().families, CLAIM.family: hollow})
    claim = Claim("KHR-MAD-05", CLAIM.family)
    assert claim not in find_proofs(book, {}, [CLAIM.family])
    assert any(fault.startswith(f"{CLAIM.family} claims KHR-MAD-05") for fault in faults(proved(), "KHR-MAD-05", book))


def test_the_search_finds_a_proof() -> None:
    others = {claim: proof for claim, proof in proved().items() if claim.family != CLAIM.family}
    found = find_proofs(casebook(), others, [CLAIM.family])
    assert faults(found) == []
    assert others.items() <= found.items()


def test_an_update_keeps_a_proof_that_holds(tmp_path) -> None:
    old = {claim: proof for claim, proof in proved().items() if claim.family == CLAIM.family}
    assert find_proofs(casebook(), old, [CLAIM.family]) == old
    (tmp_path / "golden").mkdir()
    write_proofs(tmp_path, old)
    assert read_proofs(tmp_path) == old


def test_a_malformed_line_is_an_error(tmp_path) -> None:
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "proofs.tsv").write_text("VK-DES-01\tcase\n", encoding="utf-8")
    with pytest.raises(CtsError):
        read_proofs(tmp_path)


def test_what_breaks_requirements_names_requirements_of_results_and_defects() -> None:
    named = breaking().defects.keys() | {key.partition(" in ")[0] for key in breaking().reasons}
    assert {id_ for id_ in named if TestKind.DYNAMIC not in casebook().requirements[id_].kinds} == set()
    assert [id_ for id_, defects in breaking().defects.items() if not defects or not defects <= glossary().entries.keys()] == []
    assert named >= {claim.requirement for claim in claims(casebook())}
