"""`kubectl apply --dry-run=server` and `virtshape lint` agree on everything in examples/."""

import re
from pathlib import Path
from typing import Final

import pytest
from tests.support.kubectl import Kubectl

from virtshape.api.model import JsonObject
from virtshape.api.yaml import Document, scan_documents
from virtshape.offline.lint import Run

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
FILES: Final = sorted(path for path in EXAMPLES.rglob("*.yaml") if path.name != "kustomization.yaml")
ACCEPTED: Final = re.compile(r"^\S+/(\S+) \w+ \(server dry run\)$", re.MULTILINE)


def read_trees(path: Path) -> list[JsonObject]:
    return [each.tree for each in scan_documents(path.read_bytes()) if isinstance(each, Document)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_server_side_dry_run_and_lint_agree_on_each_example(kubectl: Kubectl, path: Path) -> None:
    trees = read_trees(path)
    used = [tree for tree in trees if tree["kind"] != "VirtualMachine"]
    if used:  # store the objects that VMs refer to, which a dry run does not do
        kubectl.apply(*used)
    reply = kubectl.run("apply", "--dry-run=server", "-f", path)
    errors = [each for each in Run([str(path)]).find() if each.level == "error"]
    refused = {each.object.name for each in errors if each.object}
    assert set(ACCEPTED.findall(reply.out)) == {tree["metadata"]["name"] for tree in trees} - refused, reply
    assert (reply.status != 0) == bool(refused)
    misspelled = {
        each.object for each in errors if each.rule == "unknown-field"
    }  # for these objects, the server reports only unknown fields
    if "error validating data" in reply.err:  # an old kubectl rejects unknown fields without a request
        assert misspelled
        return
    for error in errors:
        if error.rule == "unknown-field":
            assert f'unknown field "{error.field}"' in reply.err
        elif error.object not in misspelled:
            assert error.message in reply.err
