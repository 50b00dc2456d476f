"""Validation of host names and DNS settings."""

import pytest
from tests.unit.admission.rules.guests import Findings, assert_findings, guest

from virtshape.admission.rules.vmi import check_guest
from virtshape.api.model import JsonObject

INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "hostname in upper case": (
        guest(hostname="Web"),
        [("spec.hostname", "does not conform to the kubernetes DNS_LABEL rules")],
    ),
    "hostname too long": (
        guest(hostname="a" * 64),
        [("spec.hostname", "does not conform to the kubernetes DNS_LABEL rules")],
    ),
    "subdomain with a space": (
        guest(subdomain="a b"),
        [("spec.subdomain", "does not conform to the kubernetes DNS_SUBDOMAIN rules")],
    ),
    "DNS policy None without a configuration": (
        guest(dnsPolicy="None"),
        [("spec.dnsConfig.nameservers", "must provide `dnsConfig` when `dnsPolicy` is None")],
    ),
    "nameserver that is not an IP address": (
        guest(dnsConfig={"nameservers": ["x"]}),
        [("spec.dnsConfig.nameservers[0]", "must be valid IP address")],
    ),
    "too many nameservers": (
        guest(dnsConfig={"nameservers": ["1.1.1.1"] * 4}),
        [("spec.dnsConfig.nameservers", "must not have more than 3 nameservers")],
    ),
    "too many searches": (
        guest(dnsConfig={"searches": ["a"] * 33}),
        [("spec.dnsConfig.searches", "must not have more than 32 search paths")],
    ),
    "searches too long": (
        guest(dnsConfig={"searches": [".".join(["a" * 60] * 4)] * 9}),
        [("spec.dnsConfig.searches", "must not have more than 2048 characters (including spaces) in the search list")],
    ),
    "invalid search domain": (
        guest(dnsConfig={"searches": ["A"]}),
        [("spec.dnsConfig.searches[0]", "A is not a valid search domain")],
    ),
    "DNS option without a name": (
        guest(dnsConfig={"options": [{"value": "1"}]}),
        [("spec.dnsConfig.options[0].name", "Option.Name must not be empty")],
    ),
    "DNS policy None with an empty configuration": (
        guest(dnsPolicy="None", dnsConfig={}),
        [("spec.dnsConfig.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")],
    ),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_host_name_or_dns_setting_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_guest, tree, expected)
