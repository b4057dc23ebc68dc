"""The glossary of defects and the code that finds them agree."""

from itertools import islice

import pytest

from cts.defects.defect import Defect
from cts.defects.glossary import EVERY, glossary, read
from cts.defects.known import known_defects
from cts.defects.layout_conversions import layout_conversion_defects, size_defects
from cts.defects.single_edits.of_program import single_edits
from generators.bug_classes import load_bug_classes
from generators.casebook import CaseKind, expand
from generators.errors import CasebookError
from generators.spirv.enumerants import Op
from tests.families.conversion_spans import FAMILY as CONVERSIONS
from tests.families.conversion_spans import ideal_spans
from tests.suite import casebook, programs

FAMILIES = [family.name for family in casebook() if family.kind is CaseKind.KERNEL]
RELATIONS = {id_ for id_ in glossary().entries if id_.startswith("outcome.")}
"""What the diagnosis says if no defect explains a failure; tests/compare/test_diagnose.py and test_conversions_show_defects.py test
each."""
UNFINISHED = {id_ for id_, entry in glossary().entries.items() if entry.unfinished}
"""Entries for defects that cannot occur in any case yet."""


@pytest.fixture(scope="module")
def found():
    """Return a defect of each id that occurs in the smoke tier; ``text`` fills in the names in the glossary's sentence.

    Only families that an area names are searched for its entries, and then all others for what is missing. test_every_known_defect_shows.py
    asks each defect of the tier for its entry.
    """
    spans = [ideal.span for case in expand(casebook().family(CONVERSIONS), "smoke") for ideal in ideal_spans(case)]
    conversions = {defect.id: defect for span in spans for defect in layout_conversion_defects(span)}
    edits = {edit.id: edit for family in FAMILIES for _, program in islice(programs(family, "smoke"), 2) for edit in single_edits(program)}
    sizes = {id_: Defect(id_, {}) for span in spans for id_, _ in size_defects(span.rows, span.columns, span.forms[-1])}
    found = {**edits, **conversions, **sizes}

    def asked(named: bool) -> list[str]:
        missing = glossary().entries.keys() - found.keys() - RELATIONS - UNFINISHED
        by = {family for id_ in missing for family in glossary().entries[id_].families}
        return [family for family in searches if missing and (family in by or not named)]

    searches = {family: programs(family, "smoke") for family in FAMILIES}
    for named in (True, False):
        # The first cases of all families come first, since families differ more than the cases of one.
        while families := asked(named):
            for family in families:
                _, program = next(searches[family], (None, None))
                if program is None:
                    del searches[family]
                else:
                    found.update((defect.id, defect) for defect in known_defects(program))
    return found


def test_every_defect_of_the_code_is_in_the_glossary(found):
    assert set(found) <= set(glossary().entries)


def test_every_entry_is_a_defect_that_the_smoke_tier_can_have(found):
    assert set(glossary().entries) - RELATIONS - UNFINISHED == set(found)


def test_every_text_can_be_filled_in(found):
    assert not [defect.text for defect in found.values() if "{" in defect.text or not defect.text]


def test_every_kind_is_distinguished_by_parameters_of_the_defect(found):
    for id_, defect in found.items():
        assert set(glossary().entries[id_].kinds) <= defect.parameters.keys(), id_


def test_entries_refer_to_classes_of_bugs_families_and_instructions_that_there_are():
    classes = {one.name for one in load_bug_classes(casebook())}
    for entry in glossary().entries.values():
        assert set(entry.classes) <= classes, entry.id
        assert set(entry.families) <= {*FAMILIES, CONVERSIONS}, entry.id
        assert all(name.removeprefix("Op") in Op.__members__ for name in entry.instructions), entry.id


def test_a_kind_has_no_names_of_a_program():
    one, other = (Defect("multiply_add.sign_ignored", {}, {"factor": name, "operand": "A"}) for name in ("matrix A", "matrix X"))
    assert one.kind == other.kind == "multiply_add.sign_ignored[operand:A]"
    assert one.text != other.text


def test_a_mistake_in_all_operations_is_another_kind_unless_the_subject_says_otherwise():
    assert Defect("multiply_add.without_c", {}, {"sum": EVERY}).kind == "multiply_add.without_c[every]"
    assert Defect("load_store.load_transposed", {}, {"matrix": EVERY}).kind == "load_store.load_transposed"


@pytest.mark.parametrize("ask", [lambda defect: defect.text, lambda defect: defect.kind], ids=["text", "kind"])
def test_a_defect_without_an_entry_is_named(ask):
    with pytest.raises(CasebookError, match=r"glossary.yaml has no defect 'load_store.unheard': add an entry"):
        ask(Defect("load_store.unheard", {}))


def test_an_id_that_is_given_twice_is_refused(tmp_path):
    area = "  a: {instructions: [], families: [], classes: [], defects: {one: {text: it}, one: {text: it}}}"
    (tmp_path / "glossary.yaml").write_text(f"subjects: {{}}\nareas:\n{area}\n")
    with pytest.raises(CasebookError):
        read(tmp_path / "glossary.yaml")
