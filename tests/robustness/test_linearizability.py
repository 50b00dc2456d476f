"""
Concurrent requests on the same objects are linearizable, even if the server is killed.

Every response is as if the requests had been carried out one after another, each between its start and its response.
Porcupine searches for such an order (tests/linearizability).
"""

import random
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from tests.robustness.casclients import (
    CasClient,
    Request,
    StoredObject,
    check_history,
    find_checker,
    format_history,
    send_list,
)
from tests.robustness.killing import KilledServer, Session, seeded
from tests.support.longruns import choose

KILLS: Final = choose(short=5, long=100)
MAX_SECONDS: Final = choose(short=1800, long=3600)
"""Time after which the test fails instead of starting another round."""
CLIENTS: Final = 8
OUTCOMES: Final = {"update done", "update conflict", "update lost", "create done"}
"""Outcomes that the history must have; there are more rounds until it has them."""

INITIAL: Final = Request("initial", objects={"a": StoredObject(1, "old")}, revision=1, outcome="done", call=0, ended=1)


def get(value: str, revision: int, call: int, ended: int) -> Request:
    return Request("get", "a", value, outcome="done", revision=revision, call=call, ended=ended)


def update(value: str, revision: int, call: int, ended: int, expected: int = 1) -> Request:
    outcome: Final = "done" if revision else "lost"
    return Request("update", "a", value, expected, outcome, revision, call=call, ended=ended)


HISTORIES: Final = {
    "reads before, during and after an update": (
        [get("old", 1, 2, 3), update("new", 2, 4, 9), get("old", 1, 5, 6), get("new", 2, 7, 8), get("new", 2, 10, 11)],
        "Ok",
    ),
    "stale read": ([update("new", 2, 4, 5), get("old", 1, 6, 7)], "Illegal"),
    "read that goes back": ([update("new", 2, 4, 9), get("new", 2, 5, 6), get("old", 1, 7, 8)], "Illegal"),
    "lost update": ([update("new", 2, 4, 5), update("other", 3, 6, 7)], "Illegal"),
    "revision that goes back": ([update("new", 5, 4, 5), update("other", 4, 6, 7, 5)], "Illegal"),
    "unfounded conflict": (
        [Request("update", "a", "new", 1, "conflict", call=2, ended=3), get("old", 1, 4, 5)],
        "Illegal",
    ),
    "request without response that was carried out": ([update("new", 0, 4, 5), get("new", 2, 6, 7)], "Ok"),
    "request without response that was not carried out": ([update("new", 0, 4, 5), get("old", 1, 6, 7)], "Ok"),
    "request without response that was carried out and undone": (
        [update("new", 0, 4, 5), get("new", 2, 6, 7), get("old", 1, 8, 9)],
        "Illegal",
    ),
    "request without response that was carried out after the server was killed": (
        [update("new", 0, 4, 5), get("old", 1, 6, 7), get("new", 2, 8, 9)],
        "Illegal",
    ),
    "list that misses an object": ([Request("list", outcome="done", revision=1, call=2, ended=3)], "Illegal"),
    "create of an object that exists": (
        [Request("create", "a", "new", outcome="done", revision=2, call=2, ended=3)],
        "Illegal",
    ),
    "delete and create": (
        [
            Request("delete", "a", "", 1, "done", call=2, ended=3),
            Request("get", "a", outcome="missing", call=4, ended=5),
            Request("create", "a", "new", outcome="done", revision=3, call=6, ended=7),
        ],
        "Ok",
    ),
}


@pytest.mark.parametrize("case", HISTORIES, ids=str)
def test_checker_accepts_only_linearizable_histories(case: str) -> None:
    requests, expected = HISTORIES[case]
    assert check_history([INITIAL, *requests])["result"] == expected


def test_requests_that_the_server_cannot_have_carried_out_are_left_out() -> None:
    client = CasClient(1, random.Random(1))  # noqa: S311 - not a secret
    answered, unanswered = get("old", 1, call=2, ended=3), Request("delete", "a", call=4)
    client.requests = [answered, Request("get", "a", call=4), unanswered, Request("delete", "a", call=6)]
    assert client.take_requests(killed=5) == [answered, unanswered]
    assert unanswered.ended == 5


def test_concurrent_writes_are_linearizable_across_kills(tmp_path: Path) -> None:
    find_checker()
    with seeded() as generator:
        server = KilledServer(tmp_path / "data", "--no-controllers")
        try:
            run_rounds(server, generator)
        finally:
            server.close()


def run_rounds(server: KilledServer, generator: random.Random) -> None:
    clients = [CasClient(number, random.Random(generator.random())) for number in range(1, CLIENTS + 1)]  # noqa: S311 - not secrets
    counts: Counter[str] = Counter()
    began = time.monotonic()
    before = list_all(server)
    while server.kills < KILLS or OUTCOMES - set(counts):
        assert time.monotonic() - began < MAX_SECONDS, f"only {server.kills} kills: {counts}"
        killed = server.kill_under_load([client.run for client in clients], generator)
        server.restart()
        after = list_all(server)
        requests = [request for client in clients for request in client.take_requests(killed)]
        counts.update(f"{request.kind} {request.outcome}" for request in requests)
        before.kind = "initial"
        history = [before, *requests, after]
        report = check_history(history)
        if report["result"] != "Ok":
            kept = server.directory.with_name("history.jsonl")
            kept.write_text(format_history(history))
            raise AssertionError(f"{report}; the history is in {kept}")
        before = after
    summary = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
    sys.stdout.write(
        f"{server.kills} kills, {counts.total()} requests in {time.monotonic() - began:.0f} s: {summary}\n"
    )


def list_all(server: KilledServer) -> Request:
    with closing(Session(server.system)) as session:
        return send_list(session, Request("list"))
