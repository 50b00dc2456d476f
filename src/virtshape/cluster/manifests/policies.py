"""
Admission policies that restrict what the aggregated API and the controller may do with pods.

The aggregated API opens consoles and displays by running a command in a guest's pod, and records in an annotation
whether a guest is paused. The controller reads the report of a guest and resizes it with a command. RBAC cannot limit
these actions to certain pods, commands or fields, but these policies can.
"""

from collections.abc import Sequence
from typing import Final

from virtshape.api.launcherpod import EXEC_ACTIONS, EXEC_COMMAND, REPORT_COMMAND, RESIZE_ACTION
from virtshape.api.model import JsonObject
from virtshape.cluster.manifests.naming import SYSTEM, Component, begin, name_account
from virtshape.cluster.manifests.options import Options
from virtshape.controllers.pods.naming import CONTAINER, LAUNCHER

_VERSION: Final = "admissionregistration.k8s.io/v1"
_EXEC: Final = f"{SYSTEM}-pod-exec"
_REPORTS: Final = f"{SYSTEM}-pod-reports"
_CHANGES: Final = f"{SYSTEM}-pod-changes"
_SAME_LABELS: Final = "object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({})"
_SAME_OWNERS: Final = "object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])"


def build_admission_policies(options: Options) -> list[JsonObject]:
    """Return the policies for the components' accounts, and their bindings; none if guests do not run in pods."""
    if options.runtime == "none":
        return []
    is_launcher = f"request.name.startsWith('{LAUNCHER}-')"
    exec_policy = _build_policy(
        _EXEC,
        ("apiserver", options),
        ("CONNECT", "pods/exec"),
        f"{is_launcher} && object.container == '{CONTAINER}' && {_match_action()}",
        "the aggregated API may only run virtshape's stream command, and only in launcher pods",
    )
    report_policy = _build_policy(
        _REPORTS,
        ("controller", options),
        ("CONNECT", "pods/exec"),
        f"{is_launcher} && object.container == '{CONTAINER}' && ({_match_report()} || {_match_resize()})",
        "the controller may only read the report of a guest and resize it, and only in launcher pods",
    )
    update_policy = _build_policy(
        _CHANGES,
        ("apiserver", options),
        ("UPDATE", "pods"),
        f"{is_launcher} && object.spec == oldObject.spec && {_SAME_LABELS} && {_SAME_OWNERS}",
        "the aggregated API may only change annotations of launcher pods",
    )
    return [*exec_policy, *report_policy, *update_policy]


def _build_policy(
    name: str, subject: tuple[Component, Options], operation: tuple[str, str], expression: str, message: str
) -> list[JsonObject]:
    """Return a policy that denies a component everything that the expression does not allow, and its binding."""
    (component, options), (verb, resource) = subject, operation
    account = name_account(component, options.namespace)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": [verb], "resources": [resource], "scope": "*"}
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": component, "expression": f"request.userInfo.username == '{account}'"}],
        "validations": [{"expression": expression, "message": message, "reason": "Forbidden"}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        {**begin(_VERSION, "ValidatingAdmissionPolicy", name, component=component), "spec": policy},
        {**begin(_VERSION, "ValidatingAdmissionPolicyBinding", name, component=component), "spec": binding},
    ]


def _match_action() -> str:
    """Return a CEL expression that is true only for the stream command with one of its actions."""
    count, actions = len(EXEC_COMMAND), ", ".join(f"'{action}'" for action in EXEC_ACTIONS)
    return f"object.command.size() > {count} && {_match_words(EXEC_COMMAND)} && object.command[{count}] in [{actions}]"


def _match_report() -> str:
    """Return a CEL expression that is true only for the command that reads a report."""
    return f"object.command.size() == {len(REPORT_COMMAND)} && {_match_words(REPORT_COMMAND)}"


def _match_resize() -> str:
    """Return a CEL expression that is true only for the command that resizes a guest."""
    words, count = (*EXEC_COMMAND, RESIZE_ACTION), len(EXEC_COMMAND) + 1
    numbers = " && ".join(f"object.command[{count + number}].matches('^[0-9]+$')" for number in range(2))
    return f"object.command.size() == {count + 2} && {_match_words(words)} && {numbers}"


def _match_words(words: Sequence[str]) -> str:
    return " && ".join(f"object.command[{number}] == '{word}'" for number, word in enumerate(words))
