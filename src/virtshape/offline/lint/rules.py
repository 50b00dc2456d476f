"""
The rules of lint: their ids, which never change, levels, meanings and remedies.

Only the table; the checks are in other modules.
"""

from typing import Final, Literal, NamedTuple

Level = Literal["error", "warning", "note"]

LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "note")
"""The levels, most severe first."""


class Rule(NamedTuple):
    """A rule: its id, level, meaning and remedy."""

    id: str
    level: Level
    title: str
    advice: str


_READING: Final = (
    Rule(
        "syntax",
        "error",
        "A text is neither YAML nor JSON",
        "Correct the text at the place given; a document further down is still checked.",
    ),
    Rule(
        "duplicate-key",
        "error",
        "A key appears twice in the same object",
        "Keep one of the two: kubectl refuses such a file, other tools silently drop a value.",
    ),
    Rule(
        "not-an-object",
        "note",
        "A document has no apiVersion and kind",
        "Nothing, if it is no Kubernetes object; otherwise add both fields.",
    ),
    Rule(
        "unknown-kind",
        "error",
        "There is no such kind at this apiVersion",
        "Take the kind or the apiVersion that the message names.",
    ),
    Rule("unknown-field", "error", "A field does not exist", "Correct the name, or remove the field."),
    Rule("wrong-type", "error", "A value has the wrong type", "Write a value of the type that the message names."),
    Rule("missing-field", "error", "A required field is missing", "Add the field."),
    Rule(
        "invalid-value",
        "error",
        "A quantity or number is not a valid one",
        "Write a quantity such as 4Gi or 250m, or a number within the bounds.",
    ),
    Rule("unsupported-value", "error", "A value is none of those allowed", "Take one of the values listed."),
    Rule(
        "invalid-name",
        "error",
        "An object has no name, or one that Kubernetes refuses",
        "Set metadata.name to lower case letters, digits, '-' and '.'.",
    ),
    Rule(
        "duplicate-object",
        "error",
        "The same object is defined twice",
        "Remove or rename one: whichever is applied last would win.",
    ),
    Rule(
        "deprecated-version",
        "warning",
        "An apiVersion is deprecated",
        "Write the version that the message names; the fields stay the same.",
    ),
)
_MACHINES: Final = (
    Rule(
        "run-strategy",
        "error",
        "Not exactly one of running and runStrategy is set",
        "Keep spec.runStrategy and remove spec.running.",
    ),
    Rule(
        "deprecated-field",
        "warning",
        "A field or value is deprecated",
        "Use what the message names instead.",
    ),
    Rule(
        "missing-volume",
        "error",
        "A disk or filesystem has no volume of its name",
        "Add the volume, or correct the name.",
    ),
    Rule("missing-network", "error", "An interface has no network of its name", "Add the network."),
    Rule("missing-interface", "error", "A network has no interface of its name", "Add the interface."),
    Rule(
        "duplicate-name",
        "error",
        "Two volumes, disks, networks or interfaces of a VM share a name",
        "Rename one of them, and what refers to it.",
    ),
    Rule(
        "one-of",
        "error",
        "A volume, network, disk or interface does not say exactly what it is",
        "Keep exactly one of the members that the message lists.",
    ),
    Rule(
        "impossible-combination",
        "error",
        "Fields of a VM need each other, or exclude each other",
        "Add what the message says is missing, or remove what does not go with it.",
    ),
    Rule(
        "own-vcpus",
        "error",
        "The VM's domain.cpu.guest is misused",
        "Give at least one vCPU, and either cpu.guest or a topology.",
    ),
    Rule(
        "no-memory",
        "error",
        "Nobody says how much memory the guest has",
        "Set domain.memory.guest, or choose an instance type that gives memory.",
    ),
)
_REFERENCES: Final = (
    Rule(
        "invalid-matcher",
        "error",
        "An instance type, flavor or preference is named in a way that contradicts itself",
        "Set either name (and kind) or inferFromVolume.",
    ),
    Rule(
        "matcher-kind",
        "error",
        "A matcher names a kind that there is not",
        "Use one of the two kinds that the message names, or leave kind out for the cluster-wide one.",
    ),
    Rule(
        "missing-reference",
        "error",
        "The instance type, flavor or preference does not exist",
        "Correct the name, or check the file that defines the object along with this one.",
    ),
    Rule(
        "missing-revision",
        "warning",
        "The ControllerRevision is not among the files",
        "Remove revisionName, unless the VM exists and is to keep that revision.",
    ),
    Rule("invalid-revision", "error", "The ControllerRevision does not hold what it should", "Remove revisionName."),
    Rule(
        "inference-unknown",
        "note",
        "What to infer from is not among the files",
        "Nothing, if the cluster has it; otherwise check its file along with this one.",
    ),
    Rule(
        "inference-failed",
        "error",
        "Nothing can be inferred from the volume",
        "Label what the volume is made from, or name the instance type or preference.",
    ),
    Rule(
        "inference-ignored",
        "warning",
        "No instance type can be inferred, and that is ignored",
        "Name an instance type, or be content with the memory that the message states.",
    ),
    Rule(
        "preference-ignored",
        "note",
        "No preference can be inferred, and that is ignored",
        "Name a preference, if the guest needs one.",
    ),
)
_SHAPES: Final = (
    Rule(
        "instancetype-conflict",
        "error",
        "The VM sets what its instance type sets",
        "Remove the field from the VM, or choose another instance type.",
    ),
    Rule(
        "unmet-requirement",
        "error",
        "The VM is too small for its preference, or of another architecture",
        "Choose one of the instance types that the message names, or another preference.",
    ),
    Rule(
        "indivisible-spread",
        "error",
        "The vCPUs cannot be spread evenly as the preference asks",
        "Choose a number of vCPUs that can be divided, or another preference.",
    ),
    Rule(
        "invalid-instancetype",
        "error",
        "An instance type or flavor would be refused",
        "Correct what the message names.",
    ),
    Rule(
        "host-access",
        "error",
        "A VM uses what the KubeVirt object among the files does not permit",
        "Enable the feature gate or permit the device in the KubeVirt object, or remove the field.",
    ),
    Rule("invalid-preference", "error", "A preference would be refused", "Correct what the message names."),
)

RULES: Final = {rule.id: rule for rule in (*_READING, *_MACHINES, *_REFERENCES, *_SHAPES)}
"""All rules by id."""
