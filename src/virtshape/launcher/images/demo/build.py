"""
Build the demo guest from Debian packages, which are downloaded and unpacked but not installed; cache the result.

File names contain a digest of the guest's scripts and settings, so that each version builds its own files. Files of
other versions are kept, because overlays may use them.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, Literal, NamedTuple

from virtshape.launcher.images.atomic import replace_file, write_atomically
from virtshape.launcher.images.demo.disk import ARGUMENTS, Loaders, build_disk
from virtshape.launcher.images.demo.initramfs import build_initramfs, read_scripts
from virtshape.launcher.images.demo.modules import EMULATED, VIRTIO, is_candidate, pick_modules
from virtshape.launcher.images.demo.packages import Packages, unpack
from virtshape.launcher.images.errors import ToolError
from virtshape.launcher.images.progress import Progress, ignore

Flavour = Literal["cloud", "full"]
"""`cloud` boots fastest and supports only virtio; `full` adds drivers for SATA, e1000, USB, TPM, watchdogs and more."""

_SCRATCH: Final = ".demo-"
_KERNELS: Final = {
    "cloud": ("linux-image-cloud-amd64", "linux-image-virtual"),
    "full": ("linux-image-amd64", "linux-image-generic"),
}
"""Metapackages of the current kernel, in Debian and in Ubuntu."""
_KERNEL_PARTS: Final = ("linux-binary-", "linux-base-", "linux-modules-", "linux-modules-extra-")
"""Prefixes of the packages that contain a kernel in Ubuntu and since Debian 14; the kernel version follows."""
_KERNEL_FILES: Final = ("boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz")
"""Paths of the kernel image: the first until Debian 13 and in Ubuntu, the second since Debian 14."""
_TOOLS: Final = ("busybox-static", "mtools", "syslinux", "syslinux-common", "shim-signed", "grub-efi-amd64-signed")
_FILES: Final = {
    "bin/busybox",
    "usr/bin/busybox",
    "usr/bin/mtools",
    "usr/bin/syslinux",
    "usr/lib/syslinux/mbr/mbr.bin",
    "usr/lib/shim/shimx64.efi.signed",
    "usr/lib/shim/shimx64.efi.signed.latest",
    "usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed",
}


class DemoGuest(NamedTuple):
    """Paths of the demo guest's files."""

    disk: Path
    kernel: Path
    initramfs: Path


def ensure_demo_image(cache_dir: Path, progress: Progress = ignore, flavour: Flavour = "cloud") -> Path:
    """Return the demo guest's raw disk image, which boots with BIOS and UEFI; build a missing image."""
    return ensure_demo_guest(cache_dir, progress, flavour).disk


def ensure_demo_guest(cache_dir: Path, progress: Progress = ignore, flavour: Flavour = "cloud") -> DemoGuest:
    """Return the demo guest as a disk, and as a kernel with its initramfs; build missing files."""
    guest = get_demo_guest(cache_dir, flavour)
    if not guest.disk.exists():
        cache_dir.mkdir(parents=True, exist_ok=True)
        with _alone(cache_dir):
            if not guest.disk.exists():
                _build(guest, flavour, progress)
    return guest


def get_demo_guest(cache_dir: Path, flavour: Flavour = "cloud") -> DemoGuest:
    """Return the paths of the demo guest's files, which may not exist yet."""
    digest = hashlib.sha256(" ".join([ARGUMENTS, *VIRTIO, *EMULATED]).encode())
    for name, content in sorted(read_scripts().items()):
        digest.update(name.encode() + content)
    stem = f"demo-{flavour}-{digest.hexdigest()[:12]}"
    return DemoGuest(*(cache_dir / f"{stem}.{suffix}" for suffix in ("img", "vmlinuz", "initrd")))


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory / ".demo.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _build(guest: DemoGuest, flavour: Flavour, progress: Progress) -> None:
    for leftover in guest.disk.parent.glob(f"{_SCRATCH}*"):  # left by a killed build: the lock excludes other builds
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=guest.disk.parent) as name:
        scratch = Path(name)
        root = _gather(flavour, scratch, progress)
        kernel, version = get_kernel(root)
        modules = pick_modules(root, [*VIRTIO, *(EMULATED if flavour == "full" else [])])
        busybox = next(root.glob("**/bin/busybox"))
        initramfs = build_initramfs(busybox, modules, version, scratch / "index")
        write_atomically(guest.kernel, kernel.read_bytes(), 0o644)
        write_atomically(guest.initramfs, initramfs, 0o644)
        with replace_file(guest.disk, 0o644) as partial:
            build_disk(partial, kernel, initramfs, _get_loaders(root), scratch)


def _gather(flavour: Flavour, scratch: Path, progress: Progress) -> Path:
    """Download the packages, unpack the required files and return their root directory."""
    packages = Packages(scratch)
    try:
        files = _fetch(packages, flavour, progress)
    except ToolError:
        packages.refresh()
        files = _fetch(packages, flavour, progress)
    root = scratch / "root"
    total = sum(path.stat().st_size for path in files.values())
    for package in files.values():
        progress(total, total)
        unpack(package, root, lambda path: path in _FILES or is_kernel(path) or is_candidate(path))
    return root


def is_kernel(path: str) -> bool:
    """Return True if a path in a package is that of a kernel image."""
    return any(fnmatch(path, pattern) for pattern in _KERNEL_FILES)


def get_kernel(root: Path) -> tuple[Path, str]:
    """Return the unpacked kernel image and its version."""
    kernel = next((path for pattern in _KERNEL_FILES for path in root.glob(pattern)), None)
    if kernel is None:
        raise ToolError("the kernel packages contain no kernel image, which the demo guest needs")
    return kernel, kernel.parent.name if kernel.name == "vmlinuz" else kernel.name.removeprefix("vmlinuz-")


def _fetch(packages: Packages, flavour: Flavour, progress: Progress) -> dict[str, Path]:
    kernel = packages.resolve(_KERNELS[flavour], r"linux-image-[0-9][^\s,(]*")
    version = kernel.removeprefix("linux-image-")
    parts = packages.list_known([f"{prefix}{version}" for prefix in _KERNEL_PARTS])
    names = [kernel, *parts, *_TOOLS]
    files = packages.fetch(names, progress)
    missing = set(names) - set(files)
    if missing:
        raise ToolError(f"apt has no package {', '.join(sorted(missing))}, which the demo guest needs")
    return files


def _get_loaders(root: Path) -> Loaders:
    mtools = root / "usr/bin/mtools"
    for tool in ("mformat", "mmd", "mcopy", "mattrib", "mmove"):
        (mtools.parent / tool).symlink_to("mtools")
    return Loaders(
        mbr=root / "usr/lib/syslinux/mbr/mbr.bin",
        shim=next((root / "usr/lib/shim").glob("shimx64.efi.signed*")),
        grub=root / "usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed",
        syslinux=root / "usr/bin/syslinux",
        mtools=mtools,
    )
