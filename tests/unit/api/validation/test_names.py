"""Names of objects have the syntax that Kubernetes requires for their kind."""

import re

import pytest

from virtshape.api.kinds import KINDS, find_kind
from virtshape.api.validation.names import (
    NameCheck,
    check_label_1035,
    check_label_1123,
    check_label_value,
    check_path_segment,
    check_qualified_name,
    check_subdomain,
    generate_name,
    get_name_check,
    mask_prefix,
)

GOOD: dict[str, tuple[NameCheck, list[str]]] = {
    "subdomain": (check_subdomain, ["a", "0", "u1.small", "a-b.c-d", "x" * 253]),
    "1123 label": (check_label_1123, ["a", "0a", "a-b", "x" * 63]),
    "1035 label": (check_label_1035, ["a", "a-0", "x" * 63]),
    "path segment": (check_path_segment, ["kubevirt.io:view", "Bad_Name", "..."]),
    "qualified name": (check_qualified_name, ["a", "MyName", "a.b_c-d", "example.com/a", "x" * 253 + "/" + "y" * 63]),
    "label value": (check_label_value, ["", "a", "1.2_3-B", "x" * 63]),
}

BAD: dict[str, tuple[NameCheck, str, list[str]]] = {
    "upper case": (check_subdomain, "Bad_Name", ["a lowercase RFC 1123 subdomain must consist of"]),
    "empty": (check_subdomain, "", ["a lowercase RFC 1123 subdomain must consist of"]),
    "newline": (check_subdomain, "a\n", ["a lowercase RFC 1123 subdomain must consist of"]),
    "two dots": (check_subdomain, "a..b", ["a lowercase RFC 1123 subdomain must consist of"]),
    "too long": (check_subdomain, "x" * 254, ["must be no more than 253 characters"]),
    "too long and wrong": (
        check_label_1123,
        "X" * 64,
        ["must be no more than 63 characters", "a lowercase RFC 1123 label"],
    ),
    "dot in a label": (check_label_1123, "a.b", ["a lowercase RFC 1123 label must consist of"]),
    "digit first": (check_label_1035, "0a", ["a DNS-1035 label must consist of"]),
    "dots": (check_path_segment, "..", ["may not be '..'"]),
    "slash and percent": (check_path_segment, "a/b%", ["may not contain '/'", "may not contain '%'"]),
    "space": (check_qualified_name, "bad key!", ["name part must consist of alphanumeric characters"]),
    "no name": (check_qualified_name, "example.com/", ["name part must be non-empty", "name part must consist of"]),
    "no prefix": (check_qualified_name, "/a", ["prefix part must be non-empty"]),
    "bad prefix": (check_qualified_name, "Example/a", ["prefix part a lowercase RFC 1123 subdomain must consist of"]),
    "long name": (check_qualified_name, "x" * 64, ["name part must be no more than 63 characters"]),
    "two slashes": (check_qualified_name, "a/b/c", ["a valid label key must consist of alphanumeric characters"]),
    "bad value": (check_label_value, "bad value!", ["a valid label must be an empty string or consist of"]),
}

CHECKS: dict[str, NameCheck] = {
    "v1/Namespace": check_label_1123,
    "v1/Service": check_label_1035,
    "v1/Pod": check_subdomain,
    "kubevirt.io/v1/VirtualMachine": check_subdomain,
    "rbac.authorization.k8s.io/v1/ClusterRole": check_path_segment,
}


@pytest.mark.parametrize(("check", "names"), GOOD.values(), ids=GOOD)
def test_valid_object_names_have_no_problems(check: NameCheck, names: list[str]) -> None:
    assert {name: check(name) for name in names} == dict.fromkeys(names, ())


@pytest.mark.parametrize(("check", "name", "problems"), BAD.values(), ids=BAD)
def test_invalid_object_names_are_reported(check: NameCheck, name: str, problems: list[str]) -> None:
    found = check(name)
    assert [problem[: len(prefix)] for problem, prefix in zip(found, problems, strict=True)] == problems


@pytest.mark.parametrize(("kind", "check"), CHECKS.items(), ids=CHECKS)
def test_each_kind_has_the_name_check_of_kubernetes(kind: str, check: NameCheck) -> None:
    found = find_kind(*kind.rsplit("/", 1))
    assert found in KINDS
    assert get_name_check(found) is check


def test_generated_names_end_in_random_characters() -> None:
    names = {generate_name("gen-") for _ in range(50)}
    assert len(names) > 40
    assert all(re.fullmatch("gen-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


def test_generated_names_are_never_too_long() -> None:
    name = generate_name("x" * 100)
    assert name.startswith("x" * 58)
    assert len(name) == 63


@pytest.mark.parametrize(("prefix", "masked"), [("gen-", "gea"), ("gen", "gen"), ("-", "-"), ("a-", "a")])
def test_trailing_dash_of_a_generate_name_is_masked_for_validation(prefix: str, masked: str) -> None:
    assert mask_prefix(prefix) == masked
