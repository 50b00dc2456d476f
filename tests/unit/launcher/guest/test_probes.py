"""Readiness and liveness probes while a guest runs."""

import json
import queue
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from tests.support.webserver import Response, serve

from virtshape.launcher.guest.plan import Check, Checks
from virtshape.launcher.guest.probes import Prober, ProbeWorkers, Tally, choose_address
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.netns.blockedaddresses import list_blocked_addresses
from virtshape.launcher.report import Report

SOON = 240.0
CHECK = Check(way="ping", period=0.01, failures=2)
FORWARD = "  TCP[HOST_FORWARD]   9       127.0.0.1 {0}       10.0.2.15    80     0     0"
ESTABLISHED = "  TCP[ESTABLISHED]   12       127.0.0.1 {0}       10.0.2.15    80     0     0"
SENT = "  TCP[SYN_SENT]      12       127.0.0.1 {0}       10.0.2.15    80     0     0"
OTHER = "  TCP[ESTABLISHED]   12       127.0.0.1 1       10.0.2.15    80     0     0"
HEADING = "  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ"
TALLIES = {
    "healthy after the first success": (Check(way="ping"), False, "+", "+"),
    "healthy after two successes": (Check(way="ping", successes=2), False, "+-++", "---+"),
    "unhealthy after three failures": (Check(way="ping"), True, "---", "++-"),
    "success resets the failure count": (Check(way="ping", failures=2), True, "-+--+", "+++-+"),
}


class Guest:
    """A guest whose checks return `problem`."""

    def __init__(self, directory: Path, checks: Checks, report: Report) -> None:
        self.reports = ReportPublisher(directory / "report.json", report)
        self.problem = "it sleeps"
        self.given_up: queue.Queue[str] = queue.Queue()
        ProbeWorkers(checks, self.reports, lambda _: self.problem, self.given_up.put).start()


def test_guest_is_ready_only_while_its_readiness_probe_succeeds(tmp_path: Path) -> None:
    guest = Guest(tmp_path, Checks(readiness=CHECK), Report(state="running", unready="not probed"))
    assert guest.reports.wait_for(lambda report: report.unready == "readiness probe failed: it sleeps", SOON)
    guest.problem = ""
    assert guest.reports.wait_for(lambda report: not report.unready, SOON)
    guest.problem = "it is ill"
    assert guest.reports.wait_for(lambda report: report.unready == "readiness probe failed: it is ill", SOON)
    guest.reports.publish(state="succeeded")
    assert guest.given_up.empty()


def test_failed_liveness_probe_is_reported_once(tmp_path: Path) -> None:
    guest = Guest(tmp_path, Checks(liveness=CHECK), Report(state="running"))
    assert guest.given_up.get(timeout=SOON) == "it sleeps"
    assert guest.reports.report == Report(state="running")


def test_paused_guest_is_not_probed(tmp_path: Path) -> None:
    guest = Guest(tmp_path, Checks(liveness=CHECK), Report(state="paused"))
    assert not guest.reports.wait_for(lambda report: report.final, 0.1)
    assert guest.given_up.empty()
    guest.reports.publish(state="running")
    assert guest.given_up.get(timeout=SOON) == "it sleeps"


