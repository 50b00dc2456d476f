"""
A Kubernetes node with its control plane, in its own namespaces: kubelet, containerd, kube-proxy and kube-scheduler.

The API server is reachable on this machine's loopback address. Pods can reach only this cluster. `with Node(...)`
starts all processes, and stops them at the end; nothing else on the machine is changed.
"""

import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Self

from tests.support.controlplane import SERVICE_NAMES, Child, ControlPlane
from tests.support.controlplanebinaries import Binaries
from tools.images.layers import hash_file, write_archive
from tools.images.oci import Layer, Settings, write_image
from tools.node.configuration import PAUSE, build_cni, build_kubelet, build_proxy, render_containerd
from tools.node.namespaces import ADDRESS, Namespaces

NAME: Final = "node"
CONTAINERD: Final = "containerd.toml"
TIMEOUT: Final = 240.0
BUSYBOX: Final = Path("/bin/busybox")


class NodeControlPlane(ControlPlane):
    """A control plane in the namespaces of a node, for a kubelet that runs real pods."""

    names = (*SERVICE_NAMES, ADDRESS)
    without = ()

    def __init__(self, binaries: Binaries, directory: Path, namespaces: Namespaces) -> None:
        self.prefix = namespaces.prefix
        super().__init__(binaries, directory)
        self._namespaces = namespaces

    def __enter__(self) -> Self:
        self._namespaces.relay([self.port, self._etcd_port])
        return super().__enter__()

    def build_apiserver_flags(self) -> dict[str, object]:
        """Return the flags of an API server that can reach kubelet, and that pods and kubelet can reach."""
        flags = super().build_apiserver_flags()
        del flags["disable-admission-plugins"], flags["endpoint-reconciler-type"]
        return flags | {
            "advertise-address": ADDRESS,
            "bind-address": "0.0.0.0",  # noqa: S104 - of its network namespace
            "enable-admission-plugins": "NodeRestriction",
            "kubelet-certificate-authority": self.directory / "ca.crt",
            "kubelet-client-certificate": self.directory / "admin.crt",
            "kubelet-client-key": self.directory / "admin.key",
            "kubelet-preferred-address-types": "InternalIP",
        }

    def build_controller_flags(self, port: int, without: Sequence[str]) -> dict[str, object]:
        """Return the flags of a controller manager that publishes the CA to pods."""
        flags = super().build_controller_flags(port, without)
        return flags | {"root-ca-file": self.directory / "ca.crt", "use-service-account-credentials": "true"}

    def write_server_certificate(self, name: str, hosts: Sequence[str]) -> None:
        """Write the certificate and key of another server of this cluster."""
        self._write_credential(name, self.authority.issue_server(hosts))


