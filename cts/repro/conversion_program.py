"""Writes one C file that converts matrices between layouts and judges the results. It needs only a compiler and the Vulkan loader."""

from __future__ import annotations

from collections.abc import Sequence

from cts.repro.c_program import Features
from cts.repro.program_files import template
from generators.layout_conversion import LayoutConversion

_EXTENSION = "VK_NV_cooperative_vector"


def conversion_program(id_: str, conversion: LayoutConversion, sizes: Sequence[tuple[int, int]], about: Sequence[str]) -> str:
    """Return the program.

    Args:
        id_: the id of the case.
        conversion: the case.
        sizes: for each form, the least and the most bytes that a size query may return.
        about: lines for the first comment.
    """
    uses_device = "device" in conversion.commands
    features = Features({_EXTENSION})
    features.require_extensions()
    features.require(("cooperativeVector",))
    if uses_device:
        features.require(("bufferDeviceAddress",))
    features.enable_what_is_there()
    rows, columns = conversion.rows, conversion.columns
    return template("conversion.c.jinja").render(
        id=id_,
        about=about,
        **features.chained(),
        addresses=uses_device,
        uses_device=uses_device,
        queue_bit="VK_QUEUE_COMPUTE_BIT",
        rows=rows,
        columns=columns,
        matrices=conversion.count,
        capacity=conversion.capacity,
        zeros=conversion.between == "zeros",
        doubled=conversion.between == "doubled",
        on_host=["true" if command == "host" else "false" for command in conversion.commands],
        forms=[
            {
                "name": str(form),
                "component": form.component.name,
                "vk": form.component.vk,
                "layout": int(form.layout),
                "stride": form.stride,
                "element": form.component.bytes,
                "least": least,
                "most": most,
                "room": 0 if form.layout.is_optimal else form.whole_bytes(rows, columns),
            }
            for form, (least, most) in zip(conversion.forms, sizes, strict=True)
        ],
    )
