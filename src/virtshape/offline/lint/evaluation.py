"""
Evaluate objects in files as the API server would if the cluster contained only these objects and the catalog.

Errors that depend on objects outside the files become notes or warnings, which mention these objects.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from virtshape.admission.admit import evaluate
from virtshape.admission.clusterstate import CONFIGURATION, ClusterState, Query, VMCount
from virtshape.admission.matchervalidation import ROLES
from virtshape.admission.missing import describe_missing
from virtshape.admission.rules.virtualmachine import check_template_spec
from virtshape.admission.submission import Submission
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.api.kubevirt.configuration import ArchConfiguration, KubeVirtConfiguration
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.hostaccess import explain_host_disks
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE
from virtshape.offline.lint.context import LintContext, build_kubevirt
from virtshape.resolve.find import namespace_of
from virtshape.resolve.infer import IGNORE, describe_own_memory
from virtshape.resolve.matcher import Role, find_matcher, find_status_ref
from virtshape.resolve.reference import NotFoundError, Reference
from virtshape.resolve.search import run_search

_UID: Final = "00000000-0000-4000-8000-000000000000"
_NOW: Final = "2000-01-01T00:00:00Z"
_ANNOTATIONS: Final = "annotations."
_SPELLED: Final = {"dedicatedCPUPlacement": "dedicatedCpuPlacement"}
_LABELS: Final[dict[Role, str]] = {"instancetype": "instance type", "preference": "preference", "flavor": "flavor"}


class FileCluster(ClusterState):
    """The cluster that the files describe; `missing` lists the missing objects that evaluations asked for."""

    def __init__(self, context: LintContext, architecture: str) -> None:
        self.context = context
        self.missing: list[Reference] = []
        found = context.find_kubevirt()
        self.has_configuration = found is not None
        self._configuration = found if architecture == DEFAULT_ARCHITECTURE else _with_architecture(found, architecture)

    @property
    def known(self) -> LintContext:
        """The objects in the files and the catalog."""
        return self.context

    @property
    def is_standalone(self) -> bool:
        """False, because lint does not know where the objects will be applied."""
        return False

    def answer(self, query: Query) -> Model | int | None:
        """Return the object that a query asks for, or None; for a count of VMs, return 0."""
        if isinstance(query, VMCount):
            return 0
        if query == CONFIGURATION:
            return self._configuration
        found = self.context.find(query)
        if found is None:
            self.missing.append(query)
        return found

    def explain_host_disk(self, path: str, configuration: KubeVirtConfiguration | None) -> str:
        """Return why a guest may not use this host file as a disk, or an empty string if it may."""
        return explain_host_disks(configuration)(path)

    def make_uid(self) -> str:
        """Return a fixed UID, because nothing is stored."""
        return _UID

    def now(self) -> str:
        """Return a fixed time, because nothing is stored."""
        return _NOW


def _with_architecture(found: KubeVirt | None, architecture: str) -> KubeVirt:
    """Return a KubeVirt object with the same configuration except for the default architecture."""
    settings = (found.spec.configuration if found is not None else None) or KubeVirtConfiguration()
    by_architecture = settings.architecture_configuration or ArchConfiguration()
    by_architecture = replace(by_architecture, default_architecture=architecture)
    return build_kubevirt(replace(settings, architecture_configuration=by_architecture))


def evaluate_object(kind: Kind, tree: JsonObject, found: Model, cluster: FileCluster) -> Iterator[FieldError]:
    """Yield the errors that the server would report; those that depend on unknown objects become notes or warnings."""
    lacking_spec: list[FieldError] = []
    if isinstance(found, VirtualMachine) and _names_revision(found):
        tree, unknown = _without_missing_revisions(found, cluster.context)
        if any(error.field == "spec.preference.revisionName" for error in unknown):
            lacking_spec = list(check_template_spec(found))  # the server sets no defaults without the preference
        found = from_tree(tree, VirtualMachine)
        yield from unknown
    trial = Submission(kind, tree, None, found, stored=False)  # faster, but messages may lack suggestions
    if not run_search(evaluate(trial, cluster), cluster.answer).violations:
        yield from lacking_spec
        return
    cluster.missing.clear()
    submission = Submission(kind, tree, None)
    violations = run_search(evaluate(submission, cluster), cluster.answer).violations
    yield from (error for error in lacking_spec if error not in violations)
    for error in violations:
        match error.rule:
            case "inference-unknown":
                yield _describe_unknown(error, submission.read(), cluster)
            case "host-access" if not cluster.has_configuration:
                message = f"unknown without the KubeVirt object in the files: {error.message}"
                yield error._replace(message=message, rule="host-access-unknown")
            case "missing-reference" if _is_broken(error, cluster):
                continue  # the object is in the files, and its own errors are reported
            case _:
                yield error


def _is_broken(error: FieldError, cluster: FileCluster) -> bool:
    is_preference = error.field.startswith("spec.preference")
    asked = (missing for missing in cluster.missing if missing.kind.endswith("Preference") == is_preference)
    return any(cluster.context.is_broken(missing) for missing in asked)


def _describe_unknown(error: FieldError, vm: VirtualMachine, cluster: FileCluster) -> FieldError:
    """Return the note for a matcher that is inferred from an object outside the files."""
    role: Role = "preference" if error.field.startswith("spec.preference") else "instancetype"
    missing = next((one for one in cluster.missing if NotFoundError(one, "").message == error.message), None)
    reason = error.message
    if missing is not None:
        reason = describe_missing(missing, cluster.context).replace(" not found", " not found in the files", 1)
    message = f"the {_LABELS[role]} cannot be inferred from the files: {reason}"
    matcher = vm.spec.instancetype
    if role == "instancetype" and matcher is not None and matcher.infer_from_volume_failure_policy == IGNORE:
        message += f"; if it has no default, the VM gets {describe_own_memory(vm)}"
    return error._replace(message=message)


def _names_revision(vm: VirtualMachine) -> bool:
    matchers = (vm.spec.instancetype, vm.spec.preference, vm.spec.flavor)
    return vm.status is not None or any(matcher is not None and matcher.revision_name for matcher in matchers)


def _without_missing_revisions(vm: VirtualMachine, context: LintContext) -> tuple[JsonObject, list[FieldError]]:
    """Return the VM without revisions that are not in the files, and an error for each one that the spec refers to."""
    unknown: list[FieldError] = []
    roles: list[Role] = []
    is_captured = False
    for role in ROLES:
        matcher = find_matcher(vm, role)
        named = matcher.revision_name if matcher else None
        if named and context.find(_refer_to_revision(vm, named)) is None:
            advice = f"remove it to use the current {_LABELS[role]}, or check the revision's file too"
            message = f"{describe_missing(_refer_to_revision(vm, named), context)}: {advice}"
            unknown.append(FieldError(f"spec.{role}.revisionName", message, rule="missing-revision"))
            roles.append(role)
        ref = find_status_ref(vm, role)
        captured = ref.controller_revision_ref.name if ref and ref.controller_revision_ref else None
        is_captured = is_captured or bool(captured and context.find(_refer_to_revision(vm, captured)) is None)
    tree: JsonObject = to_tree(vm)
    for role in roles:
        del tree["spec"][role]["revisionName"]
    if is_captured:
        del tree["status"]
    return tree, unknown


def _refer_to_revision(vm: VirtualMachine, name: str) -> Reference:
    return Reference("apps", "ControllerRevision", namespace_of(vm), name)


def find_place(error: FieldError, tree: JsonObject) -> str:
    """Return the path in the document that an error refers to, which may differ from the error's field."""
    field = error.fields[0] if error.fields else ""
    if field.startswith(_ANNOTATIONS):
        return f"spec.template.metadata.annotations[{field.removeprefix(_ANNOTATIONS)}]"
    if field.startswith(("instancetype.", "spec.instancetype")) and error.rule != "invalid-matcher":
        spec = tree.get("spec")
        is_flavor = isinstance(spec, dict) and spec.get("flavor") is not None
        return "spec.flavor" if is_flavor else field if field.startswith("spec.") else "spec.instancetype"
    if field.startswith(TEMPLATE_ROOT):
        parent, dot, name = field.rpartition(".")
        return f"{parent}{dot}{_SPELLED.get(name, name)}"
    return field
