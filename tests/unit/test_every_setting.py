"""
Every setting of the KubeVirt object has an effect, or is listed as without effect and causes a warning.

Settings that only affect guests in pods are listed too, and cause a warning on the standalone server.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import Struct, inspect
from msgspec.structs import fields as list_fields
from tests.support.build import build_spec, build_vm
from tests.support.instances import build_vmi

from virtshape.admission.checkresult import require_valid
from virtshape.admission.kubevirtobject import evaluate_configuration
from virtshape.admission.rules.clusterconfiguration import check_configured
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.description import describe
from virtshape.api.kubevirt.configuration import DeveloperConfiguration, KubeVirtConfiguration
from virtshape.api.kubevirt.kubevirt import KubeVirtSpec
from virtshape.api.kubevirt.noeffect import CLUSTER_ONLY, NO_EFFECT, has_effect, is_cluster_only
from virtshape.api.model import JsonObject
from virtshape.controllers.pods.build import build_launcher_pod
from virtshape.controllers.pods.persistentstateclaim import build_state_claim
from virtshape.controllers.vm.liveupdate import set_hotplug_limits
from virtshape.controllers.vm.newvmi import make_instance
from virtshape.controllers.vmi.nodefit import measure_demand
from virtshape.engine.expand import Shape
from virtshape.engine.hostaccess import check_host_access
from virtshape.engine.machinetype import default_architecture

ROOT = Path(__file__).parents[2]
LABELS = {"team": "blue"}
NAMESPACE = {"matchLabels": LABELS}
DEVICE = "example.com/device"


def shape_domain(configuration: KubeVirtConfiguration, architecture: str = "amd64", **domain: Any) -> JsonObject:
    """Return the domain of the instance that is created for a small VM."""
    vm = build_vm(memory="1Gi", domain=domain)
    _, spec = make_instance(vm, Shape(), configuration, architecture, firmware_uuid="u")
    tree: JsonObject = to_tree(spec)
    return {**tree["domain"], "evictionStrategy": tree["evictionStrategy"]}


def show(*path: str, architecture: str = "amd64", **domain: Any) -> Callable[[KubeVirtConfiguration], Any]:
    """Return a function that finds one value in the domain of a small VM."""

    def observe(configuration: KubeVirtConfiguration) -> Any:
        value: Any = shape_domain(configuration, architecture, **domain)
        for name in path:
            value = value[0] if name == "0" else value.get(name)
        return value

    return observe


def show_pod(*path: str) -> Callable[[KubeVirtConfiguration], Any]:
    """Return a function that finds one value in the pod of a small VM."""

    def observe(configuration: KubeVirtConfiguration) -> Any:
        vmi = build_vmi(domain={"memory": {"guest": "1Gi"}, "cpu": {"sockets": 2}})
        value: Any = to_tree(build_launcher_pod(vmi, configuration, "i", namespace_labels=LABELS))["spec"]
        for name in path:
            value = value[0] if name == "0" else value.get(name)
        return value

    return observe


def show_limits(configuration: KubeVirtConfiguration) -> JsonObject:
    domain = {"cpu": {"sockets": 2}, "memory": {"guest": "1Gi"}}
    spec: JsonObject = to_tree(set_hotplug_limits(build_vmi(domain=domain), configuration).spec)
    return {name: value for name, value in (spec["domain"]["cpu"] | spec["domain"]["memory"]).items() if "max" in name}


def show_problems(architecture: str = "amd64", **domain: Any) -> Callable[[KubeVirtConfiguration], list[str]]:
    """Return a function that lists the fields of a guest that the configuration does not permit."""

    def observe(configuration: KubeVirtConfiguration) -> list[str]:
        spec = build_spec(domain, architecture=architecture, networks=[{"name": "default", "pod": {}}])
        found = [
            *check_configured(spec, "spec", configuration),
            *check_host_access(spec, "spec", configuration, lambda _path: ""),
        ]
        return [problem.field.removeprefix("spec.domain.") for problem in found]

    return observe


def show_claim(configuration: KubeVirtConfiguration) -> str | None:
    spec = build_state_claim(build_vmi(), configuration).spec
    return spec.storage_class_name if spec is not None else None


def show_nodes(configuration: KubeVirtConfiguration) -> JsonObject:
    return dict(measure_demand(build_spec({"memory": {"guest": "1Gi"}}), configuration).node_selector)


class Effect(NamedTuple):
    """The effect of a setting: the observed result without the setting and with it."""

    setting: object
    observe: Callable[[KubeVirtConfiguration], Any]
    without: object
    result: object


def machine_type(architecture: str, usual: str, other: str) -> Effect:
    return Effect(other, show("machine", "type", architecture=architecture), usual, other)


def machine_patterns(architecture: str, machine: str) -> Effect:
    return Effect([machine], show_problems(architecture, machine={"type": machine}), ["machine.type"], [])


BRIDGE = {"interfaces": [{"name": "default", "bridge": {}}]}
GATES = "developerConfiguration.featureGates"
EFFECTS: dict[str, Effect] = {
    "architectureConfiguration.defaultArchitecture": Effect("arm64", default_architecture, "amd64", "arm64"),
    "architectureConfiguration.amd64.machineType": machine_type("amd64", "q35", "pc-q35-7.2"),
    "architectureConfiguration.arm64.machineType": machine_type("arm64", "virt", "virt-7.2"),
    "architectureConfiguration.s390x.machineType": machine_type("s390x", "s390-ccw-virtio", "s390-ccw-virtio-7.2"),
    "architectureConfiguration.amd64.emulatedMachines": machine_patterns("amd64", "pc"),
    "architectureConfiguration.arm64.emulatedMachines": machine_patterns("arm64", "q35"),
    "architectureConfiguration.s390x.emulatedMachines": machine_patterns("s390x", "q35"),
    "machineType": machine_type("amd64", "q35", "pc-q35-7.2"),
    "emulatedMachines": machine_patterns("amd64", "pc"),
    "cpuModel": Effect("Haswell", show("cpu", "model"), "host-model", "Haswell"),
    "cpuRequest": Effect("300m", show("resources", "requests"), {"memory": "1Gi"}, {"memory": "1Gi", "cpu": "300m"}),
    "evictionStrategy": Effect("LiveMigrate", show("evictionStrategy"), "None", "LiveMigrate"),
    "vmRolloutStrategy": Effect("LiveUpdate", show_limits, {}, {"maxSockets": 8, "maxGuest": "4Gi"}),
    "liveUpdateConfiguration.maxHotplugRatio": Effect(3, show_limits, {}, {"maxSockets": 6, "maxGuest": "3Gi"}),
    "liveUpdateConfiguration.maxCpuSockets": Effect(5, show_limits, {}, {"maxSockets": 5, "maxGuest": "4Gi"}),
    "liveUpdateConfiguration.maxGuest": Effect("2Gi", show_limits, {}, {"maxSockets": 8, "maxGuest": "2Gi"}),
    "network.defaultNetworkInterface": Effect(
        "masquerade",
        show("devices", "interfaces", "0"),
        {"name": "default", "bridge": {}},
        {"name": "default", "masquerade": {}},
    ),
    "network.permitBridgeInterfaceOnPodNetwork": Effect(
        False, show_problems(devices=BRIDGE), [], ["devices.interfaces[0].name"]
    ),
    "permittedHostDevices.pciHostDevices": Effect(
        [{"pciVendorSelector": "1:2", "resourceName": DEVICE}],
        show_problems(devices={"gpus": [{"name": "g", "deviceName": DEVICE}]}),
        ["devices.gpus[0].deviceName"],
        [],
    ),
    "permittedHostDevices.mediatedDevices": Effect(
        [{"mdevNameSelector": "T4", "resourceName": DEVICE}],
        show_problems(devices={"gpus": [{"name": "g", "deviceName": DEVICE}]}),
        ["devices.gpus[0].deviceName"],
        [],
    ),
    "permittedHostDevices.usb": Effect(
        [{"resourceName": DEVICE}],
        show_problems(devices={"gpus": [{"name": "g", "deviceName": DEVICE}]}),
        ["devices.gpus[0].deviceName"],
        [],
    ),
    "virtualMachineOptions.disableSerialConsoleLog": Effect({}, show("devices", "logSerialConsole"), None, False),
    "additionalGuestMemoryOverheadRatio": Effect(
        "2", show_pod("containers", "0", "resources", "requests", "memory"), "1302Mi", "1580Mi"
    ),
    "autoCPULimitNamespaceLabelSelector": Effect(
        NAMESPACE, show_pod("containers", "0", "resources", "limits", "cpu"), None, "2"
    ),
    "imagePullPolicy": Effect("Never", show_pod("containers", "0", "imagePullPolicy"), None, "Never"),
    "defaultRuntimeClass": Effect("kata", show_pod("runtimeClassName"), None, "kata"),
    "selinuxLauncherType": Effect("guest_t", show_pod("securityContext", "seLinuxOptions"), None, {"type": "guest_t"}),
    "seccompConfiguration.virtualMachineInstanceProfile.customProfile.localhostProfile": Effect(
        "p.json",
        show_pod("securityContext", "seccompProfile"),
        {"type": "RuntimeDefault"},
        {"type": "Localhost", "localhostProfile": "p.json"},
    ),
    "vmStateStorageClass": Effect("fast", show_claim, None, "fast"),
    GATES: Effect(["VSOCK"], show_problems(devices={"autoattachVSOCK": True}), ["devices.autoattachVSOCK"], []),
    "developerConfiguration.useEmulation": Effect(
        True,
        show_pod("containers", "0", "resources", "limits"),
        {"devices.kubevirt.io/kvm": "1"},
        None,
    ),
    "developerConfiguration.cpuAllocationRatio": Effect(
        4, show_pod("containers", "0", "resources", "requests", "cpu"), "200m", "500m"
    ),
    "developerConfiguration.memoryOvercommit": Effect(200, show("resources", "requests", "memory"), "1Gi", "512Mi"),
    "developerConfiguration.nodeSelectors": Effect({"zone": "a"}, show_nodes, {}, {"zone": "a"}),
}
CONTROLLERS = "tests/integration/controllers"
TESTED_ELSEWHERE = {
    "instancetype.missingReference": f"{CONTROLLERS}/test_references.py::test_vm_waits_for_its_instancetype",
    "instancetype.referencePolicy": (
        f"{CONTROLLERS}/test_references.py::test_reference_policy_decides_which_vms_are_expanded"
    ),
    "instancetype.revisionName": (
        f"{CONTROLLERS}/test_status_revisions.py::test_spec_is_never_written_and_the_vm_keeps_its_revision"
    ),
    "instancetype.revisionSharing": (
        f"{CONTROLLERS}/test_shared_revisions.py::test_vms_of_a_namespace_share_one_revision_of_each_object"
    ),
    "commonInstancetypesDeployment.enabled": (
        f"{CONTROLLERS}/test_catalog_sync.py::test_disabled_catalog_is_removed_except_changed_objects"
    ),
    "developerConfiguration.disabledFeatureGates": (
        "tests/unit/engine/test_hostaccess.py::test_host_access_field_requires_its_feature_gate"
    ),
    "seccompConfiguration.virtualMachineInstanceProfile.customProfile.runtimeDefaultProfile": (
        "tests/unit/controllers/pods/test_build.py::test_launcher_pod_has_the_configured_seccomp_profile"
    ),
}
"""Settings whose effect cannot be shown in the table above, each with the test that shows its effect."""

DEPRECATED = {
    "configuration.network.permitSlirpInterface": (
        "spec.configuration.network.permitSlirpInterface is deprecated, slirp is no longer supported"
    ),
    "configuration.architectureConfiguration.ppc64le": (
        "spec.configuration.architectureConfiguration.ppc64le is deprecated, ppc64le is no longer supported"
    ),
}
"""Settings whose warning says why they have no effect."""


def list_settings(struct: type[Struct]) -> Iterator[tuple[str, bool]]:
    """Yield the path of every setting, and True if it has an effect."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        section = _find_section(field.type)
        if section is None or not has_effect(struct, field.encode_name):
            yield field.encode_name, has_effect(struct, field.encode_name)
        else:
            for below, effective in list_settings(section):
                yield f"{field.encode_name}.{below}", effective


