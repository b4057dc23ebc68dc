"""Runs a SPIR-V module of your own with the data of a job, on the embedded device, which lists the mistakes of the module, and on the
device that --device names. Exit code 1: the module does something undefined or breaks a rule, or a buffer is not as expected. Exit code 6:
spirv-val rejects the module, so nothing runs."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from cts.checkout import find_root
from cts.commands.context import print_json
from cts.commands.options import add
from cts.devices.device import Device, DeviceFailure
from cts.devices.isolation import IsolatedDevice
from cts.devices.spec import DEFAULT_PROFILE, EMBEDDED, DeviceSpec
from cts.embedded.diagnostics import NotValidSpirv, enumerant_text
from cts.embedded.interface import STAGES, entry_points, read_interface
from cts.embedded.profile import load_profile
from cts.engine.plan import DEFAULT_STEP_TIMEOUT, seconds_of
from cts.exit_codes import INVALID_MODULE
from cts.judges import Choice, choose
from cts.run_module.freedom import Dependence, dependences
from cts.run_module.job import Job, make_job, read_document
from cts.run_module.report import dependence_lines, document, examined_lines, invalid_lines, left_lines, rule_statements
from cts.run_module.running import Examined, Left, against, examine, limits_of, run_on
from cts.run_module.template import template
from cts.run_module.validity import Invalid, find_invalid
from cts.run_module.values import JobError
from generators.bounded_files import Unreadable, read_bytes
from generators.errors import CtsError
from generators.spirv.enumerants import ExecutionModel
from generators.stages import Stage

_STEPS = 50_000_000
_SECONDS = 15


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.epilog = _EXAMPLE
    parser.add_argument("module", type=Path, metavar="SHADER.spv", help="the module, as a driver gets it: a compute shader")
    parser.add_argument("job", type=Path, metavar="JOB.yaml", nargs="?", help="its data and expected results: see the example below")
    parser.add_argument("--template", action="store_true", help="print a job for the module, to be filled in, and run nothing")
    add(parser, "--device", "also run it on this device (see 'cts devices')", default=EMBEDDED)
    parser.add_argument("--against", choices=[EMBEDDED], help="compare each buffer with the embedded device's result")
    parser.add_argument("--no-examine", action="store_true", help="do not run the module on the embedded device first")
    parser.add_argument(
        "--no-spirv-val", action="store_true", help="do not ask spirv-val, where it is installed, whether the module is valid"
    )
    parser.add_argument(
        "--freedom",
        action="store_true",
        help="also run it in ways that devices choose freely, and report what depends on them",
    )
    add(parser, "--step-timeout")
    parser.add_argument(
        "--steps", type=int, default=_STEPS, metavar="N", help=f"instructions that the embedded device may run (default: {_STEPS:,})"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=_SECONDS,
        metavar="S",
        help=f"processor time that a run on the embedded device may take, in seconds (default: {_SECONDS})",
    )
    add(parser, "--json")


_EXAMPLE = """\
example:
  cts run-module shader.spv --template > job.yaml    # then fill in data and expected results
  cts run-module shader.spv job.yaml                 # what does the shader do wrong?
  cts run-module shader.spv job.yaml --device 0 --against embedded

a job:
  workgroups: [4, 1, 1]
  specialization: {0: 64}
  push_constants:
    - {type: u32, data: [256]}
    - {at: 8, address_of: weights}
  buffers:
    a: {binding: 0, type: f16, data: {random: 1, count: 256}}
    out: {binding: 1, type: f32, bytes: 1024, expected: {fill: 1, count: 256}, tolerance: {relative: 1.0e-3}}
    weights: {type: f16, data: {file: weights.bin}}
    layer: {binding: 2, type: f16, matrices: {first: {rows: 16, columns: 32, layout: inferencing_optimal, data: {random: 2}}}}

