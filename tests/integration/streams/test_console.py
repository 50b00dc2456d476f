"""`virtctl console` in a terminal, against a separate server."""

import signal
import time
from pathlib import Path

import pytest
from tests.integration.streams.conftest import Guests

CONNECTED = rb"Successfully connected to web console. Press Ctrl\+] or Ctrl\+5 to exit console.\r?\n"


def test_user_logs_in_and_disconnects_with_the_escape_sequence(guests: Guests) -> None:
    with guests.open("console", "web") as terminal:
        terminal.wait_for(CONNECTED)
        terminal.wait_for(rb"login: ")
        assert not terminal.is_restored(), "every key must reach the guest"
        terminal.type(b"root\r")
        assert terminal.wait_for(rb"root\r") == b"root\r", "echoed once: by the guest, not by the terminal"
        terminal.type(b"\x03\x1a\x1c\x04")  # Ctrl+C, Ctrl+Z, Ctrl+\, Ctrl+D
        terminal.wait_for(rb"\x03\x1a\x1c\x04")
        terminal.resize(50, 132)
        terminal.type("Grüße €".encode())
        terminal.wait_for("Grüße €".encode())
        terminal.type(b"\x1d")
        assert terminal.end() == 0
        assert terminal.is_restored()


def test_escape_sequence_is_recognized_anywhere_in_the_input(guests: Guests) -> None:
    with guests.open("console", "web") as terminal:
        terminal.wait_for(rb"login: ")
        terminal.type(b"last words\x1dnot these")
        assert (terminal.end(), terminal.is_restored()) == (0, True)


def test_console_exits_when_the_guest_stops(guests: Guests) -> None:
    with guests.open("console", "web") as terminal:
        terminal.wait_for(rb"login: ")
        terminal.type(b"poweroff\r")
        terminal.wait_for(rb"The guest has closed its console\.")
        assert terminal.end() == 0
        assert terminal.is_restored()


def test_console_reports_that_another_client_took_it_over(guests: Guests) -> None:
    with guests.open("console", "web") as first:
        first.wait_for(rb"login: ")
        with guests.open("console", "web") as second:
            second.wait_for(rb"login: ")
            first.wait_for(rb"error: disconnected from the console of web: another client connected")
            first.wait_for(rb"kubectl get vmi web -n default")
            assert (first.end(), first.is_restored()) == (1, True)
            second.type(b"mine now")
            second.wait_for(rb"mine now")
            second.type(b"\x1d")
            assert second.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_console_restores_the_terminal_when_it_is_stopped_by_a_signal(guests: Guests, number: int) -> None:
    with guests.open("console", "web") as terminal:
        terminal.wait_for(rb"login: ")
        terminal.process.send_signal(number)
        assert terminal.end() == 130
        assert terminal.is_restored()


def test_console_waits_for_a_starting_guest(tmp_path: Path) -> None:
    running = Guests(tmp_path, "late")
    try:
        with running.open("console", "late", "--timeout", "4") as terminal:
            terminal.wait_for(rb"Successfully connected to late console")
            terminal.wait_for(rb"login: ")
            terminal.type(b"\x1d")
            assert terminal.end() == 0
    finally:
        running.stop()


def test_console_stops_waiting_for_a_guest_after_the_timeout(guests: Guests) -> None:
    ran = guests.call("console", "never", "--timeout", "0")
    assert (ran.status, "never is not running yet\nCheck why: kubectl describe vmi never" in ran.err) == (1, True), (
        ran.err
    )


def test_console_prints_a_message_while_it_waits_and_ctrl_c_stops_it(guests: Guests) -> None:
    with guests.open("console", "never") as terminal:
        terminal.wait_for(rb"waiting for never to run \(seconds\): \d+ of 300")
        terminal.process.send_signal(signal.SIGINT)
        assert (terminal.end(), terminal.is_restored()) == (130, True)


def test_console_exits_when_the_server_stops(tmp_path: Path) -> None:
    running = Guests(tmp_path, "web")
    with running.open("console", "web") as terminal:
        terminal.wait_for(rb"login: ")
        running.stop()
        terminal.wait_for(rb"disconnected from the console of web: the server is stopping")
        assert (terminal.end(), terminal.is_restored()) == (1, True)


def test_console_exits_when_the_server_is_killed(tmp_path: Path) -> None:
    running = Guests(tmp_path, "web")
    with running.open("console", "web") as terminal:
        terminal.wait_for(rb"login: ")
        running.process.kill()
        terminal.wait_for(rb"disconnected from the console of web: the connection was lost")
        assert (terminal.end(), terminal.is_restored()) == (1, True)
    running.stop()


def test_console_sends_piped_input_and_waits_for_the_output(guests: Guests) -> None:
    ran = guests.call("console", "web", said=b"uptime\n")
    assert (ran.status, ran.out) == (0, b"login: uptime\n")
    assert ran.err.startswith("Successfully connected to web console.")


def test_console_log_is_printed_byte_for_byte(guests: Guests) -> None:
    ran = guests.call("console", "web", "--log")
    assert (ran.status, ran.out, ran.err) == (0, b"Booting web\r\n\xff\x00done\r\n", "")


@pytest.mark.parametrize(
    ("message", "status", "error"),
    [
        (["console", "wep"], 1, 'instance "wep" not found in namespace default; did you mean "web"?'),
        (["console", "off"], 1, "VM off is not running\nStart it: virtctl start off -n default"),
        (["console", "off", "--log"], 1, "VM off is not running"),
        (["console"], 2, "Missing argument 'NAME'"),
        (["console", "web", "--timeout", "soon"], 2, 'invalid number "soon": must be an integer'),
        (["console", "pod/web"], 2, 'invalid kind "pod": must be vm or vmi'),
    ],
    ids=["missing guest", "stopped guest", "log of a stopped guest", "no name", "invalid timeout", "other kind"],
)
def test_failed_console_command_reports_the_reason(guests: Guests, message: list[str], status: int, error: str) -> None:
    ran = guests.call(*message)
    assert (ran.status, error in ran.err) == (status, True), ran.err


def test_large_console_output_is_complete(guests: Guests) -> None:
    text = b"".join(b"line %06d\r\n" % number for number in range(20_000))
    began = time.monotonic()
    ran = guests.call("console", "web", said=text)
    assert ran.out == b"login: " + text
    assert time.monotonic() - began < 240
