"""Defaults that a VMI gets at admission, in addition to those of an expanded VM."""

import pytest
from tests.support.build import build_preference_spec, build_spec

from virtshape.api.codec import encode, from_tree, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.features import FeatureHyperv
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.engine.apply import apply
from virtshape.engine.draft import Draft
from virtshape.engine.vmidefaults import apply_instance_defaults

UUID = "5d307ca9-b3ef-428c-8861-06e72d69f223"
ON: JsonObject = {"enabled": True}
OFF: JsonObject = {"enabled": False}
BARE: JsonObject = {
    "cpu": {"model": "host-model"},
    "features": {"acpi": ON},
    "firmware": {"uuid": UUID},
    "devices": {},
}


def complete(domain: JsonObject | None = None, configuration: JsonObject | None = None, **spec: object) -> JsonObject:
    built = build_spec(domain, **spec)
    config = None if configuration is None else from_tree(configuration, KubeVirtConfiguration)
    apply_instance_defaults(built, config, firmware_uuid=UUID)
    tree: JsonObject = to_tree(built.domain)
    return tree


def test_empty_domain_gets_all_instance_defaults() -> None:
    assert complete() == BARE


@pytest.mark.parametrize(
    ("own", "configured", "architecture", "model"),
    [
        (None, None, "amd64", "host-model"),
        (None, None, None, "host-model"),
        (None, None, "s390x", "host-model"),
        (None, None, "arm64", "host-passthrough"),
        (None, "Haswell", "amd64", "Haswell"),
        ("Skylake-Server", "Haswell", "amd64", "Skylake-Server"),
    ],
)
def test_default_cpu_model_is_set_only_if_unset(
    own: str | None, configured: str | None, architecture: str | None, model: str
) -> None:
    domain = complete({"cpu": {"model": own}}, {"cpuModel": configured}, architecture=architecture)
    assert domain["cpu"] == {"model": model}


def test_max_sockets_and_max_guest_have_no_default() -> None:
    domain = complete({"cpu": {"sockets": 1}, "memory": {"guest": "1Gi"}})
    assert domain["cpu"] == {"sockets": 1, "model": "host-model"}
    assert domain["memory"] == {"guest": "1Gi"}


@pytest.mark.parametrize(("architecture", "bus"), [("amd64", "sata"), ("arm64", "virtio"), ("s390x", "virtio")])
def test_default_disk_bus_depends_on_the_architecture(architecture: str, bus: str) -> None:
    disks = [
        {"name": "a"},
        {"name": "b", "disk": {}},
        {"name": "c", "cdrom": {}},
        {"name": "d", "lun": {}},
        {"name": "e", "disk": {"bus": "scsi"}},
    ]
    assert complete({"devices": {"disks": disks}}, architecture=architecture)["devices"]["disks"] == [
        {"name": "a", "disk": {"bus": bus}},
        {"name": "b", "disk": {"bus": bus}},
        {"name": "c", "cdrom": {"bus": bus}},
        {"name": "d", "lun": {"bus": bus}},
        {"name": "e", "disk": {"bus": "scsi"}},
    ]


@pytest.mark.parametrize(
    ("features", "result"),
    [
        ({"acpi": OFF}, {"acpi": OFF}),
        ({"apic": {}, "smm": {}, "pvspinlock": {}}, {"acpi": ON, "apic": ON, "smm": ON, "pvspinlock": ON}),
        ({"apic": {"endOfInterrupt": True}}, {"acpi": ON, "apic": {"enabled": True, "endOfInterrupt": True}}),
        ({"smm": OFF, "kvm": {}}, {"acpi": ON, "smm": OFF, "kvm": {}}),
        ({"hyperv": {}}, {"acpi": ON, "hyperv": {}}),
    ],
    ids=["disabled", "present", "with settings", "disabled and without an enabled field", "no enlightenment"],
)
def test_feature_with_an_unset_enabled_field_is_enabled(features: JsonObject, result: JsonObject) -> None:
    assert complete({"features": features})["features"] == result


@pytest.mark.parametrize("name", FeatureHyperv.__struct_fields__)
def test_hyperv_feature_with_an_unset_enabled_field_is_enabled(name: str) -> None:
    hyperv = complete({"features": {"hyperv": {name: {}}}})["features"]["hyperv"]
    assert hyperv[name]["enabled"] is True


