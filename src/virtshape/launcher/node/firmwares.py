"""Find UEFI firmware builds from QEMU's firmware descriptors; invalid descriptors are skipped."""

import fnmatch
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from virtshape.launcher.host import Firmware

_DESCRIPTIONS: Final = (Path("/etc/qemu/firmware"), Path("/usr/share/qemu/firmware"))
_OVMF: Final = Path("/usr/share/OVMF")
_SECURE: Final = {"secure-boot", "enrolled-keys"}


def find_firmwares(architecture: str, machine: str) -> tuple[Firmware, ...]:
    """Return the firmware builds for a machine type; builds with Secure Boot have enrolled keys."""
    found = tuple(read_descriptions(_DESCRIPTIONS, architecture, machine))
    return found or tuple(_find_ovmf())


def read_descriptions(directories: tuple[Path, ...], architecture: str, machine: str) -> Iterator[Firmware]:
    """Yield the suitable firmware builds, sorted by descriptor name; earlier directories override later directories."""
    files = {path.name: path for directory in reversed(directories) for path in directory.glob("*.json")}
    for name in sorted(files):
        try:
            firmware = _read_description(json.loads(files[name].read_bytes()), architecture, machine)
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if firmware is not None and Path(firmware.code).exists() and Path(firmware.variables).exists():
            yield firmware


def _read_description(tree: Any, architecture: str, machine: str) -> Firmware | None:
    """Return the firmware of a descriptor, or None if it does not suit the machine."""
    suits = any(
        target["architecture"] == architecture
        and any(fnmatch.fnmatch(machine, pattern) for pattern in target["machines"])
        for target in tree["targets"]
    )
    mapping, features = tree["mapping"], set(tree["features"])
    if not suits or "uefi" not in tree["interface-types"] or mapping.get("mode", "split") != "split":
        return None
    if "secure-boot" in features and not features >= _SECURE:  # without enrolled keys, Secure Boot is useless
        return None
    code, variables = mapping["executable"]["filename"], mapping["nvram-template"]["filename"]
    return Firmware(code, variables, secure_boot="secure-boot" in features)


def _find_ovmf() -> Iterator[Firmware]:
    """Yield the builds under Debian's file names, for packages without descriptors."""
    for code, variables, secure in (
        ("OVMF_CODE_4M.ms.fd", "OVMF_VARS_4M.ms.fd", True),
        ("OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd", False),
    ):
        if (_OVMF / code).exists() and (_OVMF / variables).exists():
            yield Firmware(str(_OVMF / code), str(_OVMF / variables), secure_boot=secure)
