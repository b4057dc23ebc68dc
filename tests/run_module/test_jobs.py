"""Modules like those of applications, in shaders/ with their jobs, run on the embedded device. The expected results are from lavapipe or,
where lavapipe lacks something (images, microscaling, nv_matrices), from numpy.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cts.cli import main
from cts.embedded.interface import read_interface
from cts.run_module.job import make_job, read_document
from tests.lavapipe import MATRIX2, driver_obstacle, manifest, needs

HERE = Path(__file__).parent
JOBS = sorted((HERE / "shaders").glob("*.yaml"))


def run(folder: str, name: str, *options: str) -> int:
    path = HERE / folder / name
    return main(["run-module", str(path.with_suffix(".spv")), str(path.with_suffix(".yaml")), *options])


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.stem)
def test_a_module_runs_as_on_a_real_driver_and_nothing_is_wrong_with_it(job: Path, capsys) -> None:
    code = run("shaders", job.stem)
    out = capsys.readouterr().out
    assert "no undefined behaviour and no broken rule" in out
    assert code == 0, out


def test_a_module_that_takes_longer_than_it_may_is_stopped(capsys) -> None:
    assert run("shaders", "attention", "--seconds", "0", "--json") == 1
    (left,) = json.loads(capsys.readouterr().out)["runs"]
    assert left["stopped"]


@needs(driver_obstacle(*MATRIX2))
@pytest.mark.parametrize("name", ["matrices", "older_votes", "references", "subgroup_sets", "unsized_descriptors"])
def test_a_driver_leaves_what_the_embedded_device_leaves(name, monkeypatch, capsys) -> None:
    monkeypatch.setenv("VK_DRIVER_FILES", str(manifest()))
    code = run("shaders", name, "--device", "llvmpipe", "--against", "embedded")
    assert code == 0, capsys.readouterr().out


@needs(driver_obstacle())
def test_a_driver_gets_no_images(monkeypatch, capsys) -> None:
    monkeypatch.setenv("VK_DRIVER_FILES", str(manifest()))
    assert run("shaders", "images", "--device", "llvmpipe") == 1
    assert "not supported: images; only the embedded device has them" in capsys.readouterr().out


def test_all_mistakes_of_a_run_are_reported_with_their_source_lines(capsys) -> None:
    assert run("wrong", "mean", "--json") == 1
    observations = json.loads(capsys.readouterr().out)["observations"]
    assert {one["rule"] for one in observations} == {"KHR-MEM-01", "KHR-MEM-02", "SPIR-V 3.42.8 OpAccessChain"}
    assert {(one["source"]["file"], one["source"]["line"]) for one in observations} == {("mean.comp", 9), ("mean.comp", 15)}
    (index,) = (one for one in observations if one["rule"].endswith("OpAccessChain"))
    assert index["instruction"].split(" = ")[1].startswith("OpAccessChain")
    assert index["source"]["text"].startswith("for (uint j = 0; j <= n; j++)")
    assert index["invocation"] == 7


def test_a_last_workgroup_without_memory_barriers_races(capsys) -> None:
    assert run("wrong", "last_workgroup", "--json") == 1
    assert {one["rule"] for one in json.loads(capsys.readouterr().out)["observations"]} == {"KHR-MEM-01"}


def test_a_wrong_element_is_reported(tmp_path, capsys) -> None:
    job = tmp_path / "job.yaml"
    buffers = "x: {binding: 0, bytes: 192}, y: {binding: 1, bytes: 576}, z: {binding: 2, bytes: 16, expected: [0, 1, 0, 6]}"
    job.write_text(f"workgroups: [3, 1, 1]\nbuffers: {{{buffers}}}\n")
    assert main(["run-module", str(HERE / "shaders/flow.spv"), str(job)]) == 1
    assert "'z' differs from what the job expects in 1 of 4 elements; element 3 is 5 (0x00000005), not 6" in capsys.readouterr().out


@pytest.mark.parametrize("name", [job.stem for job in JOBS])
def test_the_template_of_a_module_is_a_job_for_it(name, tmp_path, capsys) -> None:
    path = HERE / "shaders" / f"{name}.spv"
    assert main(["run-module", str(path), "--template"]) == 0
    job = tmp_path / "job.yaml"
    job.write_text(capsys.readouterr().out)
    spirv = path.read_bytes()
    made = make_job(spirv, read_document(job), read_interface(spirv, "main"), tmp_path)
    assert {slot.binding for slot in made.kernel.buffers} >= {0}


def test_images_are_distinguished_from_buffers(tmp_path, capsys) -> None:
    job = tmp_path / "job.yaml"
    text = (HERE / "shaders/images.yaml").read_text()
    image, shader = "image: {format: r32ui, size: [2]}", str(HERE / "shaders/images.spv")
    for before, after, told in (
        (image, "bytes: 8", "is an image or a sampler, so give it 'image'"),
        ("type: f32, bytes: 2048", image, "binding 3 of set 0 is no image"),
        ("r32ui", "r33ui", "no format 'r33ui'"),
        ("size: [2]", "size: [2, 2, 2, 2]", "a size in 4 dimensions"),
    ):
        job.write_text(text.replace(before, after, 1).replace("file: images", f"file: {HERE / 'shaders/images'}"))
        assert main(["run-module", shader, str(job)]) == 2
        assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("buffers: {x: {binding: 0, bytes: 192}}", "no buffer for"),
        ("buffers: {x: {binding: 7, bytes: 4}}", "no binding 7 in set 0; it has 0 (X)"),
        ("buffer: {}", "unknown field `buffer`"),
        ("workgroups: [0, 1, 1]", "$.workgroups[0]"),
        ("specialization: {3: 4}", "no constant 3"),
        ("push_constants: [{data: [1]}]", "the module has 0 bytes of push constants"),
        ("entry_point: other", "no entry point 'other'"),
        ("{", "not YAML"),
    ],
)
def test_a_job_that_does_not_fit_is_refused(text, told, tmp_path, capsys) -> None:
    job = tmp_path / "job.yaml"
    filled = "buffers: {x: {binding: 0, bytes: 192}, y: {binding: 1, bytes: 576}, z: {binding: 2, bytes: 16}}\n"
    job.write_text(text if "buffers" in text or text == "{" else filled + text)
    assert main(["run-module", str(HERE / "shaders/flow.spv"), str(job)]) == 2
    assert told in capsys.readouterr().err
