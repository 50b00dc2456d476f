"""Write manifests to files."""

import json
from pathlib import Path
from typing import Any

from virtshape.api.yaml import write_yaml


def write_manifest(path: str, *trees: Any) -> str:
    """Write trees to a file and create its directories: JSON for `.json`, YAML documents otherwise."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".json":
        file.write_text("\n".join(json.dumps(tree) for tree in trees))
    else:
        file.write_text("---\n".join(write_yaml(tree) for tree in trees))
    return path
