"""Find the other namespaces that DataVolumes, DataSources and VMs clone data from; the caller checks permissions."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from virtshape.admission.submission import Submission
from virtshape.api.cdi import DataSource, DataSourceSource, DataVolumeSource, DataVolumeSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.resolve.find import namespace_of
from virtshape.resolve.reference import Reference
from virtshape.resolve.search import Search

GROUP: Final = "cdi.kubevirt.io"
_MAX_CHAIN_LENGTH: Final = 8


class CloneSources(NamedTuple):
    """Namespaces that the author of an object, or the object's service account, must be allowed to clone from."""

    namespaces: tuple[str, ...] = ()
    account: str = ""


class CloneRequest(NamedTuple):
    """The sources of the data that an object clones, with the object's namespace and service account."""

    namespace: str
    volumes: tuple[DataVolumeSpec, ...] = ()
    data_source: DataSourceSource | None = None
    account: str = ""


def find_clone_request(submission: Submission, namespace: str) -> CloneRequest | None:
    """Return the sources that a DataVolume, DataSource or VM clones from; None for other kinds and unchanged specs."""
    if submission.has_same_spec:
        return None
    match submission.kind.group, submission.kind.kind:
        case "cdi.kubevirt.io", "DataVolume":
            return CloneRequest(namespace, (submission.read().spec,))
        case "cdi.kubevirt.io", "DataSource":
            return CloneRequest(namespace, data_source=submission.read().spec.source)
        case "kubevirt.io", "VirtualMachine" if (submission.new.get("spec") or {}).get("dataVolumeTemplates"):
            vm: VirtualMachine = submission.read()
            templates = tuple(template.spec for template in vm.spec.data_volume_templates or ())
            return CloneRequest(namespace_of(vm), templates, account=find_service_account(vm))
        case _:
            return None


def search_clone_sources(request: CloneRequest) -> Search[CloneSources]:
    """Return a search for the namespaces, other than that of the request, that the request clones data from."""
    namespaces: set[str] = set()
    for spec in request.volumes:
        namespaces |= yield from search_foreign_origins(spec, request.namespace)
    if request.data_source is not None:
        namespaces |= list_foreign_targets(request.data_source, request.namespace)
    return CloneSources(tuple(sorted(namespaces)), request.account)


def explain_forbidden_clone(users: Iterable[str], namespace: str) -> str:
    """Return the error message for a user who may not clone from a namespace, with the missing permission."""
    names = " and ".join(f'"{user}"' for user in users)
    reason = f"User {names} has insufficient permissions in clone source namespace {namespace}"
    return f"{reason}: needs to create datavolumes/source in API group {GROUP} there"


def search_foreign_origins(spec: DataVolumeSpec, namespace: str) -> Search[set[str]]:
    """Return a search for the namespaces, other than `namespace`, that a DataVolume clones data from."""
    if spec.source is not None:
        return set(_namespaces(spec.source, namespace)) - {namespace}
    if spec.source_ref is not None:
        origins = yield from _follow(spec.source_ref.name, spec.source_ref.namespace or namespace)
        return origins - {namespace}
    return set()


def list_foreign_targets(source: DataSourceSource, namespace: str) -> set[str]:
    """Return the namespaces, other than its own, that a DataSource refers to."""
    further = source.data_source.namespace if source.data_source is not None else None
    return {*_namespaces(source, namespace), further or namespace} - {namespace}


def find_service_account(vm: VirtualMachine) -> str:
    """Return the service account that the VM's serviceAccount volume refers to, or `default` if there is none."""
    template = vm.spec.template.spec
    for volume in (template.volumes if template else None) or ():
        if volume.service_account is not None and volume.service_account.service_account_name:
            return volume.service_account.service_account_name
    return "default"


def _namespaces(source: DataVolumeSource | DataSourceSource, namespace: str) -> Iterator[str]:
    if source.pvc is not None:
        yield source.pvc.namespace or namespace
    if source.snapshot is not None:
        yield source.snapshot.namespace or namespace


def _follow(name: str, namespace: str) -> Search[set[str]]:
    """
    Return a search for the namespaces of a DataSource's data.

    If the data cannot be found, the search returns the last namespace that was searched.
    """
    for _ in range(_MAX_CHAIN_LENGTH):
        found = yield Reference("cdi.kubevirt.io", "DataSource", namespace, name)
        if not isinstance(found, DataSource):
            break
        further = found.spec.source.data_source
        if further is None:
            return set(_namespaces(found.spec.source, namespace))
        name, namespace = further.name, further.namespace or namespace
    return {namespace}
