"""
The `paths` of OpenAPI v2 and v3 documents.

Parameters are inlined, because older clients do not follow references.
"""

from collections.abc import Callable, Iterable

from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.apiserver.message import JSON
from virtshape.apiserver.openapi.actions import list_actions
from virtshape.apiserver.openapi.operations import CONNECT, Operation, Parameter, list_operations, name_group
from virtshape.apiserver.supportedverbs import ACTION_GROUP

_WriteOperation = Callable[[Operation], JsonObject]
_WriteParameter = Callable[[Parameter], JsonObject]

_PRODUCES = ("application/json", "application/yaml")
_STREAM = "application/json;stream=watch"
_RESPONSES = {"get": "OK", "put": "Replaced", "post": "Created", "patch": "Changed", "delete": "Deleted"}
_UNAUTHORIZED = {"description": "Unauthorized"}


def write_v2_paths(kinds: Iterable[Kind]) -> dict[str, JsonObject]:
    """Return the v2 paths of these kinds."""
    return _write_paths(kinds, _write_v2_operation, _write_v2_parameter)


def write_v3_paths(kinds: Iterable[Kind]) -> dict[str, JsonObject]:
    """Return the v3 paths of these kinds."""
    return _write_paths(kinds, _write_v3_operation, _write_v3_parameter)


def _write_paths(
    kinds: Iterable[Kind], write: _WriteOperation, write_parameter: _WriteParameter
) -> dict[str, JsonObject]:
    paths: dict[str, JsonObject] = {}
    for kind in kinds:
        for operation in list_actions(kind) if kind.group == ACTION_GROUP else list_operations(kind):
            item = paths.setdefault(operation.path, {})
            item[operation.method] = _write_head(kind, operation) | write(operation)
            if where := [write_parameter(parameter) for parameter in operation.where]:
                item["parameters"] = where
    return paths


def _write_head(kind: Kind, operation: Operation) -> JsonObject:
    group = name_group(kind)
    return {
        "tags": [f"{group[0].lower()}{group[1:]}_{kind.version}"],
        "description": operation.description,
        "operationId": operation.id,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
    }


def _write_v2_operation(operation: Operation) -> JsonObject:
    parameters = [_write_v2_parameter(parameter) for parameter in operation.parameters]
    tree: JsonObject = {"produces": _list_produced(operation)}
    if operation.consumes:
        schema = {"$ref": f"#/definitions/{operation.request}"} if operation.request else {"type": "object"}
        is_needed = operation.method != "delete"
        parameters.append({"name": "body", "in": "body", "required": is_needed, "schema": schema})
        tree["consumes"] = operation.consumes
    answer = {"description": "OK", "schema": {"$ref": f"#/definitions/{operation.response}"}}
    return tree | {"parameters": parameters, "responses": _write_responses(operation, answer)}


def _write_v2_parameter(parameter: Parameter) -> JsonObject:
    return _write_parameter_head(parameter) | {"type": parameter.type}


def _write_v3_operation(operation: Operation) -> JsonObject:
    tree: JsonObject = {"parameters": [_write_v3_parameter(parameter) for parameter in operation.parameters]}
    if operation.consumes:
        schema = {"$ref": f"#/components/schemas/{operation.request}"} if operation.request else {"type": "object"}
        content = {media: {"schema": schema} for media in operation.consumes}
        tree["requestBody"] = {"content": content} | ({"required": True} if operation.method != "delete" else {})
    response = {"schema": {"$ref": f"#/components/schemas/{operation.response}"}}
    answer = {"description": "OK", "content": dict.fromkeys(_list_produced(operation), response)}
    return tree | {"responses": _write_responses(operation, answer)}


def _write_v3_parameter(parameter: Parameter) -> JsonObject:
    return _write_parameter_head(parameter) | {"schema": {"type": parameter.type}}


def _write_parameter_head(parameter: Parameter) -> JsonObject:
    tree: JsonObject = {"name": parameter.name, "in": parameter.place, "description": parameter.description}
    return tree | ({"required": True} if parameter.place == "path" else {})


def _write_responses(operation: Operation, answer: JsonObject) -> dict[str, JsonObject]:
    code = "201" if operation.method == "post" else "200"
    description = "OK" if operation.action == CONNECT else _RESPONSES[operation.method]
    return {code: answer | {"description": description}, "401": _UNAUTHORIZED}


def _list_produced(operation: Operation) -> tuple[str, ...]:
    if operation.action == CONNECT:
        return (JSON,)
    return (*_PRODUCES, _STREAM) if operation.action == "list" else _PRODUCES