docs/run_module.md has a worked example, and all keys of a job."""

_MOST_BYTES = 1 << 28
"""The most bytes of a module."""


def run(options: argparse.Namespace) -> int:
    """Run the module; exit code 1 if it is wrong, and 6 if it is invalid."""
    try:
        spirv = read_bytes(options.module, _MOST_BYTES)
    except Unreadable as error:
        raise CtsError(f"{options.module}: {error}") from error
    kind, _, profile = options.device.partition(":")
    profile = (profile if kind == EMBEDDED else "") or DEFAULT_PROFILE
    choice = None if kind == EMBEDDED or options.template else _running(options.device)
    if not options.no_spirv_val and not options.template:
        invalid = find_invalid(spirv, load_profile(profile).description if choice is None else choice.description)
        if invalid is not None:
            return _told(options, invalid)
    try:
        wanted = None if options.job is None else read_document(options.job)
        name, stage = _entry_point(options.module, spirv, wanted.entry_point if wanted else None)
        interface = read_interface(spirv, name)
    except NotValidSpirv as failure:
        return _told(options, Invalid("the embedded device", "", "", str(failure)))
    except DeviceFailure as failure:
        raise CtsError(f"{options.module}: {failure}") from failure
    if options.template:
        print(template(interface, stage), end="")
        return 0
    if wanted is None:
        raise JobError("no job: name a JOB.yaml; --template prints one for the module")
    job = make_job(spirv, wanted, interface, options.job.parent, stage)
    return _run(options, job, choice, profile)


def _told(options: argparse.Namespace, invalid: Invalid) -> int:
    if options.json:
        print_json(document(None, (), {}, invalid))
    else:
        print(*invalid_lines(invalid), sep="\n")
    return INVALID_MODULE


def _entry_point(path: Path, spirv: bytes, wanted: str | None) -> tuple[str, Stage]:
    """Return the name and the stage of the entry point that a job names, or of the first one, for compute if there is one.

    Raises:
        JobError: there is none.
    """
    stages = entry_points(spirv)
    names = sorted(((name, STAGES[stage]) for name, stage in stages if stage in STAGES), key=lambda one: one[1] != "compute")
    found = next((one for one in names if wanted in (None, one[0])), None)
    if found is None:
        known = ", ".join(f"'{name}' ({enumerant_text(ExecutionModel, stage)})" for name, stage in stages) or "none"
        lacks = "no entry point that can run" if wanted is None else f"no entry point '{wanted}' that can run"
        raise JobError(f"{path}: the module has {lacks}: for compute, fragments, vertices or ray generation; its entry points: {known}")
    return found


def _run(options: argparse.Namespace, job: Job, choice: Choice | None, profile: str) -> int:
    if options.no_examine and (choice is None or options.against):
        raise CtsError("--no-examine leaves out the embedded device, which --device embedded and --against embedded need")
    size = job.kernel.required_subgroup_size or (None if choice is None else choice.description.subgroup_size)
    limits = limits_of(options.steps, options.seconds)
    description = load_profile(profile)
    if size is not None:
        description = replace(description, subgroup_size=size)
    examined = None if options.no_examine else examine(job, description, limits, tries_sizes=size is None)
    free: list[Dependence] = []
    if options.freedom and examined is not None and not examined.left.stopped:
        free = list(dependences(job, description, limits, examined))
    left = [] if choice is None else [_on_device(choice, options, job, examined)]
    found = examined is not None and examined.observations
    statements = rule_statements(find_root(Path(__file__).parent)) if found else {}
    if options.json:
        print_json(document(examined, left, statements, dependences=free))
    else:
        if examined is not None:
            print(*examined_lines(examined, statements), sep="\n")
            for dependence in free:
                print(*dependence_lines(dependence), sep="\n")
            if options.freedom and not free and not examined.left.stopped:
                print("embedded device: the results depend on no free choice that was tried")
        for one in left:
            for line in left_lines(one):
                print(line)
    return int((examined is not None and examined.is_wrong) or bool(free) or any(one.is_wrong for one in left))


def _running(device: str) -> Choice:
    """Return the device that the user names.

    Raises:
        CtsError: it runs nothing, or there is no such device.
    """
    choice = choose(device)
    if not isinstance(choice.spec, DeviceSpec) or choice.spec.compiles_only:
        raise CtsError(f"--device {device}: it judges modules without running them; name another device")
    return choice


def _on_device(choice: Choice, options: argparse.Namespace, job: Job, examined: Examined | None) -> Left:
    assert isinstance(choice.spec, DeviceSpec), "it runs shaders"
    seconds = seconds_of("--step-timeout", options.step_timeout, DEFAULT_STEP_TIMEOUT)
    device: Device = IsolatedDevice(choice.spec, seconds, choice.description)
    try:
        left = run_on(device, job, choice.description.name)
    finally:
        device.close()
    return left if options.against is None or examined is None else against(left, examined.left, job)
