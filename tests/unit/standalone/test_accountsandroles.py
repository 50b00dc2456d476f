"""Default service accounts and aggregated roles are reconciled; objects being deleted are ignored."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from virtshape.apiserver.auth.authorization import Authorizer
from virtshape.apiserver.objects import make_write
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


class World:
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
async def open_world(directory: Path) -> AsyncIterator[World]:
    world = World(directory)
    try:
        yield world
    finally:
        await world.store.close()


AGGREGATION: dict[str, Any] = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]}}


async def test_each_namespace_gets_a_default_service_account(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await world.add_namespace("a")
        await world.add_namespace("going", deletionTimestamp="2030-01-01T00:00:00Z")
        await world.reconciler.reconcile()
        assert (world.has_account("a"), world.has_account("going")) == (True, False)
        revision = world.store.revision
        await world.reconciler.reconcile()
        assert world.store.revision == revision


async def test_deleted_default_service_account_is_recreated(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await world.add_namespace("a")
        await world.reconciler.reconcile()
        running = asyncio.create_task(world.reconciler.run())
        record = world.store.get(Key("serviceaccounts", "a", "default"))
        assert record is not None
        await world.store.write(make_write(record.key, record.revision, read_tree(record.value), removes=True))
        async with asyncio.timeout(60):
            while not world.has_account("a"):
                await asyncio.sleep(0.01)
        running.cancel()


async def test_aggregated_role_gets_the_rules_of_matching_roles(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await world.put_role("part", {"part": "yes"}, rules=[RULE])
        await world.put_role("other", rules=[RULE])
        await world.put_role("combined", **AGGREGATION)
        await world.reconciler.reconcile()
        assert world.read_role("combined")["rules"] == [RULE]
        await world.put_role("part", {"part": "no"}, rules=[RULE])
        await world.reconciler.reconcile()
        assert world.read_role("combined")["rules"] == []
        assert world.read_role("other")["rules"] == [RULE]


async def test_manual_rules_of_an_aggregated_role_are_overwritten(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await world.put_role("combined", rules=[RULE], **AGGREGATION)
        await world.reconciler.reconcile()
        assert world.read_role("combined")["rules"] == []


async def test_failed_writes_of_accounts_and_roles_are_retried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_world(tmp_path) as world:
        write_all = world.store.write_all

        async def fail(writes: Sequence[Write]) -> Sequence[Outcome]:
            return [StoreError("the disk is full") for _ in writes]

        await world.add_namespace("a")
        world.store.write_all = fail  # type: ignore[method-assign]  # as a full disk would
        supervisor = Supervisor(Backoff(first=0.01))
        async with supervisor.running(ACCOUNTS_AND_ROLES, world.reconciler.run), asyncio.timeout(60):
            while "the disk is full" not in caplog.text:
                await asyncio.sleep(0.01)
            world.store.write_all = write_all  # type: ignore[method-assign]  # as above
            while not world.has_account("a"):
                await asyncio.sleep(0.01)
