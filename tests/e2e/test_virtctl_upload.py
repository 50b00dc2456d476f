"""`virtctl image-upload`: output, created objects and rejected uploads."""

import gzip
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.uploads import CLAIMS, VOLUMES, Uploader, build_claim, build_volume
from tests.support.kubectl import KubectlResult
from tests.support.terminals import Terminal
from tests.support.upprocess import TIMEOUT, System, call_virtshape, wait_until

COMMAND = Path(sys.executable).parent / "virtctl"
MIB = 1 << 20
DISK = (b"image" * 1000).ljust(4 * MIB, b"\0")
DONE = (
    "Uploading data completed successfully, waiting for processing to complete, you can hit ctrl-c without "
    "interrupting the progress\nProcessing completed successfully\n"
)
Virtctl = Callable[..., KubectlResult]


@pytest.fixture(scope="module")
def uploader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Uploader]:
    with System(tmp_path_factory.mktemp("upload") / "data", "--launcher", "none") as system:
        yield Uploader(system)
    log = system.log.read_text()
    assert "Traceback" not in log, log


@pytest.fixture
def image(tmp_path: Path) -> str:
    path = tmp_path / "disk.img"
    path.write_bytes(DISK)
    return str(path)


@pytest.fixture
def environment(uploader: Uploader, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(uploader.system.kubeconfig)}


@pytest.fixture
def virtctl(environment: dict[str, str]) -> Virtctl:
    def call(*arguments: str, **more: str) -> KubectlResult:
        result = subprocess.run(
            [COMMAND, "image-upload", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**environment, **more},
            timeout=TIMEOUT,
        )
        return KubectlResult(result.returncode, result.stdout, result.stderr)

    return call


def find(uploader: Uploader, path: str) -> Any:
    code, tree = uploader.system.request("GET", path)
    return tree if code == 200 else None


def wait_until_removed(uploader: Uploader, name: str) -> None:
    """Wait until all objects of an upload are deleted."""
    for path in (VOLUMES, CLAIMS):
        wait_until(lambda path=path: find(uploader, f"{path}/{name}") is None, f"{path}/{name} was not deleted")  # type: ignore[misc]


@pytest.mark.parametrize(("word", "kind"), [("pvc", "PersistentVolumeClaim"), ("dv", "DataVolume")])
def test_image_upload_prints_the_messages_of_kubevirt(
    uploader: Uploader, virtctl: Virtctl, image: str, word: str, kind: str
) -> None:
    name = f"words-{word}"
    result = virtctl(word, name, "--size", "8Mi", "--image-path", image)
    assert (result.status, result.err) == (0, "")
    waiting = f"Waiting for PVC {name} upload pod to be ready...\nPod now ready\n"  # not printed if ready at once
    assert result.out.replace(waiting, "") == (
        f"PVC default/{name} not found\n"
        f"{kind} default/{name} created\n"
        f"Uploading data to {uploader.system.url}\n"
        f"{DONE}"
        f"Uploading {image} completed successfully\n"
    )
    assert uploader.read_disk(name) == DISK.ljust(8 * MIB, b"\0")


def test_image_upload_prints_its_result_to_stdout_and_messages_to_stderr(virtctl: Virtctl, image: str) -> None:
    result = virtctl("dv", "printed", "--size", "8Mi", "--image-path", image, "-o", "json")
    assert result.status == 0, result.err
    assert result.tree["metadata"]["name"] == "printed"
    assert "Processing completed successfully\n" in result.err
    assert virtctl("pvc", "named", "--size", "8Mi", "--image-path", image, "-o", "name").out == (
        "persistentvolumeclaim/named\n"
    )


def test_default_instancetype_and_preference_are_set_on_the_claim_and_data_source(
    uploader: Uploader, virtctl: Virtctl, image: str
) -> None:
    arguments = ["--default-instancetype", "u1.small", "--default-preference", "fedora", "--datasource"]
    result = virtctl("pvc", "fedora", "--size", "8Mi", "--image-path", image, *arguments)
    assert result.status == 0, result.err
    assert "Created a new DataSource default/fedora\n" in result.out
    source = find(uploader, f"{VOLUMES.replace('datavolumes', 'datasources')}/fedora")
    for tree in (uploader.claim("fedora"), source):
        assert tree["metadata"]["labels"]["instancetype.kubevirt.io/default-instancetype"] == "u1.small"
        assert tree["metadata"]["annotations"]["instancetype.kubevirt.io/defaultPreference"] == "fedora"
    assert source["spec"]["source"]["pvc"] == {"name": "fedora", "namespace": "default"}
    again = virtctl("pvc", "fedora", "--force", "--image-path", image, "--datasource")
    assert "Updated an existing DataSource default/fedora\n" in again.out, again.err


