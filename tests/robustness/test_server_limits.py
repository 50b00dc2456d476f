"""Limits of a server: compacted history, open files, many watches, and watches of clients that lose their access."""

import asyncio
import contextlib
import http.client
import json
import resource
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import pytest
import yaml
from tests.e2e.memory import measure_growth
from tests.support.longruns import choose
from tests.support.smallmanifests import build_config_map
from tests.support.upprocess import COMMAND, System, call_virtshape, wait_until

from virtshape.api.model import JsonObject

CORE = "/api/v1/namespaces/default"
CONFIG_MAPS = f"{CORE}/configmaps"
ROLE_BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
ARGUMENTS = ("--no-controllers", "--no-catalog")
OBJECTS = choose(short=40, long=2000)
WATCHES = choose(short=500, long=5000)
KIB_PER_WATCH = 160
FILES = 200
CONNECTIONS = FILES // 2
PATIENCE = 240.0


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A server that keeps its history for a second."""
    history = ("--history-seconds", "1", "--history-revisions", "1")
    with System(tmp_path_factory.mktemp("limits") / "data", *ARGUMENTS, *history) as running:
        yield running
    assert "Traceback" not in running.log.read_text()


def create_config_map(system: System, name: str, **labels: str) -> JsonObject:
    tree = build_config_map()
    tree["metadata"] |= {"name": name, "labels": labels}
    code, made = system.request("POST", CONFIG_MAPS, tree)
    assert code == 201, made
    created: JsonObject = made
    return created


def test_client_that_pages_while_history_is_compacted_sees_every_object(system: System) -> None:
    """A page is from the snapshot of the first one, or the client gets 410 and a token for the rest."""
    names = [create_config_map(system, f"page-{number:05}")["metadata"]["name"] for number in range(OBJECTS)]
    query = f"{CONFIG_MAPS}?limit={OBJECTS // 8}"
    seen: list[str] = []
    versions, expired, token = [], 0, ""
    while True:
        code, page = system.request("GET", f"{query}&continue={token}" if token else query)
        token = page["metadata"].get("continue", "")
        if code == 410:
            expired += 1
            assert page["reason"] == "Expired"
            assert "continue" in page["message"]
            assert token, "the client gets no token to continue with"
            continue
        assert code == 200, page
        seen += [item["metadata"]["name"] for item in page["items"]]
        versions.append(page["metadata"]["resourceVersion"])
        if not token:
            break
        if len(versions) == 4:
            wait_until_compacted(system, versions[-1])
    assert [name for name in seen if name in set(names)] == names
    assert expired == 1
    assert (len(set(versions[:4])), len(set(versions[4:]))) == (1, 1)


def wait_until_compacted(system: System, version: str) -> None:
    """Change an object until the history at this version is removed."""

    def is_compacted() -> bool:
        create_config_map(system, "change")
        assert system.request("DELETE", f"{CONFIG_MAPS}/change")[0] == 200
        path = f"{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=Exact&limit=1"
        return bool(system.request("GET", path)[0] == 410)

    wait_until(is_compacted, "the history is not compacted", PATIENCE)


class OpenWatch:
    """A watch on its own connection."""

    def __init__(self, system: System, token: str | None = None, path: str = CONFIG_MAPS) -> None:
        self.connection = system.connect()
        headers = {"Authorization": f"Bearer {token or system.config['token']}"}
        _, listed = system.request("GET", f"{CONFIG_MAPS}?limit=1")
        since = listed["metadata"]["resourceVersion"]
        self.connection.request("GET", f"{path}?watch=true&resourceVersion={since}", headers=headers)
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self.connection.close()

    def read_name(self) -> str:
        """Return the name of the next object; an empty string if the watch has ended."""
        line = self.response.readline()
        name: str = json.loads(line)["object"]["metadata"]["name"] if line else ""
        return name


def create_account(system: System, name: str) -> str:
    """Create a service account that may watch config maps, and return a token of it."""
    account: JsonObject = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    binding: JsonObject = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }
    wanted: JsonObject = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    assert system.request("POST", f"{CORE}/serviceaccounts", account)[0] == 201
    assert system.request("POST", ROLE_BINDINGS, binding)[0] == 201
    code, answer = system.request("POST", f"{CORE}/serviceaccounts/{name}/token", wanted)
    assert code == 201, answer
    token: str = answer["status"]["token"]
    return token


def test_watch_ends_after_the_permission_of_its_client_is_revoked(system: System) -> None:
    token = create_account(system, "bound")
    with OpenWatch(system, token) as watch:
        create_config_map(system, "seen")
        assert watch.read_name() == "seen"
        assert system.request("DELETE", f"{ROLE_BINDINGS}/bound")[0] == 200
        assert watch.read_name() == ""


def test_client_without_permission_receives_no_further_event(system: System) -> None:
    with OpenWatch(system, create_account(system, "cut-off")) as watch:
        assert system.request("DELETE", f"{ROLE_BINDINGS}/cut-off")[0] == 200
        create_config_map(system, "unseen")
        assert watch.read_name() == ""


def test_watch_ends_after_the_token_of_its_client_is_revoked(system: System) -> None:
    with OpenWatch(system, create_account(system, "deleted")) as watch:
        assert system.request("DELETE", f"{CORE}/serviceaccounts/deleted")[0] == 200
        create_config_map(system, "unseen-by-deleted")
        assert watch.read_name() == ""


def test_watch_ends_after_its_user_is_removed(system: System) -> None:
    place = ("--data-dir", str(system.directory))
    added = call_virtshape("user", "add", "ann", "--token", "--role", "view", "--namespace", "default", *place)
    assert added.returncode == 0, added.stderr
    with OpenWatch(system, yaml.safe_load(added.stdout)["users"][0]["user"]["token"]) as watch:
        assert call_virtshape("user", "rm", "ann", *place).returncode == 0
        assert watch.read_name() == ""


def test_every_one_of_many_watches_receives_an_update(system: System) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = WATCHES + 500
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"{WATCHES} connections need a limit of {needed} open files; the limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    try:
        with measure_growth(system) as growth:
            names = asyncio.run(watch_many(system))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert names == ["update"] * WATCHES
    assert growth.bytes / WATCHES < KIB_PER_WATCH * 1024, f"{growth.mib:.0f} MiB for {WATCHES} watches"


async def watch_many(system: System) -> list[str]:
    """Open many watches, change an object, and return the name that each watch has received."""
    address, tls = urlsplit(system.url), system.make_tls_context()
    head = (
        f"GET {CONFIG_MAPS}?watch=true&fieldSelector=metadata.name%3Dupdate&resourceVersion=0 HTTP/1.1\r\n"
        f"host: x\r\nauthorization: Bearer {system.config['token']}\r\n\r\n"
    ).encode()
    slots, opened = asyncio.Semaphore(50), []

    async def open_watch() -> asyncio.StreamReader:
        async with slots:
            reader, writer = await asyncio.open_connection(address.hostname, address.port, ssl=tls)
            opened.append(writer)
            writer.write(head)
            status = await reader.readuntil(b"\r\n\r\n")
            assert b"200 OK" in status, status
            return reader

    async def read_name(reader: asyncio.StreamReader) -> str:
        await reader.readline()  # the length of the chunk
        name: str = json.loads(await reader.readline())["object"]["metadata"]["name"]
        return name

    readers = await asyncio.gather(*(open_watch() for _ in range(WATCHES)))
    await asyncio.to_thread(create_config_map, system, "update")
    async with asyncio.timeout(PATIENCE):
        names = await asyncio.gather(*map(read_name, readers))
    for writer in opened:
        writer.transport.abort()
    return names


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A server that may open few files."""
    directory = tmp_path_factory.mktemp("files")
    command = directory / "virtshape"
    command.write_text(f'#!/bin/sh\nulimit -n {FILES}\nexec "{COMMAND}" "$@"\n')
    command.chmod(0o755)
    with System(directory / "data", *ARGUMENTS, command=command) as running:
        yield running


