"""Clients that create, change and delete ConfigMaps, and note when the server acknowledged each write."""

import contextlib
import http.client
import json
import threading
import time
from random import Random
from typing import Any, Final, NamedTuple, Self

from tests.support.smallmanifests import build_config_map
from tests.support.upprocess import TIMEOUT, System, wait_until

CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
MERGE_PATCH: Final = "application/merge-patch+json"


class Acknowledgement(NamedTuple):
    """A write that the server acknowledged at a monotonic time, in nanoseconds; deletions have no revision."""

    time: int
    type: str
    name: str
    revision: int


class Writers:
    """
    Clients that write until the `with` block ends, each over its own connection.

    A client that gets an error or loses its connection continues with another object.
    """

    def __init__(self, system: System, *, clients: int = 3, prefix: str = "c", max_padding: int = 20_000) -> None:
        self.acknowledged: list[Acknowledgement] = []
        self.failures: list[tuple[int, Any]] = []
        """The status code and body of each error."""
        self.uncertain: set[str] = set()
        """Names of objects whose deletion was requested and not acknowledged."""
        self._system = system
        self._prefix = prefix
        self._max_padding = max_padding
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(clients)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(TIMEOUT)
        assert not any(thread.is_alive() for thread in self._threads), "a response is missing"

    def wait_for(self, count: int) -> None:
        """Wait until this many more writes are acknowledged."""
        target = len(self.acknowledged) + count
        wait_until(
            lambda: len(self.acknowledged) >= target, lambda: f"only {len(self.acknowledged)} of {target} writes"
        )

    def wait_for_failure(self) -> tuple[int, Any]:
        """Wait until one more write has failed, and return its status code and body."""
        known = len(self.failures)
        wait_until(lambda: len(self.failures) > known, "no write failed")
        return self.failures[known]

    def _run(self, client: int) -> None:
        random = Random(client)  # noqa: S311 - not a secret
        count = 0
        while not self._stopping.is_set():
            with (
                contextlib.suppress(OSError, http.client.HTTPException),
                contextlib.closing(self._system.connect()) as line,
            ):
                while not self._stopping.is_set():
                    count += 1
                    self._write_object(line, f"{self._prefix}{client}-{count}", random)

    def _write_object(self, line: http.client.HTTPSConnection, name: str, random: Random) -> None:
        path = f"{CONFIG_MAPS}/{name}"
        manifest = build_config_map(name, padding="x" * random.randrange(self._max_padding))
        if not self._write(line, "ADDED", name, "POST", CONFIG_MAPS, manifest):
            return
        if random.random() < 0.5 and not self._write(line, "MODIFIED", name, "PATCH", path, {"data": {"a": "2"}}):
            return
        if random.random() < 0.4:
            self.uncertain.add(name)
            if self._write(line, "DELETED", name, "DELETE", path):
                self.uncertain.remove(name)

    def _write(
        self, line: http.client.HTTPSConnection, kind: str, name: str, method: str, path: str, tree: object = None
    ) -> bool:
        headers = {
            "Authorization": f"Bearer {self._system.config['token']}",
            "Content-Type": MERGE_PATCH if method == "PATCH" else "application/json",
        }
        line.request(method, path, None if tree is None else json.dumps(tree), headers)
        response = line.getresponse()
        body = json.loads(response.read())
        if response.status not in (200, 201):
            self.failures.append((response.status, body))
            return False
        revision = 0 if kind == "DELETED" else int(body["metadata"]["resourceVersion"])
        self.acknowledged.append(Acknowledgement(time.monotonic_ns(), kind, name, revision))
        return True

    def find_missing(self, system: System, before: int | None = None) -> list[Acknowledgement]:
        """Return the writes, acknowledged before a time, that a server does not have."""
        items = system.request("GET", CONFIG_MAPS)[1]["items"]
        served = {item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in items}
        uncertain = set(self.uncertain)  # before `last`: a deletion may be acknowledged meanwhile
        last = {write.name: write for write in self.acknowledged if before is None or write.time < before}
        return [
            write
            for name, write in last.items()
            if (name in served if write.type == "DELETED" else served.get(name, 0) < write.revision)
            and name not in uncertain
        ]
