"""Names of entities as names of folders."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

__all__ = ["folder_name"]

_LONGEST = 120


def folder_name(entity: str) -> str:
    """A folder name of its own for each entity, whatever characters its name has.

    No name can leave the folder it is put into, hide itself or grow too long for a file system.

    Examples
    --------
    >>> folder_name("machine-1-1"), folder_name("../etc"), folder_name("..")
    ('machine-1-1', '%2E.%2Fetc', '%2E.')
    >>> len(folder_name("x" * 5000)) <= 120
    True
    """
    quoted = quote(entity, safe=" @+,()", errors="surrogatepass")
    if quoted.startswith("."):
        quoted = "%2E" + quoted[1:]
    if not quoted:
        return "%~"
    if len(quoted) > _LONGEST:
        # "%~" never comes out of quoting, so a shortened name cannot meet a plain one.
        digest = hashlib.sha256(entity.encode(errors="surrogatepass")).hexdigest()
        quoted = f"{quoted[:50]}%~{digest}"
    return quoted
