"""Limits on the memory that all connections of a listener use together."""

from virtshape.apiserver.memorybudget import MemoryBudget


def test_bodies_beyond_the_memory_limit_are_rejected_until_memory_is_free() -> None:
    backlog = MemoryBudget(max_received=100)
    assert [backlog.reserve(60), backlog.reserve(40), backlog.reserve(1)] == [True, True, False]
    backlog.release(60)
    assert backlog.reserve(60)


def test_single_body_may_exceed_the_memory_limit() -> None:
    backlog = MemoryBudget(max_received=100)
    assert [backlog.reserve(200), backlog.reserve(1)] == [True, False]


def test_connection_whose_client_has_not_read_for_the_longest_time_is_aborted() -> None:
    backlog = MemoryBudget(max_unsent=100)
    aborted: list[str] = []

    def first() -> None:
        aborted.append("first")

    def second() -> None:
        aborted.append("second")

    def third() -> None:
        aborted.append("third")

    backlog.hold(first, 40)
    backlog.hold(second, 40)
    backlog.hold(first, 30)  # the client of the first connection has read 10 bytes
    backlog.hold(third, 40)
    assert (aborted, backlog.unsent) == (["second"], 70)
    backlog.drop(first)
    backlog.drop(third)
    backlog.drop(second)
    assert backlog.unsent == 0


def test_single_response_may_exceed_the_memory_limit() -> None:
    backlog = MemoryBudget(max_unsent=100)

    def fail() -> None:
        raise AssertionError

    backlog.hold(fail, 200)
    assert backlog.unsent == 200
