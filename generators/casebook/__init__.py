"""From YAML to cases: families, parameters, constraints, tiers and stable ids. docs/casebook.md documents the files."""

from generators.casebook.book import Casebook, find_case, load_case, load_casebook, load_families, named_case, open_casebook
from generators.casebook.builders import CaseKind
from generators.casebook.cases import BuiltCase, Case, build, build_conversion, build_module, build_query, expand, full_ids
from generators.casebook.covers import Cover
from generators.casebook.family import Family, Product, load_family
from generators.casebook.parameters import Parameter
from generators.casebook.positions import Position, load_positions
from generators.casebook.requirements import Requirement, TestKind, load_requirements
from generators.casebook.tiers import Tier

__all__ = [
    "BuiltCase",
    "Case",
    "CaseKind",
    "Casebook",
    "Cover",
    "Family",
    "Parameter",
    "Position",
    "Product",
    "Requirement",
    "TestKind",
    "Tier",
    "build",
    "build_conversion",
    "build_module",
    "build_query",
    "expand",
    "find_case",
    "full_ids",
    "load_case",
    "load_casebook",
    "load_families",
    "load_family",
    "load_positions",
    "load_requirements",
    "named_case",
    "open_casebook",
]
