"""A package of a small run, made once: a few cases, on a device with one mistake, for which there is a waiver."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cts.conformance.owed import is_owed, must_pass_file, owed_of, write_must_pass
from cts.conformance.suite import Suite, this_suite
from cts.kinds.kernel_digests import only_positions
from generators.casebook import Casebook, expand, load_casebook
from generators.casebook.tiers import pinned_digests
from tests.conformance.forging import WAIVERS, Forgery, packed
from tests.plugin.processes import run
from tests.suite import REPOSITORY

FAMILIES = {
    "khr_cooperative_matrix/muladd": (
        "16x16x16.f16.f16.f32.f32/data:exact/form:reuse",
        "16x16x32.s8.s8.s32.s32/data:wrap/form:reuse",
        "16x16x32.s8.s8.s32.s32/data:wrap]",
        "e4m3",
        "16x16x16.f16.f16.f16.f16/data:envelope/layouts",
    ),
    "khr_cooperative_matrix/property_queries": ("rule:stages", "rule:all"),
    "khr_cooperative_matrix/static_types": ("form:broken",),
    "nv_cooperative_vector/vector_layout_conversion": ("capacity:short", "row-inferencing-row]"),
    "vulkan/required_support": ("push_constants",),
}
"""The families of the small suite, and the words for each of which it has one case."""


def write_suite(root: Path) -> Casebook:
    """Write a checkout of few cases, and return them."""
    (root / "cts").mkdir(parents=True)
    (root / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n", encoding="utf-8")
    for part in ("cases/requirements", "cases/positions.yaml", "cases/units.yaml", *(f"cases/{name}.yaml" for name in FAMILIES)):
        (root / part).parent.mkdir(parents=True, exist_ok=True)
        (root / part).symlink_to(REPOSITORY / part)
    (root / "golden" / "tiers").mkdir(parents=True)
    for family, words in FAMILIES.items():
        name = f"golden/tiers/{Path(family).name}.tsv"
        head, outline, *lines = (REPOSITORY / name).read_text(encoding="utf-8").splitlines()
        kept = [next(line for line in lines if word in line) for word in words]
        (root / name).write_text("\n".join([head, outline, *(line for line in lines if line in kept)]) + "\n", encoding="utf-8")
    casebook = load_casebook(root)
    pinned = [
        (family.name, owed_of(family, pinned_digests(family), {case.id: only_positions(case) for case in expand(family, "nightly")}))
        for family in filter(is_owed, casebook)
    ]
    write_must_pass(must_pass_file(root), pinned)
    return casebook


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the small suite, with the report directory ``out`` of a run."""
    root = tmp_path_factory.mktemp("submission") / "suite"
    write_suite(root)
    (root / WAIVERS[1]).write_text(WAIVERS[0], encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    environment = kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(REPOSITORY)}
    plugins = ("-p", "cts.run.plugin", "-p", "tests.conformance.planted", "-p", "no:cacheprovider")
    done = run([*plugins, "cts", "--tier", "nightly", "--report-dir", "out", "--known-failures", WAIVERS[1]], root, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.fixture(scope="session")
def suite(folder: Path) -> Suite:
    """Return the small suite, as if it were a clean checkout."""
    return replace(this_suite(folder), version="0.1.0+1a2b3c4d")


@pytest.fixture(scope="session")
def package(folder: Path, suite: Suite) -> Forgery:
    """Return the package of the run, which nothing has changed yet."""
    return packed(folder, suite)