def test_vm_infers_its_instancetype_from_annotations_added_later(
    uploader: Uploader, virtctl: Virtctl, image: str
) -> None:
    assert virtctl("pvc", "cirros", "--size=8Mi", f"--image-path={image}").status == 0
    key = "instancetype.kubevirt.io/default"
    marks = {f"{key}Instancetype": "u1.nano", f"{key}Preference": "cirros"}
    merge = {"Content-Type": "application/merge-patch+json"}
    assert uploader.system.request("PATCH", f"{CLAIMS}/cirros", {"metadata": {"annotations": marks}}, **merge)[0] == 200
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "cirros"},
        "spec": {
            "instancetype": {"inferFromVolume": "cirros-disk"},
            "preference": {"inferFromVolume": "cirros-disk"},
            "running": False,
            "template": {
                "spec": {
                    "domain": {"devices": {}},
                    "volumes": [{"name": "cirros-disk", "persistentVolumeClaim": {"claimName": "cirros"}}],
                }
            },
        },
    }
    code, made = uploader.system.request("POST", "/apis/kubevirt.io/v1/namespaces/default/virtualmachines", vm)
    assert code == 201, made
    assert (made["spec"]["instancetype"]["name"], made["spec"]["preference"]["name"]) == ("u1.nano", "cirros")


def test_data_of_an_existing_claim_is_replaced_only_with_force(
    uploader: Uploader, virtctl: Virtctl, image: str, tmp_path: Path
) -> None:
    uploader.create(build_claim("there"))
    first = virtctl("pvc", "there", "--size", "8Mi", "--image-path", image)
    assert (first.status, first.out.splitlines()[0]) == (0, "Using existing PVC default/there"), first.err
    again = virtctl("pvc", "there", "--size", "8Mi", "--image-path", image)
    assert again.status == 1
    assert again.err.startswith("error: PVC there already successfully imported/cloned/updated\n")
    assert "Or replace its data with --force." in again.err
    (tmp_path / "other.gz").write_bytes(gzip.compress(b"other".ljust(MIB, b"\0")))
    forced = virtctl("pvc", "there", "--force", "--image-path", str(tmp_path / "other.gz"))
    assert forced.status == 0, forced.err
    assert uploader.read_disk("there") == b"other".ljust(8 * MIB, b"\0")


def test_upload_to_an_ordinary_claim_requires_the_no_create_flag(
    uploader: Uploader, virtctl: Virtctl, image: str
) -> None:
    uploader.create({**build_claim("ordinary"), "metadata": {"name": "ordinary"}})
    refused = virtctl("pvc", "ordinary", "--size", "8Mi", "--image-path", image)
    assert refused.err == ("error: PVC ordinary not available for upload\nTo replace its data, use --no-create.\n")
    assert virtctl("dv", "ordinary", "--no-create", "--image-path", image).err.startswith(
        "error: No DataVolume is associated with the existing PVC default/ordinary\n"
    )
    taken = virtctl("pvc", "ordinary", "--no-create", "--image-path", image)
    assert taken.status == 0, taken.err
    assert uploader.read_disk("ordinary") == DISK.ljust(8 * MIB, b"\0")


def test_image_is_uploaded_to_an_existing_data_volume(uploader: Uploader, virtctl: Virtctl, image: str) -> None:
    uploader.create(build_volume("prepared", size=None))
    result = virtctl("datavolume", "prepared", "--no-create", "--image-path", image)
    assert (result.status, result.out.splitlines()[0]) == (0, "Using existing DataVolume default/prepared"), result.err
    assert uploader.read_disk("prepared") == DISK


def test_upload_to_a_claim_that_waits_for_its_consumer_requires_force_bind(
    uploader: Uploader, virtctl: Virtctl, image: str
) -> None:
    arguments = ["--size", "8Mi", "--image-path", image, "--storage-class", "local-wffc"]
    for kind in ("pvc", "dv"):
        refused = virtctl(kind, "later", *arguments)
        assert (refused.status, "or use force-bind flag\n--force-bind binds" in refused.err) == (1, True), refused.err
        wait_until_removed(uploader, "later")
    assert virtctl("pvc", "later", *arguments, "--force-bind").status == 0


REFUSED: dict[str, tuple[list[str], str]] = {
    "missing file": (["--size", "8Mi", "--image-path", "/no/such"], "cannot open /no/such: No such file"),
    "no size": (["--image-path", "{image}"], "when creating a resource, the size must be specified\nSet the size"),
    "too small": (["--size", "1Mi", "--image-path", "{image}"], "unexpected return value 400, Saving stream failed: "),
    "unknown storage class": (
        ["--size", "8Mi", "--image-path", "{image}", "--storage-class", "lokal"],
        'storageclasses.storage.k8s.io "lokal" not found; did you mean "local"?',
    ),
    "missing claim": (["--no-create", "--image-path", "{image}"], 'PVC "refused" not found in namespace default'),
    "unreachable proxy": (
        ["--size", "8Mi", "--image-path", "{image}", "--uploadproxy-url", "127.0.0.1:1", "--retry", "1"],
        "cannot connect to https://127.0.0.1:1/v1beta1/upload-async",
    ),
    "never ready": (
        ["--size", "8Mi", "--image-path", "{image}", "--storage-class", "foreign", "--wait-secs", "1"],
        "PVC refused is not ready for an upload after 1 seconds\nSee why: kubectl describe",
    ),
}


