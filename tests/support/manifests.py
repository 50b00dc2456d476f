"""Manifests written to files, as users keep them."""

import json
from pathlib import Path
from typing import Any

from virtshape.api.yaml import write_yaml


def write_manifest(path: str, *trees: Any) -> str:
    """Write trees to a file, with the folders it needs: YAML documents, or JSON objects if it is named so."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".json":
        file.write_text("\n".join(json.dumps(tree) for tree in trees))
    else:
        file.write_text("---\n".join(write_yaml(tree) for tree in trees))
    return path
