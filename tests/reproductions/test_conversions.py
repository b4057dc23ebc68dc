"""The C program of a conversion case: it compiles, judges no driver without the extension, and notices a wrong command."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.kinds.conversion_reproduction import write_conversion
from generators.casebook import Case, build_conversion, expand
from tests.lavapipe import needs
from tests.reproductions.lavapipe import compiled_and_run, obstacle
from tests.suite import casebook

needs_lavapipe = needs(obstacle())


def cases() -> list[Case]:
    return expand(casebook().family("vector_layout_conversion"), "smoke")


def some() -> list[Case]:
    """Return a case for each capacity, each change between conversions, and each command."""
    found: dict[object, Case] = {}
    for case in cases():
        conversion = build_conversion(case)
        found.setdefault((conversion.capacity, conversion.between, "device" in conversion.commands), case)
    return list(found.values())


def moved() -> Case:
    """Return a case that only the host command converts, without a change of type, through an optimal layout."""
    for case in cases():
        conversion = build_conversion(case)
        plain = set(conversion.commands) == {"host"} and len({form.component for form in conversion.forms}) == 1
        if plain and conversion.between == "nothing" and any(form.layout.is_optimal for form in conversion.forms):
            return case
    raise AssertionError("there is no such case")


@needs_lavapipe
@pytest.mark.parametrize("case", some(), ids=lambda case: case.id)
def test_a_driver_without_the_extension_is_not_judged(case, tmp_path):
    write_conversion(case, tmp_path, "spirv")
    ended = compiled_and_run(tmp_path)
    assert (ended.verdict, ended.code) == ("not_supported", 77), ended.output


OWN_COMMAND = """
/* A command in software: an optimal layout is a column-major one without gaps. */
static size_t at(uint32_t layout, size_t stride, size_t element, size_t row, size_t column)
{
    return layout == 0 ? row * stride + column * element : column * (layout == 1 ? stride : ROWS * element) + row * element;
}

static VkResult VKAPI_PTR own(VkDevice device, const struct conversion *one)
{
    size_t element = forms[0].element, lines = one->dstLayout ? one->numColumns : one->numRows;
    size_t needed = one->dstLayout > 1 ? ROWS * COLUMNS * element : lines * one->dstStride;
    (void)device;
    if (!one->dstData) {
        *one->pDstSize = needed;
        return VK_SUCCESS;
    }
    if (*one->pDstSize < needed)
        return VK_INCOMPLETE;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < COLUMNS; column++)
            memcpy((uint8_t *)(uintptr_t)one->dstData + at(one->dstLayout, one->dstStride, element, row, column),
                   (uint8_t *)(uintptr_t)one->srcData + at(one->srcLayout, one->srcStride, element, row, column), element);
    *one->pDstSize = needed;
    %s
    return VK_SUCCESS;
}

int main("""


def with_own_command(folder: Path, mistake: str) -> None:
    """Make the program of a folder use a command in software that makes a mistake."""
    write_conversion(moved(), folder, "spirv")
    text = (folder / "repro.c").read_text()
    for what in ("extension VK_NV_cooperative_vector", "feature cooperativeVector"):
        text = text.replace(f'        return "{what}";', "        {}")
    text = text.replace("convert = (host_type)vkGetDeviceProcAddr(vk.device, ", "convert = own, (void)(")
    (folder / "repro.c").write_text(text.replace("\nint main(", OWN_COMMAND % mistake, 1))


MISTAKES = [
    ("", "pass", 0, "0 wrong elements"),
    ("if (one->dstLayout < 2) ((uint8_t *)(uintptr_t)one->dstData)[0] ^= 1;", "fail.value", 1, "(0, 0) at byte 0: expected"),
    ("((uint8_t *)(uintptr_t)one->dstData)[-1] = 1;", "fail.stray_write", 1, "byte -1 is written"),
    ("((uint8_t *)(uintptr_t)one->srcData)[0] ^= 1;", "fail.stray_write", 1, "bytes elsewhere overwritten"),
    ("*one->pDstSize = 1;", "fail.conversion.size", 1, "has written 1 bytes"),
    ("if (one->dstLayout < 2) return VK_ERROR_UNKNOWN;", "fail.conversion.result", 1, "returns VkResult -13"),
]


@needs_lavapipe
@pytest.mark.parametrize(("mistake", "verdict", "code", "told"), MISTAKES, ids=[one[1] + str(i) for i, one in enumerate(MISTAKES)])
def test_the_effect_of_a_command_is_judged(mistake, verdict, code, told, tmp_path):
    with_own_command(tmp_path, mistake)
    ended = compiled_and_run(tmp_path)
    assert (ended.verdict, ended.code) == (verdict, code), ended.output
    assert told in ended.output


def test_every_case_has_a_program(tmp_path):
    for case in some():
        write_conversion(case, tmp_path, "spirv")
        text = (tmp_path / "repro.c").read_text()
        assert ("vkCmdConvert" in text.partition("*/")[2]) is ("device" in build_conversion(case).commands)
        assert "@{" not in text
