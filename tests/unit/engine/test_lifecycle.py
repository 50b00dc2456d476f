"""Life cycle of instance types and preferences: labels, warnings and rejections."""

import pytest

from virtshape.api.fielderror import FieldError
from virtshape.api.meta import ObjectMeta
from virtshape.engine.lifecycle import (
    Lifecycle,
    Replacement,
    Use,
    check_lifecycle,
    check_use,
    parse_replacement,
    read_lifecycle,
)

CLUSTER = "VirtualMachineClusterInstancetype"
LABEL = "virtshape.io/lifecycle"
COMMON = "instancetype.kubevirt.io/deprecated"
REPLACEMENT = "virtshape.io/replacement"
FIELD = "spec.instancetype.name"
USE = Use(CLUSTER, "old", FIELD, is_new=True)
KEPT = USE._replace(is_new=False)


@pytest.mark.parametrize(
    ("labels", "replacement", "expected"),
    [
        pytest.param(None, None, Lifecycle(), id="no label"),
        pytest.param({"team": "blue"}, "new", Lifecycle(), id="other label"),
        pytest.param({LABEL: "active"}, "new", Lifecycle(), id="active"),
        pytest.param({LABEL: "deprecated"}, "new", Lifecycle("deprecated", "new"), id="deprecated"),
        pytest.param({LABEL: "retired"}, None, Lifecycle("retired"), id="retired without a replacement"),
        pytest.param({COMMON: "true"}, "new", Lifecycle("deprecated", "new"), id="common-instancetypes label"),
        pytest.param({COMMON: "false"}, None, Lifecycle(), id="common-instancetypes label false"),
        pytest.param({COMMON: "true", LABEL: "retired"}, None, Lifecycle("retired"), id="retired after deprecation"),
        pytest.param(
            {COMMON: "true", LABEL: "active"}, None, Lifecycle(), id="active despite the common-instancetypes label"
        ),
    ],
)
def test_labels_define_the_lifecycle_state(
    labels: dict[str, str] | None, replacement: str | None, expected: Lifecycle
) -> None:
    annotations = {REPLACEMENT: replacement} if replacement else None
    assert read_lifecycle(ObjectMeta(name="old", labels=labels, annotations=annotations)) == expected


@pytest.mark.parametrize(
    ("use", "lifecycle", "message", "rule"),
    [
        pytest.param(
            USE, Lifecycle("deprecated", "new"), "deprecated: use new instead", "deprecated-reference", id="deprecated"
        ),
        pytest.param(KEPT, Lifecycle("deprecated"), "deprecated", "deprecated-reference", id="no replacement"),
        pytest.param(
            USE,
            Lifecycle("retired", "new"),
            "retired: new VMs cannot use it; use new instead",
            "retired-reference",
            id="new use of a retired object",
        ),
        pytest.param(
            USE,
            Lifecycle("retired"),
            "retired: new VMs cannot use it",
            "retired-reference",
            id="retired, no replacement",
        ),
        pytest.param(
            KEPT,
            Lifecycle("retired", "new"),
            "retired: the VM keeps its stored revision; use new instead",
            "deprecated-reference",
            id="existing use of a retired object",
        ),
    ],
)
def test_use_of_an_object_that_is_not_active_is_reported(
    use: Use, lifecycle: Lifecycle, message: str, rule: str
) -> None:
    found = check_use(use, lifecycle)
    assert found is not None
    assert (found.field, found.message, found.rule) == (FIELD, f'{CLUSTER} "old" is {message}', rule)


def test_use_of_an_active_object_is_not_reported() -> None:
    assert check_use(USE, Lifecycle()) is None


@pytest.mark.parametrize(
    ("labels", "replacement", "errors"),
    [
        pytest.param({LABEL: "retired"}, "new", [], id="valid"),
        pytest.param({}, f"{CLUSTER.lower()}/new", [], id="kind in lower case"),
        pytest.param({}, "VirtualMachineInstancetype/old", [], id="same name, other kind"),
        pytest.param(
            {LABEL: "Retired"},
            "old",
            [
                f'{LABEL} "Retired" is not supported: must be active, deprecated or retired',
                f'{REPLACEMENT} "old" is the object itself: use another name',
            ],
            id="all errors at once",
        ),
        pytest.param(
            {},
            "VirtualMachinePreference/new",
            [
                (
                    f'{REPLACEMENT} "VirtualMachinePreference/new" is invalid: must be NAME, '
                    f"or KIND/NAME with the kind {CLUSTER} or VirtualMachineInstancetype"
                )
            ],
            id="replacement of another kind",
        ),
    ],
)
def test_lifecycle_label_and_replacement_are_validated(
    labels: dict[str, str], replacement: str, errors: list[str]
) -> None:
    found = check_lifecycle(CLUSTER, ObjectMeta(name="old", labels=labels, annotations={REPLACEMENT: replacement}))
    assert [error.message for error in found] == errors
    assert {error.rule for error in found} <= {"invalid-metadata"}
    assert {error.field for error in found} <= {f"metadata.labels[{LABEL}]", f"metadata.annotations[{REPLACEMENT}]"}


def test_object_without_a_lifecycle_label_is_valid() -> None:
    no_errors: list[FieldError] = []
    assert check_lifecycle(CLUSTER, ObjectMeta(name="old")) == no_errors


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("new", CLUSTER, Replacement(CLUSTER, "new")),
        ("virtualmachineinstancetype/new", CLUSTER, Replacement("VirtualMachineInstancetype", "new")),
        ("virtualmachineclusterpreference/new", CLUSTER, None),
        ("new", "VirtualMachinePreference", Replacement("VirtualMachinePreference", "new")),
    ],
)
def test_replacement_without_a_kind_has_the_kind_of_the_object(
    text: str, kind: str, expected: Replacement | None
) -> None:
    assert parse_replacement(text, kind) == expected
