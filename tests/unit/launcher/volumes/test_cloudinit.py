"""Content of cloud-init discs."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.domains import UUID, build_guest
from tests.support.isoimages import IsoImage

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.launcher.volumes.cloudinit import find_hostname
from virtshape.launcher.volumes.prepare import prepare_volumes
from virtshape.launcher.volumes.task import VolumeError

USER_DATA = "#cloud-config\nusers: []\n"
NETWORK_DATA = "version: 2\n"
NO_CLOUD, CONFIG_DRIVE = "cloudInitNoCloud", "cloudInitConfigDrive"


def build(kind: str, source: JsonObject, domain: JsonObject | None = None, **options: Any) -> VirtualMachineInstance:
    devices = {"disks": [{"name": "seed"}], **(domain or {}).pop("devices", {})}
    return build_guest({**(domain or {}), "devices": devices}, volumes=[{"name": "seed", kind: source}], **options)


def read(tmp_path: Path, vmi: VirtualMachineInstance, **mounts: Path) -> tuple[str, dict[str, bytes]]:
    given = {name.replace("_", "-"): str(path) for name, path in mounts.items()}
    image = IsoImage(Path(prepare_volumes(vmi, given, str(tmp_path / "guest"))["seed"].path))
    return image.label, image.read()


def write(directory: Path, **files: str) -> Path:
    directory.mkdir()
    for name, text in files.items():
        (directory / name).write_text(text)
    return directory


INLINE: dict[str, JsonObject] = {
    "plain": {"userData": USER_DATA, "networkData": NETWORK_DATA},
    "base64": {
        "userDataBase64": base64.b64encode(USER_DATA.encode()).decode(),
        "networkDataBase64": base64.b64encode(NETWORK_DATA.encode()).decode(),
    },
    "secrets": {"secretRef": {"name": "u"}, "networkDataSecretRef": {"name": "n"}},
}


@pytest.mark.parametrize("source", INLINE.values(), ids=INLINE)
@pytest.mark.parametrize("spelling", ["userdata networkdata", "userData networkData"])
def test_nocloud_disc_has_documents_from_every_source(tmp_path: Path, source: JsonObject, spelling: str) -> None:
    secret = write(tmp_path / "secret", **dict(zip(spelling.split(), (USER_DATA, NETWORK_DATA), strict=True)))
    label, files = read(tmp_path, build(NO_CLOUD, source), seed=secret)
    assert label == "cidata"
    assert json.loads(files.pop("meta-data")) == {"instance-id": "guest.default", "local-hostname": "guest"}
    assert files == {"user-data": USER_DATA.encode(), "network-config": NETWORK_DATA.encode()}


@pytest.mark.parametrize("source", INLINE.values(), ids=INLINE)
def test_config_drive_has_documents_from_every_source(tmp_path: Path, source: JsonObject) -> None:
    secret = write(tmp_path / "secret", userdata=USER_DATA, networkdata=NETWORK_DATA)
    vmi = build(CONFIG_DRIVE, source, {"firmware": {"uuid": UUID}})
    label, files = read(tmp_path, vmi, seed=secret)
    latest = "openstack/latest/"
    assert label == "config-2"
    assert json.loads(files.pop(f"{latest}meta_data.json")) == {
        "instance_id": "guest.default",
        "uuid": UUID,
        "hostname": "guest",
    }
    assert files == {f"{latest}user_data": USER_DATA.encode(), f"{latest}network_data.json": NETWORK_DATA.encode()}


def test_nocloud_disc_always_has_user_data(tmp_path: Path) -> None:
    _, files = read(tmp_path, build(NO_CLOUD, {"networkData": NETWORK_DATA}))
    assert files["user-data"] == b""


@pytest.mark.parametrize(("kind", "name"), [(NO_CLOUD, "meta-data"), (CONFIG_DRIVE, "openstack/latest/meta_data.json")])
def test_cloud_init_metadata_has_the_instance_type(tmp_path: Path, kind: str, name: str) -> None:
    vmi = build(kind, {"userData": USER_DATA}, annotations={"kubevirt.io/cluster-instancetype-name": "u1.small"})
    metadata = json.loads(read(tmp_path, vmi)[1][name])
    assert metadata["instance-type" if kind == NO_CLOUD else "instance_type"] == "u1.small"


@pytest.mark.parametrize(
    ("kind", "way", "name", "key"),
    [
        (NO_CLOUD, "noCloud", "meta-data", "public-keys"),
        (CONFIG_DRIVE, "configDrive", "openstack/latest/meta_data.json", "public_keys"),
    ],
)
def test_ssh_keys_are_written_only_with_the_matching_propagation_method(
    tmp_path: Path, kind: str, way: str, name: str, key: str
) -> None:
    other = "configDrive" if way == "noCloud" else "noCloud"
    credentials = [
        {"sshPublicKey": {"source": {"secret": {"secretName": secret}}, "propagationMethod": {method: {}}}}
        for secret, method in (("mine", way), ("theirs", other))
    ]
    vmi = build(kind, {"userData": USER_DATA}, accessCredentials=credentials)
    mine = write(tmp_path / "mine", a="ssh-ed25519 AAAA me\n", b="# comment\n\nssh-rsa BBBB me\nssh-rsa CCCC\n")
    metadata = json.loads(read(tmp_path, vmi, mine_access_cred=mine)[1][name])
    assert metadata[key] == {"0": "ssh-ed25519 AAAA me", "1": "ssh-rsa BBBB me", "2": "ssh-rsa CCCC"}


def test_device_tags_are_on_the_config_drive(tmp_path: Path) -> None:
    devices = {
        "disks": [{"name": "seed", "serial": "S1", "tag": "first", "disk": {"bus": "sata"}}],
        "interfaces": [{"name": "default", "masquerade": {}, "macAddress": "02:00:00:00:00:01", "tag": "front"}],
    }
    vmi = build(CONFIG_DRIVE, {"userData": USER_DATA}, {"devices": devices})
    metadata = json.loads(read(tmp_path, vmi)[1]["openstack/latest/meta_data.json"])
    assert metadata["devices"] == [
        {"type": "nic", "mac": "02:00:00:00:00:01", "tags": ["front"]},
        {"type": "disk", "bus": "sata", "serial": "S1", "tags": ["first"]},
    ]


@pytest.mark.parametrize(
    ("name", "hostname", "expected"),
    [
        ("vm", None, "vm"),
        ("vm", "other", "other"),
        ("vm.example.org", None, "vm"),
        ("x" * 70, None, "x" * 63),
        (f"{'x' * 62}-y", None, "x" * 62),
    ],
)
def test_cloud_init_metadata_has_the_host_name(name: str, hostname: str | None, expected: str) -> None:
    vmi = build_guest({"devices": {}}, hostname=hostname)
    vmi.metadata.name = name
    assert find_hostname(vmi) == expected


PROBLEMS: dict[str, tuple[JsonObject, str, str]] = {
    "invalid base64": ({"userDataBase64": "%%%"}, "userDataBase64", "invalid base64"),
    "invalid base64 network data": (
        {"userData": "x", "networkDataBase64": "abc"},
        "networkDataBase64",
        "invalid base64",
    ),
    "missing key": ({"secretRef": {"name": "s"}}, "secretRef", "the secret has no key userdata"),
    "missing network data key": (
        {"userData": "x", "networkDataSecretRef": {"name": "s"}},
        "networkDataSecretRef",
        "the secret has no key networkdata",
    ),
}


@pytest.mark.parametrize("kind", [NO_CLOUD, CONFIG_DRIVE])
@pytest.mark.parametrize(("source", "field", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_unreadable_cloud_init_document_is_reported_with_its_field(
    tmp_path: Path, kind: str, source: JsonObject, field: str, message: str
) -> None:
    with pytest.raises(VolumeError) as caught:
        read(tmp_path, build(kind, source), seed=write(tmp_path / "secret", other="x"))
    (problem,) = caught.value.problems
    assert problem.field == f"spec.volumes[0].{kind}.{field}"
    assert message in problem.reason


def test_missing_secret_with_ssh_keys_is_named(tmp_path: Path) -> None:
    credential = {"sshPublicKey": {"source": {"secret": {"secretName": "s"}}, "propagationMethod": {"noCloud": {}}}}
    vmi = build(NO_CLOUD, {"userData": USER_DATA}, accessCredentials=[credential])
    with pytest.raises(VolumeError, match="the secret s with SSH keys is missing"):
        read(tmp_path, vmi)
