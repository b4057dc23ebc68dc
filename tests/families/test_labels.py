"""The builders declare which values their parameters take, and the casebook checks the YAML against these declarations."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from generators.casebook import load_casebook
from generators.errors import CasebookError

CASES = Path(__file__).resolve().parents[2] / "cases"


@pytest.mark.parametrize(
    ("family", "old", "new", "message"),
    [
        (
            "every_row",
            "storage: [storage_buffer]",
            "storage: [storage_bufer]",
            r"every_row.yaml:\d+: parameters.storage\[0\]: .*'storage_bufer'.*workgroup",
        ),
        ("muladd", "layouts: [rrrr,", "layouts: [rrr,", r"parameters.layouts\[0\]: .*'rrr'"),
        ("load_store", "shape: [16x16, 8x8,", "shape: [16x16, 8,", r"parameters.shape\[1\]: .*'8'"),
        ("load_store", "products:", "subcases: {pattern: [idnex]}\nproducts:", r"subcases.pattern\[0\]: .*'idnex'.*extremes"),
        ("muladd", "  subgroups: [1,", "  subgroups: [true,", r"parameters.subgroups\[0\]: .*does not take 'true'"),
        ("load_store", "  shape: ", "  flavour: [sweet]\n  shape: ", "declares no parameter 'flavour' that belongs here; expected one of "),
        ("specialization", "use: [acc, a, b, a+b,", "use: [acc, a, b, a+c,", r"parameters.use\[3\]: .*'a\+c': expected a, b, acc, or a\+b"),
        ("specialization_muladd", "    - 16x8x16\n", "    - 16x8\n", r"parameters.sizes\[2\]: .*'16x8': expected M, N and K"),
        (
            "specialization_muladd",
            "    - f64.f64.f64.f64\n",
            "    - f64.f64.f46.f64\n",
            r"parameters.types\[5\]: .*such as f16.f16.f32.f32",
        ),
        (
            "workgroup_shapes",
            "workgroups: [1x1x1, 3x1x1,",
            "workgroups: [1x1x1, 3x0x1,",
            r"parameters.workgroups\[1\]: .*'3x0x1': expected positive",
        ),
        (
            "specialization",
            "  load: [row",
            "  loads: [row",
            "declares no parameter 'loads' that belongs here; expected one of .*load",
        ),
        (
            "load_store",
            "  subgroups: [1, 2, 4, 8]\n",
            "",
            "the type of the builder's parameter 'subgroups' lists no values, so they are needed here",
        ),
    ],
)
def test_a_value_that_the_builder_does_not_take_is_named_with_its_place(tmp_path, family, old, new, message):
    shutil.copytree(CASES, tmp_path / "cases")
    path = tmp_path / "cases" / "khr_cooperative_matrix" / f"{family}.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(CasebookError, match=message):
        load_casebook(tmp_path)
