"""Columns of nodes, pods, deployments, services, revisions, leases and events."""

from virtshape.api.model import JsonObject
from virtshape.apiserver.encoding.age import format_age
from virtshape.apiserver.encoding.columns.column import AGE, NAME, Cell, Column, computed

_ROLE = "node-role.kubernetes.io/"


def _show_or_none(value: str | None) -> Cell:
    return value or "<none>"


def _show_labels(labels: dict[str, str] | None) -> Cell:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or "<none>"


def _show_pod_readiness(containers: list[JsonObject] | None, statuses: list[JsonObject] | None) -> Cell:
    ready = sum(1 for status in statuses or () if status.get("ready"))
    return f"{ready}/{len(containers or ())}"


def _show_pod_status(
    phase: str | None, reason: str | None, statuses: list[JsonObject] | None, deleted: str | None
) -> Cell:
    if deleted:
        return "Unknown" if reason == "NodeLost" else "Terminating"
    shown = reason or phase or ""
    for status in reversed(statuses or ()):
        state = status.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated") or {}
        shown = waiting.get("reason") or terminated.get("reason") or shown
    return shown


def _show_restarts(statuses: list[JsonObject] | None) -> Cell:
    return str(sum(status.get("restartCount", 0) for status in statuses or ()))


def _show_gates(gates: list[JsonObject] | None, conditions: list[JsonObject] | None) -> Cell:
    if not gates:
        return "<none>"
    true = {condition.get("type") for condition in conditions or () if condition.get("status") == "True"}
    return f"{sum(1 for gate in gates if gate.get('conditionType') in true)}/{len(gates)}"


def _show_node_status(ready: str | None, is_unschedulable: bool | None) -> Cell:
    status = {"True": "Ready", None: "Unknown"}.get(ready, "NotReady")
    return f"{status},SchedulingDisabled" if is_unschedulable else status


def _show_roles(labels: dict[str, str] | None) -> Cell:
    roles = {label.removeprefix(_ROLE) for label in labels or () if label.startswith(_ROLE)}
    if role := (labels or {}).get("kubernetes.io/role"):
        roles.add(role)
    return ",".join(sorted(roles - {""})) or "<none>"


def _show_ready_replicas(ready: int | None, wanted: int | None) -> Cell:
    return f"{ready or 0}/{1 if wanted is None else wanted}"


def _show_number(value: int | None) -> Cell:
    return value or 0


def _show_names(containers: list[JsonObject] | None) -> Cell:
    return ",".join(container.get("name", "") for container in containers or ())


def _show_images(containers: list[JsonObject] | None) -> Cell:
    return ",".join(container.get("image", "") for container in containers or ())


def _show_external_address(
    type_: str | None, addresses: list[str] | None, name: str | None, ingress: list[JsonObject] | None
) -> Cell:
    if type_ == "ExternalName":
        return name or "<none>"
    given = (
        [entry.get("ip") or entry.get("hostname") or "" for entry in ingress or ()] if type_ == "LoadBalancer" else []
    )
    nothing = "<pending>" if type_ == "LoadBalancer" else "<none>"
    return ",".join([*given, *(addresses or ())]) or nothing


def _show_ports(ports: list[JsonObject] | None) -> Cell:
    return ",".join(_write_port(port) for port in ports or ()) or "<none>"


def _write_port(port: JsonObject) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol') or 'TCP'}"


def _show_owner(owners: list[JsonObject] | None) -> Cell:
    for owner in owners or ():
        if owner.get("controller"):
            group = str(owner.get("apiVersion", "")).rpartition("/")[0]
            kind = str(owner.get("kind", "")).lower()
            return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"
    return "<none>"


def _show_last_seen(last: str | None, series: str | None, time: str | None, now: float) -> Cell:
    return format_age(series or last or time, now)


def _show_first_seen(first: str | None, time: str | None, now: float) -> Cell:
    return format_age(first or time, now)


def _show_involved(kind: str | None, name: str | None) -> Cell:
    shown = (kind or "").lower()
    return f"{shown}/{name}" if name else shown


def _show_source(component: str | None, host: str | None, reporter: str | None) -> Cell:
    shown = component or reporter or ""
    return f"{shown}, {host}" if host else shown


def _show_message(message: str | None) -> Cell:
    return (message or "").strip()


def _show_count(count: int | None, series: int | None) -> Cell:
    return str(series or count or 1)


def _show_text(value: str | None) -> Cell:
    return value or ""


