"""Compiles the kernels of ``alora_ts.fast.native`` when the package is built or installed.

They are plain C without Python's headers, compiled once for each instruction set into one shared
library; which of the copies runs is decided when it is loaded. Where there is no compiler, the
package is built without them and torch does the same work more slowly.

The environment variable ``ALORA_TS_KERNELS`` is for releases (``make wheels``): "required" fails
where they cannot be compiled, "none" leaves them out, for a wheel that fits any system.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_NATIVE = Path("src/alora_ts/fast/native")
_LIBRARY = _NATIVE / "kernels.so"
_SOURCE = _NATIVE / "c/kernels.c"
_FLAGS = ["-O3", "-std=gnu11", "-fPIC", "-fno-math-errno"]  # roots in vectors

_INSTRUCTIONS: dict[str, list[str]] = {"plain": []}
if platform.machine().lower() in {"x86_64", "amd64"}:
    _INSTRUCTIONS["avx2"] = ["-mavx2", "-mfma"]
    _INSTRUCTIONS["avx512"] = ["-mavx512f", "-mfma"]


class CustomBuildHook(BuildHookInterface):
    """Called by hatchling."""

    def initialize(
        self,
        version: str,  # noqa: ARG002  (hatchling's signature)
        build_data: dict[str, Any],
    ) -> None:
        """Compile, and let the wheel know that it holds a library."""
        wish = os.environ.get("ALORA_TS_KERNELS", "")
        if wish not in {"", "required", "none"}:
            raise ValueError(f"ALORA_TS_KERNELS={wish!r} is unknown; give 'required' or 'none'")
        if self.target_name != "wheel" or wish == "none":
            return
        library = Path(self.root) / _LIBRARY
        try:
            compile_kernels(Path(self.root) / _SOURCE, library)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or error
            if wish == "required":
                raise RuntimeError(f"the kernels cannot be compiled: {said}") from error
            self.app.display_warning(f"alora-ts is built without its kernels: {said}")
            library.unlink(missing_ok=True)
            return
        build_data["pure_python"] = False
        # The library does not use Python, so it fits any version of it.
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{system}"
        build_data["artifacts"].append(str(_LIBRARY))  # git does not know it


def compile_kernels(source: Path, library: Path, *, extra: Sequence[str] = ()) -> None:
    """Compile the kernels for every instruction set, with ``extra`` options for the compiler."""
    compiler = shlex.split(os.environ.get("CC", "")) or [_found_compiler()]
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for name, flags in _INSTRUCTIONS.items():
            made = Path(folder) / f"{name}.o"
            _run([*compiler, *_FLAGS, *flags, *extra, "-c", str(source), "-o", str(made)])
            objects.append(str(made))
        linked = Path(folder) / library.name
        _run([*compiler, "-shared", *extra, *objects, "-o", str(linked), "-lm"])
        # Renamed into place: a process that has the old library loaded keeps it.
        beside = library.with_suffix(".new")
        shutil.copy(linked, beside)
        beside.replace(library)


def _found_compiler() -> str:
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found and sys.platform != "win32":
            return found
    raise OSError("no C compiler was found (cc, gcc or clang)")


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
