"""Hides what only POSIX systems have, as on Windows: ``pytest -p tests.without_posix``.

Importing this module is enough. It stands in for another system only as far as imports and names
go; paths, permissions and open files are still those of Linux.
"""

from __future__ import annotations

import os
import signal
import sys

for name in ("fcntl", "resource"):
    if getattr(sys.modules.get(name), "__file__", None):
        raise RuntimeError(f"{name} is imported already; import tests.without_posix first")
    # The import system takes None for a module that is not there.
    sys.modules[name] = None
for module, attributes in (
    (signal, ("SIGKILL", "SIGHUP")),
    (os, ("sched_getaffinity", "nice", "getloadavg")),
):
    for attribute in attributes:
        if hasattr(module, attribute):
            delattr(module, attribute)
