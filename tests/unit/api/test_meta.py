from copy import copy, deepcopy

import pytest
from msgspec import inspect
from msgspec.structs import replace
from tests.support.kinds import find_kinds

from virtshape.api.codec import decode, encode, from_tree, to_tree
from virtshape.api.core.config import ConfigMap
from virtshape.api.kubevirt.virtualmachine import DataVolumeTemplateSpec
from virtshape.api.meta import NO_METADATA, KubernetesObject, ObjectMeta, find_annotation
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import Status

# DataVolumeTemplateSpec is a part of a VM, and Status is not a stored object.
KINDS = [kind for kind in find_kinds() if kind not in (DataVolumeTemplateSpec, Status)]
HEAD: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_kind_has_default_metadata(kind: type[Model]) -> None:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    assert issubclass(kind, KubernetesObject)
    assert next(field.default for field in info.fields if field.name == "metadata") is NO_METADATA


@pytest.mark.parametrize("metadata", [{}, {"metadata": None}], ids=["absent", "null"])
def test_missing_metadata_is_decoded_as_empty_and_not_encoded(metadata: JsonObject) -> None:
    for item in (from_tree(HEAD | metadata, ConfigMap), decode(encode(HEAD | metadata), ConfigMap)):
        assert (item.metadata.name, find_annotation(item.metadata, "a")) == (None, None)
        assert to_tree(item) == HEAD
        assert decode(encode(item), ConfigMap) == item
        assert deepcopy(item) == copy(item) == item


@pytest.mark.parametrize("metadata", [{}, {"name": "a", "labels": {}}], ids=["empty", "name"])
def test_explicit_metadata_is_encoded_as_it_was_decoded(metadata: JsonObject) -> None:
    tree = {**HEAD, "metadata": metadata}
    assert to_tree(from_tree(tree, ConfigMap)) == tree


def test_shared_default_metadata_cannot_be_changed() -> None:
    item = ConfigMap(api_version="v1", kind="ConfigMap")
    with pytest.raises(AttributeError):
        item.metadata.name = "a"
    item.metadata = replace(item.metadata, name="a")
    assert to_tree(item.metadata) == to_tree(ObjectMeta(name="a"))
    assert ConfigMap(api_version="v1", kind="ConfigMap").metadata.name is None
