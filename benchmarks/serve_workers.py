"""Several workers on one PostgreSQL store: nothing lost, nothing twice, and how fast.

    python -m benchmarks.serve_workers soak --out results/serve-workers.md

PostgreSQL (with fsync), mosquitto and librdkafka's mock cluster are started here. Each of these is
a section of the file that ``--out`` names:

soak
    200,000 rows of 60 sources over HTTP, MQTT and Kafka; three workers score them. Workers are
    killed 20 times, each replaced by another, and the database is restarted twice meanwhile. Every
    stored score is compared with a batch, and every notification counted.
pause
    A worker is stopped (SIGSTOP) for a minute at work and continued, three times.
speed
    Rows a second with 1, 2 and 3 workers, and what each part takes of the processor. With
    ``--sources 300 --rows 18000 --batch 1 --pause 1`` rows come as machines send them, one a
    second each.
many
    5,000 sources: start-up, memory, overview, and what they cost while no row comes.
models
    Sources with a model each: memory of a worker with different limits on it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.serve_machine import describe_machine
from benchmarks.serve_workers_many import many
from benchmarks.serve_workers_models import models
from benchmarks.serve_workers_pause import pause
from benchmarks.serve_workers_soak import soak
from benchmarks.serve_workers_speed import speed

from alora_ts.files import write_atomically

Answer = list[dict[str, Any]] | dict[str, Any]
WORK: dict[str, tuple[str, Callable[[argparse.Namespace], Answer]]] = {
    "soak": ("Killed and restarted", soak),
    "pause": ("Paused for a minute", pause),
    "speed": ("Rows a second", speed),
    "many": ("Many sources", many),
    "models": ("Models in memory", models),
}


def as_table(answer: Answer) -> str:
    """One thing in lines, several in columns."""
    if isinstance(answer, dict):
        rows = [["", ""], *([name, value] for name, value in answer.items())]
    else:
        rows = [[""] + [""] * len(answer)]
        rows += [[name, *(one[name] for one in answer)] for name in answer[0]]
    lines = ["| " + " | ".join(_show(cell) for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def _show(cell: object) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def put_section(path: Path, title: str, body: str) -> None:
    """Write a section of the results, in place of the one of that title."""
    text = path.read_text(encoding="utf-8") if path.exists() else "# Many workers on one store\n"
    head, *sections = text.split("\n## ")
    kept = [one.strip() for one in sections if not one.startswith(f"{title}\n")]
    parts = [head.strip(), *(f"## {one}" for one in [*kept, f"{title}\n\n{body}"])]
    with write_atomically(path) as part:
        part.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def main() -> None:
    """Run one of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=list(WORK))
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--sources", type=int)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0.0, help="Seconds between HTTP requests.")
    parser.add_argument("--batch", type=int, default=100, help="Rows of an HTTP request (speed).")
    parser.add_argument("--variables", type=int, default=19)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.sources is None:
        args.sources = {"many": 5000, "models": 100}.get(args.what, 60)
    title, work = WORK[args.what]
    table = as_table(work(args))
    print(table)
    if args.out is not None:
        paced = f" --pause {args.pause:g}" if args.pause else ""
        words = {
            "soak": f"--rows {args.rows} --sources {args.sources} --kills {args.kills}",
            "speed": f"--rows {args.rows} --sources {args.sources} --batch {args.batch}{paced}",
            "many": f"--sources {args.sources}",
            "models": f"--sources {args.sources}",
        }
        command = f"python -m benchmarks.serve_workers {args.what} {words.get(args.what, '')}"
        body = f"`{command.strip()}`\n\n{describe_machine()}\n\n{table}"
        if args.what == "speed":
            title += f", {args.batch} {'row' if args.batch == 1 else 'rows'} a request"
            title += f", {args.pause:g} s between requests" if args.pause else ""
        put_section(args.out, title, body)


if __name__ == "__main__":
    main()
