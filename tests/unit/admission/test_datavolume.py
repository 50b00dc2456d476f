"""Validation of DataVolumes."""

import pytest

from virtshape.admission.checkresult import split_violations
from virtshape.admission.datavolume import check_data_volume
from virtshape.api.cdi import DataVolumeSpec
from virtshape.api.codec import from_tree
from virtshape.api.model import JsonObject

BLANK: JsonObject = {"blank": {}}
REF: JsonObject = {"kind": "DataSource", "name": "fedora"}
CASES: dict[str, tuple[JsonObject, list[str], int]] = {
    "source and storage": ({"source": BLANK, "storage": {}}, [], 0),
    "source reference and pvc": ({"sourceRef": REF, "pvc": {}}, [], 0),
    "storage and pvc": ({"source": BLANK, "storage": {}, "pvc": {}}, ["spec.pvc"], 0),
    "source and source reference": ({"source": BLANK, "sourceRef": REF}, [], 1),
    "two sources": ({"source": {"blank": {}, "upload": {}}}, [], 1),
    "source reference without a name": ({"sourceRef": {"kind": "DataSource", "name": ""}}, ["spec.sourceRef.name"], 0),
    "unknown content type": ({"contentType": "tape"}, ["spec.contentType"], 0),
}


@pytest.mark.parametrize(("spec", "fields", "warnings"), CASES.values(), ids=CASES)
def test_data_volume_has_exactly_the_expected_errors_and_warnings(
    spec: JsonObject, fields: list[str], warnings: int
) -> None:
    result = split_violations(check_data_volume(from_tree(spec, DataVolumeSpec), "spec"))
    assert ([cause.field for cause in result.causes], len(result.warnings)) == (fields, warnings)