@pytest.mark.parametrize(
    ("hyperv", "result"),
    [
        ({"relaxed": {}}, {"relaxed": ON}),
        ({"evmcs": {}}, {"evmcs": ON, "vapic": ON}),
        ({"ipi": {}}, {"ipi": ON, "vpindex": ON}),
        ({"synic": {}}, {"synic": ON, "vpindex": ON}),
        ({"reset": {}}, {"reset": ON, "synic": ON, "vpindex": ON}),
        (
            {"synictimer": {"direct": {}}},
            {"synictimer": {"enabled": True, "direct": ON}, "synic": ON, "vpindex": ON},
        ),
        (
            {"tlbflush": {"direct": {}, "extended": OFF}},
            {"tlbflush": {"enabled": True, "direct": ON, "extended": OFF}, "vpindex": ON},
        ),
        ({"synic": OFF}, {"synic": OFF}),
        ({"synic": {}, "vpindex": OFF}, {"synic": ON, "vpindex": OFF}),
        ({"spinlocks": {}}, {"spinlocks": {"enabled": True, "spinlocks": 4096}}),
        ({"spinlocks": {"spinlocks": 8191}}, {"spinlocks": {"enabled": True, "spinlocks": 8191}}),
        ({"spinlocks": OFF}, {"spinlocks": OFF}),
        ({"vendorid": {"vendorid": "x"}}, {"vendorid": {"enabled": True, "vendorid": "x"}}),
    ],
    ids=lambda hyperv: "+".join(hyperv) if isinstance(hyperv, dict) else None,
)
def test_hyperv_features_enable_their_dependencies(hyperv: JsonObject, result: JsonObject) -> None:
    assert complete({"features": {"hyperv": hyperv}})["features"]["hyperv"] == result


def test_timers_with_an_unset_present_field_are_enabled() -> None:
    timer = {
        "hpet": {"present": False},
        "hyperv": {},
        "kvm": {},
        "pit": {"tickPolicy": "delay"},
        "rtc": {"track": "wall"},
    }
    assert complete({"clock": {"utc": {}, "timer": timer}})["clock"] == {
        "utc": {},
        "timer": {
            "hpet": {"present": False},
            "hyperv": {"present": True},
            "kvm": {"present": True},
            "pit": {"present": True, "tickPolicy": "delay"},
            "rtc": {"present": True, "track": "wall"},
        },
    }


@pytest.mark.parametrize("clock", [None, {}, {"utc": {}}, {"timer": {}}])
def test_no_timer_is_added_by_default(clock: JsonObject | None) -> None:
    assert complete({"clock": clock}).get("clock") == clock


def test_defaults_do_not_replace_an_existing_firmware_uuid() -> None:
    own = {"uuid": "6d307ca9-b3ef-428c-8861-06e72d69f223", "serial": "s"}
    assert complete({"firmware": own})["firmware"] == own


@pytest.mark.parametrize(
    ("domain", "percent", "request_"),
    [
        pytest.param({"memory": {"guest": "2Gi"}}, None, "2Gi", id="guest memory"),
        pytest.param({"memory": {"guest": "2Gi"}}, 100, "2Gi", id="not overcommitted"),
        pytest.param({"memory": {"guest": "3Gi"}}, 150, "2Gi", id="overcommitted"),
        pytest.param({"memory": {"guest": "3G"}}, 150, "2G", id="overcommitted, decimal"),
        pytest.param({"memory": {"guest": "2Gi", "hugepages": {}}}, 150, "2Gi", id="hugepages are not overcommitted"),
        pytest.param({"memory": {"guest": "2Gi"}, "resources": {"limits": {"memory": "3Gi"}}}, 150, "3Gi", id="limit"),
        pytest.param(
            {"memory": {"guest": "2Gi"}, "resources": {"requests": {"memory": "1Gi"}}},
            150,
            "1Gi",
            id="request of the VM",
        ),
        pytest.param({}, None, None, id="nothing"),
    ],
)
def test_default_memory_request_is_set_only_if_unset(
    domain: JsonObject, percent: int | None, request_: str | None
) -> None:
    configuration = {"developerConfiguration": {"memoryOvercommit": percent}}
    resources = complete(domain, configuration).get("resources", {})
    assert resources.get("requests", {}).get("memory") == request_


def test_defaults_do_not_replace_existing_resource_requests() -> None:
    domain = {"memory": {"guest": "2Gi"}, "resources": {"requests": {"memory": "1Gi", "cpu": "1"}}}
    assert complete(domain)["resources"] == {"requests": {"memory": "1Gi", "cpu": "1"}}


def test_instance_defaults_do_not_modify_the_preference() -> None:
    preference = build_preference_spec(
        features={"preferredAcpi": {}, "preferredSmm": {}, "preferredHyperv": {"synictimer": {"direct": {}}}},
        clock={"preferredTimer": {"hpet": {}, "rtc": {}}},
        firmware={"preferredEfi": {}},
    )
    before = encode(preference)
    spec = build_spec()
    assert apply(Draft(ObjectMeta(), spec), None, preference) == []
    apply_instance_defaults(spec, None, firmware_uuid=UUID)
    assert encode(preference) == before


def test_applying_defaults_twice_has_the_same_result_as_applying_them_once() -> None:
    spec = build_spec({"memory": {"guest": "1Gi"}, "features": {"hyperv": {"synictimer": {}}}})
    apply_instance_defaults(spec, None, firmware_uuid=UUID)
    once = encode(spec)
    apply_instance_defaults(spec, None, firmware_uuid="6d307ca9-b3ef-428c-8861-06e72d69f223")
    assert encode(spec) == once
