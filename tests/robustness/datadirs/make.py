"""
Make the data directory of this version, with objects of every kind, for the tests of later versions.

    python -m tests.robustness.datadirs.make

writes `virtshape-VERSION.tar.gz` next to this file. A release adds this file; older ones stay.
"""

import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import yaml
from tests.support.upprocess import System, call_virtshape, wait_until

from virtshape.api.kinds import KINDS, Kind, find_kind
from virtshape.apiserver.supportedverbs import list_verbs

DIRECTORY: Final = Path(__file__).parent
OBJECTS: Final = "objects.json"
"""Name of the file in the archive with the objects as this version serves them, by URL path."""
LABEL: Final = "kept"
"""Label of the objects that tests compare; other objects belong to the server."""
LEFT_OUT: Final = ("images", "cache", "audit.log", "lock", "users.json.lock")


def list_stored_kinds() -> Iterator[Kind]:
    """Yield every kind whose objects are in the store, in its preferred version."""
    seen = set()
    for kind in KINDS:
        if (kind.group, kind.plural) not in seen and "list" in list_verbs(kind):
            seen.add((kind.group, kind.plural))
            yield kind


def format_path(kind: Kind, namespace: str = "") -> str:
    """Return the URL path of a kind's objects."""
    prefix = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    return f"{prefix}/namespaces/{namespace}/{kind.plural}" if namespace else f"{prefix}/{kind.plural}"


def create_objects(system: System) -> None:
    """Create the objects of `objects.yaml`."""
    for tree in yaml.safe_load_all((DIRECTORY / "objects.yaml").read_text()):
        kind = find_kind(tree["apiVersion"], tree["kind"])
        assert kind is not None, tree["kind"]
        metadata = tree["metadata"]
        metadata["labels"] = {**metadata.get("labels", {}), LABEL: "true"}
        code, answer = system.request("POST", format_path(kind, metadata.get("namespace", "")), tree)
        assert code == 201, answer


def read_objects(system: System) -> dict[str, Any]:
    """Return the objects with the label by URL path; every kind must have an object with or without it."""
    found: dict[str, Any] = {}
    missing = []
    for kind in list_stored_kinds():
        code, answer = system.request("GET", format_path(kind))
        assert code == 200, answer
        if not answer["items"]:
            missing.append(kind.kind)
        for item in answer["items"]:
            metadata = item["metadata"]
            if LABEL in metadata.get("labels", {}):
                found[f"{format_path(kind, metadata.get('namespace', ''))}/{metadata['name']}"] = item
    assert not missing, f"kinds without objects: {missing}"
    return found


def make(target: Path) -> None:
    """Write the archive."""
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data"
        with System(data, "--launcher", "simulate") as system:
            create_objects(system)
            vm = "/apis/kubevirt.io/v1/namespaces/team/virtualmachines/web"
            wait_until(lambda: system.request("GET", vm)[1].get("status", {}).get("ready"), "the VM is not ready")
            added = call_virtshape("user", "add", "heidi", "--role", "view", "--token", "--data-dir", data)
            assert added.returncode == 0, added.stderr
            objects = read_objects(system)
        (Path(scratch) / OBJECTS).write_text(json.dumps(objects, sort_keys=True))
        with tarfile.open(target, "w:gz") as archive:
            archive.add(data, "data", filter=lambda member: None if _is_left_out(member) else member)
            archive.add(Path(scratch) / OBJECTS, OBJECTS)


def _is_left_out(member: tarfile.TarInfo) -> bool:
    return Path(member.name).name in LEFT_OUT


if __name__ == "__main__":
    path = DIRECTORY / f"virtshape-{version('virtshape')}.tar.gz"
    make(path)
    sys.stdout.write(f"{path}: {path.stat().st_size} bytes\n")
