"""Clients that create, update, patch, delete, start and stop their own VMs, and record what was acknowledged."""

import random
import time
from collections import Counter
from typing import Any, Final, Literal

from msgspec import Struct
from tests.robustness.killing import MERGE_PATCH, Session
from tests.support.smallmanifests import build_vm

NAMESPACE: Final = "crash"
VIRTUAL_MACHINES: Final = f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachines"
ACTIONS: Final = f"/apis/subresources.kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachines"
MARK: Final = "mark"
STRATEGIES: Final = ("Halted", "Always", "Manual", "RerunOnFailure", "Once")
STARTS_AT_ONCE: Final = ("Always", "RerunOnFailure", "Once")
MAX_PAUSE_SECONDS: Final = 0.03

Kind = Literal["create", "update", "patch", "start", "stop", "delete"]
Outcome = Literal["open", "acknowledged", "rejected"]


class Write(Struct):
    """A request that changes a VM; `mark` is written to several places of the VM by this request only."""

    name: str
    kind: Kind
    mark: int
    outcome: Outcome = "open"
    revision: int = 0
    uid: str = ""


class OwnedVm(Struct):
    """What the responses say about a VM; None in `exists` or `runs` means that a response was lost."""

    name: str
    exists: bool | None = False
    runs: bool | None = False
    uid: str = ""
    strategy: str = ""
    revision: int = 0


def mark_vm(tree: dict[str, Any], mark: int) -> dict[str, Any]:
    """Write a mark to the metadata and the template of a VM; return the VM."""
    changes = build_marks(mark)
    tree["metadata"]["labels"] = changes["metadata"]["labels"]
    tree["metadata"].setdefault("annotations", {}).update(changes["metadata"]["annotations"])
    tree["spec"]["template"].setdefault("metadata", {}).update(changes["spec"]["template"]["metadata"])
    return tree


def build_marks(mark: int) -> dict[str, Any]:
    """Build the parts of a VM that contain a mark, as a merge patch; objects of different marks differ in size."""
    labels = {MARK: str(mark)}
    padding = f"{mark}." * (mark % 97 + 1)
    return {
        "metadata": {"labels": labels, "annotations": {MARK: padding}},
        "spec": {"template": {"metadata": {"labels": labels}}},
    }


def read_mark(tree: Any) -> int:
    """Return the mark of a VM; raise AssertionError if its places differ."""
    mark = int(tree["metadata"]["labels"][MARK])
    expected = build_marks(mark)
    found = {
        "metadata": {
            "labels": tree["metadata"]["labels"],
            "annotations": {MARK: tree["metadata"]["annotations"][MARK]},
        },
        "spec": {"template": {"metadata": {"labels": tree["spec"]["template"]["metadata"]["labels"]}}},
    }
    assert found == expected, f"a write is half present: {tree}"
    return mark


