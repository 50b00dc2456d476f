"""Check the objects of a restarted server against the requests of its clients and the history in its database."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from tests.robustness.storelog import VMS, Row, StoreLog
from tests.robustness.vmclients import NAMESPACE, STARTS_AT_ONCE, VIRTUAL_MACHINES, OwnedVm, VmClient, Write, read_mark
from tests.support.informer import Change, Informer
from tests.support.upprocess import System, wait_until

VMIS: Final = "virtualmachineinstances.kubevirt.io"
REVISIONS: Final = "controllerrevisions.apps"
SHAPES: Final = (
    "virtualmachineinstancetypes.instancetype.kubevirt.io",
    "virtualmachinepreferences.instancetype.kubevirt.io",
)
PATHS: Final = {
    VMS: VIRTUAL_MACHINES,
    VMIS: f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachineinstances",
    REVISIONS: f"/apis/apps/v1/namespaces/{NAMESPACE}/controllerrevisions",
}

Trees = dict[str, Any]
"""Objects by name."""


class Listed(Struct):
    """The objects of a namespace, by resource and name."""

    vms: Trees
    vmis: Trees
    revisions: Trees

    def find_problem(self, vm: OwnedVm) -> str:
        """Return why a VM is not as its client asked; empty if it is."""
        tree = self.vms.get(vm.name)
        if tree is None:
            return f"{vm.name} was acknowledged and is missing" if vm.exists else ""
        if vm.exists is False or "deletionTimestamp" in tree["metadata"]:
            return f"{vm.name} is not deleted yet"
        status = tree.get("status") or {}
        if status.get("stateChangeRequests"):
            return f"{vm.name} has pending requests"
        expected, runs = _expect_run(vm, tree), self.runs(tree)
        if runs is None or expected not in (None, runs):
            return f"{vm.name} is {status.get('printableStatus')} and should {'run' if expected else 'be stopped'}"
        return ""

    def runs(self, vm: Any) -> bool | None:
        """Return True if a VM and its VMI run, False if the VM is stopped without a VMI, otherwise None."""
        status, vmi = (vm.get("status") or {}).get("printableStatus"), self.vmis.get(vm["metadata"]["name"])
        if vmi is None:
            return False if status == "Stopped" else None
        (owner,) = vmi["metadata"]["ownerReferences"]
        if owner["uid"] != vm["metadata"]["uid"] or "deletionTimestamp" in vmi["metadata"]:
            return None
        return True if status == "Running" == (vmi.get("status") or {}).get("phase") else None

    def find_garbage(self) -> list[str]:
        """Return the names of VMIs and ControllerRevisions whose VM is gone."""
        uids = {vm["metadata"]["uid"] for vm in self.vms.values()}
        return [
            name
            for name, tree in (*self.vmis.items(), *self.revisions.items())
            if not uids & {owner["uid"] for owner in tree["metadata"]["ownerReferences"]}
        ]


def _expect_run(vm: OwnedVm, tree: Any) -> bool | None:
    """Return whether a VM should run; None if a response was lost and the VM does not say."""
    if vm.runs is not None:
        return vm.runs
    if vm.exists is None:  # the response to its creation was lost
        return vm.strategy in STARTS_AT_ONCE
    strategy: str = tree["spec"]["runStrategy"]
    return {"Always": True, "Halted": False}.get(strategy)


class CrashChecks:
    """Compares what a server stores with what its clients know, after each restart."""

    def __init__(self, system: System, log: StoreLog, clients: Sequence[VmClient]) -> None:
        self._system = system
        self._log = log
        self._clients = clients
        self._informers = {resource: Informer(system, path=path) for resource, path in PATHS.items()}
        informers = list(self._informers.values())  # a watch has no events for changes before its list
        wait_until(lambda: all(informer.lists for informer in informers), "the objects are not listed")
        self._expected_changes: dict[str, list[Change]] = {resource: [] for resource in PATHS}
        self._compared = dict.fromkeys(PATHS, 0)
        self._issued: dict[int, Write] = {}
        self._stored: dict[int, Row] = {}  # the change that wrote each mark
        self._deleted: set[str] = set()  # UIDs of VMs that are deleted or being deleted
        self._shapes: dict[tuple[str, int], Any] = {}  # specs by UID and generation
        self._created: Counter[str] = Counter()  # VMIs by the UID of their VM
        self._confirmed: dict[str, int] = {}  # the number of starts when a VM was last seen running
        self._runs: Counter[str] = Counter()  # how often a VM was seen running after another start
        self.counts: Counter[str] = Counter()

    def check(self) -> None:
        """Check everything; the clients must not send requests."""
        code, first = self._system.request("GET", VIRTUAL_MACHINES)
        assert code == 200, first
        seen = max(client.highest for client in self._clients)
        assert int(first["metadata"]["resourceVersion"]) >= seen, "the resourceVersion went back"
        self._read_log()
        self._check_writes()
        listed = self._wait_until_settled()
        self._resolve_lost_responses(listed)
        self._compare_with_log()
        self._check_starts(listed)
        self._check_revisions(listed)
        self._check_watches()

    def stop(self) -> None:
        """End the watches."""
        for informer in self._informers.values():
            informer.stop()

    def _read_log(self) -> None:
        for client in self._clients:
            self._issued |= {write.mark: write for write in client.writes}
        for row in self._log.read_new():
            self.counts["changes"] += 1
            if row.key.namespace != NAMESPACE:
                continue
            if row.key.resource in self._expected_changes:
                self._expected_changes[row.key.resource].append(Change(row.type, row.key.name, row.revision))
            self._take(row)

    def _take(self, row: Row) -> None:
        metadata = row.tree["metadata"]
        if row.key.resource == VMS:
            self._take_vm(row)
            if row.type == "DELETED" or "deletionTimestamp" in metadata:
                self._deleted.add(row.uid)
        elif row.key.resource == VMIS and row.type == "ADDED":
            self._created[metadata["ownerReferences"][0]["uid"]] += 1
        elif row.key.resource in SHAPES:
            self._shapes[row.uid, metadata["generation"]] = row.tree["spec"]

    def _take_vm(self, row: Row) -> None:
        """Check that a VM has the complete content of exactly one request, which was not rejected."""
        mark, before = read_mark(row.tree), self._log.replaced.get(row.revision)
        if before is not None and read_mark(before.tree) == mark:
            return  # a change by a controller, a start or a stop
        write = self._issued.get(mark)
        assert write is not None, f"no client sent {row}"
        assert write.outcome != "rejected", f"{write} was rejected, but is stored: {row}"
        assert (write.name, write.kind == "create") == (row.key.name, row.type == "ADDED"), (
            f"{write} is stored as {row}"
        )
        assert mark not in self._stored, f"{write} is stored twice: {self._stored[mark]} and {row}"
        self._stored[mark] = row

    def _check_writes(self) -> None:
        """Check that all acknowledged writes are in the history, at the acknowledged resourceVersion."""
        for client in self._clients:
            for write in client.writes:
                self.counts[write.outcome] += 1
                if write.outcome != "acknowledged":
                    continue
                if write.kind in ("create", "update", "patch"):
                    row = self._stored.get(write.mark)
                    assert row is not None, f"{write} was acknowledged and is lost"
                    assert (row.revision, row.uid) == (write.revision, write.uid), f"{write} is stored as {row}"
                elif write.kind == "delete":
                    assert write.uid in self._deleted, f"{write} was acknowledged and is lost"

    def _list(self) -> Listed:
        def list_objects(resource: str) -> Trees:
            code, tree = self._system.request("GET", PATHS[resource])
            assert code == 200, tree
            return {item["metadata"]["name"]: item for item in tree["items"]}

        return Listed(list_objects(VMS), list_objects(VMIS), list_objects(REVISIONS))

    def _wait_until_settled(self) -> Listed:
        """Wait until every VM is as its client asked and deleted objects are gone."""
        problems: list[str] = []

        def probe() -> Listed | None:
            listed = self._list()
            problems[:] = [text for client in self._clients for vm in client.vms if (text := listed.find_problem(vm))]
            problems.extend(f"{name} has no VM" for name in listed.find_garbage())
            return None if problems else listed

        found = wait_until(probe, lambda: f"after a restart: {problems}")
        assert found is not None
        return found

    def _resolve_lost_responses(self, listed: Listed) -> None:
        """Record for each client whether its request without a response has taken effect."""
        for client in self._clients:
            lost = client.writes[-1] if client.writes and client.writes[-1].outcome == "open" else None
            for vm in client.vms:
                tree = listed.vms.get(vm.name)
                if tree is None:
                    vm.exists = vm.runs = False
                    continue
                if vm.exists is None and vm.runs is None:
                    client.learn_creation(vm, tree["metadata"]["uid"])
                vm.exists, vm.runs = True, listed.runs(tree)
                if lost is not None and (lost.name, lost.kind) == (vm.name, "start"):
                    client.starts[vm.uid] += bool(vm.runs)
            client.writes.clear()

    def _compare_with_log(self) -> None:
        """Check that the server lists exactly the objects of the history."""
        for resource, path in PATHS.items():

            def probe(resource: str = resource, path: str = path) -> bool:
                _, listed = self._system.request("GET", path)
                self._read_log()
                stored = [
                    row
                    for key, row in self._log.objects.items()
                    if (key.resource, key.namespace) == (resource, NAMESPACE)
                ]
                if self._log.last_revisions.get(resource, 0) > int(listed["metadata"]["resourceVersion"]):
                    return False  # changed after it was listed
                found = {item["metadata"]["name"]: item for item in listed["items"]}
                for row in stored:
                    expected = {key: row.tree.get(key) for key in ("metadata", "spec", "status", "data")}
                    item = found.pop(row.key.name, None)
                    assert item is not None, f"{row} is not listed"
                    assert {key: item.get(key) for key in expected} == expected, f"{row} is listed as {item}"
                assert found == {}, f"listed, but not stored: {sorted(found)}"
                return True

            wait_until(probe, f"{resource} keep changing")

    def _check_starts(self, listed: Listed) -> None:
        """Check that every start created at most one VMI, and exactly one if the VM was not stopped again."""
        starts: Counter[str] = Counter()
        for client in self._clients:
            starts += client.starts
        for uid, created in self._created.items():
            assert created <= starts[uid], (
                f"{created} VMIs of the VM with UID {uid}, which was started {starts[uid]} times"
            )
        for vm in listed.vms.values():
            uid = vm["metadata"]["uid"]
            if listed.runs(vm) and self._confirmed.get(uid) != starts[uid]:
                self._confirmed[uid] = starts[uid]
                self._runs[uid] += 1
            assert self._created[uid] >= self._runs[uid], f"{vm['metadata']['name']} runs an old VMI"
        self.counts["starts"], self.counts["VMIs"] = starts.total(), self._created.total()

    def _check_revisions(self, listed: Listed) -> None:
        """Check that the ControllerRevisions of all VMs and VMIs exist and are complete."""
        for name, vm in listed.vms.items():
            for role in ("instancetype", "preference"):
                revision = listed.revisions.get(vm["spec"][role].get("revisionName", ""))
                assert revision is not None, f"{name} has no revision of its {role}"
                captured = revision["data"]
                metadata = captured["metadata"]
                assert captured["spec"] == self._shapes[metadata["uid"], metadata["generation"]], revision
                self.counts["revisions"] += 1
        for name, vmi in listed.vmis.items():
            start = listed.revisions.get(vmi["status"]["virtualMachineRevisionName"])
            assert start is not None, f"the VMI {name} has no start revision"
            captured = listed.revisions[start["data"]["spec"]["instancetype"]["revisionName"]]["data"]["spec"]
            cpu = vmi["spec"]["domain"]["cpu"]
            assert cpu["sockets"] * cpu["cores"] * cpu["threads"] == captured["cpu"]["guest"], vmi

    def _check_watches(self) -> None:
        """Check that each watch has received all changes of the history once and in order."""
        for resource, informer in self._informers.items():
            expected = self._expected_changes[resource]
            if expected:
                informer.wait_for(expected[-1].version)
            assert informer.problems == [], f"the watch of {resource}: {informer.problems}"
            assert informer.lists == 1, f"the watch of {resource} was not resumed"
            since = self._compared[resource]
            received = informer.changes[since : len(expected)]
            assert received == expected[since:], f"the watch of {resource} got {received} instead of {expected[since:]}"
            self._compared[resource] = len(expected)
            self.counts["watch events"] += len(expected) - since
