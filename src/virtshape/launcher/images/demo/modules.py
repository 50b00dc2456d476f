"""Which drivers the demo guest takes from a kernel package: those it names, and all they depend on."""

import lzma
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

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
"""Some kernels have these built in or not at all; a guest runs without them."""

_SKIPPED: Final = re.compile(
    r"/(drivers/(gpu|media|infiniband|staging|iio|isdn|comedi|mtd|nfc|bluetooth|net/(wireless|can|wan|hamradio))"
    r"|sound|net/(wireless|mac80211|bluetooth|can|netfilter|sched)|fs/(xfs|btrfs|ocfs2|gfs2|ceph|cifs|smb|nfs|nfsd))/"
)
_DEPENDS: Final = re.compile(rb"(?:^|\0)depends=([^\0]*)\0")
_SUFFIX: Final = re.compile(r"\.ko(\.xz)?$")


def is_candidate(name: str) -> bool:
    """Whether a file of a kernel package is a driver worth a look; the largest families are not."""
    return _SUFFIX.search(name) is not None and _SKIPPED.search(f"/{name}") is None


def pick_modules(root: Path, wanted: Iterable[str]) -> dict[str, bytes]:
    """Give the drivers below a directory that are wanted and those they need: their paths, and what is in them."""
    files = {_SUFFIX.sub("", path.name).replace("-", "_"): path for path in root.rglob("*.ko*")}
    picked: dict[str, bytes] = {}
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in picked:
            continue
        if name in files:
            picked[name] = _read(files[name])
            waiting += _list_needs(picked[name])
        elif name not in OPTIONAL:
            raise ToolError(f"the kernel package has no driver {name}")
    return {_name_in_guest(files[name], root): content for name, content in sorted(picked.items())}


def _read(path: Path) -> bytes:
    content = path.read_bytes()
    return lzma.decompress(content) if path.suffix == ".xz" else content


def _list_needs(content: bytes) -> list[str]:
    depends = _DEPENDS.search(content)
    return [name.replace("-", "_") for name in depends[1].decode().split(",") if name] if depends else []


def _name_in_guest(path: Path, root: Path) -> str:
    return str(path.relative_to(root)).removesuffix(".xz")
