"""Validate the host name, subdomain and DNS settings of a guest."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from virtshape.api.core.scheduling import PodDNSConfig
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec

MAX_LABEL_LENGTH: Final = 63
MAX_SUBDOMAIN_LENGTH: Final = 253
_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_MAX_NAME_SERVERS, _MAX_SEARCHES, _MAX_SEARCHES_LENGTH = 3, 32, 2048
_SPELLING: Final = "use lower case letters, digits and '-', beginning and ending with a letter or digit"


def check_guest_names(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    """Check the host name, subdomain and DNS settings of a guest; `root` is the field path of the guest's spec."""
    if spec.hostname and not is_label(spec.hostname):
        reason = f"{_SPELLING}, at most {MAX_LABEL_LENGTH} characters"
        message = f"{root}.hostname does not conform to the kubernetes DNS_LABEL rules : {reason}"
        yield FieldError(f"{root}.hostname", message, rule="invalid-name")
    if spec.subdomain and not is_subdomain(spec.subdomain):
        reason = f"{_SPELLING}, in parts separated by dots, at most {MAX_SUBDOMAIN_LENGTH} characters"
        message = f"{root}.subdomain does not conform to the kubernetes DNS_SUBDOMAIN rules : {reason}"
        yield FieldError(f"{root}.subdomain", message, rule="invalid-name")
    if spec.dns_policy == "None" and not (spec.dns_config and spec.dns_config.nameservers):
        wanted = "at least one DNS nameserver" if spec.dns_config else "`dnsConfig`"
        message = f"must provide {wanted} when `dnsPolicy` is None: add {root}.dnsConfig.nameservers"
        yield FieldError(f"{root}.dnsConfig.nameservers", message, VALUE_REQUIRED, rule="impossible-combination")
    if spec.dns_config is not None:
        yield from _check_dns(spec.dns_config, f"{root}.dnsConfig")


@lru_cache(maxsize=1024)  # cached, because most VMs use the same few disk names
def is_label(text: str) -> bool:
    """Return True if the text is a DNS label."""
    return len(text) <= MAX_LABEL_LENGTH and _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Return True if the text is a DNS subdomain."""
    return len(text) <= MAX_SUBDOMAIN_LENGTH and _SUBDOMAIN.fullmatch(text) is not None


def _check_dns(config: PodDNSConfig, at: str) -> Iterator[FieldError]:
    yield from _check_name_servers(config.nameservers or (), f"{at}.nameservers")
    yield from _check_searches(config.searches or (), f"{at}.searches")
    for index, option in enumerate(config.options or ()):
        if not option.name:
            field = f"{at}.options[{index}].name"
            yield FieldError(field, "Option.Name must not be empty", rule="invalid-value")


def _check_name_servers(servers: Sequence[str], field: str) -> Iterator[FieldError]:
    if len(servers) > _MAX_NAME_SERVERS:
        message = f"must not have more than {_MAX_NAME_SERVERS} nameservers: {', '.join(servers)}"
        yield FieldError(field, message, rule="invalid-value")
    for index, server in enumerate(servers):
        try:
            ip_address(server)
        except ValueError:
            message = f"must be valid IP address: {server}"
            yield FieldError(f"{field}[{index}]", message, rule="invalid-value")


def _check_searches(searches: Sequence[str], field: str) -> Iterator[FieldError]:
    if len(searches) > _MAX_SEARCHES:
        yield FieldError(field, f"must not have more than {_MAX_SEARCHES} search paths", rule="invalid-value")
    if len(" ".join(searches)) > _MAX_SEARCHES_LENGTH:
        message = f"must not have more than {_MAX_SEARCHES_LENGTH} characters (including spaces) in the search list"
        yield FieldError(field, message, rule="invalid-value")
    for index, search in enumerate(searches):
        if search != "." and not is_subdomain(search.removesuffix(".")):
            yield FieldError(
                f"{field}[{index}]", f"{search} is not a valid search domain: {_SPELLING}", rule="invalid-name"
            )
