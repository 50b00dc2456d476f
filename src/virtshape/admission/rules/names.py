"""
Names that a guest has on networks, and how it finds those of others.

Pure: yields violations.
"""

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec

LONGEST_LABEL: Final = 63
_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_MOST_NAME_SERVERS, _MOST_SEARCHES, _LONGEST_SEARCHES = 3, 32, 2048


def check_guest_names(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[Violation]:
    """Whether host name, subdomain and DNS settings are such."""
    for name, value in (("hostname", spec.hostname), ("subdomain", spec.subdomain)):
        if value and not is_label(value):
            words = "use lower case letters, digits and '-', at most 63, beginning and ending with a letter or digit"
            message = f"{root}.{name} does not conform to the kubernetes DNS_LABEL rules: {words}"
            yield Violation("invalid-name", f"{root}.{name}", message)
    if spec.dns_policy == "None" and not (spec.dns_config and spec.dns_config.nameservers):
        message = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield Violation("impossible-combination", f"{root}.dnsConfig.nameservers", message)
    if spec.dns_config is not None:
        yield from _check_name_servers(spec.dns_config.nameservers or [], f"{root}.dnsConfig.nameservers")
        yield from _check_searches(spec.dns_config.searches or [], f"{root}.dnsConfig.searches")


def is_label(text: str) -> bool:
    """Whether a text is a name of one part, as DNS has them."""
    return len(text) <= LONGEST_LABEL and _LABEL.fullmatch(text) is not None


def _check_name_servers(servers: list[str], field: str) -> Iterator[Violation]:
    if len(servers) > _MOST_NAME_SERVERS:
        message = f"must not have more than {_MOST_NAME_SERVERS} nameservers: {', '.join(servers)}"
        yield Violation("invalid-value", field, message)
    for index, server in enumerate(servers):
        try:
            ip_address(server)
        except ValueError:
            message = f"must be valid IP address: {server}"
            yield Violation("invalid-value", f"{field}[{index}]", message)


def _check_searches(searches: list[str], field: str) -> Iterator[Violation]:
    if len(searches) > _MOST_SEARCHES:
        yield Violation("invalid-value", field, f"must not have more than {_MOST_SEARCHES} search paths")
    if len(" ".join(searches)) > _LONGEST_SEARCHES:
        message = f"must not have more than {_LONGEST_SEARCHES} characters (including spaces) in the search list"
        yield Violation("invalid-value", field, message)