class VmClient:
    """One client with its VMs. It waits for each response, so at most one of its writes has no known outcome."""

    def __init__(self, number: int, vms: int, generator: random.Random) -> None:
        self._random = generator
        self._next_mark = number * 1_000_000
        self.vms = [OwnedVm(f"c{number}-{index}") for index in range(vms)]
        self.writes: list[Write] = []
        self.starts: Counter[str] = Counter()
        """The number of starts of each VM, by UID."""
        self.highest = 0
        """The highest resourceVersion that the client has seen."""

    def run(self, session: Session) -> None:
        """Send random requests until a response is lost."""
        while True:
            vm = self._random.choice(self.vms)
            if not vm.exists:
                self._create(session, vm)
            else:
                self._change(session, vm, self._read(session, vm))
            time.sleep(self._random.uniform(0, MAX_PAUSE_SECONDS))

    def _read(self, session: Session, vm: OwnedVm) -> dict[str, Any]:
        """Return the VM, which must exist."""
        code, tree = session.request("GET", self._path(vm))
        assert code == 200, f"{vm.name} was acknowledged and is missing: {tree}"
        revision = int(tree["metadata"]["resourceVersion"])
        assert revision >= vm.revision, f"{vm.name} was read at {vm.revision} and now at {revision}"
        assert tree["metadata"]["uid"] == vm.uid, f"{vm.name} was replaced"
        read_mark(tree)
        self._see(vm, revision)
        found: dict[str, Any] = tree
        return found

    def _change(self, session: Session, vm: OwnedVm, tree: dict[str, Any]) -> None:
        actions: list[Kind] = ["update", "patch", "stop" if vm.runs else "start", "delete"]
        (kind,) = self._random.choices(actions, weights=[4, 4, 4, 1])
        match kind:
            case "update":
                write = self._begin(vm, kind)
                self._finish(vm, write, *session.request("PUT", self._path(vm), mark_vm(tree, write.mark)))
            case "patch":
                write = self._begin(vm, kind)
                answer = session.request("PATCH", self._path(vm), build_marks(write.mark), MERGE_PATCH)
                self._finish(vm, write, *answer)
            case "delete":
                self._delete(session, vm)
            case _:
                self._act(session, vm, kind)

    def _create(self, session: Session, vm: OwnedVm) -> None:
        write = self._begin(vm, "create")
        vm.strategy = self._random.choice(STRATEGIES)
        matchers = {
            "instancetype": {"name": "small", "kind": "VirtualMachineInstancetype"},
            "preference": {"name": "plain", "kind": "VirtualMachinePreference"},
        }
        tree = mark_vm(build_vm(vm.name, runStrategy=vm.strategy, **matchers), write.mark)
        vm.exists = vm.runs = None
        code, answer = session.request("POST", VIRTUAL_MACHINES, tree)
        if code == 409:  # the VM of this name that was deleted before is not gone yet
            write.outcome = "rejected"
            vm.exists = vm.runs = False
            return
        self._finish(vm, write, code, answer)
        self.learn_creation(vm, write.uid)

    def learn_creation(self, vm: OwnedVm, uid: str) -> None:
        """Record that a VM exists."""
        vm.exists, vm.uid = True, uid
        vm.runs = vm.strategy in STARTS_AT_ONCE
        self.starts[uid] += vm.runs

    def _delete(self, session: Session, vm: OwnedVm) -> None:
        write = self._begin(vm, "delete")
        write.uid = vm.uid
        vm.exists = None
        code, answer = session.request("DELETE", self._path(vm))
        assert code == 200, answer
        write.outcome = "acknowledged"
        vm.exists = vm.runs = False

    def _act(self, session: Session, vm: OwnedVm, kind: Kind) -> None:
        write = self._begin(vm, kind)
        before, vm.runs = vm.runs, None
        code, answer = session.request("PUT", f"{ACTIONS}/{vm.name}/{kind}")
        assert code in (202, 409), answer
        write.outcome = "acknowledged" if code == 202 else "rejected"
        vm.runs = kind == "start" if code == 202 else before
        self.starts[vm.uid] += kind == "start" and code == 202

    def _begin(self, vm: OwnedVm, kind: Kind) -> Write:
        self._next_mark += 1
        self.writes.append(Write(vm.name, kind, self._next_mark))
        return self.writes[-1]

    def _finish(self, vm: OwnedVm, write: Write, code: int, answer: Any) -> None:
        if code == 409 and write.kind != "create":  # a controller has changed the VM
            write.outcome = "rejected"
            return
        assert code in (200, 201), answer
        assert read_mark(answer) == write.mark, f"the response to {write} is {answer}"
        write.outcome, write.uid = "acknowledged", answer["metadata"]["uid"]
        write.revision = int(answer["metadata"]["resourceVersion"])
        self._see(vm, write.revision)

    def _see(self, vm: OwnedVm, revision: int) -> None:
        vm.revision = revision
        self.highest = max(self.highest, revision)

    def _path(self, vm: OwnedVm) -> str:
        return f"{VIRTUAL_MACHINES}/{vm.name}"
