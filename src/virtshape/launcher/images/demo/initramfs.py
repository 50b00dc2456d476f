"""The demo guest's file system: busybox, drivers, and the scripts of this package, as one archive for the kernel."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from virtshape.launcher.images.command import run
from virtshape.launcher.images.demo.cpio import Entry, directory, file, link, render_archive

SCRIPTS: Final = {
    "init": "init",
    "inittab": "etc/inittab",
    "start": "etc/start",
    "seed": "etc/seed",
    "dhcp": "etc/dhcp",
    "plug": "etc/plug",
    "profile": "etc/profile",
    "poweroff": "etc/acpi/PWRF/00000080",
    "shape": "bin/shape",
    "now": "www/cgi-bin/shape",
}
_MOUNT_POINTS: Final = ("proc", "sys", "dev", "run", "tmp")
_SECONDS: Final = 60.0


def read_scripts() -> dict[str, bytes]:
    """Give the scripts that make the guest what it is, by their place in it."""
    folder = files(__package__) / "guest"
    return {place: (folder / name).read_bytes() for name, place in SCRIPTS.items()}


def build_initramfs(busybox: Path, modules: dict[str, bytes], version: str, scratch: Path) -> bytes:
    """Put the archive together; `modules` by their path in the guest."""
    applets = run([str(busybox), "--list"], seconds=_SECONDS).decode().split()
    contents = {**modules, **_index(busybox, modules, version, scratch)}
    entries = [file(name, content) for name, content in contents.items()]
    entries += [file(place, content, 0o755) for place, content in read_scripts().items()]
    entries.append(file("bin/busybox", busybox.read_bytes(), 0o755))
    entries += [link(f"bin/{applet}", "busybox") for applet in applets if applet != "busybox"]
    return render_archive([*_list_directories(entries), *entries])


def _index(busybox: Path, modules: dict[str, bytes], version: str, scratch: Path) -> dict[str, bytes]:
    """Let busybox find out which driver serves which device."""
    for name, content in modules.items():
        place = scratch / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    run([str(busybox), "depmod", "-b", str(scratch), version], seconds=_SECONDS)
    home = Path("lib/modules", version)
    return {str(home / name): (scratch / home / name).read_bytes() for name in ("modules.dep", "modules.alias")}


def _list_directories(entries: list[Entry]) -> list[Entry]:
    names = {str(parent) for entry in entries for parent in Path(entry.name).parents} - {"."}
    return [directory(name) for name in sorted({*names, *_MOUNT_POINTS})]