def list_cluster_only(struct: type[Struct]) -> Iterator[str]:
    """Yield the path of every setting that only affects guests in pods."""
    for field in list_fields(struct):
        section = _find_section(inspect.type_info(field.type))
        if is_cluster_only(struct, field.encode_name):
            yield field.encode_name
        elif section is not None and has_effect(struct, field.encode_name):
            yield from (f"{field.encode_name}.{below}" for below in list_cluster_only(section))


def _find_section(info: inspect.Type) -> type[Struct] | None:
    for option in info.types if isinstance(info, inspect.UnionType) else (info,):
        if isinstance(option, inspect.StructType) and option.fields and "kubevirt" in option.cls.__module__:
            return option.cls
    return None


def nest(path: str, value: object) -> JsonObject:
    first, _, rest = path.partition(".")
    return {first: nest(rest, value) if rest else value}


def test_every_setting_is_tested_or_listed_as_without_effect() -> None:
    effective = {path for path, has in list_settings(KubeVirtConfiguration) if has}
    assert effective == {*EFFECTS, *TESTED_ELSEWHERE}


@pytest.mark.parametrize(("path", "effect"), EFFECTS.items(), ids=EFFECTS)
def test_each_setting_has_its_expected_effect(path: str, effect: Effect) -> None:
    configured = from_tree(nest(path, effect.setting), KubeVirtConfiguration)
    assert (effect.observe(KubeVirtConfiguration()), effect.observe(configured)) == (effect.without, effect.result)


