"""All fuzz targets by name; `python -m tests.fuzz.targets` prints the names."""

from typing import Final

from tests.fuzz import (
    applying,
    conversion,
    httprequests,
    jsonobjects,
    patches,
    protobuf,
    quantities,
    reviews,
    selectors,
    yamltext,
)
from tests.fuzz.target import Target

TARGETS: Final[dict[str, Target]] = {
    target.name: target
    for target in (
        yamltext.TARGET,
        jsonobjects.TARGET,
        quantities.TARGET,
        selectors.TARGET,
        patches.JSON_PATCH,
        patches.MERGE_PATCH,
        patches.STRATEGIC_PATCH,
        applying.TARGET,
        conversion.TARGET,
        reviews.TARGET,
        protobuf.TARGET,
        httprequests.TARGET,
    )
}

if __name__ == "__main__":
    print(*TARGETS)  # noqa: T201 - this is a command
