"""Parse the flags of `virtctl image-upload`, including deprecated ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from virtshape.cli.errors import ArgumentError, warn

if TYPE_CHECKING:
    from virtshape.api.quantity import Quantity
    from virtshape.cli.upload.objects import Kind, UploadRequest

KINDS: "dict[str, Kind]" = {
    **dict.fromkeys(("pvc", "pvcs", "persistentvolumeclaim", "persistentvolumeclaims"), "pvc"),
    **dict.fromkeys(("dv", "dvs", "datavolume", "datavolumes"), "dv"),
}


def parse_flags(
    *,
    kind: str | None,
    name: str | None,
    image_path: str | None,
    archive_path: str | None,
    size: "Quantity | None",
    volume_mode: str | None,
    access_mode: str | None,
    no_create: bool,
    force: bool,
    pvc_name: str | None,
    pvc_size: "Quantity | None",
    block_volume: bool,
    default_instancetype: str,
    default_instancetype_kind: str | None,
    default_preference: str,
    default_preference_kind: str | None,
    **plain: Any,
) -> "UploadRequest":
    """Return the upload request; raise ArgumentError for invalid flags."""
    from virtshape.cli.upload.objects import UploadRequest

    kind, name = read_target(kind, name, pvc_name)
    size = merge_deprecated("--pvc-size", "--size", pvc_size, size)
    volume_mode = merge_deprecated(
        "--block-volume", "--volume-mode block", "block" if block_volume else None, volume_mode
    )
    path = read_path(image_path, archive_path)
    if archive_path and volume_mode == "block":
        raise ArgumentError("In archive upload the volume mode should always be filesystem")
    if access_mode == "ReadOnlyMany":
        message = "cannot upload to a readonly volume, use either ReadWriteOnce or ReadWriteMany if supported"
        raise ArgumentError(message)
    if force and kind != "pvc":
        message = "--force is only supported for a pvc"
        raise ArgumentError(message, next_step=f"Delete the DataVolume first: kubectl delete dv {name}")
    for role, given, given_kind in (
        ("instancetype", default_instancetype, default_instancetype_kind),
        ("preference", default_preference, default_preference_kind),
    ):
        if given_kind and not given:
            raise ArgumentError(f"--default-{role} must be provided with --default-{role}-kind")
        if given and no_create:
            raise ArgumentError("--default-instancetype and --default-preference cannot be used with --no-create")
    return UploadRequest(
        kind=KINDS[kind],
        name=name,
        path=path,
        size=size,
        is_archive=bool(archive_path),
        storage_class=plain["storage_class"],
        access_mode=access_mode or "",
        volume_mode=volume_mode or ("filesystem" if archive_path else ""),
        binds_now=plain["force_bind"],
        creates=not no_create,
        forces=force,
        has_source=plain["datasource"],
        proxy=plain["proxy"],
        is_insecure=plain["insecure"],
        wait_seconds=plain["wait_seconds"],
        tries=plain["tries"],
        defaults={
            **(
                {"instancetype": (default_instancetype, default_instancetype_kind or "")}
                if default_instancetype
                else {}
            ),
            **({"preference": (default_preference, default_preference_kind or "")} if default_preference else {}),
        },
    )


def read_target(kind: str | None, name: str | None, pvc_name: str | None) -> tuple[str, str]:
    """Return the kind and name of the target."""
    if pvc_name:
        if kind:
            raise ArgumentError("cannot use --pvc-name and args")
        warn("--pvc-name is deprecated: write `pvc NAME` instead")
        return "pvc", pvc_name
    if kind and name is None and "/" in kind:
        kind, _, name = kind.partition("/")
    if not kind or not name:
        raise ArgumentError("expecting two args", next_step="For example: virtctl image-upload dv fedora --size 10Gi")
    if kind.lower() not in KINDS:
        raise ArgumentError(f"invalid resource type {kind}", next_step="Upload to a pvc or a dv.")
    return kind.lower(), name


def merge_deprecated(flag: str, instead: str, older: Any, newer: Any) -> Any:
    """Return the value of a flag or of its deprecated form; raise ArgumentError if they differ."""
    if older is None:
        return newer
    if newer is not None and newer != older:
        raise ArgumentError(f"{flag} and {instead.split()[0]} can not be specified at the same time")
    warn(f"{flag} is deprecated: write {instead} instead")
    return older


def read_path(image: str | None, archive: str | None) -> Path:
    """Return the path of the file to upload."""
    if image and archive:
        raise ArgumentError("cannot handle both image-path and archive-path, provide only one")
    if not image and not archive:
        raise ArgumentError("either image-path or archive-path must be provided")
    return Path(image or archive or "")
