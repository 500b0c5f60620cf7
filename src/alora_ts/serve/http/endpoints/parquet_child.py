"""Reads a Parquet file in a process of its own whose memory is limited.

A file of some kilobytes can hold a text, a list or a page of gigabytes, and its own description of
its size need not be true. So it is decoded where an attempt to take too much ends one process and
not the service.

Run as a script, which imports nothing of this package: the limits as arguments, the file on
standard input, the table in Arrow's format on standard output, or a refusal on standard error.
"""

import io
import sys

TOO_LARGE, UNREADABLE = 3, 4
"""Exit codes of refusals."""


def main() -> int:
    """Read, check and write."""
    memory, columns, cells = (int(text) for text in sys.argv[1:4])
    body = sys.stdin.buffer.read()
    import resource  # POSIX only, as the service is

    import polars as pl

    # Once before the limit holds, so that what polars sets up for itself does not count.
    trial = io.BytesIO()
    pl.DataFrame({"a": [1.0]}).write_parquet(trial)
    pl.scan_parquet(io.BytesIO(trial.getvalue())).collect()
    with open("/proc/self/status", encoding="ascii") as file:
        used = next(int(line.split()[1]) for line in file if line.startswith("VmData")) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (used + memory, used + memory))
    try:
        scanned = pl.scan_parquet(io.BytesIO(body))
        wide = len(scanned.collect_schema())
        long = scanned.select(pl.len()).collect().item()
        if wide > columns:
            return _refuse(f"the table has {wide:,} columns, more than {columns:,}")
        if wide * long > cells:
            return _refuse(
                f"the table has {long:,} rows of {wide:,} columns, more than {cells:,} cells"
            )
        frame = scanned.collect()
        if frame.estimated_size() > memory:
            return _refuse(f"the table takes {frame.estimated_size():,} bytes, too many")
        frame.write_ipc(sys.stdout.buffer)
    # polars raises its own errors, OSError, and for damaged files its panic type.
    except MemoryError:
        return _refuse("the table takes more memory than a table of its rows and columns needs")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        sys.stderr.write(f"\n{str(error)[:200]}")
        return UNREADABLE
    return 0


def _refuse(why: str) -> int:
    sys.stderr.write(f"\n{why}")
    return TOO_LARGE


if __name__ == "__main__":
    sys.exit(main())