NODE = (
    NAME,
    computed(
        "Status",
        "Whether the node is ready.",
        _show_node_status,
        ".status.conditions[?(@.type=='Ready')].status",
        ".spec.unschedulable",
    ),
    computed("Roles", "Roles of the node.", _show_roles, ".metadata.labels"),
    AGE,
    computed("Version", "Version of the kubelet.", _show_text, ".status.nodeInfo.kubeletVersion"),
    computed(
        "Internal-IP",
        "Cluster-internal address.",
        _show_or_none,
        ".status.addresses[?(@.type=='InternalIP')].address",
    ).wide,
    computed(
        "External-IP",
        "External address.",
        _show_or_none,
        ".status.addresses[?(@.type=='ExternalIP')].address",
    ).wide,
    computed("OS-Image", "Operating system.", _show_text, ".status.nodeInfo.osImage").wide,
    computed("Kernel-Version", "Kernel version.", _show_text, ".status.nodeInfo.kernelVersion").wide,
    computed("Container-Runtime", "Container runtime.", _show_text, ".status.nodeInfo.containerRuntimeVersion").wide,
)
POD = (
    NAME,
    computed(
        "Ready",
        "Ready and total number of containers.",
        _show_pod_readiness,
        ".spec.containers",
        ".status.containerStatuses",
    ),
    computed(
        "Status",
        "Status of the pod.",
        _show_pod_status,
        ".status.phase",
        ".status.reason",
        ".status.containerStatuses",
        ".metadata.deletionTimestamp",
    ),
    computed("Restarts", "Number of container restarts.", _show_restarts, ".status.containerStatuses"),
    AGE,
    computed("IP", "Address of the pod.", _show_or_none, ".status.podIP").wide,
    computed("Node", "Node that the pod runs on.", _show_or_none, ".spec.nodeName").wide,
    computed("Nominated Node", "Nominated node.", _show_or_none, ".status.nominatedNodeName").wide,
    computed(
        "Readiness Gates", "Readiness gates that are met.", _show_gates, ".spec.readinessGates", ".status.conditions"
    ).wide,
)
DEPLOYMENT = (
    NAME,
    computed(
        "Ready", "Ready and total number of pods.", _show_ready_replicas, ".status.readyReplicas", ".spec.replicas"
    ),
    computed("Up-to-date", "Up-to-date pods.", _show_number, ".status.updatedReplicas"),
    computed("Available", "Available pods.", _show_number, ".status.availableReplicas"),
    AGE,
    computed("Containers", "Names of the containers.", _show_names, ".spec.template.spec.containers").wide,
    computed("Images", "Images of the containers.", _show_images, ".spec.template.spec.containers").wide,
    computed("Selector", "Pod selector.", _show_labels, ".spec.selector.matchLabels").wide,
)
SERVICE = (
    NAME,
    computed("Type", "Type of the service.", _show_text, ".spec.type"),
    computed("Cluster-IP", "Cluster-internal address.", _show_or_none, ".spec.clusterIP"),
    computed(
        "External-IP",
        "External addresses.",
        _show_external_address,
        ".spec.type",
        ".spec.externalIPs",
        ".spec.externalName",
        ".status.loadBalancer.ingress",
    ),
    computed("Port(s)", "Ports of the Service.", _show_ports, ".spec.ports"),
    AGE,
    computed("Selector", "Pod selector.", _show_labels, ".spec.selector").wide,
)
REVISION = (
    NAME,
    computed("Controller", "Owner of the revision.", _show_owner, ".metadata.ownerReferences"),
    computed("Revision", "Revision number.", _show_number, ".revision"),
    AGE,
)
LEASE = (NAME, computed("Holder", "Holder of the lease.", _show_text, ".spec.holderIdentity"), AGE)
EVENT = (
    Column(
        "Last Seen",
        "string",
        (".lastTimestamp", ".series.lastObservedTime", ".eventTime"),
        "Time since the event last occurred.",
        show=_show_last_seen,
        needs_clock=True,
    ),
    computed("Type", "Normal or Warning.", _show_text, ".type"),
    computed("Reason", "Reason for the event.", _show_text, ".reason"),
    computed(
        "Object", "Object that the event is about.", _show_involved, ".involvedObject.kind", ".involvedObject.name"
    ),
    computed("Subobject", "Field of the object that the event is about.", _show_text, ".involvedObject.fieldPath").wide,
    computed(
        "Source",
        "Component that reported the event.",
        _show_source,
        ".source.component",
        ".source.host",
        ".reportingComponent",
    ).wide,
    computed("Message", "Message of the event.", _show_message, ".message"),
    Column(
        "First Seen",
        "string",
        (".firstTimestamp", ".eventTime"),
        "Time since the event first occurred.",
        priority=1,
        show=_show_first_seen,
        needs_clock=True,
    ),
    computed("Count", "Number of occurrences.", _show_count, ".count", ".series.count").wide,
    NAME.wide,
)
