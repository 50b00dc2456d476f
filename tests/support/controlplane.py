"""
A real control plane on loopback: etcd, kube-apiserver and, optionally, kube-controller-manager.

It has no nodes: tests act as kubelets. Every process is a child of the test process and is stopped by its PID.
"""

import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.support.controlplanebinaries import Binaries
from tests.support.demo import find_free_port

from virtshape.apiserver.auth.certificates import Authority, Credential, dump_key, make_key
from virtshape.apiserver.auth.kubeconfig import ClientKey, Server, render_kubeconfig

HOST = "127.0.0.1"
TIMEOUT = 240.0
FRONT_PROXY = "front-proxy-client"
# Disabled, because tests have no kubelets that report their nodes, and no pods that verify the API server.
WITHOUT = ("node-lifecycle-controller", "root-ca-certificate-publisher-controller")
SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost", HOST, "10.0.0.1")


class Child:
    """A process that writes to a log file and can be restarted."""

    def __init__(self, path: Path, log: Path, arguments: Sequence[str], prefix: Sequence[str] = ()) -> None:
        """`prefix` is a command that runs the program as its child and waits for it, such as nsenter."""
        self.name = path.name
        self.log = log
        self._prefix = list(prefix)
        self._line = [*prefix, str(path), *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._line, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    @property
    def pid(self) -> int:
        """The PID of the running program."""
        assert self._process is not None, f"{self.name} is not running"
        pid = self._process.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]) if self._prefix else pid

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop the process with a signal; kill it after a timeout."""
        if self._process is None or self._process.poll() is not None:
            return
        self._send(number)
        try:
            self._process.wait(TIMEOUT / 4)
        except subprocess.TimeoutExpired:
            self._send(signal.SIGKILL)
            self._process.wait()
        self._process = None

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, FileNotFoundError, IndexError):  # the process has exited
            os.kill(self.pid, number)

    def wait(self, is_ready: Callable[[], bool]) -> None:
        """Wait until the process is ready; raise RuntimeError with the end of its log if it exits or times out."""
        deadline = time.monotonic() + TIMEOUT
        while not is_ready():
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
                raise RuntimeError(f"{self.name} {'ended' if ended else 'is not ready'}:\n{tail}")
            time.sleep(0.1)


class ControlPlane:
    """A control plane that runs during its `with` block."""

    names: Sequence[str] = SERVICE_NAMES
    """Host names and addresses in the certificate of the API server."""
    without: Sequence[str] = WITHOUT
    """Controllers that do not run."""
    prefix: Sequence[str] = ()
    """A command that starts each process in other namespaces, such as nsenter."""

    def __init__(
        self,
        binaries: Binaries,
        directory: Path,
        *,
        with_controllers: bool = True,
        without: Sequence[str] = (),
        durable: bool = False,
        progress_interval: str = "5s",
    ) -> None:
        """
        `without` names controllers that the test replaces.

        `progress_interval` is how often etcd reports progress to watches: a short one costs CPU time and allows the API
        server to send bookmarks soon.
        """
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.started_at: list[float] = []
        """When the API server was started and restarted, in seconds since the epoch."""
        self._progress_interval = progress_interval
        self.authority = Authority.create(make_key(), "test-cluster")
        self.front_authority = Authority.create(make_key(), "test-front-proxy")
        self.port, self._etcd_port, etcd_peer_port, controllers_port = find_ports(4)
        self.url = f"https://{HOST}:{self.port}"
        self._write_files()
        self.kubeconfig = self.write_kubeconfig("admin", "system:masters")
        self.etcd = self.make_child(binaries.etcd, self._build_etcd_flags(etcd_peer_port, durable=durable))
        self.apiserver = self.make_child(binaries.apiserver, self.build_apiserver_flags())
        flags = self.build_controller_flags(controllers_port, without)
        self.controllers = self.make_child(binaries.controller_manager, flags) if with_controllers else None
        self._trust = ssl.create_default_context(cadata=self.authority.pem.decode())
        self._trust.load_cert_chain(directory / "admin.crt", directory / "admin.key")

    def __enter__(self) -> Self:
        try:
            self.etcd.start()
            self.etcd.wait(self._is_etcd_ready)
            self.start_apiserver()
            if self.controllers is not None:
                self.controllers.start()
                self.controllers.wait(
                    lambda: self.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200
                )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.list_children():
            child.stop()

    def list_children(self) -> list[Child]:
        """Return the processes, in the order in which they are stopped."""
        return [child for child in (self.controllers, self.apiserver, self.etcd) if child is not None]

    def start_apiserver(self) -> None:
        """Start or restart the API server and wait until it is ready."""
        self.started_at.append(time.time())
        self.apiserver.start()
        self.apiserver.wait(self._is_ready)

    def request(self, method: str, path: str, tree: object = None, **headers: str) -> tuple[int, Any]:
        """Send a request as the admin; return the status code and the body."""
        connection = http.client.HTTPSConnection(HOST, self.port, context=self._trust, timeout=TIMEOUT)
        with contextlib.closing(connection):
            body = None if tree is None else json.dumps(tree)
            connection.request(method, path, body, {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            text = answer.read()
            is_json = (answer.getheader("Content-Type") or "").startswith("application/json")
            return answer.status, json.loads(text) if is_json else text.decode()

    def compact(self, revision: int) -> None:
        """Compact etcd up to a revision, instead of waiting for the periodic compaction."""
        connection = http.client.HTTPConnection(HOST, self._etcd_port, timeout=TIMEOUT)
        with contextlib.closing(connection):
            connection.request("POST", "/v3/kv/compaction", json.dumps({"revision": str(revision), "physical": True}))
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 200, text

    def write_kubeconfig(self, user: str, *groups: str) -> Path:
        """Write a kubeconfig with a client certificate for a user in these groups."""
        credential = self.authority.issue_client(user, groups)
        self._write_credential(user, credential)
        secret = ClientKey(credential.certificate, credential.key)
        path = self.directory / f"{user.replace(':', '-')}.kubeconfig"
        path.write_text(render_kubeconfig(Server(self.url, self.authority.pem), user, secret, cluster="test"))
        return path

    def _is_etcd_ready(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self._etcd_port, timeout=TIMEOUT)
        with contextlib.closing(connection), contextlib.suppress(OSError):
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        return False

    def _is_ready(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.request("GET", "/readyz")[0] == 200
        return False

    def make_child(self, path: Path, flags: Mapping[str, object]) -> Child:
        """Return a process of this control plane, which is not started yet."""
        arguments = [f"--{name}={value}" for name, value in flags.items()]
        return Child(path, self.directory / f"{path.name}.log", arguments, self.prefix)

    def _write_files(self) -> None:
        self._write("ca.crt", self.authority.pem)
        self._write("front-ca.crt", self.front_authority.pem)
        signing = make_key()
        self._write("sa.key", dump_key(signing))
        self._write("sa.pub", signing.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        self._write_credential("server", self.authority.issue_server(self.names))
        self._write_credential(FRONT_PROXY, self.front_authority.issue_client(FRONT_PROXY))

    def _write_credential(self, name: str, credential: Credential) -> None:
        self._write(f"{name}.crt", credential.certificate)
        self._write(f"{name}.key", credential.key)

    def _write(self, name: str, content: bytes) -> None:
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_bytes(content)

    def _build_etcd_flags(self, peer_port: int, *, durable: bool) -> dict[str, object]:
        client, peer = f"http://{HOST}:{self._etcd_port}", f"http://{HOST}:{peer_port}"
        return {
            "name": "test",
            "data-dir": self.directory / "etcd",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"test={peer}",
            "log-level": "warn",
            "unsafe-no-fsync": str(not durable).lower(),
            "watch-progress-notify-interval": self._progress_interval,
        }

    def build_apiserver_flags(self) -> dict[str, object]:
        """Return the flags of the API server."""
        files = self.directory
        return {
            "advertise-address": HOST,
            "allow-privileged": "true",
            "authorization-mode": "Node,RBAC",
            "bind-address": HOST,
            "client-ca-file": files / "ca.crt",
            "disable-admission-plugins": "TaintNodesByCondition",  # no node controller removes these taints
            "endpoint-reconciler-type": "none",
            "etcd-servers": f"http://{HOST}:{self._etcd_port}",
            "profiling": "false",
            "proxy-client-cert-file": files / f"{FRONT_PROXY}.crt",
            "proxy-client-key-file": files / f"{FRONT_PROXY}.key",
            "requestheader-allowed-names": FRONT_PROXY,
            "requestheader-client-ca-file": files / "front-ca.crt",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-username-headers": "X-Remote-User",
            "secure-port": self.port,
            "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
            "service-account-key-file": files / "sa.pub",
            "service-account-signing-key-file": files / "sa.key",
            "service-cluster-ip-range": "10.0.0.0/24",
            "tls-cert-file": files / "server.crt",
            "tls-private-key-file": files / "server.key",
        }

    def build_controller_flags(self, port: int, without: Sequence[str]) -> dict[str, object]:
        """Return the flags of the controller manager, which runs all controllers except `without`."""
        return {
            "bind-address": HOST,
            "controllers": ",".join(["*", *(f"-{name}" for name in [*self.without, *without])]),
            "kubeconfig": self.kubeconfig,
            "leader-elect": "false",
            "secure-port": port,
            "service-account-private-key-file": self.directory / "sa.key",
        }


def find_ports(count: int) -> list[int]:
    """Return distinct free ports outside the ephemeral range, so that they stay free until programs bind them."""
    found: set[int] = set()
    while len(found) < count:
        found.add(find_free_port())
    return list(found)
