import pytest
from tests.support.commands import call_virtctl

from virtshape.api.model import JsonObject


def _spec(*arguments: str) -> JsonObject:
    return call_virtctl("create", "vm", "--name=vm", *arguments).spec


@pytest.mark.parametrize(
    ("flag", "volume"),
    [
        pytest.param(
            "--volume-containerdisk=src:r/i:t",
            {"name": "vm-containerdisk-0", "containerDisk": {"image": "r/i:t"}},
            id="container disk",
        ),
        pytest.param(
            "--volume-containerdisk=src:r/i:t,name:d",
            {"name": "d", "containerDisk": {"image": "r/i:t"}},
            id="container disk with a name",
        ),
        pytest.param("--volume-pvc=src:p", {"name": "p", "persistentVolumeClaim": {"claimName": "p"}}, id="PVC"),
        pytest.param(
            "--volume-pvc=src:p,name:d",
            {"name": "d", "persistentVolumeClaim": {"claimName": "p"}},
            id="PVC with a name",
        ),
        pytest.param(
            "--volume-sysprep=src:c",
            {"name": "sysprepdisk", "sysprep": {"configMap": {"name": "c"}}},
            id="sysprep from a ConfigMap",
        ),
        pytest.param(
            "--volume-sysprep=src:s,type:SECRET",
            {"name": "sysprepdisk", "sysprep": {"secret": {"name": "s"}}},
            id="sysprep from a Secret",
        ),
    ],
)
def test_volume_flag_adds_a_volume(flag: str, volume: JsonObject) -> None:
    assert _spec(flag)["template"]["spec"]["volumes"] == [volume]


def test_order_of_volumes_does_not_depend_on_the_order_of_flags() -> None:
    template = _spec(
        "--volume-sysprep=src:c",
        "--user=u",
        "--volume-import=type:blank,size:1Gi,name:i",
        "--volume-pvc=src:p",
        "--volume-containerdisk=src:a",
        "--volume-containerdisk=src:b",
    )["template"]["spec"]
    assert [volume["name"] for volume in template["volumes"]] == [
        "vm-containerdisk-0",
        "vm-containerdisk-1",
        "p",
        "i",
        "sysprepdisk",
        "cloudinitdisk",
    ]


def test_boot_order_in_a_volume_flag_adds_a_disk() -> None:
    domain = _spec("--volume-containerdisk=src:a,bootorder:2", "--volume-pvc=src:p,bootorder:1")["template"]["spec"][
        "domain"
    ]
    assert domain["devices"]["disks"] == [{"name": "vm-containerdisk-0", "bootOrder": 2}, {"name": "p", "bootOrder": 1}]


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        pytest.param(["--volume-containerdisk=name:d"], "--volume-containerdisk: src is required", id="no image"),
        pytest.param(["--volume-pvc=src:ns/p"], 'the PVC "p" must be in the VM\'s namespace', id="namespace of a PVC"),
        pytest.param(["--volume-pvc=src:my.pvc"], 'invalid volume name "my.pvc"', id="name taken from the PVC"),
        pytest.param(["--volume-pvc=src:p,size:1Gi"], 'unknown parameter "size"', id="size of a PVC"),
        pytest.param(["--volume-pvc=src:p,bootorder:0"], "bootorder must be 1 or greater", id="bootorder 0"),
        pytest.param(
            ["--volume-pvc=src:p,bootorder:1", "--volume-pvc=src:q,bootorder:1"],
            'bootorder 1 is already used by the volume "p"',
            id="bootorder twice",
        ),
        pytest.param(
            ["--volume-pvc=src:p", "--volume-import=type:blank,size:1Gi,name:p"],
            '--volume-import: duplicate volume name "p"',
            id="name twice",
        ),
        pytest.param(
            ["--volume-pvc=src:p,name:cloudinitdisk", "--user=u"],
            'cloud-init: duplicate volume name "cloudinitdisk"',
            id="name of the cloud-init volume",
        ),
        pytest.param(["--volume-sysprep=src:ns/c"], "must be in the VM's namespace", id="namespace of sysprep"),
        pytest.param(["--volume-sysprep=src:c,type:x"], "neither configmap nor secret", id="type of sysprep"),
        pytest.param(["--volume-sysprep=src:c,name:x"], 'unknown parameter "name"', id="name of sysprep"),
    ],
)
def test_invalid_volume_flag_is_rejected(flags: list[str], error: str) -> None:
    outcome = call_virtctl("create", "vm", "--name=vm", *flags)
    assert outcome.status == 2
    assert error in outcome.err