def count_files(system: System) -> int:
    return len(list(Path(f"/proc/{system.process.pid}/fd").iterdir()))


def request_again(connection: http.client.HTTPSConnection, system: System, method: str, path: str, tree: Any) -> int:
    """Send a request on an open connection and return its status code."""
    headers = {"Authorization": f"Bearer {system.config['token']}", "Content-Type": "application/json"}
    connection.request(method, path, json.dumps(tree) if tree is not None else None, headers)
    response = connection.getresponse()
    response.read()
    return response.status


def test_connections_beyond_the_file_limit_get_429_and_others_keep_working(limited: System) -> None:
    with contextlib.ExitStack() as stack:
        first, *watches = [stack.enter_context(OpenWatch(limited)) for _ in range(CONNECTIONS)]
        with contextlib.closing(limited.connect()) as refused:
            refused.request("GET", "/version")
            response = refused.getresponse()
            tree = json.loads(response.read())
        assert (response.status, response.headers["retry-after"], tree["reason"]) == (429, "1", "TooManyRequests")
        assert "Too many connections" in tree["message"]
        assert count_files(limited) < FILES
        first.__exit__()
        wait_until(lambda: can_connect(limited), "the server does not accept a connection again", PATIENCE)
        create_config_map(limited, "kept")
        assert {watch.read_name() for watch in watches} == {"kept"}


def is_ready(system: System) -> bool:
    """Return True if the server accepts a connection and is ready."""
    with contextlib.closing(system.connect()) as connection:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        response.read()
        return response.status == 200


def name_config_map(name: str) -> JsonObject:
    tree = build_config_map()
    tree["metadata"]["name"] = name
    return tree


def test_server_recovers_from_clients_that_use_all_open_files(limited: System) -> None:
    """Clients that never start TLS are not counted as connections, and use all files of the server."""
    address = urlsplit(limited.url)
    with contextlib.closing(limited.connect()) as kept, contextlib.ExitStack() as stack:
        assert request_again(kept, limited, "POST", CONFIG_MAPS, name_config_map("first")) == 201

        def use_all_files() -> bool:
            stack.close()  # connections of an earlier attempt; the server closes connections without TLS after a while
            for _ in range(FILES * 2):
                stack.enter_context(socket.create_connection((str(address.hostname), int(address.port or 0))))
            return count_files(limited) >= FILES - 1

        wait_until(use_all_files, lambda: str(count_files(limited)), PATIENCE)
        for number in range(20):
            assert request_again(kept, limited, "POST", CONFIG_MAPS, name_config_map(f"full-{number}")) == 201
            assert request_again(kept, limited, "GET", "/readyz", None) == 200
        wait_until(lambda: can_connect(limited), "the server does not close connections without TLS", PATIENCE)
    items = limited.request("GET", CONFIG_MAPS)[1]["items"]
    assert {f"full-{number}" for number in range(20)} <= {item["metadata"]["name"] for item in items}


def can_connect(system: System) -> bool:
    """Return True if the server accepts a connection."""
    try:
        return is_ready(system)
    except (OSError, ssl.SSLError):
        return False
