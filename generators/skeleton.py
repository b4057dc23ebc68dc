"""The skeleton of a new family: a small but complete YAML file and builder to start from."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from generators.casebook.requirements import cases_folder, folder_name, load_requirements
from generators.errors import CasebookError

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")

TODO = "write the plan, the parameters and the builder, and name what is covered"
"""What a skeleton still lacks, as its own YAML says."""

_YAML = Template("""\
# docs/casebook.md explains every key.
family: $name
specification: $specification
builder: $name  # generators/families/$folder/$name.py
# Ids from cases/requirements/$folder.yaml that a failing case of this family would show to be broken; {id: …, when: {layout: [row]}} where
# only some cases would.
covers: []
plan: |
  What is tested, and why it has these parameters. Someone who reads only the plans must be able to judge whether the suite is complete.
# Missing coverage, one line each; 'cts coverage' lists it.
todo:
  - $todo
# Each combination of labels is a case. The builder's class Parameters declares each parameter, says what its labels mean, and decides the
# order in ids. A parameter that is not here takes all values of its type: layout and padding do. Products that do not mention a parameter
# take its first label, which is its default.
parameters:
  component: [f16, f32, s8]
# Which cases cannot exist, and why: when/require, exclude, or a predicate of the builder.
constraints:
  - predicate: stride_is_whole
    because: a stride counts whole elements
# The full tier is the union of the products. The other tiers take enough cases to have every combination of 'smoke' ('nightly')
# labels that the constraints allow; 0 takes none. After each change of labels, constraints or products, choose them again:
# cts golden --update --tiers --family $name
products:
  - name: everything
    why: there are few
    parameters: {component: all, layout: all, padding: all}
    smoke: 1
    nightly: 2
# Each case has a dispatch for each combination of the values that the builder's class SubcaseParameters declares. A key 'subcases'
# restricts them as 'parameters' does.
""")

_BUILDER = Template('''\
"""$name: what its cases do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs.patterns import pattern_bits
from generators.layouts.matrix_arrays import Tiles, matrix_source, matrix_target
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS
from generators.program.builder import ProgramBuilder
from generators.program.program import Built, Program, Subcase
from generators.program.values import MatrixType
from generators.types import COMPONENT_TYPES, ComponentType, Layout, Scope, Use

_SIZE = 16


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case, by the names of the YAML. The default is the label of cases that do not name the parameter."""

    component: ComponentType = parameter("component type of the matrix", labels=COMPONENT_TYPES)
    layout: Layout = parameter("layout of load and store", default="row", labels=LAYOUTS)
    padding: int = parameter("bytes after each line", default="tight", labels={"tight": 0, "padded": 16})


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "bits"] = parameter("the bits of the source")


def _stride_is_whole(parameters: Parameters) -> bool:
    return parameters.padding % parameters.component.bytes == 0


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"stride_is_whole": _stride_is_whole}
"""A predicate must depend on nothing except the parameters that it reads, some of which may still be unknown."""


def build(parameters: Parameters) -> Built:
    """Build a case: here a matrix is loaded and stored again."""
    component = parameters.component
    stride = _SIZE + parameters.padding // component.bytes
    builder = ProgramBuilder(Scope.SUBGROUP)
    type_ = MatrixType(component, Scope.SUBGROUP, _SIZE, _SIZE, Use.ACCUMULATOR)
    tiles = Tiles(type_, parameters.layout, stride, _SIZE * stride)
    source, target = matrix_source(builder, "source", tiles), matrix_target(builder, "target", tiles)
    target.store(source.load())

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        # The data of one dispatch: every operand must change the expected result.
        bits = pattern_bits(parameters.pattern, component, program.array("source").count, rng)
        return Subcase(name, {"source": bits.view(np.uint8)})

    return Built(builder.build(), draw)
''')

_PACKAGE = Template('"""Families of $specification."""\n')


def new_family(root: Path, name: str, specification: str) -> tuple[Path, ...]:
    """Write a YAML file and a builder for a new family, which load and run as they are, and the package of a specification that has no
    family yet.

    Args:
        root: the checkout.
        name: the name of the family, in snake_case.
        specification: its name, or the name of its folder below ``cases``.

    Returns:
        The YAML file, the builder, and the package's ``__init__.py`` if it is new.

    Raises:
        CasebookError: the name cannot be used, the specification is unknown, or a file exists already.
    """
    if not _NAME.fullmatch(name):
        raise CasebookError(f"'{name}' cannot name a family; expected snake_case, for example tensor_clamp")
    cases = cases_folder(root)
    known = {requirement.specification for requirement in load_requirements(cases).values()}
    named = [full for full in known if specification in (full, folder_name(full))]
    if not named:
        raise CasebookError(
            f"unknown specification '{specification}'; expected one of {', '.join(sorted(known))}. For another one, first write its "
            f"requirements: cases/requirements/{folder_name(specification)}.yaml (docs/casebook.md, 'Requirements')"
        )
    words = {"name": name, "specification": named[0], "folder": folder_name(named[0]), "todo": TODO}
    description = cases / words["folder"] / f"{name}.yaml"
    builder = root / "generators" / "families" / words["folder"] / f"{name}.py"
    files = {builder: _BUILDER, description: _YAML}
    # Ids begin with the family's name, so it must be unique among all specifications
    for path in (*files, *cases.glob(f"*/{name}.yaml")):
        if path.exists():
            raise CasebookError(f"{path} exists already; choose another name or edit it")
    package = builder.with_name("__init__.py")
    if not package.exists():
        files[package] = _PACKAGE
    for path, template in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(template.substitute(words), encoding="utf-8")
        except OSError as error:
            raise CasebookError(f"{path} cannot be written: {error.strerror}") from error
    return description, *(path for path in files if path != description)
