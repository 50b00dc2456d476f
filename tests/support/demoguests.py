"""Real guests for tests: VMs on a running server, and the reports of their guests on the serial console."""

import http.client
import json
import re
import time
import urllib.request
from collections.abc import Callable
from typing import Any, Final, TypeVar

from tests.support.upprocess import System

from virtshape.api.model import JsonObject

TIMEOUT: Final = 600.0
KUBEVIRT: Final = "/apis/kubevirt.io/v1/namespaces/default"
INSTANCETYPES: Final = "/apis/instancetype.kubevirt.io/v1beta2/namespaces/default"
CORE: Final = "/api/v1/namespaces/default"
CDI: Final = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default"
ACTIONS: Final = "/apis/subresources.kubevirt.io/v1/namespaces/default"
DEMO: Final = "virtshape.local/demo"
FULL_DEMO: Final = "virtshape.local/demo-full"

R = TypeVar("R")


def build_guest(
    name: str, image: str = DEMO, *, domain: JsonObject | None = None, grace: int = 20, **spec: Any
) -> JsonObject:
    """Build a small VM that boots the demo guest and stops quickly."""
    template: JsonObject = {
        "terminationGracePeriodSeconds": grace,
        "domain": {"memory": {"guest": "192Mi"}, "devices": {}, **(domain or {})},
        "volumes": [{"name": "root", "containerDisk": {"image": image}}, *spec.pop("volumes", [])],
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"runStrategy": "Always", "template": {"spec": template}, **spec},
    }


def build_small_guest(
    name: str, strategy: str = "Always", *, grace: int = 0, devices: JsonObject | None = None, **spec: Any
) -> JsonObject:
    """Build a VM with little memory; it stays in its firmware unless `spec` adds a volume to boot from."""
    domain: JsonObject = {"memory": {"guest": "64Mi"}, "devices": devices or {}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "runStrategy": strategy,
            "template": {"spec": {"terminationGracePeriodSeconds": grace, "domain": domain, **spec}},
        },
    }


def build_instancetype_or_preference(kind: str, name: str, **spec: Any) -> JsonObject:
    """Build a namespaced instance type or preference."""
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta2",
        "kind": f"VirtualMachine{kind}",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


