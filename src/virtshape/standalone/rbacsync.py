"""Updates the authorizer and the authenticator's cache when roles, bindings or token owners in the store change."""

import msgspec

from virtshape.api.codec import decode
from virtshape.api.kinds import find_resource
from virtshape.apiserver.auth.authentication import Authenticator
from virtshape.apiserver.auth.authorization import Authorizer
from virtshape.store.record import Event, Key
from virtshape.store.store import Store

_GROUP = "rbac.authorization.k8s.io"
_RULED = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
_TOKEN_OWNERS = frozenset({"serviceaccounts", "pods", "secrets", "nodes"})


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
            for record in store.list(f"{plural}.{_GROUP}").records:
                self._update(record.key, record.value)

    def observe(self, event: Event) -> None:
        """Process a change."""
        if event.key.resource.endswith(_GROUP):
            self._update(event.key, None if event.type == "DELETED" else event.value)
        elif event.type == "DELETED" and event.key.resource in _TOKEN_OWNERS and self.authenticator is not None:
            self.authenticator.forget()

    def _update(self, key: Key, value: bytes | None) -> None:
        kind = find_resource(_GROUP, "v1", key.resource.partition(".")[0])
        if kind is not None:
            item = decode(value, kind.struct) if value is not None else None
            self.authorizer.update(kind.kind, key.namespace, key.name, item)  # type: ignore[arg-type]  # RBAC kind

    def find_uid(self, resource: str, namespace: str, name: str) -> str | None:
        """Return the uid of an object that a token may be bound to, or None."""
        record = self._store.get(Key(resource, namespace, name))
        return _read_uid(record.value).metadata.uid if record is not None else None
