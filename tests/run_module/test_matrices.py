"""Matrices of a job: a device converts them to its layouts and back, and impossible ones are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from cts.cli import main
from cts.devices.device import CallFailed
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.run_module.matrices import Matrix, MatrixJob, make_matrices
from cts.run_module.values import Values
from generators.types import COMPONENT_TYPES
from tests.run_module.small_modules import small_modules

LAYOUTS = ("row_major", "column_major", "inferencing_optimal", "training_optimal")
DEVICE = EmbeddedDevice(load_profile("universal"))


def matrix(**given: Any) -> Matrix:
    given = {"rows": 9, "columns": 35, "data": Values(random=1, low=-100, high=100)} | given
    (made,) = make_matrices("w", {"m": MatrixJob(**given)}, COMPONENT_TYPES["f16"], Path())
    return made


@pytest.mark.parametrize("command", ["host", "device"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("component", ["f16", "f32", "s8", "u8", "e4m3", "e5m2"])
def test_a_matrix_comes_back_as_it_was(component, layout, command) -> None:
    one = matrix(type=component, layout=layout, command=command)
    there = one.put_in(DEVICE, one.size(DEVICE))
    assert (one.taken_out(DEVICE, there) == one.elements).all()


def test_each_layout_has_other_bytes() -> None:
    made = [matrix(layout=layout) for layout in LAYOUTS]
    assert len({one.put_in(DEVICE, one.size(DEVICE)).tobytes() for one in made}) == len(LAYOUTS)


def change(name: str, tmp_path: Path, changes: dict[str, Any]) -> list[str]:
    """Write a small module with changes of its job, and return the arguments that run it."""
    (module,) = (one for one in small_modules() if one.name == name)
    spirv, job = module.write(tmp_path)
    document = yaml.safe_load(job.read_text())
    for path, value in changes.items():
        *outer, key = path.split("/")
        place = document
        for part in outer:
            place = place[part]
        place[key] = value
    job.write_text(yaml.safe_dump(document))
    return ["run-module", str(spirv), str(job)]


W = "buffers/w/matrices"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({f"{W}/matrix/at": 32}, "VUID-vkCmdConvertCooperativeVectorMatrixNV-pInfo-10085"),
        ({f"{W}/matrix/stride": 64}, "an optimal layout has no stride"),
        ({f"{W}/bias/stride": 16}, "VUID-VkConvertCooperativeVectorMatrixInfoNV-srcLayout-10077"),
        ({f"{W}/bias/data": [1, 2]}, "2 numbers; 1 x 16 elements need 16"),
        ({f"{W}/bias/at": 100, f"{W}/matrix/at": 0}, "leave out 'at'"),
        ({f"{W}/matrix/type": "f99"}, "no type 'f99'"),
        ({f"{W}/matrix/rows": 0}, "rows"),
        ({"push_constants": [{"offset_of": "w.other"}]}, "there is no matrix 'w.other'"),
        ({"push_constants": [{"offset_of": "w.bias", "data": [1]}]}, "exactly one"),
        ({"buffers/w/data": [1]}, "has matrices, so it has no data"),
        ({"buffers/x/offsets": {5000: "w.bias"}}, "an offset at byte 5000"),
        ({"draw": [4, 4]}, "the entry point is for compute"),
    ],
)
def test_an_impossible_matrix_is_refused(changes, told, tmp_path, capsys) -> None:
    assert main(change("layer_inferencing_bias", tmp_path, changes)) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(("name", "draw"), [("layer_in_fragments", None), ("layer_in_vertices", [8, 4])])
def test_a_draw_fits_its_stage(name, draw, tmp_path) -> None:
    assert main(change(name, tmp_path, {"draw": draw})) == 2


def test_a_write_beside_all_matrices_is_reported(tmp_path, capsys) -> None:
    wrong = {"push_constants": [{"offset_of": "g.gradient"}, {"data": [2048]}, {"offset_of": "w.weights"}], "buffers/g/bytes": 4096}
    assert main(change("sums", tmp_path, wrong)) == 1
    assert "16 bytes of 'g' that belong to no matrix were written, from byte 2048" in capsys.readouterr().out


def test_a_wrong_element_of_an_optimal_matrix_is_named_by_its_place_in_rows(tmp_path, capsys) -> None:
    arguments = change("outer_products", tmp_path, {})
    path = tmp_path / "outer_products.gradient.bin"
    expected = np.fromfile(path, np.float16)
    expected[37] += 8
    path.write_bytes(expected.tobytes())
    assert main(arguments) == 1
    assert "'g.gradient' differs from what the job expects in 1 of 128 elements; element 37" in capsys.readouterr().out


class Shrinking:
    """A device that says a matrix has one byte."""

    description = DEVICE.description

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        return [ConversionAnswer(0, 1) for _ in call.infos]

    def close(self) -> tuple[()]:
        return ()


def test_an_impossible_size_is_the_devices_failure() -> None:
    with pytest.raises(CallFailed):
        matrix(layout="training_optimal").size(Shrinking())
