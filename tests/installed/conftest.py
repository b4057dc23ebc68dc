"""The suite in a read-only folder, as the wheel that pyproject.toml describes would install it."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.suite import REPOSITORY

HANGS = 600.0


@dataclass(frozen=True)
class Installed:
    """Runs commands of an installed suite in an unrelated folder.

    Attributes:
        packages: folder of the packages.
        folder: working directory of commands.
    """

    packages: Path
    folder: Path

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV", "GITHUB"))}
        # All bytecode exists, and none can be written there. With -P, modules are not searched for in the folder of the tests.
        environment = kept | {"PYTHONPATH": str(self.packages), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-P", *arguments]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=HANGS, check=False)

    def cts(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "cts", *arguments)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    base = tmp_path_factory.mktemp("installed")
    packages, folder = base / "site-packages", base / "anywhere"
    folder.mkdir()
    wheel = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    ignored = shutil.ignore_patterns("__pycache__", *(Path(name).name for name in wheel["exclude"]))
    for name in wheel["packages"]:
        shutil.copytree(REPOSITORY / name, packages / name, ignore=ignored)
    for source, target in wheel["force-include"].items():
        shutil.copytree(REPOSITORY / source, packages / target)
    for name in wheel["packages"]:
        # As pip does. Otherwise each process would compile all modules.
        compileall.compile_dir(packages / name, quiet=2)
    folders = [packages, *(path for path in packages.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    yield Installed(packages, folder)
    for path in folders:
        path.chmod(0o755)


FAMILY = "load_store.yaml"


@pytest.fixture(scope="module")
def one_family(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return the suite with the cases of one family: what a test does with a case does not take longer than to read all others."""
    base = tmp_path_factory.mktemp("one_family")
    cases = installed.packages / "cts" / "suite" / "cases"

    def others(folder: str, names: list[str]) -> set[str]:
        is_specification = Path(folder).parent == cases and Path(folder).name != "requirements"
        return {name for name in names if is_specification and name != FAMILY}

    shutil.copytree(installed.packages, base / "site-packages", ignore=others, copy_function=os.link)
    folder = base / "anywhere"
    folder.mkdir()
    return Installed(base / "site-packages", folder)
