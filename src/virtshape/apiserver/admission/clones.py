"""
Permission to clone data from another namespace, for the API server and the webhook.

As in CDI, the permission is to create `datavolumes/source` in the source namespace.
"""

from collections.abc import Awaitable, Callable

from virtshape.admission.clones import GROUP, CloneSources, explain_forbidden_clone
from virtshape.api.kinds import Kind
from virtshape.apiserver.auth.authentication import AUTHENTICATED, SERVICE_ACCOUNTS, User, account_user_name
from virtshape.apiserver.auth.authorization import Attributes, Decision, forbidden_object_error

Authorize = Callable[[User, Attributes], Awaitable[Decision]]


async def require_clone_permission(
    sources: CloneSources, user: User, kind: Kind, namespace: str, name: str, authorize: Authorize
) -> None:
    """Raise StatusError 403 unless the author of an object, or its service account, may clone from all sources."""
    users = [user, *([_service_account_user(namespace, sources.account)] if sources.account else [])]
    for source in sources.namespaces:
        wanted = Attributes("create", GROUP, "datavolumes", "source", source)
        for one in users:
            if (await authorize(one, wanted)).allowed:
                break
        else:
            message = explain_forbidden_clone([one.name for one in users], source)
            raise forbidden_object_error(kind.group, kind.plural, name, message)


def _service_account_user(namespace: str, account: str) -> User:
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(account_user_name(namespace, account), groups)
