"""The package is built with its kernels where there is a compiler, and without them elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build(folder: Path, compiler: str, kernels: str = "") -> Path:
    """A wheel of a copy of the project: the build writes into its sources."""
    done = try_to_build(folder, compiler, kernels)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


def try_to_build(folder: Path, compiler: str, kernels: str) -> subprocess.CompletedProcess[str]:
    copy = folder / "project"
    copy.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "src", copy / "src", ignore=ignored)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    command += ["-w", str(folder), str(copy)]
    environment = {**os.environ, "CC": compiler, "ALORA_TS_KERNELS": kernels}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def quick_compiler(folder: Path) -> Path:
    """The compiler without its search for faster code, which takes most of its time."""
    program = folder / "cc"
    program.write_text(f'#!/bin/sh\nexec {COMPILER} "$@" -O0\n')
    program.chmod(0o755)
    return program


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
def test_a_wheel_holds_the_kernels(tmp_path: Path) -> None:
    wheel = build(tmp_path, str(quick_compiler(tmp_path)))
    assert "-py3-none-" in wheel.name  # of this system, for any Python
    assert "-any" not in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert "alora_ts/fast/native/kernels.so" in names
    assert "alora_ts/fast/native/c/kernels.c" in names


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "kernels"),
    [("false", ""), (COMPILER or "cc", "none")],
    ids=["no compiler", "none"],
)
def test_a_wheel_without_kernels_is_pure(tmp_path: Path, compiler: str, kernels: str) -> None:
    wheel = build(tmp_path, compiler, kernels)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "alora_ts/fast/native/kernels.so" not in zipfile.ZipFile(wheel).namelist()


@pytest.mark.slow
def test_a_release_is_not_built_without_its_kernels(tmp_path: Path) -> None:
    done = try_to_build(tmp_path, "false", "required")
    assert done.returncode != 0
    assert "the kernels cannot be compiled" in done.stderr
