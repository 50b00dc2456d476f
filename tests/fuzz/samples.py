"""Example inputs of several fuzz targets: the manifests in examples/, as YAML and as JSON."""

import json
from pathlib import Path
from typing import Final

from virtshape.api.yaml import read_documents

MANIFESTS: Final = tuple(path.read_bytes() for path in sorted((Path(__file__).parents[2] / "examples").glob("*.yaml")))
OBJECTS: Final = tuple(json.dumps(document.tree).encode() for text in MANIFESTS for document in read_documents(text))
