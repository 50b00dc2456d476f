"""Load generator: clients that write as fast as they can."""

import contextlib
import http.client
import json
import threading
from collections import defaultdict

from tests.support.informer import PATH
from tests.support.smallmanifests import build_config_map
from tests.support.upprocess import TIMEOUT, System, wait_until

ObjectHistory = list[tuple[str, int]]
"""The changes of one object, each with its resource version; the version is 0 if the response has none."""


class Load:
    """Clients that write objects as fast as they can and record acknowledged writes."""

    def __init__(self, system: System, clients: int = 4, prefix: str = "c", *, only_creates: bool = False) -> None:
        self.stories: dict[str, ObjectHistory] = defaultdict(list)
        self._system = system
        self._prefix = prefix
        self._only_creates = only_creates
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(clients)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop the clients and wait for pending responses."""
        self._ending.set()
        for thread in self._threads:
            thread.join(TIMEOUT)
        assert not any(thread.is_alive() for thread in self._threads), "a response is missing"

    def wait_for(self, count: int) -> None:
        """Wait until writes of at least `count` objects are acknowledged."""
        wait_until(
            lambda: len(self.stories) >= count, lambda: f"only {len(self.stories)} objects have acknowledged writes"
        )

    def end(self) -> int:
        """Stop the clients and return the resourceVersion after all writes."""
        self.stop()
        _, listed = self._system.request("GET", PATH)
        return int(listed["metadata"]["resourceVersion"])

    def _run(self, number: int) -> None:
        with (
            contextlib.suppress(OSError, http.client.HTTPException),
            contextlib.closing(self._system.connect()) as line,
        ):
            headers = {"Authorization": f"Bearer {self._system.config['token']}", "Content-Type": "application/json"}
            patching = headers | {"Content-Type": "application/merge-patch+json"}

            def write(kind: str, name: str, method: str, path: str, tree: object, headers: dict[str, str]) -> None:
                line.request(method, path, None if tree is None else json.dumps(tree), headers)
                answer = line.getresponse()
                reported = json.loads(answer.read())
                assert answer.status in (200, 201), reported
                self.stories[name].append((kind, int(reported["metadata"].get("resourceVersion") or 0)))

            for count in range(100_000):
                if self._ending.is_set():
                    return
                name = f"{self._prefix}{number}-{count}"
                write("ADDED", name, "POST", PATH, build_config_map(name), headers)
                if self._only_creates:
                    continue
                write("MODIFIED", name, "PATCH", f"{PATH}/{name}", {"data": {"a": "2"}}, patching)
                if count % 2:
                    write("DELETED", name, "DELETE", f"{PATH}/{name}", None, headers)
