"""Default service accounts and aggregated roles are reconciled; objects being deleted are ignored."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from virtshape.apiserver.auth.authorization import Authorizer
from virtshape.apiserver.objectmetadata import make_write
from virtshape.apiserver.resource import read_tree
from virtshape.standalone.accountsandroles import AccountRoleReconciler, RbacSync
from virtshape.store.errors import StoreError
from virtshape.store.record import Key
from virtshape.store.store import Store
from virtshape.store.writer import Outcome, Write
from virtshape.supervise.failures import Backoff
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import ACCOUNTS_AND_ROLES

ROLES = "clusterroles.rbac.authorization.k8s.io"
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}


class ReconcilerHarness:
    """A store and its reconciler, which tests run explicitly."""

    def __init__(self, directory: Path) -> None:
        self.store = Store(directory)
        access = RbacSync(self.store, Authorizer())
        self.reconciler = AccountRoleReconciler(self.store, access.authorizer)
        self.store.observe(access.observe)
        self.store.observe(self.reconciler.observe)

    async def add_namespace(self, name: str, **metadata: Any) -> None:
        tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **metadata}}
        await self.store.write(make_write(Key("namespaces", "", name), 0, tree))

    async def put_role(self, name: str, labels: dict[str, str] | None = None, **rest: Any) -> None:
        known = self.store.get(Key(ROLES, "", name))
        metadata = {"name": name, "uid": name, "labels": labels or {}}
        tree = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, **rest}
        await self.store.write(make_write(Key(ROLES, "", name), known.revision if known else 0, tree))

    def has_account(self, namespace: str) -> bool:
        return self.store.get(Key("serviceaccounts", namespace, "default")) is not None

    def read_role(self, name: str) -> dict[str, Any]:
        record = self.store.get(Key(ROLES, "", name))
        assert record is not None
        return read_tree(record.value)


@asynccontextmanager
async def open_harness(directory: Path) -> AsyncIterator[ReconcilerHarness]:
    harness = ReconcilerHarness(directory)
    try:
        yield harness
    finally:
        await harness.store.close()


AGGREGATION: dict[str, Any] = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]}}


async def test_each_namespace_gets_a_default_service_account(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        await harness.add_namespace("a")
        await harness.add_namespace("going", deletionTimestamp="2030-01-01T00:00:00Z")
        await harness.reconciler.reconcile()
        assert (harness.has_account("a"), harness.has_account("going")) == (True, False)
        revision = harness.store.revision
        await harness.reconciler.reconcile()
        assert harness.store.revision == revision


async def test_deleted_default_service_account_is_recreated(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        await harness.add_namespace("a")
        await harness.reconciler.reconcile()
        running = asyncio.create_task(harness.reconciler.run())
        record = harness.store.get(Key("serviceaccounts", "a", "default"))
        assert record is not None
        await harness.store.write(make_write(record.key, record.revision, read_tree(record.value), removes=True))
        async with asyncio.timeout(240):
            while not harness.has_account("a"):
                await asyncio.sleep(0.01)
        running.cancel()


async def test_aggregated_role_gets_the_rules_of_matching_roles(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        await harness.put_role("part", {"part": "yes"}, rules=[RULE])
        await harness.put_role("other", rules=[RULE])
        await harness.put_role("combined", **AGGREGATION)
        await harness.reconciler.reconcile()
        assert harness.read_role("combined")["rules"] == [RULE]
        await harness.put_role("part", {"part": "no"}, rules=[RULE])
        await harness.reconciler.reconcile()
        assert harness.read_role("combined")["rules"] == []
        assert harness.read_role("other")["rules"] == [RULE]


async def test_manual_rules_of_an_aggregated_role_are_overwritten(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        await harness.put_role("combined", rules=[RULE], **AGGREGATION)
        await harness.reconciler.reconcile()
        assert harness.read_role("combined")["rules"] == []


async def test_failed_writes_of_accounts_and_roles_are_retried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_harness(tmp_path) as harness:
        write_all = harness.store.write_all

        async def fail(writes: Sequence[Write]) -> Sequence[Outcome]:
            return [StoreError("the disk is full") for _ in writes]

        await harness.add_namespace("a")
        harness.store.write_all = fail  # type: ignore[method-assign]  # as a full disk would
        supervisor = Supervisor(Backoff(first=0.01))
        async with supervisor.running(ACCOUNTS_AND_ROLES, harness.reconciler.run), asyncio.timeout(240):
            while "the disk is full" not in caplog.text:
                await asyncio.sleep(0.01)
            harness.store.write_all = write_all  # type: ignore[method-assign]  # as above
            while not harness.has_account("a"):
                await asyncio.sleep(0.01)
