"""The host section of launch requests, which launcher processes of other releases read too."""

import json

from virtshape.api.codec import decode, encode
from virtshape.launcher.host import Host


def test_maximum_number_of_vcpus_keeps_its_stored_name() -> None:
    host = Host(max_vcpus={"q35": 288})
    assert json.loads(encode(host))["most_vcpus"] == {"q35": 288}
    assert decode(b'{"most_vcpus": {"q35": 288}}', Host) == host
