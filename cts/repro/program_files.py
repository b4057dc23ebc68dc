"""The C program of a folder: its name, the command that compiles it, and the templates that it is made from."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2

PROGRAM = "repro.c"
COMPILE = "cc -o repro repro.c -lvulkan -lm"


@cache
def template(name: str) -> jinja2.Template:
    """Return the template ``name`` of this folder: C, with ``@{…}@`` for values and ``//%`` before statements."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        variable_start_string="@{",
        variable_end_string="}@",
        line_statement_prefix="//%",
        comment_start_string="{{#",
        comment_end_string="#}}",
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(name)
