"""
Admission policies that restrict what the aggregated API may do with pods.

It opens consoles and displays by running a command in a guest's pod, and records paused guests in an annotation. RBAC
cannot limit either to certain pods, commands or fields, so these policies do.
"""

from typing import Final

from virtshape.api.launcherpod import EXEC_ACTIONS, EXEC_COMMAND
from virtshape.api.model import JsonObject
from virtshape.cluster.manifests.naming import SYSTEM, begin, name_account
from virtshape.cluster.manifests.options import Options
from virtshape.controllers.pods.naming import CONTAINER, LAUNCHER

_VERSION: Final = "admissionregistration.k8s.io/v1"
_EXEC: Final = f"{SYSTEM}-pod-exec"
_CHANGES: Final = f"{SYSTEM}-pod-changes"
_SAME_LABELS: Final = "object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({})"
_SAME_OWNERS: Final = "object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])"


def build_admission_policies(options: Options) -> list[JsonObject]:
    """Return the policies for the aggregated API's account, and their bindings."""
    if options.runtime == "none":
        return []
    account = name_account("apiserver", options.namespace)
    is_launcher = f"request.name.startsWith('{LAUNCHER}-')"
    exec_policy = _build_policy(
        _EXEC,
        account,
        ("CONNECT", "pods/exec"),
        f"{is_launcher} && object.container == '{CONTAINER}' && {_match_command()}",
        "the aggregated API may only run virtshape's stream command, and only in launcher pods",
    )
    update_policy = _build_policy(
        _CHANGES,
        account,
        ("UPDATE", "pods"),
        f"{is_launcher} && object.spec == oldObject.spec && {_SAME_LABELS} && {_SAME_OWNERS}",
        "the aggregated API may only change annotations of launcher pods",
    )
    return [*exec_policy, *update_policy]


def _build_policy(
    name: str, account: str, operation: tuple[str, str], expression: str, message: str
) -> list[JsonObject]:
    """Return a policy that denies an account everything that the expression does not allow, and its binding."""
    verb, resource = operation
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": [verb], "resources": [resource], "scope": "*"}
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "aggregated-api", "expression": f"request.userInfo.username == '{account}'"}],
        "validations": [{"expression": expression, "message": message, "reason": "Forbidden"}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        {**begin(_VERSION, "ValidatingAdmissionPolicy", name, component="apiserver"), "spec": policy},
        {**begin(_VERSION, "ValidatingAdmissionPolicyBinding", name, component="apiserver"), "spec": binding},
    ]


def _match_command() -> str:
    """Return a CEL expression that is true only for the stream command with one of its actions."""
    exact = " && ".join(f"object.command[{number}] == '{word}'" for number, word in enumerate(EXEC_COMMAND))
    actions = ", ".join(f"'{action}'" for action in EXEC_ACTIONS)
    return (
        f"object.command.size() > {len(EXEC_COMMAND)} && {exact} && object.command[{len(EXEC_COMMAND)}] in [{actions}]"
    )
