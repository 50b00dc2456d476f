"""Validation of host names and DNS settings."""

import pytest
from tests.unit.admission.rules.guests import Told, expect, guest

from virtshape.admission.rules.instance import check_guest
from virtshape.api.model import JsonObject

BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "a host name in capitals": (
        guest(hostname="Web"),
        [("spec.hostname", "does not conform to the kubernetes DNS_LABEL rules")],
    ),
    "a host name too long": (
        guest(hostname="a" * 64),
        [("spec.hostname", "does not conform to the kubernetes DNS_LABEL rules")],
    ),
    "a subdomain with blanks": (
        guest(subdomain="a b"),
        [("spec.subdomain", "does not conform to the kubernetes DNS_SUBDOMAIN rules")],
    ),
    "no DNS and no name servers": (
        guest(dnsPolicy="None"),
        [("spec.dnsConfig.nameservers", "must provide `dnsConfig` when `dnsPolicy` is None")],
    ),
    "a name server that is no address": (
        guest(dnsConfig={"nameservers": ["x"]}),
        [("spec.dnsConfig.nameservers[0]", "must be valid IP address")],
    ),
    "too many name servers": (
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
    "a search that is no domain": (
        guest(dnsConfig={"searches": ["A"]}),
        [("spec.dnsConfig.searches[0]", "A is not a valid search domain")],
    ),
    "an option of no name": (
        guest(dnsConfig={"options": [{"value": "1"}]}),
        [("spec.dnsConfig.options[0].name", "Option.Name must not be empty")],
    ),
    "no DNS and an empty configuration": (
        guest(dnsPolicy="None", dnsConfig={}),
        [("spec.dnsConfig.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")],
    ),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_guest, tree, told)