class Node:
    """One node of a cluster, which runs during its `with` block."""

    def __init__(self, binaries: Path, directory: Path, images: Sequence[Path]) -> None:
        """`binaries` is the directory that tools/node/build.sh prints; `images` are OCI archives for containerd."""
        self.directory = directory
        self._binaries = binaries
        self._images = images
        self._children: list[Child] = []

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.namespaces = Namespaces(self.directory)
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.namespaces.close()
        for child in self._children:
            child.stop()

    def _start(self) -> None:
        names = ("etcd", "kube-apiserver", "kube-controller-manager")
        binaries = Binaries(*(self._binaries / name for name in names))
        self.containerd = self._start_containerd()
        with ThreadPoolExecutor() as executor:
            loading = executor.submit(self._load_images)
            self.plane = NodeControlPlane(binaries, self.directory, self.namespaces)
            self._children += self.plane.list_children()
            self.plane.__enter__()
            loading.result()
        self.scheduler, self.proxy, self.kubelet = self._start_scheduler(), self._start_proxy(), self._start_kubelet()
        self.kubelet.wait(self.is_ready)

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the admin."""
        return self.plane.kubeconfig

    def is_ready(self) -> bool:
        """Return True if the node is Ready and accepts pods."""
        code, tree = self.plane.request("GET", f"/api/v1/nodes/{NAME}")
        if code != 200:
            return False
        conditions = {each["type"]: each["status"] for each in tree["status"].get("conditions", ())}
        return conditions.get("Ready") == "True" and not tree["spec"].get("taints")

    def ctr(self, *arguments: str | Path) -> str:
        """Run containerd's client `ctr` in containerd's namespace `k8s.io`, which contains kubelet's containers."""
        return self.namespaces.run("ctr", "--address", self._socket, "--namespace", "k8s.io", *arguments)

    def find_processes(self, pattern: str) -> list[int]:
        """Return the PIDs on this machine of pod processes whose command line contains the pattern."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if pattern in line and self._is_in_pod(path.parent):
                    found.append(int(path.parent.name))
        return found

    def _is_in_pod(self, process: Path) -> bool:
        """Return True if a process descends from the first process of the node, as containers do."""
        while process.name not in ("0", "1"):
            if int(process.name) == self.namespaces.pid:
                return True
            stat = (process / "stat").read_text().rpartition(")")[2].split()
            process = process.with_name(stat[1])
        return False

    @property
    def _socket(self) -> Path:
        return Path("/run/containerd/containerd.sock")

    @contextlib.contextmanager
    def without_device_ownership(self) -> Iterator[None]:
        """Run containerd without the setting that gives containers access to block devices; pods keep running."""
        try:
            self._restart_containerd(device_ownership=False)
            yield
        finally:
            self._restart_containerd(device_ownership=True)

    def _restart_containerd(self, *, device_ownership: bool) -> None:
        text = render_containerd(self.directory, self._socket, device_ownership=device_ownership)
        self._write(CONTAINERD, text)
        self.containerd.stop()
        self.containerd.start()
        self._wait_for_containerd(self.containerd)

    def _start_containerd(self) -> Child:
        (self.directory / "cni").mkdir()
        self._write("cni/pods.conflist", json.dumps(build_cni()))
        self._write("resolv.conf", "")
        path = self._write(CONTAINERD, render_containerd(self.directory, self._socket))
        child = self._start_child("/usr/bin/containerd", f"--config={path}")
        self._wait_for_containerd(child)
        return child

    def _wait_for_containerd(self, child: Child) -> None:
        child.wait(lambda: self._runs("ctr", "--address", str(self._socket), "version"))

    def _load_images(self) -> None:
        for image in [self._build_pause(), *self._images]:
            self.ctr("images", "import", image.resolve())

    def _build_pause(self) -> Path:
        root = self.directory / "pause"
        (root / "bin").mkdir(parents=True)
        shutil.copy(BUSYBOX, root / "bin" / "busybox")
        archive = self.directory / "pause-layer.tar"
        write_archive(root, archive, 0)
        layer = Layer(archive, hash_file(archive), "busybox", compression="")
        settings = Settings("65535:65535", ["/bin/busybox", "sleep", "2147483647"], [], {}, {})
        write_image(self.directory / "pause.tar", PAUSE, "amd64", 0, settings, [layer])
        return self.directory / "pause.tar"

    def _start_scheduler(self) -> Child:
        kubeconfig = self.plane.write_kubeconfig("system:kube-scheduler")
        return self._start_child("kube-scheduler", f"--kubeconfig={kubeconfig}", "--leader-elect=false")

    def _start_proxy(self) -> Child:
        kubeconfig = self.plane.write_kubeconfig("system:kube-proxy")
        path = self._write("proxy.yaml", json.dumps(build_proxy(kubeconfig, NAME)))
        return self._start_child("kube-proxy", f"--config={path}")

    def _start_kubelet(self) -> Child:
        kubeconfig = self.plane.write_kubeconfig(f"system:node:{NAME}", "system:nodes")
        self.plane.write_server_certificate("kubelet", [ADDRESS, NAME])
        configuration = build_kubelet(self.directory, self._socket, self.namespaces.cgroup)
        path = self._write("kubelet.yaml", json.dumps(configuration))
        flags = [
            f"--config={path}",
            f"--kubeconfig={kubeconfig}",
            f"--hostname-override={NAME}",
            f"--node-ip={ADDRESS}",
        ]
        return self._start_child("kubelet", *flags)

    def _start_child(self, program: str, *arguments: str) -> Child:
        path = self._binaries / program  # an absolute path replaces the directory
        child = Child(path, self.directory / f"{path.name}.log", arguments, self.namespaces.prefix)
        self._children.append(child)
        child.start()
        return child

    def _runs(self, *line: str) -> bool:
        return not subprocess.run([*self.namespaces.prefix, *line], capture_output=True, check=False).returncode

    def _write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        return path


def wait_for(condition: Callable[[], Any], what: str, timeout: float = TIMEOUT) -> Any:
    """Wait until the condition returns a true value, and return it; raise TimeoutError with the message `what`."""
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.2)
    return found
