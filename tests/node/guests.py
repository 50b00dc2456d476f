"""Guests in pods of a node: build their disks and VMs, and read the reports of guests and pods."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path

from tests.support.demo import find_free_port
from tests.support.demoguests import DEMO, eventually
from tests.support.kubectl import Kubectl
from tests.support.virtctl import Virtctl
from tools.node.node import Node

from virtshape.api.launcherpod import ROOT
from virtshape.api.model import JsonObject
from virtshape.controllers.pods.build import GUEST_USER
from virtshape.launcher.layout import SERIAL_LOG

BOOT_SECONDS = 900.0


class GuestNode:
    """The guests of one namespace on a node."""

    def __init__(self, node: Node, kubectl: Kubectl, virtctl: Virtctl, image: Path) -> None:
        self.node = node
        self.kubectl = kubectl
        self.virtctl = virtctl
        self._image = image

    def create_claim(self, name: str, *, block: bool = False) -> Path:
        """Create a claim with the demo guest's disk, and return the path of the disk."""
        directory = self.node.directory / "claims" / self.kubectl.namespace / name
        directory.mkdir(parents=True)
        disk = directory / "disk.img"
        shutil.copy(self._image, disk)
        path = attach_loop_device(disk) if block else directory
        for owned in (directory, disk):
            os.chown(owned, GUEST_USER, GUEST_USER)
        self.kubectl.apply(
            *build_volume(f"{self.kubectl.namespace}-{name}", name, path, disk.stat().st_size, block=block)
        )
        return disk

    def create(
        self,
        name: str,
        claim: str = "",
        *,
        seed: str = "",
        domain: JsonObject | None = None,
        strategy: str = "Always",
    ) -> None:
        """Create a VM that boots from a claim, or else from the demo guest's disk in the launcher image."""
        tree = build_vm(name, claim, seed=seed, domain=domain)
        tree["spec"]["runStrategy"] = strategy
        self.kubectl.apply(tree)

    def wait_until_running(self, name: str, *, other_than: str = "") -> str:
        """Wait until an instance other than `other_than` is Running, and return its uid."""

        def look() -> str | None:
            ran = self.kubectl.run("get", "vmi", name, "-o", "json")
            if ran.status != 0 or ran.tree["metadata"]["uid"] == other_than:
                return None
            uid: str = ran.tree["metadata"]["uid"]
            return uid if ran.tree.get("status", {}).get("phase") == "Running" else None

        return eventually(look, lambda: self.describe(name), BOOT_SECONDS, pause=1.0)

    def wait_for_status(self, name: str, status: str) -> None:
        """Wait until the VM has this printable status."""
        wanted = f"--for=jsonpath={{.status.printableStatus}}={status}"
        ran = self.kubectl.run("wait", f"vm/{name}", wanted, "--timeout=240s")
        assert ran.status == 0, self.describe(name)

    def read_shape(self, name: str) -> JsonObject:
        """Wait for the JSON line that the guest prints about itself, and return it."""

        def look() -> JsonObject | None:
            lines = [line for line in self.read_console(name).splitlines(keepends=True) if line.endswith("\n")]
            return next((json.loads(line) for line in lines if line.lstrip().startswith('{"sockets"')), None)

        return eventually(look, lambda: self.describe(name), BOOT_SECONDS, pause=0.5)

    def read_console(self, name: str) -> str:
        """
        Return the console log of a guest, or an empty text.

        The file is read from outside the pod: virtctl starts a process in the pod, whose CPU time the guest needs.
        """
        for pid in self.node.find_processes(f"guest={self.kubectl.namespace}_{name},"):
            with contextlib.suppress(OSError):  # the pod has ended
                for log in Path(f"/proc/{pid}/root{ROOT}").glob(f"guests/*/{SERIAL_LOG}"):
                    return log.read_text(errors="replace").replace("\r", "")
        return ""

    @contextlib.contextmanager
    def forward_port(self, name: str) -> Iterator[Callable[[], JsonObject | None]]:
        """Forward a port to the guest's web server; yield a function that returns the hardware, or None if it fails."""
        port = find_free_port()
        process = self.virtctl.start("port-forward", f"vm/{name}", f"{port}:80")

        def look() -> JsonObject | None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/cgi-bin/shape", timeout=100) as answer:
                    shape: JsonObject = json.load(answer)
                    return shape
            except (OSError, HTTPException):  # virtctl does not listen yet, or the guest does not
                return None

        try:
            yield look
        finally:
            process.terminate()
            process.communicate()

    def wait_for_text(self, name: str, text: str) -> None:
        """Wait until the guest has printed this text on its console."""
        eventually(
            lambda: text in self.read_console(name) or None, lambda: self.describe(name), BOOT_SECONDS, pause=0.5
        )

    def patch(self, name: str, domain: JsonObject) -> None:
        """Change the virtual hardware of a VM."""
        change = {"spec": {"template": {"spec": {"domain": domain}}}}
        self.kubectl("patch", "vm", name, "--type=merge", f"--patch={json.dumps(change)}")

    def wait_for_restart_reason(self, name: str, text: str) -> None:
        """Wait until the message of a VM's RestartRequired condition contains this text."""

        def look() -> bool | None:
            conditions = self.kubectl.get("vm", name).get("status", {}).get("conditions", [])
            found = [each for each in conditions if each["type"] == "RestartRequired" and each["status"] == "True"]
            return any(text in each["message"] for each in found) or None

        eventually(look, lambda: self.describe(name), pause=0.5)

    def get_instance(self, name: str) -> JsonObject:
        """Return an instance."""
        vmi: JsonObject = self.kubectl.get("vmi", name)
        return vmi

    def list_pods(self, name: str) -> list[JsonObject]:
        """Return the pods of a VM."""
        pods: list[JsonObject] = self.kubectl.get("pods", f"--selector=vm.kubevirt.io/name={name}")["items"]
        return pods

    def kill(self, pattern: str, name: str) -> None:
        """Send SIGKILL to the processes of a VM's pod whose command line contains this text."""
        (pod,) = self.list_pods(name)
        found = [pid for pid in self.node.find_processes(pattern) if is_in_pod(pid, pod["metadata"]["uid"])]
        assert found, f"no process matches {pattern} in {pod['metadata']['name']}"
        for pid in found:
            with contextlib.suppress(ProcessLookupError):  # the end of one process can end the others
                os.kill(pid, signal.SIGKILL)

    def delete(self, name: str, *, wait: bool = True) -> None:
        """Delete a VM; unless `wait` is False, wait until it no longer exists."""
        self.kubectl("delete", "vm", name, "--timeout=240s", f"--wait={str(wait).lower()}")

    def describe(self, name: str) -> str:
        """Return the state of a VM, its pod and its console, for the message of a failed test."""
        lines = [("get", "vm,vmi,pods", "-o", "wide"), ("get", "vm,vmi", name, "-o", "yaml"), ("get", "events")]
        lines += [("logs", "--selector=kubevirt.io=virt-launcher", "--tail=40")]
        shown = [self.kubectl.run(*line).out[-6000:] for line in lines]
        return "\n".join([*shown, self.virtctl.read_log(name)[-2000:]])


