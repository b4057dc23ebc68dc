"""The C program of a property query agrees with the suite about lavapipe, and notices a command that breaks the rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.kinds.query import reproduce
from cts.repro.query_program import query_program
from generators.casebook import build_query, expand, find_case
from generators.errors import Lack
from tests.lacks import lacks
from tests.lavapipe import MATRIX2, needs
from tests.reproductions.lavapipe import compiled_and_run, obstacle
from tests.suite import casebook

needs_lavapipe = needs(obstacle(*MATRIX2))
KHR, FLEXIBLE, VECTORS = ("property_queries", "flexible_queries", "vector_property_queries")


def cases(family: str) -> list[str]:
    return [case.id for case in expand(casebook().family(family), "full")]


def write(id_: str, folder: Path) -> str:
    """Write the folder of a case and return its program."""
    reproduce(find_case(casebook(), id_), folder, "spirv")
    return (folder / "repro.c").read_text()


@needs_lavapipe
@pytest.mark.parametrize("id_", [*cases(KHR), *cases(FLEXIBLE)])
def test_lavapipe_keeps_the_rule_or_lacks_what_it_is_about(id_, tmp_path):
    write(id_, tmp_path)
    ended = compiled_and_run(tmp_path)
    assert (ended.verdict, ended.code) in (("pass", 0), ("not_supported", 77)), ended.output
    assert ended.verdict == "pass" or "largest_workgroup" in id_ or "reserved_memory" in id_


@needs(obstacle())
@pytest.mark.parametrize("id_", cases(VECTORS))
def test_a_driver_without_the_extension_is_not_judged(id_, tmp_path):
    write(id_, tmp_path)
    ended = compiled_and_run(tmp_path)
    assert (ended.verdict, ended.code) == ("not_supported", 77), ended.output


LIAR = """
static command_type honest;
static VkResult VKAPI_PTR liar(VkPhysicalDevice one, uint32_t *count, struct entry *all)
{
    static uint32_t calls;
    (void)calls;
    VkResult result = honest(one, count, all);
    %s
    return result;
}

int main("""
LIES = [
    ("count", "*count += calls++;", "and asked again"),
    ("all", "if (all) result = VK_INCOMPLETE;", "returns VkResult 5, not 0"),
    ("all", "if (all) all[*count].pNext = all;", "is changed"),
    ("generous", "if (all) memset((char *)&all[*count] + 16, 0, 4);", "is written, although"),
    ("one_short", "if (all) result = VK_SUCCESS;", "returns VkResult 0, not 5"),
    ("one", "if (all && *count == 1) memset((char *)&all[0] + 20, 7, 4);", "not among those"),
    ("none", "if (all) *count = 1;", "the count is 1 afterwards, not 0"),
    ("repeated", "if (all) memset((char *)&all[0] + 16, (int)++calls, 4);", "different structures"),
    ("values", "if (all) memset((char *)&all[0] + 16, 0, 4);", "this combination breaks the rule"),
    ("power_of_two", "for (uint32_t i = 0; all && i < *count; i++) memset((char *)&all[i] + 16, 3, 4);", "three powers of two"),
    ("scopes", "if (all) memset((char *)&all[0].scope, 1, 4);", "this combination breaks the rule"),
]


@needs_lavapipe
@pytest.mark.parametrize(("rule", "lie", "told"), LIES)
def test_a_command_that_breaks_the_rule_is_reported(rule, lie, told, tmp_path):
    text = write(f"property_queries[rule:{rule}]", tmp_path)
    text = text.replace("\nint main(", LIAR % lie, 1).replace("    judge();", "    honest = command, command = liar;\n    judge();", 1)
    (tmp_path / "repro.c").write_text(text)
    ended = compiled_and_run(tmp_path)
    assert (ended.verdict, ended.code) == (f"fail.property.{rule}", 1)
    assert told in ended.output


def test_a_command_that_is_asked_for_more_has_no_program(tmp_path):
    case = find_case(casebook(), cases("subgroup_size_queries")[0])
    with lacks(Lack.PROGRAM_QUERY):
        query_program(case.id, build_query(case), "", "", (), ())
    reproduce(case, tmp_path, "spirv")
    assert "There is no `repro.c`" in (tmp_path / "README.md").read_text()
