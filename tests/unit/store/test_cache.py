"""The cache of records: size limit, eviction and replacement by newer records."""

from virtshape.store.cache import Cache
from virtshape.store.record import Key, Record


def record(name: str, size: int = 10, revision: int = 1) -> Record:
    return Record(Key("r", "", name), revision, b"x" * size)


def test_least_recently_used_record_is_evicted() -> None:
    cache = Cache(most_bytes=30)
    for name in ("a", "b", "c"):
        cache.put(record(name))
    assert cache.get(Key("r", "", "a")) is not None
    cache.put(record("d"))
    assert [name for name in "abcd" if cache.get(Key("r", "", name)) is not None] == ["a", "c", "d"]


def test_newer_record_replaces_an_older_one_in_the_cache() -> None:
    cache = Cache(most_bytes=30)
    cache.put(record("a", 20))
    cache.put(record("a", 25, revision=2))
    found = cache.get(Key("r", "", "a"))
    assert found is not None
    assert found.revision == 2


def test_record_larger_than_the_cache_is_not_cached() -> None:
    cache = Cache(most_bytes=30)
    cache.put(record("a", 31))
    assert cache.get(Key("r", "", "a")) is None


def test_dropped_record_is_removed_from_the_cache() -> None:
    cache = Cache()
    cache.put(record("a"))
    cache.drop(Key("r", "", "a"))
    cache.drop(Key("r", "", "a"))
    assert cache.get(Key("r", "", "a")) is None
