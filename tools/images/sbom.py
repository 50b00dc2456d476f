"""List the contents of an image as CycloneDX: Debian packages and Python distributions."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tools.images.archive import Image

from virtshape.api.model import JsonObject

_DISTRIBUTION: Final = re.compile(r"opt/[^/]+/lib/python[^/]+/site-packages/([^/]+)-([^-/]+)\.dist-info")
_FIELDS: Final = re.compile(r"^(Package|Status|Version|Architecture): (.*)$", re.MULTILINE)


def build_sbom(name: str, version: str, image: Image) -> JsonObject:
    """Return the SBOM of an image."""
    components = [*list_debian_packages(image.dpkg_status), *list_python_distributions(image.files)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": name, "version": version}},
        "components": components,
    }


def list_debian_packages(status: str) -> Iterator[dict[str, Any]]:
    """Yield the installed packages of dpkg's database."""
    for paragraph in status.split("\n\n"):
        about = dict(_FIELDS.findall(paragraph))
        if about.get("Status") == "install ok installed":
            purl = f"pkg:deb/debian/{about['Package']}@{about['Version']}?arch={about['Architecture']}"
            yield {"type": "library", "name": about["Package"], "version": about["Version"], "purl": purl}


def list_python_distributions(paths: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the distributions of the virtual environment."""
    for name, version in sorted(found.groups() for path in paths if (found := _DISTRIBUTION.fullmatch(path))):
        plain = re.sub(r"[-_.]+", "-", name).lower()
        yield {"type": "library", "name": plain, "version": version, "purl": f"pkg:pypi/{plain}@{version}"}
