"""The host section of launch requests, which launcher processes of other releases must be able to read."""

import json

from virtshape.api.codec import decode, encode
from virtshape.launcher.host import Host


def test_max_vcpus_is_encoded_with_the_field_name_of_earlier_releases() -> None:
    host = Host(max_vcpus={"q35": 288})
    assert json.loads(encode(host))["most_vcpus"] == {"q35": 288}
    assert decode(b'{"most_vcpus": {"q35": 288}}', Host) == host
