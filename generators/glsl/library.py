"""glslang inside this process, through libshaderc.

A run of the program glslang spends most of its time parsing built-in declarations: about 85 ms a shader, while the shader itself takes 1 to
2 ms. A process that keeps the library loaded parses them once. libshaderc is a different interface to glslang: at the same version, its
modules differ from the program's in the generator word and in two OpSourceExtension that shaderc adds to each module.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from generators.program.shape import LATEST, Version
from generators.stages import Stage

_NAMES = ("libshaderc.so.1", "libshaderc_shared.so.1", "libshaderc_shared.so")
"""File names of the library on Debian and in the Vulkan SDK."""

_SHADER_KINDS: Mapping[Stage, int] = MappingProxyType({"vertex": 0, "fragment": 1, "compute": 2, "raygen": 14})
_TARGET_VULKAN = 0
_VULKAN_1_3 = (1 << 22) | (3 << 12)
_SUCCESS = 0
_VERSIONS: tuple[Version, ...] = ((1, 3), (1, 4), (1, 5), LATEST)


class GlslangLibrary:
    """A compiler of shaders to SPIR-V for Vulkan 1.3. Threads may share it: they compile at the same time.

    Args:
        library: libshaderc. Its compiler and options live as long as the process.

    Raises:
        AttributeError: ``library`` is not libshaderc.
        OSError: it cannot be set up.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        handle, size = ctypes.c_void_p, ctypes.c_size_t
        initialize, options, target = (
            library.shaderc_compiler_initialize,
            library.shaderc_compile_options_initialize,
            library.shaderc_compile_options_set_target_env,
        )
        initialize.restype = options.restype = handle
        target.argtypes, target.restype = (handle, ctypes.c_int, ctypes.c_uint32), None
        self._compile = library.shaderc_compile_into_spv
        self._compile.argtypes = (handle, ctypes.c_char_p, size, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, handle)
        self._compile.restype = handle
        self._status = library.shaderc_result_get_compilation_status
        self._status.argtypes, self._status.restype = (handle,), ctypes.c_int
        self._length = library.shaderc_result_get_length
        self._length.argtypes, self._length.restype = (handle,), size
        self._bytes = library.shaderc_result_get_bytes
        self._bytes.argtypes, self._bytes.restype = (handle,), handle
        self._release = library.shaderc_result_release
        self._release.argtypes, self._release.restype = (handle,), None
        spirv = library.shaderc_compile_options_set_target_spirv
        spirv.argtypes, spirv.restype = (handle, ctypes.c_int), None
        self._compiler = initialize()
        self._options = {version: options() for version in _VERSIONS}
        if not self._compiler or not all(self._options.values()):
            raise OSError("libshaderc does not start")
        for version, chosen in self._options.items():
            target(chosen, _TARGET_VULKAN, _VULKAN_1_3)
            spirv(chosen, version[0] << 16 | version[1] << 8)

    def compile(self, source: str, version: Version = LATEST, stage: Stage = "compute") -> bytes | None:
        """Return the module, or None if the library rejects the source; the program glslang then reports the error."""
        text = source.encode("utf-8")
        result = self._compile(self._compiler, text, len(text), _SHADER_KINDS[stage], b"shader", b"main", self._options[version])
        if not result:
            return None
        try:
            if self._status(result) != _SUCCESS:
                return None
            return ctypes.string_at(self._bytes(result), self._length(result))
        finally:
            self._release(result)


@cache
def find_library() -> GlslangLibrary | None:
    """Return the library, loaded once per process, or None if it is not installed."""
    for name in _NAMES:
        try:
            return GlslangLibrary(ctypes.CDLL(name))
        except (OSError, AttributeError):
            continue
    return None