@pytest.mark.parametrize("kind", ["pvc", "dv"])
@pytest.mark.parametrize(("arguments", "error"), REFUSED.values(), ids=REFUSED)
def test_rejected_upload_reports_the_reason_and_deletes_its_objects(
    uploader: Uploader, virtctl: Virtctl, image: str, kind: str, arguments: list[str], error: str
) -> None:
    foreign = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "foreign"},
        "provisioner": "storage.example",
    }
    assert uploader.system.request("POST", "/apis/storage.k8s.io/v1/storageclasses", foreign)[0] in (201, 409)
    result = virtctl(kind, "refused", *(word.format(image=image) for word in arguments))
    assert (result.status, error in result.err) == (1, True), result.err
    assert len(result.err.splitlines()) >= 2, "the next step must be suggested"
    wait_until_removed(uploader, "refused")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_objects_of_an_aborted_upload_are_deleted(
    uploader: Uploader, environment: dict[str, str], tmp_path: Path, number: int
) -> None:
    uploader.wait_until_empty()
    pipe = tmp_path / "endless"
    with pipe.open("wb") as file:
        file.truncate(40 << 30)
    arguments = ["image-upload", "dv", "broken-off", "--size", "50Gi", "--image-path", str(pipe)]
    process = subprocess.Popen(
        [COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    while "Uploading data to" not in process.stdout.readline():
        assert process.poll() is None
    uploader.wait_until_arriving()
    process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, err) == (130, "")
    assert out == "DataVolume default/broken-off deleted\n"
    wait_until_removed(uploader, "broken-off")
    uploader.wait_until_empty()


def test_upload_shows_a_progress_bar(environment: dict[str, str], tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.write(b"x")
        file.truncate(200 * MIB)
    arguments = ["image-upload", "pvc", "shown", "--size", "200Mi", "--image-path", str(large)]
    with Terminal([COMMAND, *arguments], {**environment, "COLUMNS": "80"}) as terminal:
        terminal.wait_for(rb"Uploading data to https://\S+\r\n")
        terminal.wait_for(rb"MiB / 200\.00 MiB \[(=*>)?-+\] \d+\.\d\d% (\d+m)?\d+s")
        terminal.wait_for(rb"200\.00 MiB / 200\.00 MiB \[=+\] 100\.00% (\d+m)?\d+s\r\n")
        terminal.wait_for(rb"completed successfully\r\n")
        assert terminal.end() == 0


@pytest.mark.parametrize(("role", "status"), [("edit", 0), ("view", 1)])
def test_upload_requires_the_edit_role(
    uploader: Uploader, virtctl: Virtctl, image: str, tmp_path: Path, role: str, status: int
) -> None:
    added = call_virtshape(
        "user", "add", role, "--namespace", "default", "--role", role, "--data-dir", uploader.system.directory
    )
    assert added.returncode == 0, added.stderr
    (tmp_path / "user.yaml").write_text(added.stdout)
    config = str(tmp_path / "user.yaml")
    result = virtctl("pvc", f"user-{role}", "--size", "8Mi", "--image-path", image, KUBECONFIG=config)
    assert result.status == status, result.err
    if status:
        assert 'User "view" cannot create resource "persistentvolumeclaims"' in result.err
    else:
        assert [line["user"] for line in uploader.audit("user-edit")] == ["edit"]


def test_configured_upload_url_is_used(uploader: Uploader, virtctl: Virtctl, image: str) -> None:
    config = "/apis/cdi.kubevirt.io/v1beta1/cdiconfigs/config"
    merge = {"Content-Type": "application/merge-patch+json"}
    spec = {"spec": {"uploadProxyURLOverride": "https://127.0.0.1:1"}}
    assert uploader.system.request("PATCH", config, spec, **merge)[0] == 200
    try:
        result = virtctl("pvc", "elsewhere", "--size", "8Mi", "--image-path", image, "--retry", "1")
        assert "Uploading data to https://127.0.0.1:1\n" in result.out
    finally:
        spec = {"spec": {"uploadProxyURLOverride": None}}  # type: ignore[dict-item]  # which takes it away
        assert uploader.system.request("PATCH", config, spec, **merge)[0] == 200


def test_server_with_simulated_guests_rejects_uploads(tmp_path: Path, image: str, virtctl: Virtctl) -> None:
    with System(tmp_path / "data", "--launcher", "simulate") as system:
        result = virtctl("pvc", "played", "--size", "8Mi", "--image-path", image, KUBECONFIG=str(system.kubeconfig))
        assert (result.status, "uploads need a launcher" in result.err) == (1, True), result.err
        wait_until(lambda: system.request("GET", CLAIMS)[1]["items"] == [], "the claim was not deleted")
