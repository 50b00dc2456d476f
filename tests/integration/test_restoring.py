"""A restored backup in place of the original server: clients must list again."""

from pathlib import Path

import pytest
from tests.integration.objects import build_config, create, names, revision
from tests.support.loopback import Client, LoopbackServer

from virtshape.api.model import JsonObject
from virtshape.standalone.backup import copy_system

CONFIGS = "/api/v1/namespaces/default/configmaps"


def read_events(client: Client, since: str) -> list[tuple[str, int, str]]:
    """Return the events of a watch that ends immediately: type, code and reason."""
    with client.watch(CONFIGS, resourceVersion=since) as watch:
        return [(event["type"], event["object"]["code"], event["object"]["reason"]) for event in watch]


@pytest.fixture
def original(tmp_path: Path) -> tuple[Path, list[str], str]:
    """A backup of a running server, resource versions before and after the backup, and a continue token."""
    with LoopbackServer(tmp_path / "data") as server:
        client = server.connect()
        create(client, CONFIGS, build_config("a"), build_config("b"))
        before = revision(client.get(CONFIGS).tree)
        copy_system(tmp_path / "data", tmp_path / "copy")
        create(client, CONFIGS, *[build_config(f"later-{number}") for number in range(10)])
        after = client.get(CONFIGS, limit=1).tree
        client.close()
    return tmp_path / "copy", [before, revision(after)], after["metadata"]["continue"]


def test_clients_of_the_original_must_list_again_after_a_restore(
    original: tuple[Path, list[str], str],
) -> None:
    copy, known, token = original
    with LoopbackServer(copy) as server:
        client = server.connect()
        create(client, CONFIGS, *[build_config(f"other-{number}") for number in range(20)])
        for since in known:
            assert read_events(client, since) == [("ERROR", 410, "Expired")]
        assert client.get(CONFIGS, **{"continue": token}).reason == (410, "Expired")
        listed = client.get(CONFIGS).tree
        assert names(listed)[:2] == ["a", "b"]
        with client.watch(CONFIGS, resourceVersion=revision(listed)) as watch:
            create(client, CONFIGS, build_config("new"))
            assert [event["object"]["metadata"]["name"] for event in watch.read(1)] == ["new"]
        _update(client, listed["items"][0])
        client.close()


def _update(client: Client, item: JsonObject) -> None:
    item |= {"apiVersion": "v1", "kind": "ConfigMap", "data": {"changed": "1"}}
    assert client.put(f"{CONFIGS}/a", item).status == 200


def test_copies_of_one_backup_never_share_a_resource_version(original: tuple[Path, list[str], str]) -> None:
    copy, known, _ = original
    copy_system(copy, copy.with_name("second"))
    seen = [int(known[-1])]
    for directory in (copy, copy.with_name("second")):
        with LoopbackServer(directory) as server:
            client = server.connect()
            assert int(revision(client.get(CONFIGS).tree)) > max(seen)
            create(client, CONFIGS, *[build_config(f"n-{number}") for number in range(20)])
            seen.append(int(revision(client.get(CONFIGS).tree)))
            client.close()


def test_watch_resumes_after_a_restored_copy_is_restarted(original: tuple[Path, list[str], str]) -> None:
    copy, _, _ = original
    with LoopbackServer(copy) as server:
        client = server.connect()
        last = revision(client.get(CONFIGS).tree)
        client.close()
    with LoopbackServer(copy) as server:
        client = server.connect()
        with client.watch(CONFIGS, resourceVersion=last) as watch:
            create(client, CONFIGS, build_config("new"))
            assert [event["type"] for event in watch.read(1)] == ["ADDED"]
        client.close()
