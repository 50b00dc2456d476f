"""
Operations of the subresource API in OpenAPI documents: expansion and previews.

Other subresources, such as start and console, are not described.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import Struct

from virtshape.api.kinds import Kind
from virtshape.api.openapi import component_name, struct_name
from virtshape.apiserver.discovery.discovery import group_path
from virtshape.apiserver.message import JSON
from virtshape.apiserver.openapi.operations import CONNECT, NAME, NAMESPACE, Operation, name_group
from virtshape.apiserver.subresources.compatibility import CompatibilityList, CompatibilityRequest
from virtshape.apiserver.subresources.customize import CustomizedInstancetype, CustomizeRequest
from virtshape.apiserver.subresources.explain import VMExplanation
from virtshape.apiserver.subresources.fit import FitList, FitRequest
from virtshape.apiserver.subresources.migratetype import MoveRequest
from virtshape.apiserver.subresources.recommend import RecommendationList, RecommendRequest
from virtshape.apiserver.subresources.route import KINDS, VIRTUAL_MACHINES
from virtshape.apiserver.supportedverbs import ACTION_GROUP, ACTION_VERSIONS
from virtshape.resolve.importrequest import ImportPreview, ImportRequest
from virtshape.resolve.move import MovePreview

VM: Final = KINDS[VIRTUAL_MACHINES]
ACTION_KINDS: Final = tuple(VM._replace(group=ACTION_GROUP, version=version) for version in ACTION_VERSIONS)
"""VirtualMachine as a kind of the subresource API, in each version of that API."""
ACTION_STRUCTS: Final[tuple[type[Struct], ...]] = (
    CompatibilityList,
    CompatibilityRequest,
    CustomizedInstancetype,
    CustomizeRequest,
    FitList,
    FitRequest,
    ImportPreview,
    ImportRequest,
    MovePreview,
    MoveRequest,
    RecommendationList,
    RecommendRequest,
    VMExplanation,
)
"""Request and response bodies that are not objects of a kind."""

_VM: Final = component_name(VM)


class _Action(NamedTuple):
    path: str
    name: str
    description: str
    response: str
    request: str = ""


_ACTIONS: Final = (
    _Action(
        "check-compatibility",
        "CheckCompatibility",
        "Check which instance types and preferences can be used together.",
        struct_name(CompatibilityList),
        struct_name(CompatibilityRequest),
    ),
    _Action(
        "check-fit",
        "CheckFit",
        "Return how many more VMs of each instance type, or VMs like the one in the request, fit on the nodes.",
        struct_name(FitList),
        struct_name(FitRequest),
    ),
    _Action(
        "customize-instancetype",
        "CustomizeInstancetype",
        "Return a copy of an instance type with another size, or the reasons why it cannot have this size.",
        struct_name(CustomizedInstancetype),
        struct_name(CustomizeRequest),
    ),
    _Action(
        "expand-vm-spec",
        "ExpandVmSpec",
        "Return the VirtualMachine in the request with its instance type and preference applied.",
        _VM,
        _VM,
    ),
    _Action(
        "explain-vm-spec",
        "ExplainVmSpec",
        "Return the VirtualMachine in the request as it would run, the origin of each field, and all violations.",
        struct_name(VMExplanation),
        _VM,
    ),
    _Action(
        "preview-import",
        "PreviewImport",
        "Return the plan for importing the objects in files. Nothing is read or written.",
        struct_name(ImportPreview),
        struct_name(ImportRequest),
    ),
    _Action(
        "preview-migrate-type",
        "PreviewMigrateType",
        "Return what changes if a VirtualMachine uses another instance type or preference.",
        struct_name(MovePreview),
        struct_name(MoveRequest),
    ),
    _Action(
        "recommend-instancetypes",
        "RecommendInstancetypes",
        "Return the instance types that meet the needs in the request, those with the least waste first.",
        struct_name(RecommendationList),
        struct_name(RecommendRequest),
    ),
    _Action(
        "virtualmachines/{name}/expand-spec",
        "VirtualMachineExpandSpec",
        "Return a VirtualMachine with its instance type and preference applied.",
        _VM,
    ),
)


def list_actions(kind: Kind) -> Iterator[Operation]:
    """Yield the operations of the subresource API in the version of `kind`."""
    group = name_group(kind) + kind.version.capitalize()
    for action in _ACTIONS:
        method = "put" if action.request else "get"
        yield Operation(
            path=f"{group_path(kind.group, kind.version)}/namespaces/{{namespace}}/{action.path}",
            method=method,
            action=CONNECT,
            id=f"{method}{group}Namespaced{action.name}",
            description=action.description,
            where=(NAMESPACE, *((NAME,) if "{name}" in action.path else ())),
            parameters=(),
            consumes=(JSON,) if action.request else (),
            request=action.request,
            response=action.response,
        )
