"""The GLSL reading of a program: a compute shader as a programmer would write it."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, Template

from generators.errors import Lack, NotExpressible
from generators.glsl.conversion import check_transpositions
from generators.glsl.declarations import declare, execution_modes, inputs_and_outputs
from generators.glsl.shader import Shader
from generators.glsl.variables import declare_variables
from generators.program.program import Program

_FRAME = """\
#version 460
{% for extension in extensions %}
#extension {{ extension }} : require
{% endfor %}
{% if "GL_QCOM_cooperative_matrix_conversion" in extensions %}
{# Its functions on arrays need the capability of matrices, so the Vulkan memory model, which glslang takes only for matrices. #}
#pragma use_vulkan_memory_model
{% endif %}

{% for line in inputs_and_outputs %}
{{ line }}
{% endfor %}
{% for mode in execution_modes %}
{{ mode }}
{% endfor %}
{% for constant in declarations.constants %}
{{ constant }}
{% endfor %}
{% for struct in element_structs %}

{% for line in struct %}
{{ line }}
{% endfor %}
{% endfor %}
{% for block in declarations.blocks %}

{{ block.head }} {
{% for member in block.members %}
    {{ member }}
{% endfor %}
}{{ block.name }};
{% endfor %}
{% if declarations.shared %}

{% endif %}
{% for array in declarations.shared %}
{{ array }}
{% endfor %}
{% for name, members in structs.items() %}

struct {{ name }} {
{% for member in members %}
    {{ member }}
{% endfor %}
};
{% endfor %}
{% for reference in references %}

{% for line in reference %}
{{ line }}
{% endfor %}
{% endfor %}
{% for declaration in globals %}

{{ declaration }}
{% endfor %}
{% for function in functions %}

{% for line in function %}
{{ line }}
{% endfor %}
{% endfor %}

void main() {
{% for line in lines %}
{{ line }}
{% endfor %}
}
"""


@cache
def _frame() -> Template:
    # Nothing is escaped: the template receives only GLSL that this package generates.
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False)
    return environment.from_string(_FRAME)


def emit(program: Program) -> str:
    """Return the shader of ``program``: GLSL 4.60 with its extensions, for Vulkan 1.3, laid out by ``generators.program.interface``.

    Raises:
        NotExpressible: GLSL or glslang cannot express the program.
    """
    if program.further or program.entry_point != "main":
        raise NotExpressible(Lack.ENTRY_POINTS, "a shader of GLSL has one entry point, main")
    shader = Shader(program)
    if program.shape.stage == "vertex":
        shader.line("gl_PointSize = 1.0;")
    if program.shape.stage == "raygen":
        shader.require("GL_EXT_ray_tracing")
    declare_variables(shader)
    shader.emit(program.operations)
    check_transpositions(shader)
    modes = execution_modes(shader)
    declarations = declare(shader)
    return _frame().render(
        extensions=sorted(shader.extensions),
        inputs_and_outputs=inputs_and_outputs(program),
        execution_modes=modes,
        declarations=declarations,
        functions=list(shader.functions.values()),
        references=list(shader.references.values()),
        lines=shader.lines,
        structs=shader.structs,
        element_structs=list(shader.element_structs.values()),
        globals=shader.globals,
    )
