"""
Transcripts of the design documents, run against a real control plane.

Commands and outputs are the same as with `virtshape up`; guests are pods on fake nodes.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.cluster.components.installation import Installation
from tests.cluster.components.nodes import run_fake_nodes
from tests.cluster.install import retry
from tests.seeds.transcripts.test_transcripts import HERE, TRANSCRIPTS
from tests.support.rendering import find_kubectl
from tests.support.transcript import run_transcript
from tests.support.transcriptterminal import Terminal

LEFT = "vm,vmi,dv,datasource,pvc,vminstancetype,vmpref,virtualmachineflavors,virtualmachineflavorpreferences"

EXCLUSIVE = "spec.cpu.guest and spec.cpu.topology are mutually exclusive: keep one of them"
INFERRED = (
    "The request is invalid: \n"
    '* spec.instancetype.name: virtualmachineclusterinstancetypes.instancetype.kubevirt.io "server.tini" not found; '
    "did you mean server.tiny? (inferred from volume disk)\n"
    "* spec.preference.kind: got unexpected kind in PreferenceMatcher: Cirros; use VirtualMachineClusterPreference or "
    "VirtualMachinePreference\n"
)
"""A cluster prints this message without the volume, because its validating webhook receives only the inferred name."""
SHAPELESS = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1",
    "kind": "VirtualMachineInstancetype",
    "metadata": {"name": "shapeless", "namespace": "default"},
    "spec": {"cpu": {"guest": 1}, "memory": {}},
}


@pytest.fixture(scope="module")
def prepared(installation: Installation) -> Iterator[Installation]:
    """Run the controllers and fake nodes, with the catalog installed."""
    with run_fake_nodes(installation.plane), installation.running("controller", "--catalog"):
        retry(lambda: installation.kubectl("get", "vmcf", "u1.small"))
        retry(lambda: installation.kubectl("get", "vmcp", "windows.11"))
        yield installation


@pytest.fixture(scope="module")
def own_messages(prepared: Installation) -> dict[str, str]:
    """The messages that a cluster prints in place of those of `virtshape up`; some depend on its version."""
    reported = prepared.kubectl.run_rejected("create", "--dry-run=server", "-f", "-", stdin=json.dumps(SHAPELESS))
    null, cluster_plane = ('"null"', '"object": ') if '"null"' in reported else ("null", "")
    bad = 'The VirtualMachineInstancetype "bad" is invalid: '
    return {
        f"The request is invalid: spec.cpu.topology: {EXCLUSIVE}\n": (
            f"{bad}spec.cpu.topology: Invalid value: {cluster_plane}{EXCLUSIVE}\n"
        ),
        f"{bad}spec.memory.guest: Required value\n": (
            f"{bad}\n"
            "* spec.memory.guest: Required value\n"
            f"* <nil>: Invalid value: {null}: some validation rules were not checked because the object was invalid; "
            "correct the existing errors to complete validation\n"
        ),
        INFERRED: INFERRED.replace(" (inferred from volume disk)", ""),
    }


@pytest.fixture(scope="module")
def open_terminal(prepared: Installation, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Terminal]:
    """Return a function that returns the terminal of a document; its first call opens it in an emptied cluster."""

    @cache
    def open_(document: str) -> Terminal:
        prepared.kubectl.in_namespace("default")("delete", LEFT, "--all", "--timeout=240s")
        home = tmp_path_factory.mktemp(document) / "home"
        shutil.copytree(HERE / document, home)
        return Terminal(home, prepared.plane.kubeconfig, find_kubectl())

    return open_


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_transcript_commands_print_the_documented_output(
    open_terminal: Callable[[str], Terminal], own_messages: dict[str, str], transcript: Path
) -> None:
    run_transcript(open_terminal(transcript.parent.name), transcript, own_messages)