@pytest.mark.parametrize(("path", "test"), TESTED_ELSEWHERE.items(), ids=TESTED_ELSEWHERE)
def test_listed_test_of_a_setting_exists_and_sets_the_setting(path: str, test: str) -> None:
    file, _, name = test.partition("::")
    functions = read_functions(ROOT / file)
    assert name in functions
    assert path.rpartition(".")[2] in list_words(name, functions)


def read_functions(file: Path) -> dict[str, ast.AST]:
    """Return the functions of a module by name, with their decorators."""
    body = ast.parse(file.read_text()).body
    return {one.name: one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}


def list_words(name: str, functions: dict[str, ast.AST]) -> set[str]:
    """Return the strings, keywords and names in a function and in functions of the same module that it calls."""
    words: set[str] = set()
    waiting, seen = [name], set[str]()
    while waiting:
        current = waiting.pop()
        seen.add(current)
        for node in ast.walk(functions[current]):
            match node:
                case ast.Constant(value=str() as word) | ast.keyword(arg=str() as word) | ast.Name(id=word):
                    words.add(word)
        waiting += [word for word in words if word in functions and word not in seen]
    return words


@pytest.mark.parametrize("path", [path for path, has in list_settings(KubeVirtSpec) if not has])
def test_setting_without_effect_causes_a_warning(path: str) -> None:
    found = evaluate_configuration({"spec": nest(path, make_value(path))}, None).violations
    assert require_valid(found) == [DEPRECATED.get(path, f"spec.{path}: not supported by virtshape; it has no effect")]


