"""
Default objects of an installation on a cluster: its configuration and, if requested, the catalog.

Missing objects are created, and existing objects are left unchanged.
"""

from virtshape import catalog
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.kubevirt import KubeVirt, KubeVirtSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.api.wellknown import KUBEVIRT
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of
from virtshape.controllers.commoninstancetypes import is_catalog_enabled
from virtshape.supervise.supervisor import ExpectedError


class InstallError(ExpectedError):
    """Default objects could not be created yet."""


def list_defaults(*, with_catalog: bool) -> list[Model]:
    """Return the objects that an installation has by default."""
    return [build_configuration(), *(catalog.load() if with_catalog else ())]


async def install_defaults(client: Client, missing: list[Model]) -> None:
    """
    Create the objects in `missing`, and remove them from the list once they exist; raise InstallError if any fail.

    Catalog objects are not created, but removed from the list, if the configuration disables the catalog.
    """
    failures = []
    if not await _is_catalog_wanted(client):
        missing[:] = [item for item in missing if isinstance(item, KubeVirt)]
    for item in list(missing):
        try:
            await _ensure(client, item)
        except (StatusError, UnreachableError) as error:
            failures.append(f"{type(item).__name__} {metadata_of(item).name}: {error}")
        else:
            missing.remove(item)
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise InstallError(f"creating default objects failed: {failures[0]}{more}")


async def _is_catalog_wanted(client: Client) -> bool:
    try:
        return is_catalog_enabled((await client.get(KubeVirt, KUBEVIRT, KUBEVIRT)).spec.configuration)
    except (StatusError, UnreachableError):
        return True  # not configured yet, or unreachable: creating the objects then reports the error


def build_configuration() -> KubeVirt:
    """Return the KubeVirt object with the default configuration."""
    return KubeVirt(
        api_version="kubevirt.io/v1",
        kind="KubeVirt",
        metadata=ObjectMeta(name=KUBEVIRT, namespace=KUBEVIRT),
        spec=KubeVirtSpec(configuration=KubeVirtConfiguration()),
    )


async def _ensure(client: Client, item: Model) -> None:
    try:
        await client.create(item)
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise
