"""Small modules like those of applications, in modules/: sources, jobs, and what is right or wrong with each.

``python -m tests.run_module.small_modules compile`` compiles them with glslang into modules.zip; ``… write DIR`` writes each with its job.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from cts.embedded.interface import STAGES, entry_points, read_interface
from cts.run_module.job import JobDocument, make_job, read_document
from generators.types import COMPONENT_TYPES, ComponentType

HERE = Path(__file__).parent / "modules"
COMPILED = HERE / "modules.zip"
INVALID = "invalid"
_MADE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class SmallModule:
    """A module with its job.

    Attributes:
        name: of the module.
        source: its GLSL.
        options: for glslang.
        defines: macro -> value.
        job: the document of the job.
        values: name of a buffer or matrix -> expression of numpy for its contents after the run. Names are those of the contents
            before it, and of the macros.
        finds: rules, one of which is broken; none if nothing is wrong; INVALID if spirv-val rejects the module.
    """

    name: str
    source: Path
    options: tuple[str, ...]
    defines: Mapping[str, Any]
    job: dict[str, Any]
    values: Mapping[str, str]
    finds: tuple[str, ...]

    def spirv(self) -> bytes:
        """Return the module."""
        with zipfile.ZipFile(COMPILED) as found:
            return found.read(f"{self.name}.spv")

    def compiled(self) -> bytes:
        """Compile the source with glslang."""
        defines = [f"-D{name}={value}" for name, value in self.defines.items()]
        command = ["glslang", *self.options, *defines, "--quiet", "-o", "/dev/stdout", str(self.source.relative_to(Path.cwd()))]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            raise SystemExit(f"{self.name}: {' '.join(command)}\n{(done.stdout + done.stderr).decode(errors='replace')}")
        return done.stdout

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write the module and its job with expected results, and return their paths."""
        module, job = folder / f"{self.name}.spv", folder / f"{self.name}.yaml"
        module.write_bytes(self.spirv())
        document = self.job if self.finds else self._with_expected(folder)
        job.write_text(yaml.safe_dump(document, default_flow_style=None, width=140))
        return module, job

    def _with_expected(self, folder: Path) -> dict[str, Any]:
        given = folder / f"{self.name}.given.yaml"
        given.write_text(yaml.safe_dump(self.job))
        spirv, document = self.spirv(), read_document(given)
        given.unlink()
        contents = dict(_contents(spirv, document))
        document_of: dict[str, dict[str, Any]] = {}
        for name, buffer in self.job["buffers"].items():
            document_of |= {name: buffer, **buffer.get("matrices", {})}
        known = {name: int(value) for name, value in self.defines.items() if str(value).isdigit()}
        result: dict[str, Any] = _merged(self.job, {})
        for name, expression in self.values.items():
            component, _ = contents[name]
            names = {**_FUNCTIONS, **known, **{other: numbers for other, (_, numbers) in contents.items()}}
            value = np.asarray(eval(expression, names)).reshape(-1)
            typed = value.astype(component.dtype if component.is_float else component.bits_dtype)
            file = folder / f"{self.name}.{name}.bin"
            file.write_bytes(typed.tobytes())
            for buffer, one in result["buffers"].items():
                if buffer == name:
                    one["expected"] = {"file": file.name}
                elif name in one.get("matrices", {}):
                    one["matrices"][name]["expected"] = {"file": file.name}
        return result


def _contents(spirv: bytes, document: JobDocument) -> Iterator[tuple[str, tuple[ComponentType, np.ndarray]]]:
    """Yield the numbers of each buffer and matrix before a run, float64 or int64."""
    ((name, model),) = entry_points(spirv)
    job = make_job(spirv, document, read_interface(spirv, name), HERE, STAGES[model])
    for slot, data in zip(job.kernel.buffers, job.dispatch.contents, strict=True):
        component = job.components[slot.name]
        yield slot.name, (component, _numbers(component, data[: data.size // component.bytes * component.bytes]))
    for matrices in job.matrices.values():
        for one in matrices:
            component = one.form.component
            numbers = _numbers(component, np.ascontiguousarray(one.elements).view(np.uint8).reshape(-1))
            yield one.name.partition(".")[2], (component, numbers.reshape(one.rows, one.columns))


def _numbers(component: ComponentType, data: np.ndarray) -> np.ndarray:
    if component.is_float:
        return data.view(component.dtype).astype(np.float64)
    return data.view(np.dtype(f"{'i' if component.is_signed else 'u'}{component.bytes}")).astype(np.int64)


def _rounded(name: str) -> Any:
    dtype = COMPONENT_TYPES[name].dtype
    return lambda values: values.astype(np.float16).astype(dtype).astype(np.float64)


_FUNCTIONS = {
    "np": np,
    "e4m3": _rounded("e4m3"),
    "e5m2": _rounded("e5m2"),
    "s8": lambda values: values.astype(np.int8).astype(np.int64),
    "nibbles": lambda values: np.stack((values % 16, values // 16), axis=-1).reshape(len(values), -1),
    "image": lambda values: values.reshape(20, 32)[:, :24],
}


def _merged(base: Any, change: Any) -> Any:
    """Return a document with changes; null removes a key."""
    if not isinstance(base, dict) or not isinstance(change, dict):
        return change
    found = {name: _merged(value, {}) if isinstance(value, dict) else value for name, value in base.items()}
    for name, value in change.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = _merged(found.get(name), value)
    return found


@cache
def small_modules() -> tuple[SmallModule, ...]:
    """Return all modules."""
    found = []
    for path in sorted(HERE.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        for case in document["cases"]:
            finds = case.get("finds", [])
            target = case.get("target", "vulkan1.3")
            found.append(
                SmallModule(
                    case["name"],
                    path.with_suffix(".glsl"),
                    (
                        "-S",
                        case.get("stage", "comp"),
                        "--target-env",
                        target,
                        *(("-V",) if target.startswith("spirv") else ()),
                        *case.get("flags", ()),
                    ),
                    _merged(document["defines"], case.get("defines", {})),
                    _merged(_merged(document["job"], case.get("job", {})), case.get("more", {})),
                    {**document["values"], **case.get("values", {})},
                    tuple([finds] if isinstance(finds, str) else finds),
                )
            )
    return tuple(found)


def main(arguments: list[str]) -> None:
    """Compile all modules, or write them with their jobs."""
    match arguments:
        case ["compile"]:
            with zipfile.ZipFile(COMPILED, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
                for one in small_modules():
                    out.writestr(zipfile.ZipInfo(f"{one.name}.spv", _MADE), one.compiled(), zipfile.ZIP_DEFLATED, 9)
        case ["write", folder]:
            Path(folder).mkdir(parents=True, exist_ok=True)
            for one in small_modules():
                one.write(Path(folder))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
