"""
A cache that works like client-go's reflector and reports missed or repeated events.

It lists in pages, watches with bookmarks, resumes ended watches, and lists again if history is compacted.
"""

import http.client
import json
import ssl
import threading
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tests.support.upprocess import TIMEOUT, System, wait_until

PATH = "/api/v1/namespaces/default/configmaps"
PAUSE_SECONDS = 0.05


class Change(NamedTuple):
    """One watch event."""

    type: str
    name: str
    version: int


class Informer:
    """Caches one resource in a thread; each watch lasts `seconds`, with a pause of `pause` seconds after it."""

    def __init__(self, system: System, seconds: int = 1, pause: float = 0.0, path: str = PATH) -> None:
        self.system = system
        self._path = path
        self.cache: dict[str, int] = {}
        self.changes: list[Change] = []
        self.problems: list[str] = []
        self.lists = self.watches = self.bookmarks = 0
        self.version = 0
        self._seconds = seconds
        self._pause = pause
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def catch_up(self, version: int) -> None:
        """Wait until the cache has reached a version, then stop."""
        self.wait_for(version)
        self.stop()

    def wait_for(self, version: int) -> None:
        """Wait until the cache has reached a version."""
        wait_until(
            lambda: self.version >= version, lambda: f"at {self.version} of {version} after {self.watches} watches"
        )

    def stop(self) -> None:
        """End the watch and the thread."""
        self._ending.set()
        self._thread.join(TIMEOUT)
        assert not self._thread.is_alive(), "the watch did not end"

    def _run(self) -> None:
        has_state = False
        while not self._ending.is_set():
            try:
                if not has_state:
                    self._list()
                    has_state = True  # a watch that breaks is resumed
                has_state = self._watch()
                self._ending.wait(self._pause)
            except (OSError, ssl.SSLError, http.client.HTTPException):  # the server is restarting
                self._ending.wait(PAUSE_SECONDS)

    def _list(self) -> None:
        found: dict[str, int] = {}
        token = ""
        while True:
            code, page = self.system.request("GET", f"{self._path}?{urlencode({'limit': 50, 'continue': token})}")
            if code == 410:  # the history of the first page was compacted
                found, token = {}, ""
                continue
            assert code == 200, page
            found |= {item["metadata"]["name"]: _version(item) for item in page["items"]}
            token = page["metadata"].get("continue", "")
            if not token:
                break
        for name, version in self.cache.items():
            if found.get(name, version) < version:
                self.problems.append(f"{name} was at {version} and is listed at {found[name]}")
        self.cache, self.version = found, max(self.version, _version(page))
        self.lists += 1

    def _watch(self) -> bool:
        """Process one watch; return True if another watch can resume after its last event."""
        self.watches += 1
        query = {"watch": 1, "resourceVersion": self.version, "timeoutSeconds": self._seconds}
        connection = self.system.connect()
        try:
            headers = {"Authorization": f"Bearer {self.system.config['token']}"}
            connection.request("GET", f"{self._path}?{urlencode(query)}&allowWatchBookmarks=true", headers=headers)
            answer = connection.getresponse()
            while line := answer.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    if event["object"]["code"] != 410:
                        self.problems.append(f"the watch failed: {event['object']}")
                    return False
                self._take(event["type"], event["object"])
        finally:
            connection.close()
        return True

    def _take(self, kind: str, item: Any) -> None:
        version = _version(item)
        if kind == "BOOKMARK":
            self.bookmarks += 1
            if version < self.version:
                self.problems.append(f"a bookmark goes back from {self.version} to {version}")
            self.version = version
            return
        name = item["metadata"]["name"]
        if version <= self.version:
            self.problems.append(f"{kind} of {name} at {version} comes after {self.version}")
        if (kind == "ADDED") == (name in self.cache):
            self.problems.append(f"{kind} of {name}, which was {'there' if name in self.cache else 'not there'}")
        if kind == "DELETED":
            self.cache.pop(name, None)
        else:
            self.cache[name] = version
        self.changes.append(Change(kind, name, version))
        self.version = version  # last, because `wait_for` reads it in another thread


def _version(item: Any) -> int:
    return int(item["metadata"]["resourceVersion"])
