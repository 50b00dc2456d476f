import re

import pytest
from tests.support.commands import call_virtctl

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject

MEMORY = {"memory": {"guest": "512Mi"}}
DS = "--volume-import=type:ds,src:d,name:root"
PVC = "--volume-pvc=src:other"


def _spec(*arguments: str) -> JsonObject:
    return call_virtctl("create", "vm", *arguments).spec


def _inferred(volume: str, policy: str | None = "Ignore") -> JsonObject:
    return {"inferFromVolume": volume} | ({"inferFromVolumeFailurePolicy": policy} if policy else {})


def test_vm_without_flags_has_default_values() -> None:
    assert call_virtctl("create", "vm", "--name=web", "-n", "shop").tree == {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "runStrategy": "Always",
            "template": {"spec": {"domain": {"devices": {}} | MEMORY, "terminationGracePeriodSeconds": 180}},
        },
    }


@pytest.mark.parametrize("arguments", [[], ["--name="]])
def test_created_vm_without_a_name_gets_a_generated_name(arguments: list[str]) -> None:
    name = call_virtctl("create", "vm", *arguments).tree["metadata"]["name"]
    assert re.fullmatch("vm-[bcdfghjklmnpqrstvwxz2456789]{5}", name)


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_created_vm_manifest_can_be_decoded(output: str) -> None:
    tree = call_virtctl("create", "vm", DS, PVC, "--user=u", "--access-cred=src:k", "-o", output).tree
    assert from_tree(tree, VirtualMachine).spec.instancetype is not None


