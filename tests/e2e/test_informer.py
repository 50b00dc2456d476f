"""An informer under load receives every event once and in order, across ended watches and server crashes."""

import signal
from collections import defaultdict
from pathlib import Path

from tests.e2e.load import Load, ObjectHistory
from tests.support.demo import find_free_port
from tests.support.informer import PATH, Informer
from tests.support.upprocess import System, wait_until


def _check(informer: Informer, load: Load) -> None:
    """Check that the informer received each change once, in order and at its version."""
    reported: dict[str, ObjectHistory] = defaultdict(list)
    for change in informer.changes:
        reported[change.name].append((change.type, 0 if change.type == "DELETED" else change.version))
    assert informer.problems == []
    assert reported == load.stories
    assert informer.cache == {name: story[-1][1] for name, story in load.stories.items() if story[-1][0] != "DELETED"}


def _wait_until_watching(*informers: Informer, times: int = 1) -> None:
    wait_until(
        lambda: all(informer.watches >= times for informer in informers), "an informer has not started enough watches"
    )


def test_informer_neither_misses_nor_repeats_events_under_load(data: Path) -> None:
    with System(data, "--no-controllers", "--no-catalog") as system:
        informers = [Informer(system) for _ in range(3)]
        _wait_until_watching(*informers)
        load = Load(system)
        load.wait_for(251)
        _wait_until_watching(*informers, times=3)
        version = load.end()
        for informer in informers:
            informer.catch_up(version)
            _check(informer, load)
            assert informer.lists == 1
            assert informer.watches > 2
        assert len(load.stories) > 200


def test_bookmarks_advance_an_idle_informer(data: Path) -> None:
    """Without bookmarks, the informer would have to list again after a compaction."""
    with System(data, "--no-controllers", "--no-catalog") as system:
        informer = Informer(system, seconds=3)
        _wait_until_watching(informer)
        for number in range(20):
            code, reported = system.request(
                "POST", PATH.replace("configmaps", "secrets"), {"metadata": {"name": f"s{number}"}}
            )
            assert code == 201, reported
        informer.catch_up(int(reported["metadata"]["resourceVersion"]))
        assert (informer.lists, informer.changes, informer.problems) == (1, [], [])
        assert informer.bookmarks > 0


def test_watch_after_a_list_under_load_has_no_gaps_or_duplicates(data: Path) -> None:
    """An informer started under load gets earlier changes from its list and later ones from its watch."""
    with System(data, "--no-controllers", "--no-catalog") as system:
        load = Load(system)
        informers = []
        for _ in range(8):
            load.wait_for(len(load.stories) + 20)
            informers.append(Informer(system))
        version = load.end()
        for informer in informers:
            informer.catch_up(version)
            assert informer.problems == []
            assert informer.cache == informers[0].cache
        there = {name: story[-1][1] for name, story in load.stories.items() if story[-1][0] != "DELETED"}
        assert informers[0].cache == there


def test_informer_lists_again_after_compaction(data: Path) -> None:
    arguments = ("--history-seconds", "1", "--history-revisions", "20", "--no-catalog", "--no-controllers")
    with System(data, *arguments) as system:
        informer = Informer(system, pause=2.0)
        load = Load(system, clients=2)
        wait_until(lambda: informer.lists > 1, "the informer did not list again")
        informer.catch_up(load.end())
        assert informer.problems == []
        assert informer.lists > 1
        _, listed = system.request("GET", PATH)
        there = {item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in listed["items"]}
        assert informer.cache == there


def test_server_crash_neither_loses_nor_repeats_events(data: Path) -> None:
    address = f"127.0.0.1:{find_free_port()}"
    with System(data, "--no-controllers", "--no-catalog", listen=address) as first:
        informer = Informer(first)
        _wait_until_watching(informer)
        load = Load(first)
        load.wait_for(101)
        first.stop(signal.SIGKILL)
        with System(data, "--no-controllers", "--no-catalog", listen=address) as second:
            load.end()
            more = Load(second, clients=1, prefix="d")
            more.wait_for(20)
            informer.catch_up(more.end())
            assert informer.problems == []
            assert informer.lists == 1
            reported = {(change.type, change.name) for change in informer.changes}
            assert {(kind, name) for name, story in load.stories.items() for kind, _ in story} <= reported
            _, listed = second.request("GET", PATH)
            there = {item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in listed["items"]}
            assert informer.cache == there
