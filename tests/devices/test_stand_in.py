"""The library that stands in for the kernel drivers of Intel GPUs: how it is built, and the files that it shows to a process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cts.devices.compile_only import stand_in
from cts.devices.compile_only.missing import NotInstalled
from cts.devices.compile_only.stand_in import built_stand_in
from cts.devices.device import DeviceError

COMPILER = """#!/bin/sh
echo compiled >>"$0.log"
while [ "$1" != -o ]; do shift; done
echo library >"$2"
"""


@pytest.fixture
def compiler(tmp_path):
    """Return a function that installs a compiler, a shell script, and returns the environment in which it is found."""

    def install(script: str) -> dict[str, str]:
        path = tmp_path / "bin" / "cc"
        path.parent.mkdir()
        path.write_text(script)
        path.chmod(0o755)
        return {"PATH": str(path.parent), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    return install


def runs(environment: dict[str, str]) -> int:
    return len((Path(environment["PATH"]) / "cc.log").read_text().splitlines())


def test_it_is_built_once(compiler):
    environment = compiler(COMPILER)
    assert built_stand_in(environment) == built_stand_in(environment)
    assert built_stand_in(environment).read_text() == "library\n"
    assert runs(environment) == 1


def test_other_sources_are_another_library(compiler, tmp_path, monkeypatch):
    environment = compiler(COMPILER)
    first = built_stand_in(environment)
    changed = shutil.copytree(stand_in.SOURCES, tmp_path / "sources")
    (changed / "drm.c").write_text("int changed;\n")
    monkeypatch.setattr(stand_in, "SOURCES", changed)
    assert built_stand_in(environment) != first
    assert runs(environment) == 2


def test_nothing_else_stays_in_the_cache_folder(compiler):
    library = built_stand_in(compiler(COMPILER))
    assert os.listdir(library.parent) == [library.name]


def test_missing_headers_are_named_with_their_package(compiler):
    with pytest.raises(NotInstalled) as raised:
        built_stand_in(compiler("#!/bin/sh\nexit 1\n"))
    assert [part.packages for part in raised.value.missing] == [("linux-libc-dev",)]


def test_a_compiler_that_fails_although_nothing_is_missing_is_quoted(compiler):
    script = '#!/bin/sh\n[ "$1" = -fsyntax-only ] && exit 0\necho out of memory >&2\nexit 1\n'
    with pytest.raises(DeviceError) as raised:
        built_stand_in(compiler(script))
    assert "out of memory" in str(raised.value)
    assert not isinstance(raised.value, NotInstalled)


def test_a_cache_folder_that_cannot_be_written_is_an_error(compiler, tmp_path):
    environment = compiler(COMPILER)
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(DeviceError) as raised:
        built_stand_in(environment)
    assert "XDG_CACHE_HOME" in str(raised.value)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Return a function that runs Python code in a process that preloads the real library, and returns the list ``seen`` of the code."""
    folder = tmp_path_factory.mktemp("cache")
    try:
        library = built_stand_in({**os.environ, "XDG_CACHE_HOME": str(folder)})
    except NotInstalled as missing:
        pytest.skip(f"this machine lacks what the test needs: {missing}")

    def run(code: str, preloaded: bool = True) -> list:
        program = f"import json, os, stat, sys\nseen = []\n{code}\njson.dump(seen, sys.stdout)"
        variables = {"LD_PRELOAD": str(library)} if preloaded else {}
        environment = {**os.environ, "STUB_INTEL_ID": "0x56a0", **variables}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return run


DEVICE = "/sys/dev/char/226:128/device"


def test_the_node_is_a_character_device(seen):
    code = """
for status in os.stat("/dev/dri/renderD128"), os.lstat("/dev/dri/renderD128"), os.fstat(os.open("/dev/dri/renderD128", os.O_RDWR)):
    seen += [stat.S_ISCHR(status.st_mode), os.major(status.st_rdev), os.minor(status.st_rdev)]
"""
    assert seen(code) == [True, 226, 128] * 3


def test_a_copied_descriptor_is_the_device_too(seen):
    code = 'fd = os.open("/dev/dri/renderD128", os.O_RDWR)\nos.dup2(fd, 300)\nos.close(fd)\nseen += [stat.S_ISCHR(os.fstat(300).st_mode)]'
    assert seen(code) == [True]


def test_a_folder_lists_its_files_alone(seen):
    assert seen(f'seen += [os.listdir("/dev/dri"), os.listdir("{DEVICE}/drm/")]') == [["renderD128"], ["renderD128"]]


def test_the_files_describe_the_chip(seen):
    code = f"""
for name in "vendor", "device":
    seen += [open("{DEVICE}/" + name).read()]
seen += [os.readlink("{DEVICE}/subsystem"), os.path.realpath("{DEVICE}")]
"""
    assert seen(code) == ["0x8086\n", "0x56a0\n", "/sys/bus/pci", DEVICE]


def test_real_devices_are_hidden(seen):
    code = 'seen += [os.path.exists(path) for path in ("/dev/dri/card0", "/dev/dri/renderD129", "/sys/dev/char/226:128/other")]'
    assert seen(code) == [False, False, False]


def test_the_files_cannot_be_written(seen):
    code = f"""
try:
    os.open("{DEVICE}/vendor", os.O_WRONLY)
except PermissionError:
    seen += ["refused"]
seen += [os.access("{DEVICE}/vendor", os.R_OK), os.access("{DEVICE}/vendor", os.W_OK)]
"""
    assert seen(code) == ["refused", True, False]


def test_other_files_are_as_they_are(seen, tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("file")
    code = f"""
os.chdir({str(tmp_path)!r})
for path in "file", "link", ".", "absent", "/dev/drive", "/dev/null", "/etc/passwd", "":
    for call in os.stat, os.lstat, os.listdir, os.readlink, os.path.realpath, lambda path: open(path).read(4), os.path.exists:
        try:
            seen += [str(call(path))]
        except OSError as error:
            seen += [error.errno]
os.open("made", os.O_CREAT | os.O_WRONLY, 0o640)
seen += [stat.S_IMODE(os.stat("made").st_mode)]
os.unlink("made")
"""
    assert without_times(seen(code)) == without_times(seen(code, preloaded=False))


def without_times(values: list) -> list:
    """Return what two processes see alike: a status without the time of the last access."""
    return [value.split("st_atime")[0] if isinstance(value, str) else value for value in values]


def test_an_ordinary_file_answers_no_call_of_the_device(seen):
    code = """
import fcntl
try:
    fcntl.ioctl(os.open("/dev/null", os.O_RDWR), 0xC0106441, bytes(16))
except OSError as error:
    seen += [error.errno]
"""
    assert seen(code) == seen(code, preloaded=False)
