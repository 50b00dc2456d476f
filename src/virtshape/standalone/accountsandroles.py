"""
Default service accounts, aggregated cluster roles, and the authorizer's copy of roles and bindings.

The reconciler creates the `default` service account of each namespace and writes the rules of aggregated roles.
"""

import asyncio
import logging
from collections.abc import Iterator
from typing import Final

import msgspec

from virtshape.api.codec import decode, to_tree
from virtshape.api.kinds import Kind, find_kind, find_resource
from virtshape.api.rbac import ClusterRole, RoleRef
from virtshape.api.status import StatusError
from virtshape.api.times import now
from virtshape.apiserver.auth.authentication import Authenticator
from virtshape.apiserver.auth.authorization import RBAC_GROUP, Authorizer
from virtshape.apiserver.managedfields.fieldtypes import object_type
from virtshape.apiserver.managedfields.managedfields import FieldManager as Authorship
from virtshape.apiserver.managedfields.managedfields import record_update
from virtshape.apiserver.objectmetadata import assemble, make_write, metadata_of
from virtshape.apiserver.resource import read_tree
from virtshape.standalone.bootstrap import build_new_object
from virtshape.store.errors import StaleError, StoreError
from virtshape.store.record import Event, Key, Record
from virtshape.store.store import Store
from virtshape.store.writer import Write

_RULED = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
_TOKEN_OWNERS = frozenset({"serviceaccounts", "pods", "secrets", "nodes"})

DEFAULT_ACCOUNT: Final = "default"

_NAMESPACES: Final = "namespaces"
_ACCOUNTS: Final = "serviceaccounts"
_ROLES: Final = f"clusterroles.{RBAC_GROUP}"
_AGGREGATOR: Final = "clusterrole-aggregation-controller"
_log = logging.getLogger(__name__)


class AccountRoleReconciler:
    """Reconciles service accounts and roles in a store."""

    def __init__(self, store: Store, authorizer: Authorizer) -> None:
        self._store = store
        self._authorizer = authorizer
        self._namespaces = {record.key.name for record in store.list(_NAMESPACES).records}
        self._roles_changed = True
        self._woken = asyncio.Event()

    def observe(self, event: Event) -> None:
        """Record a change to reconcile; the authorizer must already have processed the change."""
        key = event.key
        if key.resource == _NAMESPACES and event.type == "ADDED":
            self._namespaces.add(key.name)
        elif key.resource == _ACCOUNTS and event.type == "DELETED" and key.name == DEFAULT_ACCOUNT:
            self._namespaces.add(key.namespace)
        elif key.resource == _ROLES:
            self._roles_changed = True
        else:
            return
        self._woken.set()

    async def run(self) -> None:
        """Reconcile after each change, until cancelled; the supervisor retries after a StoreError."""
        while True:
            if not self._namespaces and not self._roles_changed:
                self._woken.clear()
                await self._woken.wait()
            await self.reconcile()

    async def reconcile(self) -> None:
        """Reconcile all recorded changes."""
        namespaces, roles_changed = self._namespaces, self._roles_changed
        self._namespaces, self._roles_changed = set(), False
        try:
            await self._apply(namespaces, roles_changed=roles_changed)
        except BaseException:
            self._namespaces |= namespaces
            self._roles_changed |= roles_changed
            raise

    async def _apply(self, namespaces: set[str], *, roles_changed: bool) -> None:
        writes = [*self._missing_accounts(namespaces), *(self._stale_roles() if roles_changed else ())]
        for outcome in await self._store.write_all(writes) if writes else ():
            # On a conflict, the other change triggers another reconciliation.
            if isinstance(outcome, StoreError) and not isinstance(outcome, StaleError):
                raise outcome

    def _missing_accounts(self, namespaces: set[str]) -> Iterator[Write]:
        for namespace in sorted(namespaces):
            space = self._store.get(Key(_NAMESPACES, "", namespace))
            if space is None or metadata_of(read_tree(space.value)).get("deletionTimestamp"):
                continue
            key = Key(_ACCOUNTS, namespace, DEFAULT_ACCOUNT)
            if self._store.get(key) is None:
                kind = _get_kind("v1", "ServiceAccount")
                metadata = {"name": DEFAULT_ACCOUNT, "namespace": namespace}
                tree = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
                yield make_write(key, 0, build_new_object(kind, tree, now()))

    def _stale_roles(self) -> Iterator[Write]:
        for record in self._store.list(_ROLES).records:
            role = decode(record.value, ClusterRole)
            if role.aggregation_rule is None:
                continue
            reference = RoleRef(name=record.key.name, kind="ClusterRole", api_group=RBAC_GROUP)
            rules = self._authorizer.find_rules(reference, "")
            if rules is not None and rules != (role.rules or []):
                try:
                    yield _replace_rules(record, to_tree(rules))
                except StatusError as error:
                    _log.error(
                        "aggregating rules into ClusterRole %s failed: %s; retrying after the next role change",
                        record.key.name,
                        error.message,
                    )


def _replace_rules(record: Record, rules: list[object]) -> Write:
    old = read_tree(record.value)
    kind = _get_kind(old["apiVersion"], old["kind"])
    new = {**old, "rules": rules}
    entries = record_update(old, new, Authorship(_AGGREGATOR, kind.api_version, now()), object_type(kind))
    return make_write(record.key, record.revision, assemble(new, {**metadata_of(new), "managedFields": entries}))


def _get_kind(api_version: str, name: str) -> Kind:
    kind = find_kind(api_version, name)
    if kind is None:
        raise LookupError(f"{api_version} has no {name}")
    return kind


class _Metadata(msgspec.Struct):
    uid: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata


_read_uid = msgspec.json.Decoder(_Named).decode


class RbacSync:
    """Passes roles and bindings in the store to an authorizer, at the start and on each change."""

    def __init__(self, store: Store, authorizer: Authorizer) -> None:
        self._store = store
        self.authorizer = authorizer
        self.authenticator: Authenticator | None = None
        for plural in _RULED:
            for record in store.list(f"{plural}.{RBAC_GROUP}").records:
                self._update(record.key, record.value)

    def observe(self, event: Event) -> None:
        """Pass a changed role or binding to the authorizer; clear the token cache if an owner of tokens is deleted."""
        if event.key.resource.endswith(RBAC_GROUP):
            self._update(event.key, None if event.type == "DELETED" else event.value)
        elif event.type == "DELETED" and event.key.resource in _TOKEN_OWNERS and self.authenticator is not None:
            self.authenticator.forget()

    def _update(self, key: Key, value: bytes | None) -> None:
        kind = find_resource(RBAC_GROUP, "v1", key.resource.partition(".")[0])
        if kind is not None:
            item = decode(value, kind.struct) if value is not None else None
            self.authorizer.update(kind.kind, key.namespace, key.name, item)  # type: ignore[arg-type]  # RBAC kind

    def find_uid(self, resource: str, namespace: str, name: str) -> str | None:
        """Return the uid of an object that a token may be bound to, or None."""
        record = self._store.get(Key(resource, namespace, name))
        return _read_uid(record.value).metadata.uid if record is not None else None
