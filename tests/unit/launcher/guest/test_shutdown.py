import queue
import threading
import time

from virtshape.launcher.guest.shutdown import GracefulShutdown

SOON = 240.0


def test_guest_is_killed_after_its_grace_period() -> None:
    happened: queue.Queue[str] = queue.Queue()
    stopping = GracefulShutdown(lambda: happened.put("asked"), lambda grace: happened.put(f"ended after {grace:g}"))
    began = time.monotonic()
    stopping.request(2.0)  # long enough that the guest is asked before, also on a busy machine
    assert [happened.get(timeout=SOON), happened.get(timeout=SOON)] == ["asked", "ended after 2"]
    assert time.monotonic() - began >= 2.0


def test_guest_is_killed_although_the_shutdown_request_never_returns() -> None:
    happened: queue.Queue[str] = queue.Queue()
    released = threading.Event()

    def hang() -> None:
        happened.put("asked")
        released.wait(SOON)

    stopping = GracefulShutdown(hang, lambda _: happened.put("ended"))
    stopping.request(2.0)
    assert [happened.get(timeout=SOON), happened.get(timeout=SOON)] == ["asked", "ended"]
    released.set()


def test_later_stop_request_can_only_shorten_the_grace_period() -> None:
    happened: queue.Queue[str] = queue.Queue()
    stopping = GracefulShutdown(lambda: happened.put("asked"), lambda grace: happened.put(f"ended after {grace:g}"))
    stopping.request(600)
    assert happened.get(timeout=SOON) == "asked"
    stopping.request(0.05)
    stopping.request(900)
    assert happened.get(timeout=SOON) == "ended after 0.05"


def test_guest_that_has_shut_down_is_not_killed() -> None:
    happened: queue.Queue[str] = queue.Queue()
    stopping = GracefulShutdown(lambda: happened.put("asked"), lambda _: happened.put("ended"))
    stopping.request(600)
    assert happened.get(timeout=SOON) == "asked"
    (thread,) = [each for each in threading.enumerate() if each.name == "ending the grace period"]
    stopping.close()
    stopping.request(0)
    thread.join(timeout=SOON)
    assert not thread.is_alive()
    assert happened.empty()


def test_failing_shutdown_requests_end_with_the_grace_period() -> None:
    asked: queue.Queue[str] = queue.Queue()
    ended = threading.Event()

    def fail() -> None:
        asked.put("asked")
        raise RuntimeError("no answer")

    GracefulShutdown(fail, lambda _: ended.set()).request(0.3)
    assert asked.get(timeout=SOON) == "asked"
    assert ended.wait(SOON)
    for thread in threading.enumerate():
        if thread.name == "stopping the guest":
            thread.join(timeout=SOON)
            assert not thread.is_alive()


def test_zero_grace_period_kills_the_guest_immediately() -> None:
    happened: queue.Queue[str] = queue.Queue()
    stopping = GracefulShutdown(lambda: happened.put("asked"), lambda _: happened.put("ended"))
    stopping.request(0)
    assert happened.get(timeout=SOON) == "ended"