class Guests:
    """The VMs of one server."""

    def __init__(self, system: System) -> None:
        self.system = system

    def create(self, *trees: JsonObject) -> None:
        """Create objects."""
        homes = {"v1": CORE, "kubevirt.io/v1": KUBEVIRT, "cdi.kubevirt.io/v1beta1": CDI}
        for tree in trees:
            home = homes.get(tree["apiVersion"], INSTANCETYPES)
            code, answer = self.system.request("POST", f"{home}/{tree['kind'].lower()}s", tree)
            assert code == 201, answer

    def vm(self, name: str) -> JsonObject:
        """Return a VM."""
        tree: JsonObject = self.system.request("GET", f"{KUBEVIRT}/virtualmachines/{name}")[1]
        return tree

    def vmi(self, name: str) -> JsonObject | None:
        """Return the instance of a VM, if it has one."""
        code, tree = self.system.request("GET", f"{KUBEVIRT}/virtualmachineinstances/{name}")
        return tree if code == 200 else None

    def patch(self, path: str, **tree: Any) -> None:
        """Patch an object."""
        merge = "application/merge-patch+json"
        code, answer = self.system.request("PATCH", path, tree, **{"Content-Type": merge})
        assert code == 200, answer

    def act(self, kind: str, name: str, action: str) -> None:
        """Call an action subresource of a VM or an instance."""
        with_code = self.system.connect()
        headers = {"Authorization": f"Bearer {self.system.config['token']}"}
        with_code.request("PUT", f"{ACTIONS}/{kind}/{name}/{action}", b"", headers)
        answer = with_code.getresponse()
        assert answer.status == 202, answer.read()
        with_code.close()

    def wait_for_phase(self, name: str, phase: str, *, other_than: str = "") -> JsonObject:
        """Wait until an instance with a uid other than `other_than` is in this phase, and return it."""

        def probe() -> JsonObject | None:
            vmi = self.vmi(name)
            if vmi is None or vmi["metadata"]["uid"] == other_than:
                return None
            return vmi if vmi.get("status", {}).get("phase") == phase else None

        return eventually(probe, lambda: f"{name} is not {phase}: {json.dumps(self.vmi(name), indent=1)}")

    def wait_for_status(self, name: str, status: str) -> JsonObject:
        """Wait until the VM has this printable status, and return it."""

        def probe() -> JsonObject | None:
            vm = self.vm(name)
            return vm if vm.get("status", {}).get("printableStatus") == status else None

        return eventually(probe, lambda: f"{name} is not {status}: {json.dumps(self.vm(name).get('status'), indent=1)}")

    def read_console(self, name: str) -> str:
        """Return the serial console output of a guest."""
        connection = self.system.connect()
        headers = {"Authorization": f"Bearer {self.system.config['token']}"}
        connection.request("GET", f"{ACTIONS}/virtualmachineinstances/{name}/consolelog", headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        connection.close()
        return text if answer.status == 200 else ""

    def read_shape(self, name: str) -> JsonObject:
        """Wait for the JSON line that a guest prints about itself, and return it."""

        def probe() -> JsonObject | None:
            lines = [line for line in self.read_console(name).splitlines(keepends=True) if line.endswith("\n")]
            return next((json.loads(line) for line in lines if line.lstrip().startswith('{"sockets"')), None)

        return eventually(probe, lambda: f"{name} has not printed its hardware: {self.read_console(name)[-2000:]}")

    def read_now(self, name: str) -> JsonObject:
        """Return the current state that the web server of a guest reports; wait until the server responds."""
        url = f"http://{self.wait_for_ports(name)[80]}/cgi-bin/shape"

        def probe() -> JsonObject | None:
            try:
                with urllib.request.urlopen(url, timeout=TIMEOUT / 5) as answer:
                    shape: JsonObject = json.load(answer)
                    return shape
            except (OSError, http.client.HTTPException):  # the guest is booting: its port is open earlier
                return None

        return eventually(probe, lambda: f"no response from {url}: {self.read_console(name)[-2000:]}")

    def wait_for_ports(self, name: str) -> dict[int, str]:
        """Wait until the ports of an instance are open, and return their addresses."""
        message: str = self.wait_for_condition(name, "PortsOpen")["message"]
        return {int(port): here for port, here in re.findall(r"tcp (\d+) of \w+ is ([\d.:]+)", message)}

    def conditions(self, name: str, kind: str = "virtualmachineinstances") -> dict[str, JsonObject]:
        """Return the conditions of an instance or a VM by type."""
        code, tree = self.system.request("GET", f"{KUBEVIRT}/{kind}/{name}")
        return {one["type"]: one for one in tree.get("status", {}).get("conditions", [])} if code == 200 else {}

    def wait_for_condition(self, name: str, condition: str, reason: str = "") -> JsonObject:
        """Wait until an instance has this condition, with this reason if given, and return it."""

        def probe() -> JsonObject | None:
            found = self.conditions(name).get(condition)
            return found if found is not None and reason in ("", found.get("reason")) else None

        return eventually(probe, lambda: f"{name} has no {condition} {reason}: {json.dumps(self.vmi(name), indent=1)}")

    def wait_for_text(self, name: str, text: str) -> str:
        """Wait until a guest has printed a text on its console, and return the output."""
        written = eventually(
            lambda: shown if text in (shown := self.read_console(name)) else None,
            lambda: f"{name} has not written {text!r}: {self.read_console(name)[-2000:]}",
        )
        return written.replace("\r", "")

    def wait_for_node(self) -> JsonObject:
        """Wait until the node object of this machine exists, and return it."""

        def probe() -> JsonObject | None:
            nodes: list[JsonObject] = self.system.request("GET", "/api/v1/nodes")[1]["items"]
            return next((one for one in nodes if one.get("status", {}).get("conditions")), None)

        return eventually(probe, lambda: "the system has no node")

    def list_events(self, name: str) -> list[JsonObject]:
        """Return the events about objects with this name."""
        events = self.system.request("GET", f"{CORE}/events")[1]["items"]
        return [one for one in events if one["involvedObject"]["name"] == name]

    def wait_for_event_text(self, name: str, message: str) -> None:
        """Wait until an event about an object with this name contains a text."""
        eventually(
            lambda: message in self.read_event_text(name) or None,
            lambda: f"no {message!r} in {self.read_event_text(name)}",
        )

    def read_event_text(self, name: str) -> str:
        """Return the messages of all events about objects with this name."""
        return "\n".join(one["message"] for one in self.list_events(name))

    def delete_all(self) -> None:
        """Delete all VMs."""
        vms = self.system.request("GET", f"{KUBEVIRT}/virtualmachines")[1]["items"]
        self.delete(*(vm["metadata"]["name"] for vm in vms))

    def delete(self, *names: str) -> None:
        """Delete VMs and wait until their guests are gone."""
        for name in names:
            self.system.request("DELETE", f"{KUBEVIRT}/virtualmachines/{name}")
        for name in names:
            self.wait_until_gone(name)
            self._wait_until_deleted(name)

    def wait_until_gone(self, name: str) -> None:
        """Wait until a VM has no instance."""
        eventually(lambda: True if self.vmi(name) is None else None, lambda: f"{name} is not gone: {self.vmi(name)}")

    def _wait_until_deleted(self, name: str) -> None:
        path = f"{KUBEVIRT}/virtualmachines/{name}"
        eventually(
            lambda: self.system.request("GET", path)[0] == 404 or None, lambda: f"{name} is left: {self.vm(name)}"
        )


def eventually(
    probe: Callable[[], R | None], otherwise: Callable[[], str], patience: float = TIMEOUT, pause: float = 0.2
) -> R:
    """Poll until `probe` returns a value, and return it."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        found = probe()
        if found is not None:
            return found
        time.sleep(pause)
    raise AssertionError(otherwise())
