"""The skeleton of a new family: a YAML file and a builder that teach by being complete and small."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from generators.casebook.requirements import cases_folder, folder_name, load_requirements
from generators.errors import CasebookError

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")

_YAML = Template("""\
# docs/casebook.md explains every key.
family: $name
specification: $specification
builder: $name  # generators/families/$folder/$name.py
# Ids from cases/requirements/$folder.yaml that a failing case of this family would show to be broken; those of some cases alone
# as {id: …, when: {layout: [row]}}.
covers: []
plan: |
  What is tested, and why these axes: someone who reads only the plans must be able to judge whether the suite is complete.
# Missing coverage, a line each; 'cts coverage' lists it.
todo:
  - write the plan, the axes and the builder, and name what is covered
# Each combination of values is a case. The labels, in this order, make its id; 'label: value' names values that are not
# plain words. The first value is the one that a product has if it does not mention the axis.
axes:
  component: [f16, f32, s8]
  layout: [row, column]
  padding: {tight: 0, padded: 16}
# What cannot be, and why: when/require, exclude, or a predicate of the builder.
constraints:
  - predicate: stride_is_whole
    because: a stride counts whole elements
# The full tier is the union of the products. The other tiers take enough cases to have every combination of 'smoke' ('nightly')
# labels that the constraints allow; 0 takes none. After each change of labels, constraints or products, choose them again:
# cts golden --update --tiers --family $name
products:
  - name: everything
    why: there are few
    axes: {component: all, layout: all, padding: all}
    smoke: 1
    nightly: 2
# The dispatches of each case: one for each combination of these.
subcases:
  pattern: [index, bits]
""")

_BUILDER = Template('''\
"""$name: what its cases do.

Axis values are those of cases/$folder/$name.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from generators.parameters.vocabulary import Values
from generators.inputs.patterns import index_coded, random_bits
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import MatrixType
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use

_LAYOUTS = {"row": Layout.ROW_MAJOR, "column": Layout.COLUMN_MAJOR}
_SIZE = 16


def _stride_is_whole(values: Values) -> bool:
    return bool(values["padding"] % COMPONENT_TYPES[values["component"]].bytes == 0)


PREDICATES: Mapping[str, Callable[[Values], bool]] = {"stride_is_whole": _stride_is_whole}
"""A predicate must depend on nothing but the values that it reads."""


def program(values: Values) -> Program:
    """The program of a case: here a matrix is loaded and stored again."""
    component = COMPONENT_TYPES[values["component"]]
    stride = _SIZE + values["padding"] // component.bytes
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("source", Pointee(component), _SIZE * stride, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(component), _SIZE * stride, StorageClass.STORAGE_BUFFER, "output")
    type_ = MatrixType(component, Scope.SUBGROUP, _SIZE, _SIZE, Use.ACCUMULATOR)
    layout = _LAYOUTS[values["layout"]]
    matrix = builder.load("matrix", type_, source, builder.literal(0), builder.literal(stride), layout)
    builder.store(matrix, target, builder.literal(0), builder.literal(stride), layout)
    return builder.build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """The data of one dispatch. Every operand must change the expected result."""
    component = COMPONENT_TYPES[values["component"]]
    count = program.array("source").count
    bits = index_coded(component, count) if values["pattern"] == "index" else random_bits(component, count, rng)
    return Subcase(name, {"source": bits.view(np.uint8)})
''')


def new_family(root: Path, name: str, specification: str) -> tuple[Path, Path]:
    """Writes a YAML file and a builder for a new family, which load and run as they are.

    Args:
        root: the checkout.
        name: of the family, in snake_case.
        specification: its name, or that of its folder below ``cases``.

    Returns:
        The YAML file and the builder.

    Raises:
        CasebookError: the name cannot be used, the specification is unknown, or a file exists already.
    """
    if not _NAME.fullmatch(name):
        raise CasebookError(f"'{name}' cannot name a family; expected snake_case, for example tensor_clamp")
    cases = cases_folder(root)
    known = {requirement.specification for requirement in load_requirements(cases).values()}
    named = [full for full in known if specification in (full, folder_name(full))]
    if not named:
        raise CasebookError(f"unknown specification '{specification}'; expected one of {', '.join(sorted(known))}")
    words = {"name": name, "specification": named[0], "folder": folder_name(named[0])}
    description = cases / words["folder"] / f"{name}.yaml"
    builder = root / "generators" / "families" / words["folder"] / f"{name}.py"
    files = {builder: _BUILDER, description: _YAML}
    # A family's name is the beginning of its ids, so it is unique among all specifications
    for path in (*files, *cases.glob(f"*/{name}.yaml")):
        if path.exists():
            raise CasebookError(f"{path} exists already; choose another name or edit it")
    for path, template in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(template.substitute(words), encoding="utf-8")
        except OSError as error:
            raise CasebookError(f"{path} cannot be written: {error.strerror}") from error
    return description, builder
