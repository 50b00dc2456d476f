"""Jumps of the wall clock of a running server: VMs, watches, tokens, certificates and the history."""

import contextlib
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from tests.support.clock import Clock, ClockedSystem
from tests.support.demoguests import Guests, build_small_guest
from tests.support.longruns import choose
from tests.support.smallmanifests import build_config_map
from tests.support.upprocess import call_virtshape, wait_until

from virtshape.api.model import JsonObject
from virtshape.api.times import parse_time

HOUR, DAY = 3600, 86400
JUMPS = [DAY, -DAY, *([30 * DAY, -30 * DAY, 3650 * DAY] if choose(short=0, long=1) else [])]
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE = 240.0


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Clock:
    return Clock(tmp_path_factory.mktemp("clock"))


@pytest.fixture(scope="module")
def system(clock: Clock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClockedSystem]:
    arguments = ("--launcher", "simulate", "--no-catalog", "--history-seconds", "3", "--history-revisions", "1")
    directory = tmp_path_factory.mktemp("clocked") / "data"
    with ClockedSystem(directory, *arguments, command=clock.command) as running:
        yield running
    assert "Traceback" not in running.log.read_text()


@pytest.fixture(autouse=True)
def _reset(clock: Clock) -> None:
    clock.set(0)


def create(system: ClockedSystem, name: str) -> JsonObject:
    tree = build_config_map()
    tree["metadata"]["name"] = name
    code, made = system.request("POST", CONFIG_MAPS, tree)
    assert code == 201, made
    created: JsonObject = made
    return created


def name_jump(jump: int) -> str:
    return f"{jump // DAY:+d} days"


@pytest.mark.parametrize("jump", JUMPS, ids=name_jump)
def test_watch_and_resource_versions_continue_after_a_jump(system: ClockedSystem, clock: Clock, jump: int) -> None:
    with contextlib.closing(system.connect()) as connection:
        headers = {"Authorization": f"Bearer {system.config['token']}"}
        since = create(system, f"before-{jump}")["metadata"]["resourceVersion"]
        connection.request("GET", f"{CONFIG_MAPS}?watch=true&resourceVersion={since}", headers=headers)
        watch = connection.getresponse()
        made = [create(system, f"first-{jump}")]
        clock.set(jump)
        made.append(create(system, f"second-{jump}"))
        seen = [json.loads(watch.readline())["object"]["metadata"] for _ in made]
    assert [one["name"] for one in seen] == [one["metadata"]["name"] for one in made]
    assert int(since) < int(seen[0]["resourceVersion"]) < int(seen[1]["resourceVersion"])
    assert abs(parse_time(seen[1]["creationTimestamp"]) - clock.read()) < PATIENCE


@pytest.mark.parametrize("jump", JUMPS, ids=name_jump)
def test_vm_runs_through_a_jump_and_can_be_restarted_after_it(system: ClockedSystem, clock: Clock, jump: int) -> None:
    guests, name = Guests(system), f"vm{jump}".replace("-", "m")
    guests.create(build_small_guest(name))
    uid = guests.wait_for_phase(name, "Running")["metadata"]["uid"]
    guests.wait_for_event_text(name, "VirtualMachineInstance started.")  # events are written in the background
    clock.set(jump)
    create(system, f"after-{jump}")
    time.sleep(1.0)  # a controller that restarts the guest would have done so
    assert guests.wait_for_phase(name, "Running")["metadata"]["uid"] == uid
    assert [event.get("count") for event in guests.list_events(name) if event["reason"] == "Started"] == [1]
    guests.act("virtualmachines", name, "restart")
    again = guests.wait_for_phase(name, "Running", other_than=uid)
    assert abs(parse_time(again["metadata"]["creationTimestamp"]) - clock.read()) < PATIENCE
    clock.set(0)
    guests.delete(name)


def test_token_expiry_follows_the_clock_and_a_revoked_token_stays_invalid(system: ClockedSystem, clock: Clock) -> None:
    account: JsonObject = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "clocked"}}
    home = "/api/v1/namespaces/default/serviceaccounts"
    assert system.request("POST", home, account)[0] == 201
    wanted: JsonObject = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": HOUR},
    }
    code, answer = system.request("POST", f"{home}/clocked/token", wanted)
    assert code == 201, answer
    headers = {"Authorization": f"Bearer {answer['status']['token']}"}
    for jump, expected in ((0, 200), (HOUR - 600, 200), (HOUR + 600, 401), (0, 200)):
        clock.set(jump)
        assert system.request("GET", "/apis", **headers)[0] == expected
    assert system.request("DELETE", f"{home}/clocked")[0] == 200
    clock.set(-DAY)
    wait_until(lambda: system.request("GET", "/apis", **headers)[0] == 401, "the token is still accepted", PATIENCE)


def test_history_is_compacted_after_the_clock_was_set_back(system: ClockedSystem, clock: Clock) -> None:
    clock.set(DAY)
    since = create(system, "future")["metadata"]["resourceVersion"]
    system.request("DELETE", f"{CONFIG_MAPS}/future")
    clock.set(-DAY)

    def is_compacted() -> bool:
        system.request("DELETE", f"{CONFIG_MAPS}/present")
        create(system, "present")
        path = f"{CONFIG_MAPS}?resourceVersion={since}&resourceVersionMatch=Exact"
        return bool(system.request("GET", path)[0] == 410)

    wait_until(is_compacted, "the history is kept until the old time comes again", PATIENCE)


@pytest.mark.parametrize("jump", [400 * DAY, -2 * DAY], ids=name_jump)
def test_certificates_are_replaced_after_a_jump_and_the_kubeconfig_trusts_them(
    system: ClockedSystem, clock: Clock, jump: int
) -> None:
    clock.set(jump)

    def is_valid(path: Path) -> bool:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        now = datetime.fromtimestamp(clock.read(), UTC)
        return certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc

    pki = system.directory / "pki"
    wait_until(
        lambda: is_valid(pki / "ca.crt") and is_valid(pki / "apiserver.crt"),
        "the certificates are not valid at the new time",
        PATIENCE,
    )
    system.__dict__.pop("config", None)  # the next request reads the kubeconfig again
    wait_until(
        lambda: call_virtshape("status", "--data-dir", system.directory, **clock.environment).returncode == 0,
        lambda: call_virtshape("status", "--data-dir", system.directory, **clock.environment).stdout,
        PATIENCE,
    )
