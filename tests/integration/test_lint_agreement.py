"""
Lint finds an error exactly when a server-side dry run refuses an object, with the same field and message.

Preferences with impossible values are the exception: KubeVirt accepts them, so the server warns with the same message.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.support.linting import prescan
from tests.support.loopback import Client, LoopbackServer, Response
from tests.support.mutations import generated, mutate, mutated

from virtshape.admission.admit import admit, complete, validate
from virtshape.admission.checkresult import IMPOSSIBLE
from virtshape.admission.clusterstate import Admitted, Steps
from virtshape.admission.submission import Submission
from virtshape.api.kinds import KINDS, Kind, find_kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import check_submitted
from virtshape.api.validation.normalize import NO_FIELD
from virtshape.api.validation.schema import check_schema
from virtshape.api.yaml import Document, scan_documents
from virtshape.apiserver.responses import format_warning
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE
from virtshape.offline.lint import Finding, LintContext, Linter
from virtshape.offline.lint.evaluation import FileCluster
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP
from virtshape.resolve.search import run_search

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
SETTINGS: Final = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
UNKNOWN: Final = {"inference-unknown", "missing-revision", "host-access-unknown"}
"""Rules for facts that lint cannot check because they are not in the files."""

V1BETA2: Final = "instancetype.kubevirt.io/v1beta2"


def build(kind: str, name: str, spec: JsonObject, version: str = V1BETA2, **metadata: Any) -> JsonObject:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


CLAIM: Final[JsonObject] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
DEFAULTS: Final = {
    "instancetype.kubevirt.io/default-instancetype": "small",
    "instancetype.kubevirt.io/default-preference": "demanding",
}
SMALL: Final[JsonObject] = {"cpu": {"guest": 2, "maxSockets": 4}, "memory": {"guest": "2Gi"}}
LIMITED: Final[JsonObject] = {
    "cpu": {"limits": {"min": 2, "max": 8, "step": 2}},
    "memory": {"limits": {"step": "1Gi", "perVCPU": {"min": "1Gi", "max": "4Gi"}}},
}
WORLD: Final = [
    build("VirtualMachineClusterInstancetype", "small", SMALL),
    build("VirtualMachineClusterInstancetype", "open", {}),
    build("VirtualMachineClusterInstancetype", "limited", LIMITED),
    build("VirtualMachineClusterInstancetype", "pinned", {**SMALL, "cpu": {"guest": 2, "dedicatedCPUPlacement": True}}),
    build("VirtualMachineClusterInstancetype", "gpu", {**SMALL, "gpus": [{"name": "g", "deviceName": "a.b/c"}]}),
    build("VirtualMachineClusterInstancetype", "old", SMALL, labels={"instancetype.kubevirt.io/deprecated": "true"}),
    build("VirtualMachineInstancetype", "local", SMALL, namespace="default"),
    build("VirtualMachineClusterPreference", "demanding", {"requirements": {"cpu": {"guest": 2}}}),
    build("VirtualMachineClusterPreference", "huge", {"requirements": {"memory": {"guest": "64Gi"}}}),
    build("VirtualMachineClusterPreference", "spread", {"cpu": {"preferredCPUTopology": "spread"}}),
    build("VirtualMachineClusterPreference", "secure", {"firmware": {"preferredEfi": {"secureBoot": True}}}),
    build("VirtualMachineClusterPreference", "arm", {"preferredArchitecture": "arm64"}),
    build("VirtualMachineClusterPreference", "odd", {"devices": {"preferredDiskBus": "nonsense"}}),
    build("VirtualMachineClusterPreference", "retired", {}, labels={"virtshape.io/lifecycle": "retired"}),
    build(
        "VirtualMachineFlavor",
        "tiny",
        SMALL | {"cpu": {"guest": 2}},
        "flavor.kubevirt.io/v1alpha1",
        namespace="default",
    ),
    build("PersistentVolumeClaim", "marked", CLAIM, "v1", namespace="default", labels=DEFAULTS),
    build("PersistentVolumeClaim", "plain", CLAIM, "v1", namespace="default"),
]
"""Objects on the server and in the files of lint."""


def build_vm(spec: JsonObject, template: JsonObject, **domain: Any) -> JsonObject:
    guest = {**template, "domain": {"devices": {}, **domain}}
    return build(
        "VirtualMachine", "web", {"runStrategy": "Halted", **spec, "template": {"spec": guest}}, "kubevirt.io/v1"
    )


ROOT: Final[JsonObject] = {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "marked"}}]}
INFERRED: Final[JsonObject] = {"inferFromVolume": "root"}
VMS: Final = [
    build_vm({}, {}, memory={"guest": "1Gi"}),
    build_vm({"instancetype": {"name": "small"}, "preference": {"name": "demanding"}}, {}),
    build_vm(
        {"instancetype": {"name": "open"}, "preference": {"name": "spread"}},
        {},
        cpu={"guest": 4},
        memory={"guest": "1Gi"},
    ),
    build_vm({"instancetype": {"name": "limited"}}, {}, cpu={"guest": 4}, memory={"guest": "4Gi"}),
    build_vm({"instancetype": {"name": "limited"}}, {}, cpu={"guest": 3}, memory={"guest": "40Gi"}),
    build_vm({"instancetype": {"name": "pinned"}, "preference": {"name": "secure"}}, {}, features={"smm": {}}),
    build_vm(
        {"instancetype": {"name": "local", "kind": "VirtualMachineInstancetype"}, "preference": {"name": "huge"}}, {}
    ),
    build_vm({"instancetype": {"name": "small"}, "preference": {"name": "arm"}}, {}),
    build_vm({"instancetype": {"name": "gpu"}, "preference": {"name": "odd"}}, ROOT),
    build_vm({"instancetype": {"name": "old"}, "preference": {"name": "retired"}}, {}),
    build_vm({"flavor": {"name": "tiny", "kind": "VirtualMachineFlavor"}}, {}),
    build_vm({"instancetype": INFERRED, "preference": INFERRED}, ROOT),
    build_vm(
        {"instancetype": {**INFERRED, "inferFromVolumeFailurePolicy": "Ignore"}},
        {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "plain"}}]},
        memory={"guest": "1Gi"},
    ),
    build_vm({}, {}, resources={"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}),
]


def read_examples() -> list[JsonObject]:
    texts = [path.read_bytes() for path in sorted(EXAMPLES.rglob("*.yaml")) if path.name != "kustomization.yaml"]
    documents = [document for text in texts for document in scan_documents(text)]
    return [document.tree for document in documents if isinstance(document, Document)]


def find_stated(tree: JsonObject) -> Kind:
    kind = find_kind(tree["apiVersion"], tree["kind"])
    assert kind is not None
    return kind


KUBEVIRTS: Final = [
    build("KubeVirt", "kubevirt", {"configuration": settings}, "kubevirt.io/v1", namespace="kubevirt")
    for settings in (
        {"instancetype": {"referencePolicy": "expand", "missingReference": "Defer", "revisionName": "Status"}},
        {
            "developerConfiguration": {
                "featureGates": ["VSOCK"],
                "disabledFeatureGates": ["VSOCK"],
                "useEmulation": True,
            }
        },
        {"additionalGuestMemoryOverheadRatio": "0.5", "evictionStrategy": "Fly", "vmRolloutStrategy": "LiveUpdate"},
        {"tlsConfiguration": {"ciphers": ["x"]}, "migrations": {"bandwidthPerMigration": "1Gi"}},
        {"permittedHostDevices": {"pciHostDevices": [{"pciVendorSelector": "1:2", "resourceName": "a.b/c"}]}},
        {"architectureConfiguration": {"ppc64le": {}}, "network": {"permitSlirpInterface": True}},
    )
]
EVALUATED: Final = [
    tree for tree in [*read_examples(), *VMS, *KUBEVIRTS, *WORLD] if find_stated(tree).kind != "PersistentVolumeClaim"
]
JUDGED_KINDS: Final = [
    kind for kind in KINDS if kind.kind in ("VirtualMachine", "VirtualMachineInstance", "KubeVirt", "DataVolume")
]
SIZING_KINDS: Final = [kind for kind in KINDS if kind.group in (INSTANCETYPE_GROUP, FLAVOR_GROUP)]
OBJECTS: Final = st.one_of(
    mutated([tree for tree in EVALUATED if tree["kind"] == "VirtualMachine"]),
    mutated(EVALUATED),
    mutated(KUBEVIRTS),
    st.sampled_from(JUDGED_KINDS).flatmap(generated),
    st.sampled_from(SIZING_KINDS).flatmap(generated),
)


class ServerAndLinter(NamedTuple):
    """A server, and the same objects as input for lint."""

    client: Client
    context: LintContext

    def dry_run(self, tree: JsonObject) -> Response:
        """Return the response of a server-side dry run."""
        return self.client.post(path_of(tree), tree, dryRun="All", fieldValidation="Strict")

    def lint(self, tree: JsonObject) -> list[Finding]:
        return Linter(self.context).check_text(json.dumps(tree).encode(), "object.json")


def path_of(tree: JsonObject) -> str:
    kind = find_stated(tree)
    group = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    return f"{group}/namespaces/default/{kind.plural}" if kind.namespaced else f"{group}/{kind.plural}"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerAndLinter]:
    with LoopbackServer(tmp_path_factory.mktemp("lint") / "data", catalog=True) as server:
        client = server.connect()
        for tree in WORLD:
            reply = client.post(path_of(tree), tree)
            assert reply.status == 201, reply.body
        kubevirt = client.get("/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt").tree
        texts = [json.dumps(tree).encode() for tree in [*WORLD, kubevirt]]
        yield ServerAndLinter(client, prescan(texts, catalog=True))
        client.close()


def check_agreement(both: ServerAndLinter, tree: JsonObject) -> None:
    """Check that the server and lint report the same errors."""
    reply, findings = both.dry_run(tree), both.lint(tree)
    try:
        compare(tree, reply, findings)
    except AssertionError as error:
        error.add_note(f"server: {reply.status} {reply.body.decode()}")
        error.add_note(f"lint: {findings}")
        raise


def compare(tree: JsonObject, reply: Response, findings: list[Finding]) -> None:
    warned = {format_warning(each.message) for each in findings if each.rule == IMPOSSIBLE}
    errors = {(each.field, each.message) for each in findings if each.level == "error" and each.rule != IMPOSSIBLE}
    unknown = {each.field for each in findings if each.rule in UNKNOWN}
    match reply.status:
        case 201:
            assert not errors
            assert warned <= set(reply.headers.get_all("warning", []))
        case 400:
            check_decode_errors(reply.tree["message"], findings)
        case 422:
            causes = {(cause["field"], cause["message"]) for cause in reply.tree["details"]["causes"]}
            # A cause without a path only explains other causes.
            # The cause for a generated name repeats the cause for its prefix.
            is_generated = not tree["metadata"].get("name") and bool(tree["metadata"].get("generateName"))
            skipped = {NO_FIELD, "metadata.name"} if is_generated else {NO_FIELD}
            causes = {cause for cause in causes if cause[0] not in skipped}
            check_causes(tree, causes, errors, unknown)
        case _:
            raise AssertionError(f"unexpected status {reply.status}")


def check_decode_errors(message: str, findings: list[Finding]) -> None:
    """Compare the errors for an object that cannot be decoded; the server names all fields in one message."""
    errors = [each for each in findings if each.level == "error"]
    unknown = [each.field for each in errors if each.rule == "unknown-field"]
    if "strict decoding error" in message:
        assert len(re.findall(r'unknown field "', message)) == len(unknown)
        assert all(f'unknown field "{field}"' in message for field in unknown)
    else:
        assert any(each.field in message for each in errors)


def check_causes(
    tree: JsonObject, causes: set[tuple[str, str]], errors: set[tuple[str, str]], unknown: set[str]
) -> None:
    """Compare the causes of a rejection with lint's errors; the server stops after schema or metadata errors."""
    kind = find_stated(tree)
    schema = check_schema(tree, kind)
    causes, errors = drop_host_disks(causes), drop_host_disks(errors)
    if schema.causes:
        fields = {cause.field for cause in schema.causes}
        assert {field for field, _ in causes} <= {field for field, _ in errors}
        assert {cause for cause in causes if cause[0] not in fields} <= errors
    elif check_submitted(schema.tree.get("metadata") or {}, kind):
        assert causes <= errors
    else:
        known = {cause for cause in causes if cause[0] not in unknown}
        assert known <= errors
        assert known == errors or any(field.endswith("revisionName") for field in unknown)


