"""
Check the permission to clone data from another namespace, for the API server and the webhook.

As in CDI, cloning requires the verb `create` on `datavolumes/source` in the source namespace.
"""

from collections.abc import Awaitable, Callable

from virtshape.admission.clonesources import GROUP, CloneSources, explain_forbidden_clone
from virtshape.api.core.serviceaccount import name_account_user
from virtshape.api.kinds import Kind
from virtshape.apiserver.auth.authentication import AUTHENTICATED, User, account_groups
from virtshape.apiserver.auth.authorization import Attributes, Decision, forbidden_object_error

Authorize = Callable[[User, Attributes], Awaitable[Decision]]


def clone_attributes(namespace: str) -> Attributes:
    """Return the attributes that must be authorized to clone from a namespace."""
    return Attributes("create", GROUP, "datavolumes", "source", namespace)


async def require_clone_permission(
    sources: CloneSources, user: User, kind: Kind, namespace: str, name: str, authorize: Authorize
) -> None:
    """Raise StatusError 403 unless the user or the object's service account may clone from each source namespace."""
    users = [user, *([_service_account_user(namespace, sources.account)] if sources.account else [])]
    for source in sources.namespaces:
        wanted = clone_attributes(source)
        for one in users:
            if (await authorize(one, wanted)).allowed:
                break
        else:
            message = explain_forbidden_clone([one.name for one in users], source)
            raise forbidden_object_error(kind.group, kind.plural, name, message)


def _service_account_user(namespace: str, account: str) -> User:
    return User(name_account_user(namespace, account), (*account_groups(namespace), AUTHENTICATED))