@pytest.mark.parametrize(
    ("arguments", "domain"),
    [
        pytest.param(["--memory=1.5Gi"], {"memory": {"guest": "1536Mi"}}, id="memory"),
        pytest.param(["--vcpus=4", "--memory=1Gi"], {"cpu": {"guest": 4}, "memory": {"guest": "1Gi"}}, id="both"),
        pytest.param(["--vcpus", "4"], {"cpu": {"guest": 4}} | MEMORY, id="vCPUs"),
        pytest.param(["--instancetype=x"], {}, id="instance type"),
        pytest.param(["--instancetype=x", "--vcpus=4"], {"cpu": {"guest": 4}}, id="vCPUs with an instance type"),
        pytest.param(
            ["--instancetype=cx1.custom", "--vcpus=4", "--memory=4Gi"],
            {"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}},
            id="size with an instance type without a size",
        ),
        pytest.param([DS, "--infer-instancetype"], {}, id="inferred instance type"),
        pytest.param([DS, "--infer-instancetype=false"], MEMORY, id="not inferred"),
        pytest.param([DS, "--infer-preference"], MEMORY, id="only the preference inferred"),
    ],
)
def test_size_flags_set_vcpus_and_memory_of_the_domain(arguments: list[str], domain: JsonObject) -> None:
    assert _spec(*arguments)["template"]["spec"]["domain"] == {"devices": {}} | domain


@pytest.mark.parametrize(
    ("arguments", "instancetype", "preference"),
    [
        pytest.param([], None, None, id="none"),
        pytest.param(["--instancetype=x", "--preference=y"], {"name": "x"}, {"name": "y"}, id="names"),
        pytest.param(
            ["--instancetype=VirtualMachineInstancetype/x", "--preference=virtualmachineClusterPreference/y"],
            {"name": "x", "kind": "virtualmachineinstancetype"},
            {"name": "y", "kind": "virtualmachineclusterpreference"},
            id="kinds in any case",
        ),
        pytest.param([DS], _inferred("root"), _inferred("root"), id="inferred by default"),
        pytest.param([DS, "--memory=1Gi"], None, _inferred("root"), id="not inferred with memory"),
        pytest.param([DS, "--vcpus=2"], None, _inferred("root"), id="not inferred with vCPUs"),
        pytest.param(
            [DS, "--infer-instancetype", "--infer-preference"],
            _inferred("root", None),
            _inferred("root", None),
            id="inferred on request",
        ),
        pytest.param([DS, "--infer-instancetype=false", "--infer-preference=false"], None, None, id="not inferred"),
        pytest.param([DS, PVC], _inferred("other"), _inferred("other"), id="from the first volume"),
        pytest.param(
            ["--volume-import=type:ds,src:d,name:root,bootorder:1", PVC + ",bootorder:2"],
            _inferred("root"),
            _inferred("root"),
            id="from the volume that boots first",
        ),
        pytest.param(
            [DS, PVC, "--infer-instancetype-from=root", "--infer-preference-from=other"],
            _inferred("root", None),
            _inferred("other", None),
            id="from the named volumes",
        ),
        pytest.param([PVC, "--infer-instancetype-from="], _inferred("other", None), _inferred("other"), id="no name"),
        pytest.param(["--volume-containerdisk=src:a", PVC], None, None, id="not past a container disk"),
        pytest.param(["--user=u"], None, None, id="not from cloud-init"),
        pytest.param(["--volume-import=type:blank,size:1Gi"], None, None, id="not from a blank disk"),
        pytest.param(
            ["--volume-import=type:snapshot,src:a/b,name:s"], _inferred("s"), _inferred("s"), id="from a snapshot"
        ),
        pytest.param(
            ["--vcpus=2", "--memory=1Gi", PVC, "--infer-instancetype"],
            _inferred("other", None),
            _inferred("other"),
            id="inferred with a size",
        ),
    ],
)
def test_created_vm_has_named_or_inferred_instancetype_and_preference(
    arguments: list[str], instancetype: JsonObject | None, preference: JsonObject | None
) -> None:
    spec = _spec(*arguments)
    assert (spec.get("instancetype"), spec.get("preference")) == (instancetype, preference)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param(["--instancetype="], "--instancetype: the name is empty", id="empty name"),
        pytest.param(["--instancetype=a/b/c"], "more than one slash", id="slashes"),
        pytest.param(["--instancetype=vmcf/x"], 'invalid kind "vmcf": must be', id="instance type's kind"),
        pytest.param(
            ["--preference=virtualmachineinstancetype/x"], "--preference: invalid kind", id="preference's kind"
        ),
        pytest.param(["--memory="], "--memory: ", id="no memory"),
        pytest.param(["--memory=1GiB"], "--memory: ", id="invalid memory"),
        pytest.param(["--vcpus=0"], "'--vcpus': invalid number 0: must be 1-", id="no vCPUs"),
        pytest.param(["--run-strategy="], "'--run-strategy': unknown value \"\"", id="no run strategy"),
        pytest.param(["--termination-grace-period=1m"], "must be an integer", id="grace period"),
        pytest.param(
            ["--memory=1Gi", "--instancetype=x"], "--memory and --instancetype are mutually exclusive", id="two sizes"
        ),
        pytest.param(
            ["--memory=1Gi", "--infer-instancetype=false"], "are mutually exclusive", id="two sizes, one disabled"
        ),
        pytest.param(["--preference=x", "--infer-preference"], "are mutually exclusive", id="two preferences"),
        pytest.param(
            [PVC, "--infer-preference", "--infer-preference-from=other"], "are mutually exclusive", id="two inferences"
        ),
        pytest.param(["--infer-instancetype"], "no volume to infer from", id="nothing to infer from"),
        pytest.param(
            [PVC, "--infer-instancetype-from=othr"],
            'volume "othr" not found; did you mean "other"?',
            id="unknown volume",
        ),
        pytest.param(
            ["--volume-containerdisk=src:a,name:c", PVC, "--infer-preference"],
            'cannot infer from the volume "c"',
            id="container disk",
        ),
        pytest.param(["stray"], "stray", id="unexpected argument"),
    ],
)
def test_invalid_create_vm_flags_are_rejected(arguments: list[str], error: str) -> None:
    outcome = call_virtctl("create", "vm", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert error in outcome.err


def test_size_outside_the_limits_of_the_instancetype_is_rejected() -> None:
    outcome = call_virtctl("create", "vm", "--instancetype=n1.custom", "--vcpus=7", "--memory=60Gi")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.splitlines() == [
        "error: n1.custom does not allow this size",
        (
            "  - --vcpus '7': the instance type allows 2 to 64 vCPUs in steps of 2; "
            "the nearest allowed values are 6 and 8"
        ),
        (
            "  - --memory '60Gi': the instance type allows 8Gi to 32Gi in steps of 1Gi with 8 vCPUs; "
            "the nearest allowed value is 32Gi"
        ),
        "Use one of these values, or choose another instance type.",
    ]


def test_memory_outside_the_limits_of_the_instancetype_is_rejected_without_vcpus() -> None:
    outcome = call_virtctl("create", "vm", "--instancetype=n1.custom", "--memory=1Ti")
    assert (outcome.status, outcome.out) == (2, "")
    assert "--memory '1Ti': the instance type allows " in outcome.err


def test_memory_can_be_set_if_the_instancetype_leaves_only_memory_to_the_vm() -> None:
    spec = _spec("--instancetype=o1.custom", "--memory=2Gi")
    assert spec["instancetype"] == {"name": "o1.custom"}
    assert spec["template"]["spec"]["domain"]["memory"] == {"guest": "2Gi"}


@pytest.mark.parametrize("name", ["elsewhere", "u1.medium"])
def test_memory_is_rejected_unless_the_instancetype_is_known_to_leave_it_to_the_vm(name: str) -> None:
    outcome = call_virtctl("create", "vm", f"--instancetype={name}", "--memory=2Gi")
    assert (outcome.status, outcome.out) == (2, "")
    assert "--memory and --instancetype are mutually exclusive" in outcome.err


@pytest.mark.parametrize("name", ["elsewhere", "virtualmachineinstancetype/n1.custom"])
def test_size_is_not_checked_with_an_instancetype_that_is_not_found(name: str) -> None:
    domain = _spec(f"--instancetype={name}", "--vcpus=7", "--memory=60Gi")["template"]["spec"]["domain"]
    assert domain["cpu"] == {"guest": 7}


def test_all_problems_of_create_vm_flags_are_reported_at_once() -> None:
    outcome = call_virtctl(
        "create", "vm", "--memory=x", "--volume-pvc=p", "--volume-import=type:http", "--access-cred=type:ssh"
    )
    lines = outcome.err.splitlines()
    assert lines[0] == "error: 5 problems with the flags"
    assert [line.split(":")[0] for line in lines[1:6]] == [
        "  - --volume-pvc",
        "  - --volume-import",
        "  - --volume-import",
        "  - --access-cred",
        "  - --memory",
    ]
    assert lines[6:] == ["Run 'virtctl create vm --help' for usage and examples."]


@pytest.mark.parametrize(
    ("arguments", "warning"),
    [
        pytest.param([DS], 'no size is given: it is inferred from the volume "root"', id="inference may fail"),
        pytest.param(["--vcpus=2"], "no memory is given: the VM has 512Mi", id="vCPUs only"),
    ],
)
def test_created_vm_without_a_complete_size_causes_a_warning(arguments: list[str], warning: str) -> None:
    assert call_virtctl("create", "vm", *arguments).err.startswith(f"warning: {warning}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--memory=1Gi", DS],
        ["--instancetype=x", DS],
        [DS, "--infer-instancetype"],
        [DS, "--infer-instancetype=false"],
        ["--vcpus=2", "--memory=1Gi"],
    ],
)
def test_created_vm_with_an_explicit_size_or_instancetype_causes_no_warning(arguments: list[str]) -> None:
    assert call_virtctl("create", "vm", *arguments).err == ""
