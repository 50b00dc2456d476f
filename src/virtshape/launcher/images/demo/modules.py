"""
Select the demo guest's kernel modules from a kernel package: the listed modules and their dependencies.

Modules are decompressed; drivers that are built into the kernel are skipped.
"""

import gzip
import lzma
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from virtshape.launcher.images.command import run
from virtshape.launcher.images.errors import ToolError

VIRTIO: Final = (
    "virtio_pci",
    "virtio_blk",
    "virtio_net",
    "virtio_scsi",
    "virtio_balloon",
    "virtio_mem",
    "virtio_rng",
    "virtio_console",
    "virtio_input",
    "sd_mod",
    "sr_mod",
    "isofs",
    "nls_utf8",
    "nls_ascii",
    "evdev",
    "button",
    "efivarfs",
    "qemu_fw_cfg",
)
EMULATED: Final = (
    "ahci",
    "ata_piix",
    "nvme",
    "sym53c8xx",
    "megaraid_sas",
    "mptsas",
    "e1000",
    "e1000e",
    "8139cp",
    "8139too",
    "pcnet32",
    "vmxnet3",
    "xhci_pci",
    "ehci_pci",
    "uhci_hcd",
    "usb_storage",
    "uas",
    "usbhid",
    "hid_generic",
    "atkbd",
    "psmouse",
    "i6300esb",
    "iTCO_wdt",
    "tpm_tis",
    "tpm_crb",
    "pvpanic_pci",
    "pvpanic_mmio",
)
OPTIONAL: Final = frozenset({"virtio_input", "virtio_console", "virtio_mem", "qemu_fw_cfg", *EMULATED})
"""Modules that some kernels do not have; the guest can run without them."""
BUILTIN: Final = "modules.builtin"

_SKIPPED: Final = re.compile(
    r"/(drivers/(gpu|media|infiniband|staging|iio|isdn|comedi|mtd|nfc|bluetooth|net/(wireless|can|wan|hamradio))"
    r"|sound|net/(wireless|mac80211|bluetooth|can|netfilter|sched)|fs/(xfs|btrfs|ocfs2|gfs2|ceph|cifs|smb|nfs|nfsd))/"
)
_DEPENDS: Final = re.compile(rb"(?:^|\0)depends=([^\0]*)\0")
_SUFFIX: Final = re.compile(r"\.ko(\.(xz|gz|zst))?$")
_SECONDS: Final = 60.0


def is_candidate(name: str) -> bool:
    """Return True for the file that lists built-in modules, and for all modules that some guest may need."""
    if name.endswith(f"/{BUILTIN}"):
        return True
    return _SUFFIX.search(name) is not None and _SKIPPED.search(f"/{name}") is None


def pick_modules(root: Path, wanted: Iterable[str]) -> dict[str, bytes]:
    """Return the wanted modules under a directory and their dependencies, by path in the guest."""
    files = {_get_name(path.name): path for path in root.rglob("*.ko*")}
    built_in = {
        _get_name(line.rpartition("/")[2]) for path in root.rglob(BUILTIN) for line in path.read_text().splitlines()
    }
    picked: dict[str, bytes] = {}
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in picked:
            continue
        if name in files:
            picked[name] = _read(files[name])
            waiting += _list_needs(picked[name])
        elif name not in OPTIONAL | built_in:
            raise ToolError(f"the kernel package has no driver {name}")
    return {_name_in_guest(files[name], root): content for name, content in sorted(picked.items())}


def _get_name(file: str) -> str:
    return _SUFFIX.sub("", file).replace("-", "_")


def _read(path: Path) -> bytes:
    match path.suffix:
        case ".xz":
            return lzma.decompress(path.read_bytes())
        case ".gz":
            return gzip.decompress(path.read_bytes())
        case ".zst":  # supported by the standard library from Python 3.14 on
            plain = path.with_suffix("")
            try:
                run(["zstd", "--decompress", "--quiet", "--force", "-o", str(plain), str(path)], seconds=_SECONDS)
            except ToolError as error:
                raise ToolError(f"{path.name} cannot be decompressed: {error}; run apt-get install zstd") from error
            return plain.read_bytes()
        case _:
            return path.read_bytes()


def _list_needs(content: bytes) -> list[str]:
    depends = _DEPENDS.search(content)
    return [name.replace("-", "_") for name in depends[1].decode().split(",") if name] if depends else []


def _name_in_guest(path: Path, root: Path) -> str:
    """Return the path of the uncompressed module; the guest has no /usr."""
    return _SUFFIX.sub(".ko", str(path.relative_to(root)).removeprefix("usr/"))
