"""
The lint rules: their ids, which never change, with levels, titles and advice.

The checks are elsewhere: `evaluation` finds what the server would reject, `decoding` checks the schema, and `targets`
checks KubeVirt releases.
"""

from typing import Final, Literal, NamedTuple

Level = Literal["error", "warning", "note"]
"""The levels, most severe first."""


class Rule(NamedTuple):
    """A lint rule: `title` says what is wrong, and `advice` how to correct it."""

    id: str
    level: Level
    title: str
    advice: str
    fixable: bool = False
    """True if `--fix` can correct findings of this rule."""


_READING: Final = (
    Rule(
        "syntax",
        "error",
        "A document is neither YAML nor JSON",
        "Correct the text at this position; later documents are still checked.",
    ),
    Rule(
        "duplicate-key",
        "error",
        "A key appears twice in the same object",
        "Keep one of the two: kubectl rejects such a file, and other tools silently drop a value.",
    ),
    Rule(
        "not-an-object",
        "note",
        "A document lacks apiVersion or kind",
        "Add both fields; ignore this if the document is not a Kubernetes object.",
    ),
    Rule(
        "unknown-kind",
        "error",
        "The kind does not exist at this apiVersion",
        "Use the kind or the apiVersion that the message suggests.",
        fixable=True,
    ),
    Rule("unknown-field", "error", "A field does not exist", "Correct the name, or remove the field.", fixable=True),
    Rule("wrong-type", "error", "A value has the wrong type", "Use a value of the type in the message."),
    Rule("missing-field", "error", "A required field is missing", "Add the field."),
    Rule(
        "invalid-value",
        "error",
        "A quantity or number is invalid",
        "Use a quantity such as 4Gi or 250m, or a number within the limits.",
    ),
    Rule(
        "unsupported-value",
        "error",
        "A value is not one of the allowed values",
        "Use one of the listed values.",
        fixable=True,
    ),
    Rule(
        "invalid-name",
        "error",
        "An object has no name, or an invalid one",
        "Set metadata.name to lower case letters, digits, '-' and '.'.",
    ),
    Rule(
        "invalid-metadata",
        "error",
        "A label, annotation, owner or finalizer is invalid",
        "Correct the key or value in the message.",
    ),
    Rule(
        "duplicate-object",
        "error",
        "The same object is defined twice",
        "Remove or rename one: the last one that is applied wins.",
    ),
    Rule(
        "deprecated-version",
        "warning",
        "An apiVersion is deprecated",
        "Use the version in the message; the fields are the same.",
        fixable=True,
    ),
    Rule(
        "unused-ignore",
        "warning",
        "A comment `# virtshape: ignore` suppresses nothing, or names an unknown rule",
        "Remove the comment, or correct the name of the rule.",
    ),
)
_MACHINES: Final = (
    Rule(
        "run-strategy",
        "error",
        "Both or neither of running and runStrategy are set",
        "Keep spec.runStrategy and remove spec.running.",
    ),
    Rule(
        "deprecated-field",
        "warning",
        "A field or value is deprecated",
        "Use the replacement in the message.",
        fixable=True,
    ),
    Rule(
        "missing-volume",
        "error",
        "A disk or filesystem has no volume of the same name",
        "Add the volume, or correct the name.",
    ),
    Rule("missing-network", "error", "An interface has no network of the same name", "Add the network."),
    Rule("missing-interface", "error", "A network has no interface of the same name", "Add the interface."),
    Rule(
        "duplicate-name",
        "error",
        "Two volumes, disks, networks or interfaces of a VM share a name",
        "Rename one of them, and the references to it.",
    ),
    Rule(
        "one-of",
        "error",
        "A volume, network, disk or interface does not have exactly one type",
        "Keep exactly one of the members that the message lists.",
    ),
    Rule(
        "impossible-combination",
        "error",
        "Fields of a VM require or exclude each other",
        "Add the missing field in the message, or remove the conflicting one.",
    ),
    Rule(
        "own-vcpus",
        "error",
        "The VM's domain.cpu.guest is invalid",
        "Set at least one vCPU, and either cpu.guest or a topology.",
    ),
    Rule(
        "no-memory",
        "error",
        "The guest has no memory size",
        "Set domain.memory.guest, or choose an instance type that sets memory.",
    ),
    Rule(
        "memory-not-set",
        "warning",
        "A VM without an instance type, or with one of size 0, sets no memory: it is accepted, but cannot start",
        "Set domain.memory.guest, or choose an instance type that sets memory.",
    ),
)
_REFERENCES: Final = (
    Rule(
        "invalid-matcher",
        "error",
        "The matcher of an instance type, flavor or preference is contradictory",
        "Set either name (and kind) or inferFromVolume.",
    ),
    Rule(
        "matcher-kind",
        "error",
        "A matcher has an unknown kind",
        "Use one of the two kinds in the message, or omit kind for the cluster-wide kind.",
    ),
    Rule(
        "missing-reference",
        "error",
        "The instance type, flavor or preference does not exist",
        "Correct the name, or lint the file that defines the object together with this one.",
    ),
    Rule(
        "deferred-reference",
        "warning",
        "The instance type, flavor or preference does not exist yet",
        "Create it before the VM starts: the KubeVirt object in the files sets missingReference to Defer.",
    ),
    Rule(
        "deprecated-reference",
        "warning",
        "The instance type, flavor or preference is deprecated",
        "Use the replacement in the message.",
    ),
    Rule(
        "retired-reference",
        "error",
        "The instance type, flavor or preference is retired: new VMs cannot use it",
        "Use the replacement in the message.",
    ),
    Rule(
        "missing-revision",
        "warning",
        "The ControllerRevision is not in the files",
        "Remove revisionName, unless the VM exists and should keep that revision.",
    ),
    Rule(
        "invalid-revision",
        "error",
        "The ControllerRevision contains a different kind of object",
        "Remove revisionName.",
    ),
    Rule(
        "inference-unknown",
        "note",
        "The object to infer from is not in the files",
        "Ignore this if the cluster has it; otherwise lint its file together with this one.",
    ),
    Rule(
        "inference-failed",
        "error",
        "Nothing can be inferred from the volume",
        "Label the source of the volume with its defaults, or set the name of the instance type or preference.",
    ),
    Rule(
        "inference-ignored",
        "warning",
        "No instance type can be inferred, and the failure policy ignores this",
        "Set `spec.instancetype.name` if the guest needs more memory than the message states.",
    ),
    Rule(
        "preference-ignored",
        "note",
        "No preference can be inferred, and the failure policy ignores this",
        "Set `spec.preference.name` if the guest needs a preference.",
    ),
)
_SHAPES: Final = (
    Rule(
        "instancetype-conflict",
        "error",
        "The VM sets a field that its instance type sets",
        "Remove the field from the VM, or choose another instance type.",
    ),
    Rule(
        "sizing-policy",
        "error",
        "The VM asks for vCPUs or memory that its instance type does not allow",
        "Use one of the values in the message, or choose another instance type.",
    ),
    Rule(
        "unmet-requirement",
        "error",
        "The VM is too small for its preference, or has another architecture",
        "Choose one of the instance types in the message, or another preference.",
    ),
    Rule(
        "indivisible-spread",
        "error",
        "The vCPUs cannot be spread evenly as the preference asks",
        "Choose a number of vCPUs that is divisible by the preference's ratio, or another preference.",
    ),
    Rule(
        "invalid-instancetype",
        "error",
        "A server would reject the instance type or flavor",
        "Correct the field in the message.",
    ),
    Rule(
        "no-effect",
        "warning",
        "A setting of the KubeVirt object has no effect on virtshape",
        "Remove the setting; for a cluster that runs KubeVirt, choose its release with --target.",
    ),
    Rule(
        "host-access",
        "error",
        "A VM uses a feature or device that the KubeVirt object in the files does not permit",
        "Enable the feature gate or permit the device in the KubeVirt object, or remove the field.",
    ),
    Rule(
        "host-access-unknown",
        "note",
        "A VM uses a feature or device that an administrator must permit",
        "Lint the KubeVirt object of the cluster together with this file.",
    ),
    Rule("invalid-preference", "error", "A server would reject the preference", "Correct the field in the message."),
)
_TARGETS: Final = (
    Rule(
        "impossible-preference",
        "error",
        "The preference asks for something that no guest can have; servers only warn about it",
        "Correct or remove the field in the message.",
    ),
    Rule(
        "target-version",
        "error",
        "The KubeVirt release of --target does not serve the apiVersion",
        "Use the apiVersion in the message.",
        fixable=True,
    ),
    Rule(
        "target-field",
        "error",
        "The KubeVirt release of --target does not have the field",
        "Remove the field, or upgrade KubeVirt to the release in the message.",
    ),
    Rule(
        "target-required",
        "error",
        "The KubeVirt release of --target requires a field that is missing",
        "Add the field.",
    ),
    Rule(
        "target-value",
        "error",
        "The KubeVirt release of --target refuses the value",
        "Use one of the values in the message.",
    ),
    Rule(
        "target-catalog",
        "warning",
        "The KubeVirt release of --target does not install the common instance type or preference",
        "Define the object in the files, or use one that the release installs.",
    ),
)

RULES: Final = {rule.id: rule for rule in (*_READING, *_MACHINES, *_REFERENCES, *_SHAPES, *_TARGETS)}
"""All rules by id."""
