"""Runs pytest in processes that are forked from a process with all imports done; the imports take three times as long as a run itself.

A run has the directory, environment, arguments and ``sys.path`` of a process that was started for it."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path
from unittest.mock import patch

IMPORTED = (
    "pytest",
    "execnet",
    "cts.judges",
    "cts.embedded.device",
    "cts.devices.isolation",
    "cts.engine.judging",
    "cts.engine.run",
    "cts.run.reports",
    "cts.engine.selection",
    "generators.spirv.emit",
    "numpy.random",
    "reports",
    "_pytest.junitxml",
    "_pytest.legacypath",
    "_pytest.python",
    "_pytest.terminal",
)
"""Modules that most runs import. Plugins that they load by name are left out, because pytest would warn that it can no longer rewrite them.
cts.engine.plan is left out, because it imports names that doubles.py replaces."""

HANGS = 900.0
"""Seconds after which a run counts as hanging. A run needs less than one second, and a few on a busy machine."""


def run(arguments: Sequence[str], directory: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run ``python -m pytest`` with ``arguments`` in ``directory``, with none of this process's environment.

    Raises:
        subprocess.TimeoutExpired: it hung, and was killed.
    """
    forkserver.set_forkserver_preload(list(IMPORTED))
    # The server imports when it starts, in its environment. Later calls use the running server.
    with patch.dict(os.environ, environment):
        forkserver.ensure_running()
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        target = multiprocessing.get_context("forkserver").Process(
            target=_pytest, args=(tuple(arguments), str(directory), dict(environment), str(out), str(err))
        )
        target.start()
        target.join(HANGS)
        if target.exitcode is None:
            target.kill()
            target.join()
            raise subprocess.TimeoutExpired(list(arguments), HANGS, out.read_bytes(), err.read_bytes())
        return subprocess.CompletedProcess(
            list(arguments), target.exitcode, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")
        )


def _pytest(arguments: tuple[str, ...], directory: str, environment: dict[str, str], out: str, err: str) -> None:
    for path, descriptor in ((out, 1), (err, 2)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    installed = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.path[:] = [directory, *environment.get("PYTHONPATH", "").split(os.pathsep), *dict.fromkeys(installed)]
    # The run may have its own tests.
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    sys.argv[:] = ["pytest", *arguments]
    try:
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        atexit._run_exitfuncs()
