"""
Admission of VMs, instance types and related kinds in the embedded API server.

The rules are in the admission package, which the webhook uses too. An object is decoded once for all rules.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec.structs import replace

from virtshape.admission.accounts import APISERVER, CONTROLLER, get_trusted_users
from virtshape.admission.admit import admit, has_rules
from virtshape.admission.clonesources import find_clone_request, search_clone_sources
from virtshape.admission.clusterstate import Query
from virtshape.admission.revisiondeletion import may_be_in_use, search_deletion_warnings
from virtshape.admission.submission import Submission
from virtshape.api.cdi import DataVolume
from virtshape.api.core.serviceaccount import name_account_user
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.api.wellknown import KUBEVIRT
from virtshape.apiserver.admission.clonepermission import require_clone_permission
from virtshape.apiserver.admission.storestate import StoreState
from virtshape.apiserver.auth.authentication import AUTHENTICATED, MASTERS, User
from virtshape.apiserver.auth.authorization import Attributes, Authorizer, Decision
from virtshape.apiserver.route import Route
from virtshape.resolve.find import namespace_of
from virtshape.resolve.imagedefaults import ImageDefaults
from virtshape.resolve.infer import asks_for_inference, list_image_templates, refer_to_data_volume
from virtshape.resolve.reference import Reference
from virtshape.resolve.search import run_search

_TRUSTED: Final = get_trusted_users(KUBEVIRT, MASTERS)
"""The users of virtshape's components. The group is required, because users can create accounts with these names."""
CONTROLLER_USER: Final = User(name_account_user(KUBEVIRT, CONTROLLER), (MASTERS, AUTHENTICATED))
ReadImageDefaults = Callable[[DataVolume], Awaitable[ImageDefaults]]
"""A function that returns the defaults of the container image that a DataVolume is to be imported from."""
APISERVER_USER: Final = User(name_account_user(KUBEVIRT, APISERVER), (MASTERS, AUTHENTICATED))


class KubeVirtAdmission:
    """Defaults and validates VMs, VMIs, instance types, preferences, flavors and DataVolumes; authorizes clones."""

    def __init__(
        self, state: StoreState, authorizer: Authorizer, read_image_defaults: ReadImageDefaults | None = None
    ) -> None:
        """Set up the admission step; `read_image_defaults` is None if this server does not import images."""
        self._state = state
        self._authorizer = authorizer
        self._read_image_defaults = read_image_defaults

    async def admit(
        self, operation: str, route: Route, user: User, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool
    ) -> tuple[JsonObject | None, list[str]]:
        """Default and validate an object, or warn if an object to delete is in use; ignore writes to subresources."""
        del dry_run
        if operation == "DELETE" and old is not None and may_be_in_use(route.kind, old):
            return new, run_search(search_deletion_warnings(old), self._state.answer)
        if new is None or operation == "DELETE" or route.subresource or not has_rules(route.kind):
            return new, []
        submission = Submission(route.kind, new, old)
        images, warnings = await self._read_images(submission)
        request = find_clone_request(submission, route.namespace)
        if request is not None:
            sources = run_search(search_clone_sources(request), self._state.find)
            await require_clone_permission(sources, user, route.kind, route.namespace, route.name, self._authorize)

        def answer(query: Query) -> Model | int | None:
            labelled = images.get(query) if images and isinstance(query, Reference) else None
            return labelled or self._state.answer(query)

        trusted = _TRUSTED.includes(user.name, user.groups)
        try:
            admitted, more = run_search(admit(submission, self._state, trusted=trusted), answer)
        except StatusError as error:
            error.warnings = (*warnings, *error.warnings)
            raise
        return admitted, warnings + more

    async def _read_images(self, submission: Submission) -> tuple[dict[Reference, DataVolume], list[str]]:
        """Return the DataVolumes that a new VM imports from images, labelled with image defaults, and warnings."""
        if self._read_image_defaults is None or submission.old is not None or submission.kind.kind != "VirtualMachine":
            return {}, []
        vm: VirtualMachine = submission.read()
        if not asks_for_inference(vm):
            return {}, []
        images: dict[Reference, DataVolume] = {}
        warnings: list[str] = []
        for template in list_image_templates(vm):
            metadata = template.metadata or ObjectMeta()
            reference = refer_to_data_volume(namespace_of(vm), metadata.name or "")
            if self._state.find(reference) is not None:
                continue  # the DataVolume already exists, so defaults are inferred from it instead of from its image
            volume = DataVolume(
                api_version="cdi.kubevirt.io/v1beta1",
                kind="DataVolume",
                metadata=ObjectMeta(name=reference.name, namespace=reference.namespace),
                spec=template.spec,
            )
            defaults = await self._read_image_defaults(volume)
            images[reference] = replace(volume, metadata=replace(volume.metadata, labels=defaults.labels))
            warnings += defaults.ignored
        return images, warnings

    async def _authorize(self, user: User, wanted: Attributes) -> Decision:
        return self._authorizer.authorize(user, wanted)
