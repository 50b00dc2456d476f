"""
The admission policy that narrows what the aggregated API may run in pods.

Guests' consoles and screens are reached by a command in their pod. RBAC cannot restrict pods/exec to some pods or
commands, so a policy does: only launcher pods, only their compute container, and only the visit command.
"""

from typing import Final

from virtshape.control.pods.naming import CONTAINER, LAUNCHER
from virtshape.launcher.pod.paths import VISIT, VISITS
from virtshape.serve.manifests.naming import SYSTEM, Tree, begin, name_account
from virtshape.serve.manifests.options import Options

_VERSION: Final = "admissionregistration.k8s.io/v1"
_NAME: Final = f"{SYSTEM}-visits"
_RUNNING_COMMANDS: Final = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CONNECT"],
    "resources": ["pods/exec"],
    "scope": "*",
}


def build_guards(options: Options) -> list[Tree]:
    """The policy and what puts it in force."""
    if options.runtime == "none":
        return []
    account = name_account("apiserver", options.namespace)
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [_RUNNING_COMMANDS]},
        "matchConditions": [{"name": "aggregated-api", "expression": f"request.userInfo.username == '{account}'"}],
        "validations": [
            {
                "expression": (
                    f"request.name.startsWith('{LAUNCHER}-') && object.container == '{CONTAINER}' && {_match_visit()}"
                ),
                "message": "the aggregated API may visit guests in their pods, and do nothing else there",
                "reason": "Forbidden",
            }
        ],
    }
    binding = {"policyName": _NAME, "validationActions": ["Deny"]}
    return [
        {**begin(_VERSION, "ValidatingAdmissionPolicy", _NAME, component="apiserver"), "spec": policy},
        {**begin(_VERSION, "ValidatingAdmissionPolicyBinding", _NAME, component="apiserver"), "spec": binding},
    ]


def _match_visit() -> str:
    """Return a CEL expression that is true for the visit command with one of its actions, and for nothing else."""
    exact = " && ".join(f"object.command[{number}] == '{word}'" for number, word in enumerate(VISIT))
    actions = ", ".join(f"'{action}'" for action in VISITS)
    return f"object.command.size() > {len(VISIT)} && {exact} && object.command[{len(VISIT)}] in [{actions}]"
