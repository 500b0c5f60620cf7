"""Only kernels of the sources that call them are loaded, and they stay inside their memory."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from alora_ts import fast
from alora_ts.fast import native
from alora_ts.fast.native import library

ROOT = Path(__file__).parents[2]
SOURCE = Path(library.__file__).parent / "c" / "kernels.c"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
STALE = """
long alora_panel_columns_plain(void) {{ return 8; }}
{abi}
"""

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")


def forget() -> None:
    """Let the library be looked for again."""
    for each in (library.installed, library.missing, library.usable):
        each.cache_clear()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for another library, which is looked for there."""
    monkeypatch.delenv("ALORA_TS_FAST", raising=False)
    monkeypatch.setattr(library, "_PATH", tmp_path / "kernels.so")
    forget()
    yield tmp_path / "kernels.so"
    monkeypatch.undo()
    forget()


def compile_library(code: str, into: Path) -> None:
    source = into.with_suffix(".c")
    source.write_text(code)
    subprocess.run([str(COMPILER), "-shared", "-fPIC", str(source), "-o", str(into)], check=True)


@needs_compiler
@pytest.mark.parametrize(
    ("abi", "version"), [("", 1), ("int alora_abi_plain(void) { return 999; }", 999)]
)
def test_a_library_of_another_version_is_refused(elsewhere: Path, abi: str, version: int) -> None:
    compile_library(STALE.format(abi=abi), elsewhere)
    with pytest.warns(RuntimeWarning, match=f"of version {version}, and version {library.ABI}"):
        assert fast.way() == "torch"
    assert fast.kernels_for(torch.zeros(1)) is None
    with pytest.raises(ImportError, match="version"):
        native.Library("plain")


def test_what_is_no_library_is_refused(elsewhere: Path) -> None:
    elsewhere.write_bytes(b"not a library")
    with pytest.warns(RuntimeWarning, match="cannot be loaded"):
        assert fast.way() == "torch"


def test_without_a_library_torch_does_the_work(elsewhere: Path) -> None:
    assert not elsewhere.exists()
    assert fast.way() == "torch"


@pytest.mark.skipif(native.installed() is None, reason="installed without compiled kernels")
def test_instructions_that_were_not_compiled_for_are_named() -> None:
    with pytest.raises(ImportError, match="no kernels for 'sparc'"):
        native.Library("sparc")


def test_the_version_follows_the_signatures() -> None:
    code = SOURCE.read_text()
    given = re.search(r"#define ALORA_ABI (\d+)", code)
    assert given is not None
    assert int(given[1]) == library.ABI
    signatures = re.findall(r"NAME\((alora_\w+)\)\(([^)]*)\)", code)
    types = [(name, re.sub(r"\w+(?=,|$)", "", " ".join(rest.split()))) for name, rest in signatures]
    fingerprint = zlib.crc32(repr(types).encode())
    # Another fingerprint: raise ALORA_ABI and ABI, then write both here.
    assert (library.ABI, fingerprint) == (2, 0x195965AF)


@pytest.mark.slow
@needs_compiler
def test_kernels_stay_inside_their_memory(tmp_path: Path) -> None:
    """All tests of kernels again, with every access to memory checked by AddressSanitizer."""
    sys.path.insert(0, str(ROOT))
    try:
        build = pytest.importorskip("hatch_build", reason="hatchling is not installed")
    finally:
        sys.path.remove(str(ROOT))
    found = subprocess.run(
        [str(COMPILER), "-print-file-name=libasan.so"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if not Path(found).is_absolute():
        pytest.skip("the compiler has no AddressSanitizer")
    checked = tmp_path / "kernels.so"
    # Optimising takes a minute of CPU, and adds no access that could be checked.
    flags = ["-fsanitize=address", "-fno-omit-frame-pointer", "-g", "-O0"]
    build.compile_kernels(SOURCE, checked, extra=flags)
    code = (
        "import sys, pathlib, pytest\n"
        "from alora_ts.fast.native import library\n"
        f"library._PATH = pathlib.Path({str(checked)!r})\n"
        "sys.exit(pytest.main(['-q', '-x', '-p', 'no:cacheprovider', '--timeout=0', "
        f"{str(ROOT / 'tests/fast/test_calls.py')!r}]))\n"
    )
    environment = {
        **os.environ,
        "LD_PRELOAD": found,
        # Python and torch leave memory at their end; the kernels free all of theirs.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
        "ALORA_TS_FAST": "native",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert " passed" in done.stdout
