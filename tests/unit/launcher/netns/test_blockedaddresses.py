"""Addresses that guests cannot reach."""

from ipaddress import ip_address

from virtshape.launcher.netns.blockedaddresses import METADATA_SERVICES, list_blocked_addresses, parse_fib_trie

TRIE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 198.51.100.0/24 2 0 2
        |-- 198.51.100.0
           /24 link UNICAST
        |-- 198.51.100.2
           /32 host LOCAL
        |-- 198.51.100.255
           /32 link BROADCAST
"""


def test_addresses_of_the_machine_are_parsed_from_fib_trie() -> None:
    assert [str(address) for address in parse_fib_trie(TRIE)] == ["198.51.100.2"]


def test_addresses_of_the_host_and_metadata_services_are_blocked() -> None:
    own = [ip_address("192.0.2.7"), ip_address("fe80::1"), ip_address("2001:db8::7")]
    assert list_blocked_addresses(own) == [own[0], own[2], *METADATA_SERVICES]
