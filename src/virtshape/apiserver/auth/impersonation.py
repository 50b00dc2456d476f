"""Impersonation (`kubectl --as`): check the verb `impersonate` on each requested user, group, UID and extra field."""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from virtshape.api.core.serviceaccount import USER_PREFIX
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import (
    AUTHENTICATED,
    User,
    account_groups,
)
from virtshape.apiserver.auth.authorization import Attributes, Authorizer

_AUTHENTICATION = "authentication.k8s.io"
_EXTRA = "impersonate-extra-"


def impersonate(user: User, headers: Mapping[str, Sequence[str]], authorizer: Authorizer) -> User:
    """
    Return the impersonated user if the headers specify one, otherwise `user`; raise StatusError if this is denied.

    Header names are in lower case. Each name maps to a list of values, because every group is sent in a separate
    header.
    """
    name = _first(headers, "impersonate-user")
    groups = tuple(headers.get("impersonate-group", ()))
    uid = _first(headers, "impersonate-uid")
    extra = {
        unquote(header.removeprefix(_EXTRA)).lower(): tuple(values)
        for header, values in headers.items()
        if header.startswith(_EXTRA)
    }
    if not name:
        if groups or uid or extra:
            raise StatusError(400, "BadRequest", "groups, UID and extra fields can only be impersonated with a user")
        return user
    taken = User(name, groups, uid, extra)
    for wanted in _list_permissions(taken):
        authorizer.require(user, wanted)
    return taken._replace(groups=_complete_groups(taken))


def _first(headers: Mapping[str, Sequence[str]], name: str) -> str:
    values = headers.get(name)
    return values[0] if values else ""


def _list_permissions(taken: User) -> Iterator[Attributes]:
    namespace, account = _split_account(taken.name)
    if account:
        yield Attributes("impersonate", "", "serviceaccounts", "", namespace, account)
    else:
        yield Attributes("impersonate", "", "users", name=taken.name)
    for group in taken.groups:
        yield Attributes("impersonate", "", "groups", name=group)
    if taken.uid:
        yield Attributes("impersonate", _AUTHENTICATION, "uids", name=taken.uid)
    for key, values in taken.extra.items():
        for value in values:
            yield Attributes("impersonate", _AUTHENTICATION, "userextras", key, name=value)


def _split_account(name: str) -> tuple[str, str]:
    namespace, _, account = name.removeprefix(USER_PREFIX).partition(":")
    return (namespace, account) if name.startswith(USER_PREFIX) and namespace else ("", "")


def _complete_groups(taken: User) -> tuple[str, ...]:
    groups = taken.groups
    namespace, account = _split_account(taken.name)
    if account and not groups:
        groups = account_groups(namespace)
    return groups if AUTHENTICATED in groups else (*groups, AUTHENTICATED)
