"""
What the API server keeps a component from, where a role can only say all or nothing.

Guests' consoles and screens are reached by a command in their pod. The right to run commands in pods knows neither
labels nor beginnings of names, so a policy narrows it: in guests' pods, and that one command.
"""

from typing import Final

from virtshape.control.pods.naming import CONTAINER, LAUNCHER
from virtshape.launcher.pod import visit
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
                    f"request.name.startsWith('{LAUNCHER}-') && object.container == '{CONTAINER}'"
                    f" && '{visit.__name__}' in object.command"
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