def build_vm(name: str, claim: str = "", *, seed: str = "", domain: JsonObject | None = None) -> JsonObject:
    """Build a VM that boots from a claim, or else from the demo guest's disk, with cloud-init user data if given."""
    source = {"persistentVolumeClaim": {"claimName": claim}} if claim else {"containerDisk": {"image": DEMO}}
    volumes: list[JsonObject] = [{"name": "root", **source}]
    volumes += [{"name": "seed", "cloudInitNoCloud": {"userData": seed}}] if seed else []
    disks = [{"name": volume["name"], "disk": {"bus": "virtio"}} for volume in volumes]
    wanted = domain or {}
    devices = {"disks": disks, **wanted.get("devices", {})}
    template = {
        "terminationGracePeriodSeconds": 10,
        "domain": {"memory": {"guest": "256Mi"}, **wanted, "devices": devices},
        "volumes": volumes,
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {"template": {"spec": template}},
    }


def build_volume(volume: str, claim: str, path: Path, size: int, *, block: bool) -> list[JsonObject]:
    """Build a PersistentVolume on the node and a claim that is bound to it."""
    capacity, mode = {"storage": str(size)}, "Block" if block else "Filesystem"
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeMode": mode}
    source: JsonObject = {"hostPath": {"path": str(path)}}
    if block:
        terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]}]
        source = {"local": {"path": str(path)}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {**common, **source, "capacity": capacity, "persistentVolumeReclaimPolicy": "Retain"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim},
            "spec": {**common, "volumeName": volume, "resources": {"requests": capacity}},
        },
    ]


def attach_loop_device(disk: Path) -> Path:
    """Return a loop device with the content of a file; the device is detached when the node stops."""
    line = ["losetup", "--find", "--show", str(disk)]
    return Path(subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip())


def is_in_pod(pid: int, uid: str) -> bool:
    """Return True if a process runs and is in the control group of a pod."""
    with contextlib.suppress(OSError):  # the process has ended
        return f"pod{uid}" in Path(f"/proc/{pid}/cgroup").read_text()
    return False
