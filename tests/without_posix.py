"""Hides what only POSIX systems have, as on Windows: ``python -m pytest -p tests.without_posix``.

Importing this module is enough. It stands in for another system only as far as imports and names
go; paths, permissions and open files are still those of Linux.
"""

from __future__ import annotations

import multiprocessing.popen_fork
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

# These have a way of their own on Windows, which cannot be shown here; they keep theirs.
import filelock  # noqa: F401
import psutil

# Python's own modules may have them already (pytest imports subprocess, which takes fcntl); ours
# must not.
if "alora_ts" in sys.modules:
    raise RuntimeError("alora_ts is imported already; import tests.without_posix first")
for name in ("fcntl", "resource"):
    # The import system takes None for a module that is not there.
    sys.modules[name] = None
kept = SimpleNamespace(**vars(signal))
for library in (multiprocessing.popen_fork, subprocess, psutil, psutil._psposix, psutil._pslinux):
    library.signal = kept
for module, attributes in (
    (signal, ("SIGKILL", "SIGHUP")),
    (os, ("sched_getaffinity", "nice", "getloadavg")),
):
    for attribute in attributes:
        if hasattr(module, attribute):
            delattr(module, attribute)
# From Python 3.13 on; where there is no affinity it counts all.
if hasattr(os, "process_cpu_count"):
    os.process_cpu_count = os.cpu_count
