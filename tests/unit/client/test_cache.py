"""Informer cache: changes that each operation reports, lookups and indexes."""

from typing import Any

import pytest

from virtshape.api.codec import from_tree
from virtshape.api.core.config import ConfigMap
from virtshape.client.cache import Cache, Change
from virtshape.client.resources import metadata_of


def build(name: str, revision: int = 1, uid: str = "", namespace: str = "ns", **metadata: Any) -> ConfigMap:
    about = {"name": name, "namespace": namespace, "uid": uid or name, "resourceVersion": str(revision), **metadata}
    return from_tree({"apiVersion": "v1", "kind": "ConfigMap", "metadata": about}, ConfigMap)


OLD, NEW, OTHER = build("a"), build("a", 2), build("a", 3, "another")

PUTS: dict[str, tuple[list[ConfigMap], ConfigMap, list[Change[ConfigMap]]]] = {
    "new object": ([], OLD, [Change("ADDED", OLD)]),
    "newer version": ([OLD], NEW, [Change("MODIFIED", NEW)]),
    "same version": ([OLD], build("a"), []),
    "recreated object": ([OLD], OTHER, [Change("DELETED", OLD), Change("ADDED", OTHER)]),
    "object of another namespace": ([OLD], build("a", namespace="b"), [Change("ADDED", build("a", namespace="b"))]),
}


@pytest.mark.parametrize(("known", "item", "changes"), PUTS.values(), ids=PUTS.keys())
def test_cache_put_reports_the_changes(
    known: list[ConfigMap], item: ConfigMap, changes: list[Change[ConfigMap]]
) -> None:
    cache: Cache[ConfigMap] = Cache(ConfigMap)
    for one in known:
        cache.put(one)
    assert cache.put(item) == changes
    assert cache.find("a", item.metadata.namespace or "") == item


DROPS: dict[str, tuple[list[ConfigMap], ConfigMap, list[Change[ConfigMap]]]] = {
    "known object": ([OLD], NEW, [Change("DELETED", NEW)]),
    "unknown object": ([], OLD, []),
    "recreated object": ([OTHER], OLD, []),
}


@pytest.mark.parametrize(("known", "item", "changes"), DROPS.values(), ids=DROPS.keys())
def test_cache_drop_reports_a_known_object_once(
    known: list[ConfigMap], item: ConfigMap, changes: list[Change[ConfigMap]]
) -> None:
    cache: Cache[ConfigMap] = Cache(ConfigMap)
    for one in known:
        cache.put(one)
    assert cache.drop(item) == changes
    assert len(cache) == len(known) - len(changes)


def test_cache_replace_reports_only_differences() -> None:
    cache: Cache[ConfigMap] = Cache(ConfigMap)
    stays, goes, changes = build("stays"), build("goes"), build("changes")
    cache.replace([stays, goes, changes])
    changed, comes = build("changes", 2), build("comes")
    assert cache.replace([stays, changed, comes]) == [
        Change("DELETED", goes),
        Change("MODIFIED", changed),
        Change("ADDED", comes),
    ]
    assert list(cache) == cache.list() == [stays, changed, comes]


def index_by_color(item: ConfigMap) -> list[str]:
    labels = metadata_of(item).labels or {}
    return [labels["color"]] if "color" in labels else []


def index_by_owner(item: ConfigMap) -> list[str]:
    return [owner.uid for owner in metadata_of(item).owner_references or ()]


def test_cache_indexes_are_updated_with_their_objects() -> None:
    cache = Cache(ConfigMap, {"color": index_by_color, "owner": index_by_owner})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u9"}
    red = build("a", labels={"color": "red"}, ownerReferences=[owner])
    cache.put(red)
    cache.put(build("plain"))
    assert cache.find_by("color", "red") == cache.find_by("owner", "u9") == [red]
    blue = build("a", 2, labels={"color": "blue"})
    cache.put(blue)
    assert cache.find_by("color", "red") == cache.find_by("owner", "u9") == []
    assert cache.find_by("color", "blue") == [blue]
    cache.drop(blue)
    assert cache.find_by("color", "blue") == []
    assert cache.list("ns") == [build("plain")]


def test_snapshot_derives_values_only_from_changed_objects() -> None:
    cache: Cache[ConfigMap] = Cache(ConfigMap)
    cache.replace([build("stays"), build("goes"), build("changes")])
    seen: list[str] = []

    def compute(item: ConfigMap) -> str:
        seen.append(item.metadata.name or "")
        return f"{item.metadata.name}@{item.metadata.resource_version}"

    before = cache.take_snapshot()
    known = before.derive(compute, {})
    cache.replace([build("stays"), build("changes", 2), build("comes")])
    after = cache.take_snapshot().derive(compute, known)
    assert [found.value for found in known.values()] == ["stays@1", "goes@1", "changes@1"]
    assert [found.value for found in after.values()] == ["stays@1", "changes@2", "comes@1"]
    assert seen == ["stays", "goes", "changes", "changes", "comes"]
    assert before.derive(compute, known) == known  # later changes to the cache do not affect a snapshot


def test_cache_lookups_return_copies() -> None:
    cache: Cache[ConfigMap] = Cache(ConfigMap, {"color": index_by_color})
    cache.put(build("a", labels={"color": "red"}))
    found = cache.find("a", "ns")
    assert found is not None
    found.data = {"changed": "by its owner"}
    assert cache.find("a", "ns") == cache.list()[0] == build("a", labels={"color": "red"})
    assert cache.list_keys("ns") == cache.find_keys_by("color", "red") == [("ns", "a")]