def make_value(path: str) -> object:
    """Return a valid value of a setting."""
    info: inspect.Type = inspect.type_info(KubeVirtSpec)
    for name in path.split("."):
        assert isinstance(info, inspect.StructType)
        (field,) = [each for each in info.fields if each.encode_name == name]
        options = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
        info = next(each for each in options if not isinstance(each, inspect.NoneType))
    match info:
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.ListType():
            return []
        case inspect.DictType():
            return {}
        case inspect.StructType(fields=fields):
            return {each.encode_name: "1G" for each in fields if each.required}  # all required fields are quantities
        case inspect.StrType():
            return "1"  # also valid as a ratio
        case _:
            return True if isinstance(info, inspect.BoolType) else 1


@pytest.mark.parametrize("path", list(list_cluster_only(KubeVirtSpec)))
def test_setting_for_pods_causes_a_warning_only_on_the_standalone_server(path: str) -> None:
    tree: JsonObject = {"spec": nest(path, make_value(path))}
    reason = "only affects guests in pods on a cluster; it has no effect on this server"
    found = evaluate_configuration(tree, None, is_standalone=True).violations
    assert require_valid(found) == [f"spec.{path}: {reason}"]
    assert evaluate_configuration(tree, None).violations == []


def test_settings_for_pods_are_those_that_only_the_pod_controllers_read() -> None:
    readers = find_readers()
    for struct in (KubeVirtConfiguration, DeveloperConfiguration):
        fields = {field.encode_name: field.name for field in list_fields(struct)}
        only_pods = {
            name
            for name, attribute in fields.items()
            if readers[attribute] and readers[attribute] <= {"controllers/pods"}
        }
        assert only_pods == CLUSTER_ONLY[struct]


def find_readers() -> dict[str, set[str]]:
    """Return the packages that read each attribute of a variable with a configuration."""
    readers: dict[str, set[str]] = defaultdict(set)
    for file in (ROOT / "src/virtshape").rglob("*.py"):
        if file.name == "kubevirtsettings.py":
            continue  # validates settings, and acts on none of them
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Attribute(value=ast.Name(id="configuration" | "developer"), attr=name):
                    readers[name].add(str(file.parent.relative_to(ROOT / "src/virtshape")))
    return readers


@pytest.mark.parametrize("listed", [NO_EFFECT, CLUSTER_ONLY], ids=["no effect", "cluster only"])
def test_every_listed_setting_is_a_field(listed: dict[type[Struct], frozenset[str]]) -> None:
    for struct, names in listed.items():
        info = inspect.type_info(struct)
        assert isinstance(info, inspect.StructType)
        assert names <= {field.encode_name for field in info.fields}, struct


def test_description_says_that_a_setting_has_no_effect() -> None:
    texts = describe(KubeVirtConfiguration).fields
    mark = "Not supported by virtshape; it has no effect."
    assert texts["migrations"] == f"Settings of live migrations. {mark}"
    assert not texts["cpu_model"].endswith(mark)


def test_description_says_that_a_setting_is_only_for_clusters() -> None:
    texts = describe(KubeVirtConfiguration).fields
    mark = "Only affects guests in pods on a cluster."
    assert texts["default_runtime_class"] == f"Runtime class of the pods that VMs run in. {mark}"
    assert not texts["cpu_model"].endswith(mark)
