"""Execution modes of float arithmetic and of 64-bit indexing, which GLSL declares by their SPIR-V numbers (GL_EXT_spirv_intrinsics)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import Shader
from generators.program.float_controls import FloatMode

_NUMBERS = {
    FloatMode.DENORM_PRESERVE: (4464, 4459),
    FloatMode.DENORM_FLUSH_TO_ZERO: (4465, 4460),
    FloatMode.SIGNED_ZERO_INF_NAN_PRESERVE: (4466, 4461),
    FloatMode.ROUNDING_MODE_RTE: (4467, 4462),
    FloatMode.ROUNDING_MODE_RTZ: (4468, 4463),
}
"""Capability and execution mode."""


def execution_modes(shader: Shader) -> tuple[str, ...]:
    """Return the declarations of the program's execution modes, one line each: for float arithmetic and for 64-bit indexing.

    Raises:
        NotExpressible: a mode applies to two widths: glslang 16.6 keeps only the last declaration of each mode.
    """
    found = []
    if shader.program.wide_indexing:
        shader.extensions.add("GL_EXT_spirv_intrinsics")
        found.append('spirv_execution_mode(extensions = ["SPV_EXT_shader_64bit_indexing"], capabilities = [5426], 5427);')
    modes = [control.mode for control in shader.program.float_controls]
    for control in shader.program.float_controls:
        if modes.count(control.mode) > 1:
            raise NotExpressible(Lack.MODE_WIDTHS, "glslang keeps only one width of an execution mode")
        shader.extensions.add("GL_EXT_spirv_intrinsics")
        capability, mode = _NUMBERS[control.mode]
        found.append(f"spirv_execution_mode(capabilities = [{capability}], {mode}, {control.width});")
    return tuple(found)
