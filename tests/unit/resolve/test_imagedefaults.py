"""Default instance types and preferences in the environment variables and labels of container images."""

import pytest

from virtshape.resolve.imagedefaults import ImageDefaults, name_variable, read_image_defaults

PREFIX = "instancetype.kubevirt.io/default-"
TYPE, TYPE_KIND, PREFERENCE = f"{PREFIX}instancetype", f"{PREFIX}instancetype-kind", f"{PREFIX}preference"


def set_variable(label: str, value: str) -> str:
    return f"{name_variable(label)}={value}"


def test_image_defaults_are_read_from_the_environment_variables_that_cdi_uses() -> None:
    environment = [
        "PATH=/bin",
        "INSTANCETYPE_KUBEVIRT_IO_DEFAULT_INSTANCETYPE=u1.medium",
        "INSTANCETYPE_KUBEVIRT_IO_DEFAULT_INSTANCETYPE_KIND=VirtualMachineInstancetype",
        "INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=fedora",
        "INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE_KIND=virtualmachineclusterpreference",
    ]
    assert read_image_defaults(environment, {}) == ImageDefaults(
        {
            TYPE: "u1.medium",
            TYPE_KIND: "VirtualMachineInstancetype",
            PREFERENCE: "fedora",
            f"{PREFERENCE}-kind": "virtualmachineclusterpreference",
        }
    )


def test_environment_variable_takes_precedence_over_an_image_label() -> None:
    labels = {TYPE: "from-label", PREFERENCE: "fedora", "vendor": "x"}
    found = read_image_defaults([set_variable(TYPE, "from-variable"), set_variable(PREFERENCE, "")], labels)
    assert found == ImageDefaults({TYPE: "from-variable", PREFERENCE: "fedora"})


def test_default_kind_without_a_default_name_has_no_effect() -> None:
    assert read_image_defaults([set_variable(TYPE_KIND, "x" * 99)], {}) == ImageDefaults()


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        pytest.param(set_variable(TYPE, "a b"), "'a b': a valid label must be", id="space"),
        pytest.param(set_variable(TYPE, "u1.small\n"), r"'u1.small\n': a valid label must be", id="line break"),
        pytest.param(set_variable(TYPE, "x" * 5000), f"'{'x' * 100}...': must be no more than 63", id="long"),
        pytest.param(set_variable(TYPE_KIND, "Pod"), "=Pod: use VirtualMachineClusterInstancetype or", id="kind"),
    ],
)
def test_invalid_default_is_ignored_without_affecting_the_other_default(variable: str, message: str) -> None:
    found = read_image_defaults([variable], {TYPE: "u1.small", PREFERENCE: "fedora"})
    assert found.labels == {PREFERENCE: "fedora"}
    assert len(found.ignored) == 1
    assert found.ignored[0].startswith(f"the container image's default {PREFIX}")
    assert message in found.ignored[0]
    assert len(found.ignored[0]) < 500
