from dataclasses import fields

import pytest
from tests.support.commands import call_virtctl

from virtshape.api.model import JsonObject
from virtshape.cli.create.sources import TYPES

VDDK = "type:vddk,size:1Gi,url:https://h,uuid:u,thumbprint:t,secretref:s,backingfile:f"


def _import(*values: str) -> JsonObject:
    return call_virtctl("create", "vm", *(f"--volume-import={value}" for value in values)).spec


@pytest.mark.parametrize(
    ("value", "data"),
    [
        pytest.param("type:blank", {"source": {"blank": {}}}, id="blank"),
        pytest.param("type:gcs,url:gs://b", {"source": {"gcs": {"url": "gs://b"}}}, id="gcs"),
        pytest.param(
            "type:gcs,url:gs://b,secretref:s", {"source": {"gcs": {"url": "gs://b", "secretRef": "s"}}}, id="gcs, all"
        ),
        pytest.param("type:http,url:http://h", {"source": {"http": {"url": "http://h"}}}, id="http"),
        pytest.param(
            "type:http,url:http://h,secretref:s,certconfigmap:c,extraheaders:a: b;c: d,secretextraheaders:e",
            {
                "source": {
                    "http": {
                        "url": "http://h",
                        "secretRef": "s",
                        "certConfigMap": "c",
                        "extraHeaders": ["a: b", "c: d"],
                        "secretExtraHeaders": ["e"],
                    }
                }
            },
            id="http, all",
        ),
        pytest.param(
            "type:imageio,url:http://h,diskid:1,secretref:s,certconfigmap:c",
            {"source": {"imageio": {"url": "http://h", "diskId": "1", "secretRef": "s", "certConfigMap": "c"}}},
            id="imageio",
        ),
        pytest.param("type:pvc,src:ns/p", {"source": {"pvc": {"namespace": "ns", "name": "p"}}}, id="pvc"),
        pytest.param(
            "type:registry,url:docker://i,pullmethod:pod,secretref:s,certconfigmap:c",
            {
                "source": {
                    "registry": {
                        "url": "docker://i",
                        "pullMethod": "pod",
                        "secretRef": "s",
                        "certConfigMap": "c",
                    }
                }
            },
            id="registry",
        ),
        pytest.param(
            "type:registry,imagestream:i", {"source": {"registry": {"imageStream": "i"}}}, id="registry, image stream"
        ),
        pytest.param(
            "type:s3,url:http://h,secretref:s,certconfigmap:c",
            {"source": {"s3": {"url": "http://h", "secretRef": "s", "certConfigMap": "c"}}},
            id="s3",
        ),
        pytest.param(
            VDDK.replace("size:1Gi,", "") + ",initimageurl:i",
            {
                "source": {
                    "vddk": {
                        "url": "https://h",
                        "uuid": "u",
                        "thumbprint": "t",
                        "secretRef": "s",
                        "backingFile": "f",
                        "initImageURL": "i",
                    }
                }
            },
            id="vddk",
        ),
        pytest.param(
            "type:snapshot,src:ns/s", {"source": {"snapshot": {"namespace": "ns", "name": "s"}}}, id="snapshot"
        ),
        pytest.param("type:ds,src:d", {"sourceRef": {"kind": "DataSource", "name": "d"}}, id="ds"),
        pytest.param(
            "type:ds,src:ns/d",
            {"sourceRef": {"kind": "DataSource", "namespace": "ns", "name": "d"}},
            id="ds in a namespace",
        ),
    ],
)
def test_each_import_type_becomes_a_data_volume_template(value: str, data: JsonObject) -> None:
    spec = _import(f"{value},size:1Gi,name:root,bootorder:2")
    storage = {"resources": {"requests": {"storage": "1Gi"}}}
    assert spec["dataVolumeTemplates"] == [{"metadata": {"name": "root"}, "spec": {**data, "storage": storage}}]
    assert spec["template"]["spec"]["volumes"] == [{"name": "root", "dataVolume": {"name": "root"}}]
    assert spec["template"]["spec"]["domain"]["devices"]["disks"] == [{"name": "root", "bootOrder": 2}]