@pytest.fixture
def port() -> Iterator[int]:
    """A port that accepts connections and sends nothing, like a port that QEMU forwards."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def ask_port(port: int, check: Check, *lines: str) -> str:
    connections = "\n".join((HEADING, *lines)).format(port) if lines else ""
    return Prober(lambda _: ("127.0.0.1", port), lambda: connections, refuse_agent).check(check)


def refuse_agent(message: str, seconds: float) -> str:
    raise ConnectionError(f"no agent for {message} within {seconds}")


CONNECTIONS = {
    "separate network namespace": ((), ""),
    "accepted by the guest": ((ESTABLISHED, FORWARD), ""),
    "accepted by QEMU only": ((SENT, FORWARD), "no answer within 0.2 seconds"),
    "earlier connection accepted": ((SENT, ESTABLISHED, FORWARD), "no answer within 0.2 seconds"),
    "earlier connection not accepted": ((ESTABLISHED, SENT, FORWARD), ""),
    "other port": ((OTHER, FORWARD), "no answer within 0.2 seconds"),
}


@pytest.mark.parametrize(("connections", "message"), CONNECTIONS.values(), ids=CONNECTIONS)
def test_tcp_probe_succeeds_once_the_guest_accepts_the_connection(
    port: int, connections: tuple[str, ...], message: str
) -> None:
    seconds = 0.2 if message else SOON  # a busy machine may need longer to connect
    assert ask_port(port, Check(way="tcp", port=80, timeout=seconds), *connections) == message


def test_tcp_probe_fails_if_the_guest_refuses_the_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def respond() -> str:
            listening.accept()[0].close()
            return FORWARD.format(port)

        questions = Prober(lambda _: ("127.0.0.1", port), respond, refuse_agent)
        assert questions.check(Check(way="tcp", port=80, timeout=30)) == "the guest does not listen on port 80"


def test_probe_of_another_host_needs_no_port_forwarding(port: int) -> None:
    check = Check(way="tcp", port=port, host="127.0.0.1", timeout=SOON)
    assert Prober(refuse_port, lambda: SENT, refuse_agent).check(check) == ""


def refuse_port(port: int) -> tuple[str, int]:
    raise ConnectionError(f"no way to port {port}")


def test_probe_of_an_unreachable_port_reports_the_reason() -> None:
    assert Prober(refuse_port, str, refuse_agent).check(Check(way="tcp", port=80)) == "no way to port 80"


STATUSES = {
    200: "",
    399: "",
    404: "HTTP probe failed with statuscode: 404",
    500: "HTTP probe failed with statuscode: 500",
}


@pytest.mark.parametrize(("status", "message"), STATUSES.items(), ids=map(str, STATUSES))
def test_http_status_decides_the_result_of_a_probe(status: int, message: str) -> None:
    with serve(lambda _: Response(b"", status)) as server:
        check = Check(way="http", port=80, path="/healthy?", headers=(("X-Who", "me"),), timeout=30)
        port = int(server.address.rpartition(":")[2])
        assert ask_port(port, check) == message
    assert [request.path for request in server.requests] == ["/healthy?"]
    assert server.list_headers("X-Who") == ["me"]


def test_http_probe_fails_without_a_response(port: int) -> None:
    assert ask_port(port, Check(way="http", port=80, timeout=0.1)) == "no answer within 0.1 seconds"


def test_probe_error_does_not_contain_a_response_that_is_not_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def respond() -> None:
            connection = listening.accept()[0]
            connection.sendall(b"secret of another service\r\n")
            connection.close()

        responder = threading.Thread(target=respond)
        responder.start()
        found = ask_port(listening.getsockname()[1], Check(way="http", port=80, timeout=30))
        responder.join()
    assert found == "invalid HTTP response: BadStatusLine"


FORBIDDEN = [
    "127.0.0.1",
    "::1",
    "169.254.169.254",
    "fe80::1",
    "fe80::1%eth0",
    "0.0.0.0",  # noqa: S104 - reported, not bound
    "::",
    "::ffff:127.0.0.1",
    "224.0.0.1",
    "100.100.100.200",
    "192.0.2.7",
    "x",
]


def test_address_of_the_machine_is_never_used_as_the_address_of_the_guest() -> None:
    forbidden = list_blocked_addresses([ip_address("192.0.2.7")])
    assert choose_address([*FORBIDDEN, "192.0.2.8", "192.0.2.9"], forbidden) == "192.0.2.8"
    for address in FORBIDDEN:
        with pytest.raises(ConnectionError, match="the guest's address is unknown"):
            choose_address([address], forbidden)


def query_agent(check: Check, *answers: Any) -> tuple[str, list[Any]]:
    asked: list[Any] = []
    left = list(answers)

    def respond(message: str, seconds: float) -> str:
        assert seconds == check.timeout
        asked.append(json.loads(message))
        return json.dumps(left.pop(0))

    return Prober(refuse_port, str, respond).check(check), asked


def test_guest_agent_ping_probe_succeeds_if_the_agent_responds() -> None:
    assert query_agent(Check(way="ping"), {"return": {}}) == ("", [{"execute": "guest-ping"}])
    silent = Prober(refuse_port, str, refuse_agent).check(Check(way="ping"))
    assert silent == 'no agent for {"execute": "guest-ping"} within 1.0'
    assert query_agent(Check(way="ping"), {"error": {}})[0] != ""


COMPLAINT = b64encode(b"it is broken\n").decode()
OUTCOMES: dict[str, tuple[dict[str, Any], str]] = {
    "well": ({"exited": True, "exitcode": 0}, ""),
    "badly": ({"exited": True, "exitcode": 2, "err-data": COMPLAINT}, "test: exit code 2: it is broken"),
    "killed": ({"exited": True, "signal": 9}, "test: ended by signal 9"),
}


@pytest.mark.parametrize(("outcome", "message"), OUTCOMES.values(), ids=OUTCOMES)
def test_exit_code_decides_the_result_of_an_exec_probe(outcome: dict[str, Any], message: str) -> None:
    output, asked = query_agent(
        Check(way="exec", command=("test", "-e", "/x"), timeout=5),
        {"return": {"pid": 7}},
        {"return": {"exited": False}},
        {"return": outcome},
    )
    begin = {"path": "test", "arg": ["-e", "/x"], "capture-output": True}
    status = {"execute": "guest-exec-status", "arguments": {"pid": 7}}
    assert (output, asked) == (message, [{"execute": "guest-exec", "arguments": begin}, status, status])


@pytest.mark.parametrize(("check", "well", "answers", "verdicts"), TALLIES.values(), ids=TALLIES)
def test_probe_thresholds_count_consecutive_results(check: Check, well: bool, answers: str, verdicts: str) -> None:
    tally, seen = Tally(check, well=well), ""
    for answer in answers:
        tally.count(well=answer == "+")
        seen += "+" if tally.well else "-"
    assert seen == verdicts
