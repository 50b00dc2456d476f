"""
List the locked dependencies as CycloneDX JSON: `make sbom`.

    python -m tools.release.sbom dist/sbom.json
"""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tools.release.lockedwheels import ROOT

UV: Final = Path(sys.executable).parent / "uv"


def write_sbom(target: Path, epoch: int | None = None) -> None:
    """Write the list; with `epoch`, it contains this time and no random serial number, so that it is reproducible."""
    line = ["export", "--quiet", "--frozen", "--all-extras", "--all-groups", "--format", "cyclonedx1.5"]
    line += ["--preview-features", "sbom-export"]
    ran = subprocess.run([UV, *line], cwd=ROOT, check=True, capture_output=True, text=True)
    tree = json.loads(ran.stdout)
    if epoch is not None:
        tree.pop("serialNumber", None)
        tree["metadata"]["timestamp"] = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(tree, indent=2) + "\n")


if __name__ == "__main__":
    write_sbom(Path(sys.argv[1]))
