"""Package the Helm chart as `helm package` does, but reproducibly: the archive depends only on the chart."""

from pathlib import Path
from typing import Final

from tools.release.archives import write_archive
from tools.release.lockedwheels import ROOT

CHART: Final = ROOT / "deploy/helm/virtshape"


def package_chart(version: str, output: Path, epoch: int) -> Path:
    """Write the archive of the chart and return its path."""
    target = output / f"virtshape-{version}.tgz"
    write_archive(CHART, target, epoch, prefix="virtshape/")
    return target
