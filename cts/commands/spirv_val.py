"""Has spirv-val judge the module of every kernel case of a tier. Exit code 1 if it rejects one.

Static cases are judged by ``pytest cts --device spirv-val``.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import tempfile
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from cts.commands.context import casebook
from cts.kinds.kernel import compile_module
from cts.plan import at_least_one, one_of
from cts.session import FRONT_ENDS, FrontEnd
from generators.casebook import CaseKind, Tier, build_program, expand
from generators.errors import CtsError, NotExpressible

NAME = "spirv-val"
HELP = "have spirv-val judge the modules of a tier"

_SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("--tier", default="nightly", help="smoke, nightly or full (default: nightly)")
    parser.add_argument("--front-end", default="spirv", help="spirv, glsl (which needs glslang) or both (default: spirv)")
    parser.add_argument("--target-env", default="vulkan1.3", metavar="ENV", help="passed to spirv-val (default: vulkan1.3)")
    parser.add_argument("--jobs", default="2", metavar="N", help="validators at a time (default: 2)")


def run(options: argparse.Namespace) -> int:
    """Validates and prints what is rejected."""
    tier = one_of("--tier", options.tier, tuple(Tier))
    one_of("--front-end", options.front_end, (*FRONT_ENDS, "both"))
    front_ends: tuple[FrontEnd, ...] = FRONT_ENDS if options.front_end == "both" else (options.front_end,)
    jobs = at_least_one("--jobs", options.jobs)
    validator = shutil.which("spirv-val")
    if validator is None:
        raise CtsError("spirv-val is not installed: install SPIRV-Tools 2026.4 or newer (spirv-tools)")
    modules, skipped, rejected, seen = 0, 0, 0, set()
    with tempfile.TemporaryDirectory(prefix="spirv-val-") as folder, ThreadPoolExecutor(jobs) as pool:
        running: deque[tuple[str, Future[str]]] = deque()

        def collect(limit: int) -> None:
            nonlocal rejected
            while len(running) > limit:
                name, future = running.popleft()
                if complaint := future.result():
                    rejected += 1
                    if rejected <= _SHOWN:
                        print(f"{name}\n    {complaint}")

        for family in (family for family in casebook(options) if family.kind is CaseKind.KERNEL):
            for case in expand(family, tier):
                program = build_program(case)
                for front_end in front_ends:
                    try:
                        module = compile_module(program, front_end)
                    except NotExpressible:
                        skipped += 1
                        continue
                    # Cases that differ in their data alone share a module.
                    key = hashlib.sha256(module).digest()
                    if key in seen:
                        continue
                    seen.add(key)
                    path = Path(folder, f"{modules}.spv")
                    path.write_bytes(module)
                    modules += 1
                    running.append((f"{case.id} ({front_end})", pool.submit(_validate, validator, options.target_env, path)))
                    collect(4 * jobs)
        collect(0)
    print(f"{modules} modules of tier {tier}, {rejected} rejected" + (f"; {skipped} cases that GLSL cannot say" if skipped else ""))
    return 1 if rejected else 0


def _validate(validator: str, environment: str, path: Path) -> str:
    done = subprocess.run([validator, "--target-env", environment, str(path)], capture_output=True, text=True, check=False)
    path.unlink()
    return (
        "" if done.returncode == 0 else (done.stdout + done.stderr).strip().replace(str(path), "module") or f"exit code {done.returncode}"
    )
