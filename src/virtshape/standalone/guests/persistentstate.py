"""
Persistent state of VMs, such as TPM state and firmware variables: one directory per VM, kept until the VM is deleted.

Instances without a VM have their own directory.
"""

import shutil
from collections.abc import Callable, Collection
from pathlib import Path

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.ownerreferences import find_controller
from virtshape.controllers.pods.persistentstateclaim import has_state
from virtshape.launcher.node.directories import validate_uid


class PersistentStates:
    """The state directories, named by the uid of the VM or instance."""

    def __init__(
        self, directory: Path, list_used: Callable[[], Collection[str]], find_vm: Callable[[str, str], str | None]
    ) -> None:
        """
        Set up the state directories; `list_used` returns those that guests use.

        `find_vm` returns the uid of the VM with a namespace and name, or None.
        """
        self._directory = directory
        self._find_vm = find_vm
        self._list_used = list_used
        self._gone: set[str] = set()

    def ensure(self, vmi: VirtualMachineInstance) -> str | None:
        """Create the state directory of an instance and return its path; None if it needs no state."""
        if not has_state(vmi.spec):
            return None
        place = self._directory / (self._find_owner(vmi) or validate_uid(vmi.metadata.uid or ""))
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return str(place)

    def _find_owner(self, vmi: VirtualMachineInstance) -> str | None:
        """Return the uid of the instance's VM, which is verified because users can set owner references."""
        owner = find_controller(vmi.metadata)
        if owner is None or owner.kind != "VirtualMachine":
            return None
        uid = self._find_vm(vmi.metadata.namespace or "", owner.name)
        return validate_uid(uid) if uid is not None and uid == owner.uid else None

    def drop(self, uid: str) -> None:
        """Remove the state of a deleted VM once no guest uses it."""
        if (self._directory / uid).exists():
            self._gone.add(uid)
        self.sweep()

    def keep_only(self, uids: Collection[str]) -> None:
        """Remove all state except that of VMs and instances with these uids, once no guest uses it."""
        kept = self._directory.iterdir() if self._directory.exists() else ()
        self._gone.update(path.name for path in kept if path.name not in uids)
        self.sweep()

    def sweep(self) -> None:
        """Remove the state of deleted VMs and instances that no guest uses any more."""
        if not self._gone:
            return
        used = set(self._list_used())
        for uid in list(self._gone):
            if str(self._directory / uid) not in used:
                shutil.rmtree(self._directory / uid, ignore_errors=True)
                self._gone.discard(uid)
