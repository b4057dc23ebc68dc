"""Has spirv-val judge the module of every kernel case of a tier. Exit code 1 if it rejects one.

Static cases are judged by ``pytest cts --device spirv-val``.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from cts.commands.options import add, add_selection, nothing_selected, selected_cases, tier_of
from cts.engine.plan import at_least_one, one_of
from cts.front_ends import FRONT_ENDS, FrontEnd
from cts.kinds.kernel import compile_module, glsl_source
from generators.casebook import Case, CaseKind, Family, Tier, build
from generators.errors import CtsError, GeneratorError, NotExpressible
from generators.program.shape import LATEST, Version
from generators.stages import Stage

Command = tuple[str, ...]
"""spirv-val and its options, before the path."""

_OWN = "own"
_NEWEST: Mapping[Version, str] = MappingProxyType(
    {(1, 3): "vulkan1.1", (1, 4): "vulkan1.1spv1.4", (1, 5): "vulkan1.2", (1, 6): "vulkan1.3"}
)
"""Version of SPIR-V -> the environment that has it as its newest version."""

_SHOWN = 20
_BATCH = 32
"""How many modules one process of spirv-val judges. It takes a folder, and the start takes most of the time for one module."""


@dataclass(frozen=True)
class _Shader:
    """A module of one front end, as SPIR-V or as GLSL still to be compiled, and the first case that has it."""

    case: str
    front_end: FrontEnd
    text: bytes | str
    version: Version
    stage: Stage


@dataclass
class _Counts:
    """The counts of a family; ``skipped`` counts cases that GLSL cannot express."""

    cases: int = 0
    modules: int = 0
    skipped: int = 0
    rejected: int = 0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_selection(parser, Tier.NIGHTLY)
    add(parser, "--front-end", "spirv, glsl (which needs glslang) or both (default: %(default)s)", default="spirv")
    parser.add_argument(
        "--target-env",
        default="vulkan1.3",
        metavar="ENV",
        help=f"passed to spirv-val (default: vulkan1.3); {_OWN}: for each module the environment whose newest SPIR-V is its version",
    )
    add(parser, "-n", "how many compilers and validators run at a time (default: %(default)s)", dest="processes", default="2")


def run(options: argparse.Namespace) -> int:
    """Validate, and print rejected modules and a line for each finished family."""
    tier = tier_of(options)
    one_of("--front-end", options.front_end, (*FRONT_ENDS, "both"))
    front_ends: tuple[FrontEnd, ...] = FRONT_ENDS if options.front_end == "both" else (options.front_end,)
    jobs = at_least_one("-n", options.processes)
    selected = selected_cases(options)
    validator = shutil.which("spirv-val")
    if validator is None:
        raise CtsError(
            "spirv-val is not installed: install SPIRV-Tools 2026.4 or newer (spirv-tools), or run in the root of .ci/lavapipe-root"
        )
    found, chosen_env = validator, options.target_env

    def command(version: Version) -> Command:
        if chosen_env != _OWN:
            return (found, "--target-env", chosen_env)
        # Before Vulkan 1.3, the feature maintenance4 allows LocalSizeId; this option means that the feature is enabled.
        return (found, "--target-env", _NEWEST[version], "--allow-localsizeid")

    # If spirv-val did not start, every module would count as rejected.
    started = subprocess.run([*command(LATEST), "--version"], capture_output=True, text=True, check=False)
    if started.returncode:
        said = (started.stdout + started.stderr).strip() or f"exit code {started.returncode}"
        raise CtsError(f"--target-env {options.target_env}: spirv-val does not start: {said}; 'spirv-val --help' lists the environments")
    total, start = _Counts(), time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        seen: set[bytes] = set()
        for family, cases in selected:
            if family.kind is CaseKind.KERNEL and cases:
                _judge_family(family, cases, front_ends, command, pool, jobs, seen, total)
    if not total.cases:
        return nothing_selected(options, "case that runs a shader")
    seconds = time.monotonic() - start
    print(
        f"{total.modules} modules of {total.cases} cases of tier {tier}, {total.rejected} rejected"
        + (f"; {total.skipped} cases that GLSL cannot express" if total.skipped else "")
        + f"; {seconds:.0f} s"
    )
    return 1 if total.rejected else 0


def _judge_family(
    family: Family,
    cases: Iterable[Case],
    front_ends: tuple[FrontEnd, ...],
    command: Callable[[Version], Command],
    pool: ThreadPoolExecutor,
    jobs: int,
    seen: set[bytes],
    total: _Counts,
) -> None:
    """Add to ``total``; ``seen`` has the digests of the modules judged before."""
    start, counts = time.monotonic(), _Counts()
    running: deque[Future[list[str]]] = deque()

    def collect(limit: int) -> None:
        while len(running) > limit:
            for complaint in running.popleft().result():
                counts.rejected += 1
                if total.rejected + counts.rejected <= _SHOWN:
                    print(complaint)

    shaders = _shaders(cases, front_ends, seen, counts)
    while batch := list(islice(shaders, _BATCH)):
        running.append(pool.submit(_judge_batch, command, batch))
        collect(2 * jobs)
    collect(0)
    skipped = f", {counts.skipped} cases that GLSL cannot express" if counts.skipped else ""
    line = f"{family.name}: {counts.modules} modules of {counts.cases} cases, {counts.rejected} rejected{skipped}"
    # Progress, on standard error.
    print(f"{line}; {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    for name, value in vars(counts).items():
        setattr(total, name, getattr(total, name) + value)


def _shaders(cases: Iterable[Case], front_ends: tuple[FrontEnd, ...], seen: set[bytes], counts: _Counts) -> Iterator[_Shader]:
    """Yield every distinct module or GLSL text once: cases that differ only in their data share it."""
    for case in cases:
        counts.cases += 1
        program = build(case).program
        for front_end in front_ends:
            try:
                text: bytes | str = glsl_source(program) if front_end == "glsl" else compile_module(program, front_end)
            except NotExpressible:
                counts.skipped += 1
                continue
            version, stage = program.shape.version, program.shape.stage
            key = hashlib.sha256(f"{version} {stage} {text}".encode() if isinstance(text, str) else text).digest()
            if key not in seen:
                seen.add(key)
                counts.modules += 1
                yield _Shader(case.id, front_end, text, version, stage)


def _judge_batch(command: Callable[[Version], Command], batch: list[_Shader]) -> list[str]:
    """Return the complaint about each rejected shader of ``batch``, grouped by environment."""
    environments: dict[Command, list[_Shader]] = {}
    for shader in batch:
        environments.setdefault(command(shader.version), []).append(shader)
    return [complaint for one, shaders in environments.items() for complaint in _judge(one, shaders)]


def _judge(command: Command, batch: list[_Shader]) -> list[str]:
    """Return each rejected shader of ``batch``: the case, then the complaint."""
    from generators.glsl.compile import compile_glsl

    complaints = []
    with tempfile.TemporaryDirectory(prefix="spirv-val-") as folder:
        written: list[tuple[_Shader, Path]] = []
        for number, shader in enumerate(batch):
            path = Path(folder, f"{number}.spv")
            try:
                given = shader.text
                path.write_bytes(compile_glsl(given, shader.version, shader.stage) if isinstance(given, str) else given)
            except GeneratorError as error:
                complaints.append(_complaint(shader, str(error)))
            else:
                written.append((shader, path))
        if written and _validate(command, Path(folder)):
            # Its messages about a folder do not name the file, and versions before 2026 accept no folder.
            judged = ((shader, _validate(command, path)) for shader, path in written)
            complaints += [_complaint(shader, said) for shader, said in judged if said]
    return complaints


def _complaint(shader: _Shader, said: str) -> str:
    return f"{shader.case} ({shader.front_end})\n    {said}"


def _validate(command: Command, path: Path) -> str:
    """Return the complaints of spirv-val about the module, or about the modules of the folder; empty if it accepts them."""
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return (done.stdout + done.stderr).strip().replace(str(path), "module") or f"exit code {done.returncode}"
