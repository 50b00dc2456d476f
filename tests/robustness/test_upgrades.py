"""Data directories of every released version start with this version; those of a newer version are refused."""

import contextlib
import json
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.robustness.datadirs.make import DIRECTORY, OBJECTS, format_path, list_stored_kinds
from tests.support.smallmanifests import build_config_map
from tests.support.upprocess import System, call_virtshape, wait_until

from virtshape.store.store import FILE_NAME

ARCHIVES = sorted(DIRECTORY.glob("virtshape-*.tar.gz"))
CHANGED_METADATA = ("generation", "managedFields", "resourceVersion")
"""Metadata that the server may change when it starts."""


@pytest.fixture(params=ARCHIVES, ids=[archive.name for archive in ARCHIVES])
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A directory with the data directory of a released version, and the objects that this version served."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def simplify(tree: dict[str, Any]) -> dict[str, Any]:
    """Return an object as in a list, without its status and metadata that may change."""
    metadata = {name: value for name, value in tree["metadata"].items() if name not in CHANGED_METADATA}
    left_out = ("apiVersion", "kind", "status")
    return {name: value for name, value in tree.items() if name not in left_out} | {"metadata": metadata}


def test_there_is_a_data_directory_of_a_released_version() -> None:
    assert ARCHIVES


def test_server_starts_with_the_data_directory_of_a_released_version(released: Path) -> None:
    expected = json.loads((released / OBJECTS).read_text())
    token = "".join(line for line in (released / "data/kubeconfig").read_text().splitlines() if "token:" in line)
    with System(released / "data", "--launcher", "simulate") as system:
        assert system.config["token"] in token, "the admin keeps the token"
        for kind in list_stored_kinds():
            code, listed = system.request("GET", format_path(kind))
            assert code == 200, listed
        for path, tree in expected.items():
            code, served = system.request("GET", path)
            assert code == 200, served
            assert simplify(served) == simplify(tree)
        users = call_virtshape("user", "list", "--data-dir", system.directory)
        assert "heidi" in users.stdout
        vm = "/apis/kubevirt.io/v1/namespaces/team/virtualmachines/web"
        wait_until(lambda: system.request("GET", vm)[1]["status"].get("ready"), "the VM does not run")
        path = "/api/v1/namespaces/team/configmaps"
        assert system.request("POST", path, build_config_map("new"))[0] == 201
        created = system.request("GET", f"{path}/new")[1]["metadata"]["resourceVersion"]
        assert int(created) > max(int(tree["metadata"]["resourceVersion"]) for tree in expected.values())
    checked = call_virtshape("check", "--data-dir", released / "data")
    assert checked.returncode == 0, checked.stderr


def test_data_directory_of_a_newer_version_is_refused_and_not_changed(released: Path) -> None:
    data = released / "data"
    with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.execute("PRAGMA journal_mode = DELETE")
    before = (data / FILE_NAME).read_bytes()
    target = released / "copy"
    for arguments in (("up", "--listen", "127.0.0.1:0", "--no-controllers"), ("backup", str(target)), ("check",)):
        refused = call_virtshape(*arguments, "--data-dir", data)
        assert refused.returncode == 1
        assert refused.stderr.endswith(
            f"error: {data / FILE_NAME} was written by a newer virtshape (format 99, this version supports format 1): "
            "upgrade virtshape, or use another --data-dir\n"
        ), refused.stderr
    assert (data / FILE_NAME).read_bytes() == before
    assert not target.exists()
