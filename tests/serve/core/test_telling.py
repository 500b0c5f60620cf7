"""What processes that share a store tell each other of rows and readings."""

from __future__ import annotations

import json
from typing import Any

import psycopg
from benchmarks.serve_postgres import Server

from alora_ts.serve.store.store import Store
from alora_ts.serve.workers.telling import CHANNEL, Telling


def test_what_comes_together_is_told_together_and_nothing_is_left_out(server: Server) -> None:
    server.empty()
    names = {f"{'x' * 80}-{number:06d}" for number in range(3000)}
    told = Telling(store := Store(server.address), lambda: "w_1")
    with psycopg.connect(server.address, autocommit=True) as listener:
        listener.execute(f"LISTEN {CHANNEL}")
        told.start()
        for name in names:
            told.add("reading", name)  # heard by pages only
            told.add("rows", name)
        messages: list[dict[str, Any]] = []
        while {name for one in messages for name in one["sources"]} < names:
            found = listener.notifies(timeout=30, stop_after=1)
            messages += [json.loads(one.payload) for one in found]
            assert messages
    told.close()
    store.close()
    assert all(one["kind"] == "rows" and one["from"] == "w_1" for one in messages)
    assert len(messages) < 300
    assert sum(len(one["sources"]) for one in messages) == len(names)