@pytest.mark.parametrize("value", ["type:pvc,src:ns/p", "type:snapshot,src:ns/s", "type:ds,src:d"])
def test_import_from_a_source_with_a_known_size_requires_no_size(value: str) -> None:
    assert _import(value)["dataVolumeTemplates"][0]["spec"]["storage"] == {"resources": {}}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        pytest.param("", "the value is empty", id="empty"),
        pytest.param("size:1Gi", "type is required: must be one of blank, gcs", id="no type"),
        pytest.param("type:bogus", 'type: unknown value "bogus"; must be one of blank', id="unknown type"),
        pytest.param("type:PVC,src:ns/p", 'type: unknown value "PVC"', id="type in capitals"),
        pytest.param("type:blank", "size is required", id="blank without size"),
        pytest.param("type:blank,size:", "size is required", id="empty size"),
        pytest.param("type:blank,size:1Gi,url:x", 'unknown parameter "url"', id="parameter of another type"),
        pytest.param("type:blank,size:1Gi,name:", 'name: invalid volume name ""', id="empty name"),
        pytest.param("type:blank,size:1Gi,name:a.b", 'name: invalid volume name "a.b"', id="wrong name"),
        pytest.param("type:blank,size:1Gi,bootorder:0", "bootorder must be 1 or greater", id="bootorder 0"),
        pytest.param("type:gcs,size:1Gi", "url is required", id="gcs without url"),
        pytest.param("type:http,url:http://h", "size is required", id="http without size"),
        pytest.param("type:imageio,size:1Gi,url:u", "diskid is required", id="imageio without disk"),
        pytest.param("type:pvc,src:p", 'the namespace of the PVC "p" is required', id="pvc without namespace"),
        pytest.param("type:pvc,src:a/b/p", "more than one slash", id="two slashes"),
        pytest.param("type:snapshot,src:ns/", "has no name", id="no name"),
        pytest.param(
            "type:registry,size:1Gi", "exactly one of url and imagestream is required", id="registry without a source"
        ),
        pytest.param("type:registry,size:1Gi,url:u,imagestream:i", "exactly one of", id="registry with two sources"),
        pytest.param("type:registry,size:1Gi,url:u,pullmethod:x", "must be pod or node", id="pull method"),
        pytest.param("type:s3,size:1Gi", "url is required", id="s3 without url"),
        pytest.param(VDDK.replace("uuid:u,", ""), "uuid is required", id="vddk without uuid"),
        pytest.param(VDDK.replace("thumbprint:t,", ""), "thumbprint is required", id="vddk without thumbprint"),
        pytest.param(VDDK.replace("secretref:s,", ""), "secretref is required", id="vddk without secret"),
        pytest.param(VDDK.replace(",backingfile:f", ""), "backingfile is required", id="vddk without file"),
    ],
)
def test_invalid_volume_import_flag_is_rejected(value: str, error: str) -> None:
    outcome = call_virtctl("create", "vm", f"--volume-import={value}")
    assert outcome.status == 2
    assert outcome.err.startswith("error: --volume-import: ")
    assert error in outcome.err


def test_volumes_of_deprecated_flags_come_first_with_a_warning() -> None:
    outcome = call_virtctl(
        "create",
        "vm",
        "--volume-import=type:blank,size:1Gi,name:import",
        "--volume-datasource=src:d,name:ds1",
        "--volume-datasource=src:d,name:ds2",
        "--volume-clone-pvc=src:ns/p,name:clone",
        "--volume-blank=size:1Gi,name:blank",
    )
    names = [volume["name"] for volume in outcome.template["volumes"]]
    assert names == ["blank", "clone", "ds2", "ds1", "import"]
    for flag in ("--volume-datasource", "--volume-clone-pvc", "--volume-blank"):
        assert f"warning: {flag} is deprecated; use --volume-import" in outcome.err


def test_errors_of_deprecated_volume_flags_name_the_flag() -> None:
    outcome = call_virtctl("create", "vm", "--volume-clone-pvc=src:p", "--volume-blank=")
    assert outcome.status == 2
    assert "--volume-clone-pvc: src: the namespace" in outcome.err
    assert "--volume-blank: the value is empty" in outcome.err


def test_help_lists_every_parameter_of_every_import_type() -> None:
    text = call_virtctl("create", "vm", "--help").out
    for name, kind in TYPES.items():
        described = text.split(f"type:{name} ")[1].split("  type:")[0].split("  --volume")[0]
        parameters = {field.name for field in fields(kind)} - {"type", "name", "bootorder"}
        assert [parameter for parameter in parameters if parameter not in described] == []