def drop_host_disks(errors: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the errors with empty messages for host disks, because the messages name directories of the server."""
    return {(field, "" if field.endswith(".hostDisk") else message) for field, message in errors}


@pytest.mark.parametrize("tree", EVALUATED, ids=lambda tree: f"{tree['kind']} {tree['metadata']['name']}")
def test_lint_and_dry_run_agree_on_examples(both: ServerAndLinter, tree: JsonObject) -> None:
    check_agreement(both, {**tree, "metadata": {**tree["metadata"], "namespace": None, "name": "fuzzed"}})


@settings(SETTINGS, max_examples=500)
@given(OBJECTS)
def test_lint_and_dry_run_agree_on_mutated_objects(both: ServerAndLinter, tree: JsonObject) -> None:
    check_agreement(both, tree)


@settings(SETTINGS, max_examples=500)
@given(st.lists(OBJECTS, min_size=2, max_size=2), st.integers(0, 2**32))
def test_lint_and_dry_run_agree_on_many_objects(both: ServerAndLinter, drawn: list[JsonObject], seed: int) -> None:
    random = Random(seed)  # noqa: S311 # much faster than drawing each of the objects
    for _ in range(20):
        check_agreement(both, mutate(random, random.choice(drawn), [*drawn, *EVALUATED]))


def list_causes(decide: Callable[[], object]) -> set[tuple[str, str]]:
    """Return the causes of a rejection without the volumes of inferred names, which the validating webhook lacks."""
    try:
        decide()
    except StatusError as error:
        return {(cause.field, re.sub(r" \(inferred from volume .*\)$", "", cause.message)) for cause in error.causes}
    return set()


@settings(SETTINGS, max_examples=200)
@given(OBJECTS)
def test_webhooks_and_standalone_server_agree(both: ServerAndLinter, tree: JsonObject) -> None:
    kind, cluster = find_stated(tree), FileCluster(both.context, DEFAULT_ARCHITECTURE)
    schema = check_schema(tree, kind)
    assume(not (schema.causes or schema.unknown or schema.misfits))

    def decide(steps: Callable[[Submission, FileCluster], Steps[Admitted]], given: JsonObject) -> JsonObject:
        return run_search(steps(Submission(kind, given, None), cluster), cluster.answer).tree

    refused = list_causes(lambda: decide(admit, schema.tree))
    assert list_causes(lambda: decide(validate, decide(complete, schema.tree))) == refused


def test_lint_and_dry_run_agree_on_a_missing_template_spec_and_preference_revision(both: ServerAndLinter) -> None:
    spec = {"runStrategy": "Always", "preference": {"name": "windows.11", "revisionName": "missing"}, "template": {}}
    tree = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "fuzzed"}, "spec": spec}
    check_agreement(both, tree)
